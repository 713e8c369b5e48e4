#include "tests/fuzz/wire/mutations.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/support/http2_frames.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

size_t Below(size_t bound, Random& random) {
  return static_cast<size_t>(random.Below(static_cast<int>(bound)));
}

void MutateOnce(std::string* bytes, Random& random) {
  if (bytes->empty()) {
    *bytes = RandomBytes(1 + random.Below(16), random);
    return;
  }
  const size_t at = Below(bytes->size(), random);
  const size_t run =
      std::min(bytes->size() - at, 1 + Below(OneOf<size_t>({1, 4, 64}, random), random));
  switch (random.Below(6)) {
    case 0:
      (*bytes)[at] = static_cast<char>((*bytes)[at] ^ 1 << random.Below(8));
      break;
    case 1:
      (*bytes)[at] = OneOf<char>({0, 1, '\x7f', '\x80', '\xff', ' ', '\n'}, random);
      break;
    case 2:
      bytes->erase(at, run);
      break;
    case 3:
      bytes->insert(at, RandomBytes(static_cast<int64_t>(run), random));
      break;
    case 4:
      bytes->insert(Below(bytes->size() + 1, random), bytes->substr(at, run));
      break;
    default:
      bytes->replace(at, run, RandomBytes(static_cast<int64_t>(run), random));
      break;
  }
}

}  // namespace

std::string MutatedBytes(std::string bytes, Random& random) {
  for (int i = SomeCount(8, random); i > 0; --i) MutateOnce(&bytes, random);
  return bytes;
}

std::string MutatedFrames(std::vector<std::string> frames, Random& random) {
  constexpr size_t kType = 3;  // after the length; then flags, then the stream
  constexpr size_t kFlags = 4;
  constexpr size_t kStream = 5;
  for (int i = SomeCount(3, random); i > 0 && !frames.empty(); --i) {
    const size_t at = Below(frames.size(), random);
    std::string& frame = frames[at];
    switch (random.Below(8)) {
      case 0:
        frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1:
        frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(at), std::string(frame));
        break;
      case 2:
        std::swap(frame, frames[Below(frames.size(), random)]);
        break;
      case 3:
        frame.replace(0, kType, http2::BigEndian(random.Next() >> random.Below(64), 3));
        break;
      case 4:
        frame[kType] = static_cast<char>(random.Below(12));
        break;
      case 5:
        frame[kFlags] = static_cast<char>(frame[kFlags] ^ 1 << random.Below(8));
        break;
      case 6:
        frame.replace(kStream, 4, http2::BigEndian(random.Next() >> random.Below(64), 4));
        break;
      default:
        frame = MutatedBytes(std::move(frame), random);
        if (frame.size() <= kStream + 4) frame.resize(kStream + 4);
        break;
    }
  }
  return absl::StrJoin(frames, "");
}

}  // namespace baseband::testing
