#include "client/ctl/common/wideband_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/file_samples.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/sample_names.h"

namespace baseband::ctl {
namespace {

constexpr WidebandFormat kFormats[] = {
    {"ci8", "ci8", v1::WIDEBAND_FORMAT_COMPLEX_INT8, 2, true, 128},
    {"ci16", "ci16_le", v1::WIDEBAND_FORMAT_COMPLEX_INT16, 4, true, 32768},
    {"cf32", "cf32_le", v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32, 8, true, 1},
    {"cu8", "cu8", v1::WIDEBAND_FORMAT_UNSPECIFIED, 2, true, 128},
    {"i8", "ri8", v1::WIDEBAND_FORMAT_REAL_INT8, 1, false, 128},
    {"i16", "ri16_le", v1::WIDEBAND_FORMAT_REAL_INT16, 2, false, 32768},
    {"f32", "rf32_le", v1::WIDEBAND_FORMAT_REAL_FLOAT32, 4, false, 1},
    {"u8", "ru8", v1::WIDEBAND_FORMAT_UNSPECIFIED, 1, false, 128},
};

template <typename Matches>
absl::StatusOr<const WidebandFormat*> Find(absl::string_view what, absl::string_view name,
                                           const char* const WidebandFormat::*key,
                                           const Matches& matches) {
  std::vector<std::string> known;
  for (const WidebandFormat& format : kFormats) {
    if (matches(format.*key)) {
      return &format;
    }
    known.emplace_back(format.*key);
  }
  return absl::InvalidArgumentError(NotOneOf(what, name, known));
}

template <typename T>
T Component(const char* bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
std::vector<Complex> Convert(absl::string_view bytes, const WidebandFormat& format) {
  std::vector<Complex> samples(bytes.size() / format.bytes);
  const float scale = 1 / format.full_scale;
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = format.is_complex
                     ? Complex(static_cast<float>(Component<T>(bytes.data(), 2 * i)) * scale,
                               static_cast<float>(Component<T>(bytes.data(), 2 * i + 1)) * scale)
                     : Complex(static_cast<float>(Component<T>(bytes.data(), i)) * scale, 0);
  }
  return samples;
}

template <typename T>
void Append(float value, const WidebandFormat& format, std::string* bytes) {
  T component;
  if constexpr (std::is_same_v<T, float>) {
    component = value;
  } else if constexpr (std::is_unsigned_v<T>) {
    component = static_cast<T>(
        std::clamp(std::lround(value * format.full_scale + kZeroOfConverters), 0L, 255L));
  } else {
    component = static_cast<T>(std::clamp(std::lround(value * format.full_scale),
                                          -std::lround(format.full_scale),
                                          std::lround(format.full_scale) - 1));
  }
  bytes->append(reinterpret_cast<const char*>(&component), sizeof(component));
}

template <typename T>
std::string ConvertBack(absl::Span<const Complex> samples, const WidebandFormat& format) {
  std::string bytes;
  bytes.reserve(samples.size() * format.bytes);
  for (const Complex& sample : samples) {
    Append<T>(sample.real(), format, &bytes);
    if (format.is_complex) {
      Append<T>(sample.imag(), format, &bytes);
    }
  }
  return bytes;
}

int ComponentBytes(const WidebandFormat& format) {
  return format.bytes / (format.is_complex ? 2 : 1);
}

}  // namespace

absl::Span<const WidebandFormat> WidebandFormats() { return kFormats; }

absl::StatusOr<const WidebandFormat*> FindWidebandFormat(absl::string_view name) {
  return Find("--format", name, &WidebandFormat::name,
              [said = SampleFormatNamed(name)](absl::string_view known) { return known == said; });
}

absl::StatusOr<const WidebandFormat*> FormatOfSigmf(absl::string_view datatype) {
  return Find("core:datatype", datatype, &WidebandFormat::sigmf,
              [&](absl::string_view known) { return known == datatype; });
}

const WidebandFormat* FormatOfFileName(absl::string_view path) {
  return FindWidebandFormat(SampleFormatOfFileName(path)).value_or(nullptr);
}

std::vector<Complex> WidebandToComplex(absl::string_view bytes, const WidebandFormat& format) {
  switch (ComponentBytes(format)) {
    case 1:
      return Convert<int8_t>(bytes, format);
    case 2:
      return Convert<int16_t>(bytes, format);
    default:
      return Convert<float>(bytes, format);
  }
}

std::string WidebandFromComplex(absl::Span<const Complex> samples, const WidebandFormat& format) {
  switch (SamplesOf(format).encoding) {
    case Encoding::kUnsigned8:
      return ConvertBack<uint8_t>(samples, format);
    case Encoding::kSigned8:
      return ConvertBack<int8_t>(samples, format);
    case Encoding::kSigned16:
      return ConvertBack<int16_t>(samples, format);
    default:
      return ConvertBack<float>(samples, format);
  }
}

}  // namespace baseband::ctl
