// The frame of a PNG file is own code: zlib, which is linked anyway, does the checksums and the
// compression; what is left is shorter than another library's set-up.
#include "client/ctl/plot/png.h"

#include <zlib.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {
namespace {

const Bytef* Data(absl::string_view bytes) { return reinterpret_cast<const Bytef*>(bytes.data()); }

std::string BigEndian(uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

std::string Chunk(absl::string_view type, absl::string_view data) {
  const std::string body = absl::StrCat(type, data);
  const uLong crc = crc32_z(0, Data(body), body.size());
  return absl::StrCat(BigEndian(static_cast<uint32_t>(data.size())), body,
                      BigEndian(static_cast<uint32_t>(crc)));
}

std::string Compressed(absl::string_view data) {
  uLongf size = compressBound(data.size());
  std::string compressed(size, '\0');
  // Fails for want of room or memory alone; the latter ends the program here as elsewhere.
  compress2(reinterpret_cast<Bytef*>(compressed.data()), &size, Data(data), data.size(),
            Z_BEST_COMPRESSION);
  compressed.resize(size);
  return compressed;
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
                      Chunk("IDAT", Compressed(rows)), Chunk("IEND", ""));
}

}  // namespace baseband::ctl
