#include "tests/support/raw_http2.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "absl/time/clock.h"
#include "tests/support/http2_frames.h"
#include "tests/support/loopback.h"

namespace baseband::testing {
namespace {

using namespace http2;

bool ReadAll(int fd, std::string* bytes) {
  for (size_t at = 0; at < bytes->size();) {
    const ssize_t n = recv(fd, bytes->data() + at, bytes->size() - at, 0);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

// A hundred or so of what `flood` sends; `stream` is the next one's number.
std::string FramesOf(Flood flood, size_t* stream) {
  constexpr int kFrames = 100;
  const std::string headers = HeadersOf("/baseband.v1.Baseband/Encode");
  const bool is_first = *stream == 1;
  std::string bytes;
  if (is_first && flood == Flood::kSettings) {
    bytes += Frame(kHeaders, kEndHeaders, 1, HeadersOf("/baseband.v1.Baseband/GetCapabilities"));
    bytes += Frame(kData, kEndStream, 1, GrpcMessage(""));
  }
  if (is_first && flood == Flood::kEmptyData) bytes += Frame(kHeaders, kEndHeaders, 1, headers);
  if (is_first && flood == Flood::kEndlessHeader) {
    bytes += Frame(kHeaders, 0, 1, headers + std::string("\0\1x\x7f\xff\xff\xff\x07", 8));
  }
  const char* const method = flood == Flood::kHealthCalls    ? "/grpc.health.v1.Health/Check"
                             : flood == Flood::kUnknownCalls ? "/nothing.of/the.kind"
                                                             : "/baseband.v1.Baseband/Encode";
  for (int i = 0; i < kFrames; ++i) {
    switch (flood) {
      case Flood::kCalls:
      case Flood::kHealthCalls:
      case Flood::kUnknownCalls:
        bytes += Frame(kHeaders, kEndHeaders | kEndStream, *stream,
                       *stream == 1 ? RememberedHeadersOf(method) : RecalledHeaders());
        break;
      case Flood::kSettings:
        bytes += Frame(kSettings, 0, 0, BigEndian(4, 2) + BigEndian(kFirstWindow, 4));
        break;
      case Flood::kEmptyData:
        bytes += Frame(kData, 0, 1, "");
        break;
      case Flood::kResets:
        bytes += Frame(kHeaders, kEndHeaders, *stream, headers);
        bytes += Frame(kReset, 0, *stream, BigEndian(8, 4));  // CANCEL
        break;
      case Flood::kEndlessHeader:
        bytes += Frame(kContinuation, 0, 1, "x");
        break;
    }
    *stream += 2;
  }
  return bytes;
}

}  // namespace

RawCall::RawCall(const std::string& target, const std::string& method, const std::string& request,
                 Manner manner)
    : fd_(ConnectTo(target)) {
  std::string bytes = Preface();
  const bool reads = manner == Manner::kOpensNoWindow;
  // The first window of streams, and what is added to the connection's.
  bytes += Frame(kSettings, 0, 0, BigEndian(4, 2) + BigEndian(reads ? 0 : kMaxWindow, 4));
  if (!reads) bytes += Frame(kWindowUpdate, 0, 0, BigEndian(kMaxWindow - kFirstWindow, 4));
  bytes += Frame(kHeaders, kEndHeaders, 1, HeadersOf(method));
  const std::string message = GrpcMessage(request);
  for (size_t at = 0; at < message.size(); at += kMaxFrame) {
    const bool last = at + kMaxFrame >= message.size();
    bytes += Frame(kData, last ? kEndStream : 0, 1, message.substr(at, kMaxFrame));
  }
  send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (reads) thread_ = std::thread([this] { AnswerPings(); });
}

RawCall::~RawCall() {
  shutdown(fd_, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  close(fd_);
}

HeadersAlone::HeadersAlone(const std::string& target, const std::string& method, int calls)
    : fd_(ConnectTo(target)) {
  std::string bytes = Preface() + Frame(kSettings, 0, 0, "");
  for (int i = 0; i < calls; ++i) {
    bytes += Frame(kHeaders, kEndHeaders, static_cast<size_t>(2 * i + 1), HeadersOf(method));
  }
  send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

HeadersAlone::~HeadersAlone() { close(fd_); }

bool IsEndedAfterFlood(const std::string& target, Flood flood, absl::Duration patience) {
  const int fd = ConnectTo(target);
  std::string bytes = Preface() + Frame(kSettings, 0, 0, "");
  const absl::Time end = absl::Now() + patience;
  std::string heard(1 << 16, '\0');
  bool is_ended = false;
  for (size_t stream = 1; !is_ended && absl::Now() < end;) {
    bytes += FramesOf(flood, &stream);
    is_ended = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0;
    bytes.clear();
    while (recv(fd, heard.data(), heard.size(), MSG_DONTWAIT) > 0) {
    }
  }
  close(fd);
  return is_ended;
}

void RawCall::AnswerPings() const {
  std::string head(9, '\0');
  while (ReadAll(fd_, &head)) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(head[i])); };
    std::string payload(byte(0) << 16 | byte(1) << 8 | byte(2), '\0');
    if (!ReadAll(fd_, &payload)) return;
    const bool ack = (head[4] & kAck) != 0;
    std::string reply;
    if (head[3] == kSettings && !ack) reply = Frame(kSettings, kAck, 0, "");
    if (head[3] == kPing && !ack) reply = Frame(kPing, kAck, 0, payload);
    send(fd_, reply.data(), reply.size(), MSG_NOSIGNAL);
  }
}

}  // namespace baseband::testing
