#include "tests/fuzz/wire/script_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/fuzz/wire/mutations.h"
#include "tests/support/http2_frames.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

using namespace http2;

// A holder's call is work for the server, and what a holder may flood it with is known and not
// mended (tests/bench/RESULTS.md): most are strangers.
Caller SomeCaller(Random& random) {
  switch (random.Below(8)) {
    case 0:
      return Caller::kHolder;
    case 1:
      return Caller::kWrong;
    default:
      return Caller::kNobody;
  }
}

std::string Setting(uint64_t id, uint64_t value) { return BigEndian(id, 2) + BigEndian(value, 4); }

}  // namespace

const std::vector<ScriptWriter::WeightedMove>& ScriptWriter::Moves() {
  using W = ScriptWriter;
  static const auto& moves = *new std::vector<WeightedMove>{{16, &W::CallRightly},
                                                            {14, &W::CallMutated},
                                                            {10, &W::OpenCalls},
                                                            {12, &W::SendOddHeaders},
                                                            {2, &W::SendEndlessHeader},
                                                            {10, &W::SendMessage},
                                                            {10, &W::SendOddMessage},
                                                            {5, &W::SendOddData},
                                                            {3, &W::SendPriority},
                                                            {5, &W::SendReset},
                                                            {2, &W::ResetMany},
                                                            {6, &W::SendSettings},
                                                            {3, &W::SendPings},
                                                            {2, &W::SendGoAway},
                                                            {6, &W::SendWindowUpdate},
                                                            {3, &W::SendUnknown},
                                                            {2, &W::SendOddLength},
                                                            {1, &W::SendGarbage},
                                                            {1, &W::Flood},
                                                            {4, &W::Pause},
                                                            {6, &W::Await},
                                                            {1, &W::StopReading},
                                                            {1, &W::HalfClose}};
  return moves;
}

ScriptWriter::ScriptWriter(const std::vector<Method>& methods, Random* random)
    : methods_(methods), random_(*random), caller_(SomeCaller(*random)) {}

Script ScriptWriter::Write() {
  script_.source = 1 + random_.Below(250);
  if (OneIn(25, random_)) {
    AskForPages();
  } else {
    Begin();
    int weights = 0;
    for (const WeightedMove& move : Moves()) weights += move.weight;
    for (int i = SomeCount(24, random_); i > 0; --i) {
      int drawn = random_.Below(weights);
      auto move = Moves().begin();
      while (drawn >= move->weight) drawn -= (move++)->weight;
      (this->*move->move)();
      if (OneIn(2, random_)) Flush();
    }
    Flush();
    if (!OneIn(4, random_)) Await();
  }
  Flush();
  script_.is_reset = OneIn(4, random_);
  if (OneIn(6, random_)) script_.linger_milliseconds = SomeCount(8000, random_);
  return std::move(script_);
}

void ScriptWriter::Begin() {
  if (OneIn(10, random_)) return BeginOddly();
  std::string settings;
  if (OneIn(3, random_)) settings += Setting(4, OneOf({0u, 1u, 65535u, 0x7fffffffu}, random_));
  if (OneIn(4, random_)) settings += Setting(1, OneOf({0u, 4096u, 1u << 20}, random_));
  if (OneIn(6, random_)) settings += Setting(5, OneOf({16384u, 1u << 20}, random_));
  Say(Preface() + Frame(kSettings, 0, 0, settings));
  if (OneIn(2, random_)) {  // what the server's SETTINGS allow holds for gRPC once they are known
    Await();
    Say(Frame(kSettings, kAck, 0, ""));
  }
  if (OneIn(3, random_)) Say(Frame(kWindowUpdate, 0, 0, BigEndian(1 << 20, 4)));
}

void ScriptWriter::BeginOddly() {
  switch (random_.Below(7)) {
    case 0:  // cut, and perhaps gone on with
      Say(Preface().substr(0, static_cast<size_t>(random_.Below(24))));
      break;
    case 1:
      Say(Preface() + Preface());
      break;
    case 2:  // no SETTINGS
      Say(Preface());
      break;
    case 3:
      Say("GET /livez HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n");
      break;
    case 4:  // of TLS
      Say(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) +
          RandomBytes(500, random_));
      break;
    case 5:
      Say(MutatedBytes(Preface() + Frame(kSettings, 0, 0, Setting(3, 100)), random_));
      break;
    default:
      Say(RandomBytes(SomeCount(20000, random_), random_));
      break;
  }
}

