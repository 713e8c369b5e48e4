#include "tests/support/raw_http2.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/loopback.h"

namespace baseband::testing {
namespace {

enum FrameType : char { kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kWindowUpdate = 8 };
constexpr char kEndStream = 1;
constexpr char kAck = 1;
constexpr char kEndHeaders = 4;
constexpr size_t kMaxFrame = 16384;
constexpr size_t kMaxWindow = 0x7fffffff;
constexpr size_t kFirstWindow = 65535;  // of a connection

std::string BigEndian(size_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return text;
}

std::string Frame(FrameType type, char flags, size_t stream, const std::string& payload) {
  return BigEndian(payload.size(), 3) + std::string{type, flags} + BigEndian(stream, 4) + payload;
}

// HPACK's plainest form: a literal with a name of its own, in no table.
std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

bool ReadAll(int fd, std::string* bytes) {
  for (size_t at = 0; at < bytes->size();) {
    const ssize_t n = recv(fd, bytes->data() + at, bytes->size() - at, 0);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

RawCall::RawCall(const std::string& target, const std::string& method, const std::string& request,
                 Manner manner)
    : fd_(ConnectTo(target)) {
  std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const bool reads = manner == Manner::kOpensNoWindow;
  // The first window of streams, and what is added to the connection's.
  bytes += Frame(kSettings, 0, 0, BigEndian(4, 2) + BigEndian(reads ? 0 : kMaxWindow, 4));
  if (!reads) bytes += Frame(kWindowUpdate, 0, 0, BigEndian(kMaxWindow - kFirstWindow, 4));
  bytes += Frame(kHeaders, kEndHeaders, 1,
                 Header(":method", "POST") + Header(":scheme", "http") + Header(":path", method) +
                     Header(":authority", "test") + Header("te", "trailers") +
                     Header("content-type", "application/grpc"));
  const std::string message = BigEndian(request.size(), 5) + request;  // not compressed
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
