#include "client/ctl/common/symbols.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/sample_names.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<v1::SampleFormat> kSymbolFormats[] = {{"cf32", v1::SAMPLE_FORMAT_FLOAT32},
                                                           {"cf16", v1::SAMPLE_FORMAT_FLOAT16},
                                                           {"ci16", v1::SAMPLE_FORMAT_INT16}};

uint32_t FloatBits(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// IEEE 754 binary16, all values exact.
float HalfToFloat(uint16_t half) {
  const int exponent = (half >> 10) & 0x1f;
  const float mantissa = static_cast<float>(half & 0x3ff);
  const float magnitude = exponent == 0    ? std::ldexp(mantissa, -24)
                          : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                           : std::ldexp(mantissa + 1024, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even; too large becomes infinity.
uint16_t FloatToHalf(float value) {
  const uint16_t sign = static_cast<uint16_t>((FloatBits(value) >> 16) & 0x8000);
  const float magnitude = std::abs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (magnitude >= 65520) {
    return sign | 0x7c00;
  }
  // The spacing of half floats here; 2^-24 below the smallest normal number.
  const int exponent = std::max(std::ilogb(std::max(magnitude, 1e-30F)), -14);
  const float units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  // A carry into the exponent is what it should be.
  return static_cast<uint16_t>(sign + static_cast<uint32_t>(units) +
                               (exponent == -14 ? 0 : static_cast<uint32_t>(exponent + 14) << 10));
}

int16_t FloatToInt16(float value) {
  return static_cast<int16_t>(std::clamp(std::nearbyint(value), -32768.0F, 32767.0F));
}

// `count` elements of type From at `bytes`, converted.
template <typename From, typename Convert>
void ReadElements(absl::string_view bytes, Convert convert, float* to) {
  for (size_t at = 0; at + sizeof(From) <= bytes.size(); at += sizeof(From)) {
    From element;
    std::memcpy(&element, bytes.data() + at, sizeof(element));
    *to++ = convert(element);
  }
}

template <typename To, typename Convert>
void WriteElements(absl::Span<const float> from, Convert convert, std::string* bytes) {
  char* to = bytes->data();
  for (const float value : from) {
    const To element = convert(value);
    std::memcpy(to, &element, sizeof(element));
    to += sizeof(element);
  }
}

}  // namespace

absl::StatusOr<v1::SampleFormat> ParseSampleFormat(absl::string_view what, absl::string_view name) {
  for (const std::string& said : {SampleFormatNamed(name), absl::StrCat("c", name)}) {
    for (const auto& known : kSymbolFormats) {
      if (said == known.name) {
        return known.value;
      }
    }
  }
  return FindValue(kSymbolFormats, what, name);  // which it is not
}

std::string NameOfFormat(v1::SampleFormat format) { return NameOf(kSymbolFormats, format); }

int BytesPerSample(v1::SampleFormat format) {
  return format == v1::SAMPLE_FORMAT_FLOAT16 || format == v1::SAMPLE_FORMAT_INT16 ? 4 : 8;
}

float DefaultScale(v1::SampleFormat format) {
  return format == v1::SAMPLE_FORMAT_INT16 ? 1.0F / 32768 : 1.0F;
}

std::vector<Complex> ToComplex(absl::string_view bytes, v1::SampleFormat format, float scale) {
  std::vector<Complex> samples(bytes.size() / BytesPerSample(format));
  // The standard lays std::complex out as two numbers.
  float* numbers = reinterpret_cast<float*>(samples.data());
  if (format == v1::SAMPLE_FORMAT_FLOAT16) {
    ReadElements<uint16_t>(
        bytes, [&](uint16_t x) { return scale * HalfToFloat(x); }, numbers);
  } else if (format == v1::SAMPLE_FORMAT_INT16) {
    ReadElements<int16_t>(
        bytes, [&](int16_t x) { return scale * static_cast<float>(x); }, numbers);
  } else {
    ReadElements<float>(
        bytes, [&](float x) { return scale * x; }, numbers);
  }
  return samples;
}

std::string FromComplex(absl::Span<const Complex> samples, v1::SampleFormat format, float scale) {
  std::string bytes(samples.size() * BytesPerSample(format), '\0');
  const absl::Span<const float> numbers(reinterpret_cast<const float*>(samples.data()),
                                        2 * samples.size());
  if (format == v1::SAMPLE_FORMAT_FLOAT16) {
    WriteElements<uint16_t>(
        numbers, [&](float x) { return FloatToHalf(x / scale); }, &bytes);
  } else if (format == v1::SAMPLE_FORMAT_INT16) {
    WriteElements<int16_t>(
        numbers, [&](float x) { return FloatToInt16(x / scale); }, &bytes);
  } else {
    WriteElements<float>(
        numbers, [&](float x) { return x / scale; }, &bytes);
  }
  return bytes;
}

}  // namespace baseband::ctl
