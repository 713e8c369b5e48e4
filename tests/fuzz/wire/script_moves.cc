// The moves of ScriptWriter.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "tests/fuzz/wire/mutations.h"
#include "tests/fuzz/wire/script_writer.h"
#include "tests/support/http2_frames.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

using namespace http2;

// Strangers are cut off after 2 MiB (server/auth/README.md). Who may call is not.
constexpr size_t kStrangersFlood = 3 << 20;
constexpr size_t kHoldersFlood = 64 << 10;

std::string AnyBigEndian(int bytes, Random& random) {
  return BigEndian(random.Next() >> random.Below(64), bytes);
}

// Most often few, now and then so many that they take some 64 KiB.
int SomeFrames(Random& random) { return OneIn(10, random) ? 3000 : SomeCount(100, random); }

}  // namespace

std::string ScriptWriter::HeaderFrames(size_t stream, const std::string& block, bool ends) {
  const uint8_t flags = ends ? kEndStream : 0;
  const int pieces = OneIn(5, random_) ? SomeCount(20, random_) : 1;
  const size_t piece = std::min(kMaxFrame - 16, block.size() / static_cast<size_t>(pieces) + 1);
  std::string first = block.substr(0, piece);
  uint8_t first_flags = flags | (first.size() == block.size() ? kEndHeaders : 0);
  if (OneIn(10, random_)) {
    first = AnyBigEndian(4, random_) + RandomBytes(1, random_) + first;
    first_flags |= kHasPriority;
  }
  if (OneIn(10, random_)) {
    first = BigEndian(3, 1) + first + std::string(3, '\0');
    first_flags |= kPadded;
  }
  std::string frames = Frame(kHeaders, first_flags, stream, first);
  for (size_t at = piece; at < block.size(); at += piece) {
    const bool last = at + piece >= block.size();
    frames += Frame(kContinuation, last ? kEndHeaders : 0, stream, block.substr(at, piece));
  }
  return frames;
}

std::string ScriptWriter::DataFrames(size_t stream, const std::string& message, bool ends) {
  const int pieces = OneIn(2, random_) ? SomeCount(30, random_) : 1;
  const size_t piece = std::min(kMaxFrame, message.size() / static_cast<size_t>(pieces) + 1);
  std::string frames;
  for (size_t at = 0; at < message.size() || at == 0; at += piece) {
    const bool last = at + piece >= message.size();
    frames += Frame(kData, ends && last ? kEndStream : 0, stream, message.substr(at, piece));
  }
  return frames;
}

std::vector<std::string> ScriptWriter::CallFrames() {
  const Method& method = SomeMethod();
  const size_t stream = NewStream();
  std::vector<std::string> frames = {
      HeaderFrames(stream, ValidHeaders(method.path, caller_, random_), false)};
  const int messages = absl::StrContains(method.path, "Stream") ? SomeCount(4, random_) : 1;
  for (int i = 0; i < messages; ++i) {
    frames.push_back(DataFrames(stream, GrpcMessage(SomeRequest(method)), i + 1 == messages));
  }
  return frames;
}

void ScriptWriter::CallRightly() { Say(absl::StrJoin(CallFrames(), "")); }

void ScriptWriter::CallMutated() {
  std::vector<std::string> frames = CallFrames();
  if (OneIn(2, random_)) {
    std::vector<std::string> more = CallFrames();
    std::move(more.begin(), more.end(), std::back_inserter(frames));
  }
  Say(OneIn(3, random_) ? MutatedBytes(absl::StrJoin(frames, ""), random_)
                        : MutatedFrames(std::move(frames), random_));
}

void ScriptWriter::OpenCalls() {
  const Method& method = SomeMethod();
  // What a stream of health's Watch holds is known and not mended (tests/bench/RESULTS.md).
  const int most = absl::EndsWith(method.path, "/Watch") ? 50 : 300;
  for (int i = OneIn(6, random_) ? SomeCount(most, random_) : 1; i > 0; --i) {
    Say(HeaderFrames(NewStream(), ValidHeaders(method.path, caller_, random_), OneIn(8, random_)));
  }
}

void ScriptWriter::SendOddHeaders() {
  const size_t stream = OneIn(6, random_) ? SomeStream() : NewStream();
  Say(HeaderFrames(stream, OddHeaders(SomeMethod().path, caller_, random_), OneIn(3, random_)));
}

