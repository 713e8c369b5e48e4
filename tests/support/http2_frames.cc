#include "tests/support/http2_frames.h"

#include <utility>
#include <vector>

namespace baseband::testing::http2 {

std::string Preface() { return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"; }

std::string BigEndian(uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return text;
}

std::string FrameHead(size_t length, uint8_t type, uint8_t flags, size_t stream) {
  return BigEndian(length, 3) + static_cast<char>(type) + static_cast<char>(flags) +
         BigEndian(stream, 4);
}

std::string Frame(uint8_t type, uint8_t flags, size_t stream, const std::string& payload) {
  return FrameHead(payload.size(), type, flags, stream) + payload;
}

std::string HpackInteger(uint64_t value, int prefix_bits, uint8_t pattern) {
  const uint64_t most = (1u << prefix_bits) - 1;
  if (value < most) return std::string(1, static_cast<char>(pattern | value));
  std::string bytes(1, static_cast<char>(pattern | most));
  for (value -= most; value >= 0x80; value >>= 7) {
    bytes.push_back(static_cast<char>(0x80 | (value & 0x7f)));
  }
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + HpackInteger(name.size(), 7, 0) + name +
         HpackInteger(value.size(), 7, 0) + value;
}

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields FieldsOf(const std::string& method) {
  return {{":method", "POST"},    {":scheme", "http"}, {":path", method},
          {":authority", "test"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
}

}  // namespace

std::string HeadersOf(const std::string& method) {
  std::string headers;
  for (const auto& [name, value] : FieldsOf(method)) headers += Header(name, value);
  return headers;
}

std::string RememberedHeadersOf(const std::string& method) {
  std::string headers;
  for (const auto& [name, value] : FieldsOf(method)) {
    std::string field = Header(name, value);
    field[0] = 0x40;
    headers += field;
  }
  return headers;
}

std::string RecalledHeaders() {
  constexpr size_t kLastRemembered = 62;
  std::string headers;
  for (size_t i = FieldsOf("").size(); i-- > 0;)
    headers += HpackInteger(kLastRemembered + i, 7, 0x80);
  return headers;
}

std::string GrpcMessage(const std::string& message) {
  return std::string(1, '\0') + BigEndian(message.size(), 4) + message;
}

}  // namespace baseband::testing::http2
