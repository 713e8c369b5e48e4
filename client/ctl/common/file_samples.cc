#include "client/ctl/common/file_samples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace baseband::ctl {
namespace {

struct EncodingKind {
  Encoding encoding;
  int bytes;
  const char* name;
  const char* wire;  // but for unsigned bytes
};
constexpr EncodingKind kEncodings[] = {
    {Encoding::kUnsigned8, 1, "u8", "i8"},  {Encoding::kSigned8, 1, "i8", "i8"},
    {Encoding::kSigned16, 2, "i16", "i16"}, {Encoding::kSigned24, 3, "i24", "f32"},
    {Encoding::kSigned32, 4, "i32", "f32"}, {Encoding::kFloat32, 4, "f32", "f32"},
    {Encoding::kFloat64, 8, "f64", "f32"},
};

const EncodingKind& EncodingKindOf(Encoding encoding) {
  return *std::find_if(std::begin(kEncodings), std::end(kEncodings),
                       [&](const EncodingKind& kind) { return kind.encoding == encoding; });
}

// "ci16" of "i16".
std::string Named(const char* name, bool is_complex) {
  return absl::StrCat(is_complex ? "c" : "", name);
}

// Each number of `bytes`, `size` bytes long, by `convert` from its first byte.
template <typename To, typename Convert>
std::string ConvertAll(absl::string_view bytes, int size, const Convert& convert) {
  const size_t count = bytes.size() / size;
  std::string converted(count * sizeof(To), '\0');
  for (size_t i = 0; i < count; ++i) {
    const To number = convert(bytes.data() + i * size);
    std::memcpy(&converted[i * sizeof(To)], &number, sizeof(number));
  }
  return converted;
}

// The number of `size` bytes, which fills the upper ones of the four.
int32_t UpperBytes(const char* bytes, int size) {
  uint32_t number = 0;
  std::memcpy(reinterpret_cast<char*>(&number) + 4 - size, bytes, size);
  return static_cast<int32_t>(number);
}

std::string FromUnsigned(const std::string& bytes, double zero) {
  std::array<int16_t, 256> numbers;
  for (int b = 0; b < 256; ++b) {
    numbers[b] = static_cast<int16_t>(std::clamp(std::lround((b - zero) * 256), -32768L, 32767L));
  }
  return ConvertAll<int16_t>(bytes, 1,
                             [&](const char* at) { return numbers[static_cast<uint8_t>(*at)]; });
}

}  // namespace

int FileSamples::bytes() const { return EncodingKindOf(encoding).bytes * (is_complex ? 2 : 1); }

std::string FileSamples::name() const { return Named(EncodingKindOf(encoding).name, is_complex); }

FileSamples SamplesOf(const WidebandFormat& format, double zero) {
  for (const EncodingKind& kind : kEncodings) {
    if (Named(kind.name, format.is_complex) == format.name) {
      return {kind.encoding, format.is_complex, zero};
    }
  }
  return {};  // a test has them all
}

const WidebandFormat& WireFormatOf(const FileSamples& samples) {
  const bool is_uneven = samples.encoding == Encoding::kUnsigned8 && samples.zero != kZeroOfWav;
  return **FindWidebandFormat(
      Named(is_uneven ? "i16" : EncodingKindOf(samples.encoding).wire, samples.is_complex));
}

std::string ToWire(std::string bytes, const FileSamples& samples) {
  switch (samples.encoding) {
    case Encoding::kUnsigned8:
      if (samples.zero != kZeroOfWav) {
        return FromUnsigned(bytes, samples.zero);
      }
      for (char& byte : bytes) {
        byte = static_cast<char>(byte ^ 0x80);
      }
      return bytes;
    case Encoding::kSigned24:
    case Encoding::kSigned32: {
      const int size = EncodingKindOf(samples.encoding).bytes;
      return ConvertAll<float>(bytes, size, [size](const char* at) {
        return std::ldexp(static_cast<float>(UpperBytes(at, size)), -31);
      });
    }
    case Encoding::kFloat64:
      return ConvertAll<float>(bytes, sizeof(double), [](const char* at) {
        double number = 0;
        std::memcpy(&number, at, sizeof(number));
        return static_cast<float>(number);
      });
    default:
      return bytes;
  }
}

}  // namespace baseband::ctl