void ScriptWriter::SendEndlessHeader() {
  const size_t stream = NewStream();
  std::string block = ValidHeaders(SomeMethod().path, caller_, random_);
  if (OneIn(2, random_)) {  // in the middle of a field whose length has been said
    block += std::string("\0\1x", 3) + HpackInteger(random_.Next() >> random_.Below(64), 7, 0);
  }
  Say(Frame(kHeaders, 0, stream, block));
  const std::string piece = OneOf<std::string>({"", "x", std::string(1000, 'x'), block}, random_);
  const int count = piece.size() > 1 ? SomeCount(40, random_) : SomeFrames(random_);
  for (int i = 0; i < count; ++i) {
    Say(Frame(kContinuation, 0, stream, piece));
  }
  if (OneIn(3, random_)) Say(Frame(kContinuation, kEndHeaders, stream, ""));
  if (OneIn(3, random_)) Say(Frame(kContinuation, kEndHeaders, SomeStream(), "x"));
}

void ScriptWriter::SendMessage() {
  const Method& method = SomeMethod();
  const size_t stream = SomeStream();
  Say(DataFrames(stream, GrpcMessage(SomeRequest(method)), OneIn(3, random_)));
}

void ScriptWriter::SendOddMessage() {
  size_t stream = SomeStream();
  const Method& method = SomeMethod();
  if (OneIn(2, random_)) {
    stream = NewStream();
    Say(HeaderFrames(stream, ValidHeaders(method.path, caller_, random_), false));
  }
  const std::string& request = SomeRequest(method);
  const uint64_t size = request.size();
  const uint64_t claimed =
      OneOf<uint64_t>({size, size, size + 1, size - 1, 0, 2 * size, 1 << 20, (1 << 20) + 5000,
                       0x7fffffff, 0xffffffff, random_.Next()},
                      random_);
  std::string message =
      BigEndian(OneOf({0u, 0u, 0u, 1u, 2u, 255u}, random_), 1) + BigEndian(claimed, 4) + request;
  if (OneIn(2, random_))
    message.resize(static_cast<size_t>(random_.Below(static_cast<int>(message.size()) + 1)));
  if (OneIn(8, random_)) message += std::string(static_cast<size_t>(SomeCount(60000, random_)), 7);
  Say(DataFrames(stream, message, OneIn(2, random_)));
}

void ScriptWriter::SendOddData() {
  const size_t stream = SomeStream();
  const uint8_t flags =
      OneOf<uint8_t>({0, kEndStream, kPadded, kPadded | kEndStream, 0xff}, random_);
  switch (random_.Below(3)) {
    case 0:
      for (int i = SomeFrames(random_); i > 0; --i) Say(Frame(kData, 0, stream, ""));
      break;
    case 1:  // padding that may be more than there is
      Say(Frame(kData, kPadded | flags, stream,
                RandomBytes(1, random_) + RandomBytes(random_.Below(300), random_)));
      break;
    default:
      Say(Frame(kData, flags, stream, RandomBytes(SomeCount(16384, random_), random_)));
      break;
  }
}

void ScriptWriter::SendPriority() {
  const int length = OneIn(4, random_) ? random_.Below(12) : 5;
  for (int i = SomeFrames(random_); i > 0; --i) {
    const size_t stream = SomeStream();
    Say(Frame(kPriority, 0, stream,
              OneIn(4, random_) && length == 5 ? BigEndian(stream, 4) + "x"
                                               : AnyBigEndian(length, random_)));
  }
}

void ScriptWriter::SendReset() {
  const int length = OneIn(8, random_) ? random_.Below(9) : 4;
  const size_t stream = SomeStream();
  Say(Frame(kReset, 0, stream, AnyBigEndian(length, random_)));
  open_.erase(std::remove(open_.begin(), open_.end(), stream), open_.end());
}

void ScriptWriter::ResetMany() {
  const Method& method = SomeMethod();
  const std::string block = ValidHeaders(method.path, caller_, random_);
  for (int i = SomeCount(300, random_); i > 0; --i) {
    const size_t stream = NewStream();
    Say(Frame(kHeaders, kEndHeaders, stream, block));
    if (OneIn(4, random_)) Say(DataFrames(stream, GrpcMessage(""), OneIn(2, random_)));
    Say(Frame(kReset, 0, stream, BigEndian(8, 4)));
    open_.pop_back();
  }
}