void ScriptWriter::AskForPages() {
  script_.to_pages = true;
  for (int i = SomeCount(20, random_); i > 0; --i) {
    std::string request = absl::StrCat(
        OneOf({"GET ", "GET ", "HEAD ", "POST ", "", "PRI "}, random_),
        OneOf({"/livez", "/readyz", "/metrics", "/", "*", "http://a/livez", "/%00"}, random_),
        OneOf({" HTTP/1.1", " HTTP/1.0", " HTTP/2.0", ""}, random_), "\r\nHost: a\r\n",
        OneOf({"", "Accept-Encoding: gzip\r\n", "Content-Length: 100\r\n", "Connection: close\r\n",
               "Transfer-Encoding: chunked\r\n", "Authorization: Basic Og==\r\n"},
              random_),
        OneIn(4, random_) ? "" : "\r\n");
    if (OneIn(10, random_)) {
      request += std::string(static_cast<size_t>(SomeCount(40000, random_)), 'x');
    }
    Say(OneIn(2, random_) ? std::move(request) : MutatedBytes(std::move(request), random_));
    Flush();
    if (OneIn(3, random_)) Await();
  }
}

void ScriptWriter::Pause() {
  Flush();
  Step step;
  step.kind = Step::Kind::kPause;
  step.milliseconds = SomeCount(40, random_);
  Add(std::move(step));
}

void ScriptWriter::Await() {
  Flush();
  Step step;
  step.kind = Step::Kind::kAwait;
  step.milliseconds = SomeCount(200, random_);
  Add(std::move(step));
}

void ScriptWriter::StopReading() {
  Flush();
  Step step;
  step.kind = Step::Kind::kStopReading;
  Add(std::move(step));
}

void ScriptWriter::HalfClose() {
  Flush();
  Step step;
  step.kind = Step::Kind::kHalfClose;
  Add(std::move(step));
}

const Method& ScriptWriter::SomeMethod() {
  return methods_[static_cast<size_t>(random_.Below(static_cast<int>(methods_.size())))];
}

const std::string& ScriptWriter::SomeRequest(const Method& method) {
  const int count = static_cast<int>(method.requests.size());
  return method.requests[static_cast<size_t>(random_.Below(count))];
}

size_t ScriptWriter::SomeStream() {
  if (!open_.empty() && !OneIn(8, random_)) {
    return open_[static_cast<size_t>(random_.Below(static_cast<int>(open_.size())))];
  }
  return OneOf<size_t>({0, 1, next_stream_, next_stream_ + 1, 2, next_stream_ + 1000, kMaxWindow,
                        0xffffffff, next_stream_ > 2 ? next_stream_ - 2 : 1},
                       random_);
}

size_t ScriptWriter::NewStream() {
  if (OneIn(40, random_)) next_stream_ += OneOf<size_t>({1, 2, 100, 1 << 24}, random_);
  if (OneIn(80, random_) && next_stream_ > 4) next_stream_ -= 4;
  open_.push_back(next_stream_);
  next_stream_ += 2;
  return open_.back();
}

void ScriptWriter::Say(std::string bytes) { said_ += bytes; }

void ScriptWriter::Flush() {
  while (!said_.empty()) {
    Step step;
    const size_t cut = OneIn(6, random_)
                           ? 1 + static_cast<size_t>(random_.Below(static_cast<int>(said_.size())))
                           : said_.size();
    step.bytes = said_.substr(0, cut);
    said_.erase(0, cut);
    Add(std::move(step));
    if (said_.empty() || OneIn(2, random_)) continue;
    Step pause;
    pause.kind = Step::Kind::kPause;
    pause.milliseconds = random_.Below(5);
    Add(std::move(pause));
  }
}

void ScriptWriter::Add(Step step) { script_.steps.push_back(std::move(step)); }

}  // namespace baseband::testing
