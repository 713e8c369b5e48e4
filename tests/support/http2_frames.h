// HTTP/2 frames, header blocks and gRPC messages as bytes, right ones and any others (RFC 9113, RFC
// 7541): nothing is checked.
#ifndef BASEBAND_TESTS_SUPPORT_HTTP2_FRAMES_H_
#define BASEBAND_TESTS_SUPPORT_HTTP2_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace baseband::testing::http2 {

enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPushPromise = 5,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9
};

// Flags; what they mean depends on the frame's type.
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kAck = 1;
inline constexpr uint8_t kEndHeaders = 4;
inline constexpr uint8_t kPadded = 8;
inline constexpr uint8_t kHasPriority = 0x20;

inline constexpr size_t kMaxFrame = 16384;  // of who has not asked for more
inline constexpr size_t kMaxWindow = 0x7fffffff;
inline constexpr size_t kFirstWindow = 65535;  // of a connection

// What a client says first, before its SETTINGS.
std::string Preface();

// The lowest `bytes` bytes of `value`.
std::string BigEndian(uint64_t value, int bytes);

// A frame's nine bytes that say that `length` others follow.
std::string FrameHead(size_t length, uint8_t type, uint8_t flags, size_t stream);
std::string Frame(uint8_t type, uint8_t flags, size_t stream, const std::string& payload);

// HPACK's number in the low bits of a byte whose others are `pattern`'s, and as many bytes more as
// it takes.
std::string HpackInteger(uint64_t value, int prefix_bits, uint8_t pattern);
// HPACK's plainest form: a literal with a name of its own, in no table.
std::string Header(const std::string& name, const std::string& value);
// The headers that a gRPC call of `method`, "/package.Service/Method", needs.
std::string HeadersOf(const std::string& method);
// The same, with the demand to remember them; and, when they were the last such ones, the six bytes
// that stand for them from then on.
std::string RememberedHeadersOf(const std::string& method);
std::string RecalledHeaders();

// A gRPC message that is not compressed.
std::string GrpcMessage(const std::string& message);

}  // namespace baseband::testing::http2

#endif  // BASEBAND_TESTS_SUPPORT_HTTP2_FRAMES_H_