void ScriptWriter::SendSettings() {
  const uint8_t flags = OneIn(8, random_) ? kAck : 0;
  for (int i = OneIn(8, random_) ? SomeFrames(random_) : 1; i > 0; --i) {
    std::string settings;
    for (int j = random_.Below(8); j > 0; --j) {
      settings +=
          BigEndian(OneOf<uint64_t>({1, 2, 3, 4, 5, 6, 8, 0xfe03, random_.Next()}, random_), 2);
      settings += OneIn(3, random_)
                      ? BigEndian(OneOf<uint64_t>({0, 1, 16383, 16384, 0xffffff, 0x1000000,
                                                   kMaxWindow, 0x80000000, 0xffffffff},
                                                  random_),
                                  4)
                      : AnyBigEndian(4, random_);
    }
    if (OneIn(10, random_)) settings += RandomBytes(1 + random_.Below(5), random_);
    Say(Frame(kSettings, flags, OneIn(12, random_) ? SomeStream() : 0, settings));
  }
}

void ScriptWriter::SendPings() {
  const int length = OneIn(8, random_) ? random_.Below(20) : 8;
  const uint8_t flags = OneIn(4, random_) ? kAck : 0;
  const int count = OneIn(4, random_) ? SomeFrames(random_) : 1;
  for (int i = 0; i < count; ++i) Say(Frame(kPing, flags, 0, std::string(length, 'p')));
}

void ScriptWriter::SendGoAway() {
  Say(Frame(kGoAway, 0, OneIn(6, random_) ? SomeStream() : 0,
            AnyBigEndian(4, random_) + BigEndian(static_cast<uint64_t>(random_.Below(16)), 4) +
                RandomBytes(random_.Below(3) * random_.Below(4000), random_)));
}

void ScriptWriter::SendWindowUpdate() {
  const int length = OneIn(10, random_) ? random_.Below(8) : 4;
  for (int i = OneIn(6, random_) ? SomeFrames(random_) : 1; i > 0; --i) {
    const uint64_t more =
        OneOf<uint64_t>({0, 1, 65535, 1 << 20, kMaxWindow, 0x80000000, 0xffffffff}, random_);
    Say(Frame(kWindowUpdate, 0, OneIn(2, random_) ? 0 : SomeStream(), BigEndian(more, length)));
  }
}

void ScriptWriter::SendUnknown() {
  for (int i = OneIn(6, random_) ? SomeFrames(random_) : 1; i > 0; --i) {
    const auto type = static_cast<uint8_t>(
        OneOf<int>({kPushPromise, kContinuation, 10, 12, 10 + random_.Below(246)}, random_));
    Say(Frame(type, static_cast<uint8_t>(random_.Next()), SomeStream(),
              RandomBytes(SomeCount(64, random_), random_)));
  }
}

void ScriptWriter::SendOddLength() {
  // More than a frame may have, or than ever comes.
  const size_t claimed = OneOf<size_t>({kMaxFrame + 1, 1 << 20, 0xffffff, 5, 100}, random_);
  Say(FrameHead(claimed, static_cast<uint8_t>(random_.Below(11)),
                static_cast<uint8_t>(random_.Next()), SomeStream()));
  Say(RandomBytes(random_.Below(3) * random_.Below(10000), random_));
}

void ScriptWriter::SendGarbage() { Say(RandomBytes(SomeCount(3000, random_), random_)); }

void ScriptWriter::Flood() {
  if (!OneIn(3, random_)) return;
  using Frames = void (ScriptWriter::*)();
  const Frames frames = OneOf<Frames>(
      {&ScriptWriter::SendPings, &ScriptWriter::SendSettings, &ScriptWriter::SendWindowUpdate,
       &ScriptWriter::SendUnknown, &ScriptWriter::SendPriority, &ScriptWriter::SendOddData,
       &ScriptWriter::ResetMany, &ScriptWriter::SendMessage, &ScriptWriter::CallRightly},
      random_);
  const size_t most = caller_ == Caller::kHolder ? kHoldersFlood : kStrangersFlood;
  while (said_.size() < most) (this->*frames)();
}

}  // namespace baseband::testing
