#include "client/ctl/plot/png.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {
namespace {

std::string BigEndian(uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

// Of ITU-T V.42, as annex D of the standard has it.
uint32_t Crc32(absl::string_view bytes) {
  uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

std::string Chunk(absl::string_view type, absl::string_view data) {
  const std::string body = absl::StrCat(type, data);
  return absl::StrCat(BigEndian(static_cast<uint32_t>(data.size())), body, BigEndian(Crc32(body)));
}

// A zlib stream (RFC 1950) of stored blocks (RFC 1951, 3.2.4).
std::string Stored(absl::string_view data) {
  constexpr size_t kMost = 65535;
  std::string stream = "\x78\x01";
  uint32_t a = 1;
  uint32_t b = 0;
  for (const char byte : data) {
    a = (a + static_cast<uint8_t>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  for (size_t at = 0; at < data.size(); at += kMost) {
    const size_t size = std::min(kMost, data.size() - at);
    const bool last = at + size == data.size();
    for (const size_t byte : {last ? size_t{1} : size_t{0}, size, size >> 8, ~size, ~size >> 8}) {
      stream.push_back(static_cast<char>(byte));
    }
    absl::StrAppend(&stream, data.substr(at, size));
  }
  return absl::StrCat(stream, BigEndian(b << 16 | a));
}

}  // namespace

std::string ToPng(int width, absl::Span<const uint8_t> pixels, absl::Span<const Rgb> palette) {
  const size_t columns = static_cast<size_t>(width);
  std::string header = absl::StrCat(BigEndian(static_cast<uint32_t>(columns)),
                                    BigEndian(static_cast<uint32_t>(pixels.size() / columns)));
  header.append("\x08\x03\0\0\0", 5);  // 8 bits, a palette
  std::string colours;
  for (const Rgb& colour : palette) colours.append(colour.begin(), colour.end());
  std::string rows;
  for (size_t at = 0; at < pixels.size(); at += columns) {
    rows.push_back(0);  // no filter
    rows.append(pixels.begin() + at, pixels.begin() + at + columns);
  }
  return absl::StrCat("\x89PNG\r\n\x1a\n", Chunk("IHDR", header), Chunk("PLTE", colours),
                      Chunk("IDAT", Stored(rows)), Chunk("IEND", ""));
}

}  // namespace baseband::ctl
