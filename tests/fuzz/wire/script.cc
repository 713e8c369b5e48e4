#include "tests/fuzz/wire/script.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/fuzz/wire/script_writer.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {

Sequence SequenceOf(uint64_t seed, int64_t number, const std::vector<Method>& methods) {
  Random seeds(seed);
  Random random(seeds.Next() ^ Random(static_cast<uint64_t>(number)).Next());
  Sequence sequence;
  for (int i = OneIn(3, random) ? 1 + SomeCount(3, random) : 1; i > 0; --i) {
    sequence.push_back(ScriptWriter(methods, &random).Write());
  }
  return sequence;
}

std::string Describe(const Sequence& sequence) {
  constexpr size_t kShown = 400;  // bytes of a step
  std::string text;
  for (size_t i = 0; i < sequence.size(); ++i) {
    const Script& script = sequence[i];
    absl::StrAppend(&text, "connection ", i + 1, " from 127.0.1.", script.source,
                    script.to_pages ? " to the pages" : "", "\n");
    for (const Step& step : script.steps) {
      switch (step.kind) {
        case Step::Kind::kSend:
          absl::StrAppend(&text, "  ", step.bytes.size(),
                          " bytes: ", absl::BytesToHexString(step.bytes.substr(0, kShown)),
                          step.bytes.size() > kShown ? "..\n" : "\n");
          break;
        case Step::Kind::kPause:
          absl::StrAppend(&text, "  pauses ", step.milliseconds, " ms\n");
          break;
        case Step::Kind::kAwait:
          absl::StrAppend(&text, "  listens ", step.milliseconds, " ms\n");
          break;
        case Step::Kind::kStopReading:
          absl::StrAppend(&text, "  reads no more\n");
          break;
        case Step::Kind::kHalfClose:
          absl::StrAppend(&text, "  says no more\n");
          break;
      }
    }
    absl::StrAppend(&text, "  stays ", script.linger_milliseconds, " ms, then is ",
                    script.is_reset ? "reset\n" : "closed\n");
  }
  return text;
}

}  // namespace baseband::testing
