// Signals, channels and filters for the tests of down-conversion.
#ifndef BASEBAND_TESTS_SUPPORT_DOWNCONVERT_SIGNALS_H_
#define BASEBAND_TESTS_SUPPORT_DOWNCONVERT_SIGNALS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/downconvert/downconvert.h"

namespace baseband::testing {

inline constexpr downconvert::InputFormat kInputFormats[] = {
    downconvert::InputFormat::kInt8,      downconvert::InputFormat::kInt16,
    downconvert::InputFormat::kFloat32,   downconvert::InputFormat::kRealInt8,
    downconvert::InputFormat::kRealInt16, downconvert::InputFormat::kRealFloat32};

inline bool IsRealFormat(downconvert::InputFormat format) {
  return format >= downconvert::InputFormat::kRealInt8;
}

// Noise over the format's whole range; float32 in [-1, 1).
inline std::vector<uint8_t> NoiseSamples(downconvert::InputFormat format, int64_t count,
                                         uint32_t seed) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count * downconvert::BytesPerSample(format)));
  std::mt19937 random(seed);
  if (format == downconvert::InputFormat::kFloat32 ||
      format == downconvert::InputFormat::kRealFloat32) {
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      const float value = uniform(random);
      std::memcpy(bytes.data() + at, &value, sizeof(value));
    }
  } else {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  }
  return bytes;
}

// 1 / full scale.
inline float ScaleOf(downconvert::InputFormat format) {
  constexpr float kScales[] = {0x1p-7F, 0x1p-15F, 1.0F};
  return kScales[static_cast<int>(format) % 3];
}

// A windowed sinc for the rate up / down, with some noise so that no two taps are alike.
inline std::vector<float> SomeTaps(int count, int up, int down, uint32_t seed) {
  constexpr double kPi = 3.14159265358979323846;
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> noise(-0.05, 0.05);
  const double width = std::max(up, down);
  std::vector<float> taps;
  for (int k = 0; k < count; ++k) {
    const double t = (k - 0.5 * (count - 1)) / width;
    const double sinc = t == 0.0 ? 1.0 : std::sin(kPi * t) / (kPi * t);
    taps.push_back(static_cast<float>((sinc + noise(random)) * up / width));
  }
  return taps;
}

// The sum of |taps| of all stages: the most that a filter can make of samples up to 1.
inline double GainLimitOf(const downconvert::Filter& filter) {
  double limit = 1.0;
  for (const downconvert::Stage& stage : filter.stages()) {
    double sum = 0.0;
    for (const float tap : stage.taps) sum += std::abs(tap);
    limit *= sum;
  }
  return limit;
}

inline double FromHalf(const uint8_t* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

// Component i of an output, and how far rounding to the format may move it.
inline double ComponentOf(downconvert::OutputFormat format, const uint8_t* bytes, size_t i) {
  if (format == downconvert::OutputFormat::kFloat32) {
    float value;
    std::memcpy(&value, bytes + 4 * i, 4);
    return value;
  }
  if (format == downconvert::OutputFormat::kFloat16) return FromHalf(bytes + 2 * i);
  int16_t value;
  std::memcpy(&value, bytes + 2 * i, 2);
  return value / 32767.0;
}
inline double RoundingOf(downconvert::OutputFormat format, double value) {
  if (format == downconvert::OutputFormat::kFloat32) return 0.0;
  if (format == downconvert::OutputFormat::kInt16) return 1.0001 / 32767;
  return std::max(std::abs(value) * 0x1p-10, 0x1p-24);
}

// A piece of a recording, with as much of what was before it as the channels need.
struct Piece {
  downconvert::Block block;
  absl::Span<const uint8_t> samples;
};

// Samples [begin, end) of a recording of `samples` from index `first` on; `block` says the rest.
inline Piece CutPiece(const downconvert::Block& block, absl::Span<const uint8_t> samples,
                      int64_t history, int64_t begin, int64_t end) {
  const auto bytes = static_cast<size_t>(downconvert::BytesPerSample(block.format));
  Piece piece;
  piece.block = block;
  piece.block.history = std::min(history, begin - block.first_index);
  piece.block.first_index = begin - piece.block.history;
  piece.block.num_samples = end - piece.block.first_index;
  piece.samples =
      samples.subspan(static_cast<size_t>(piece.block.first_index - block.first_index) * bytes,
                      static_cast<size_t>(piece.block.num_samples) * bytes);
  return piece;
}

// What DownconvertOnCpu makes of a block.
struct Converted {
  std::vector<uint8_t> output;
  int64_t saturated = 0;
  int64_t has_non_finite = 0;
};
inline Converted Convert(const downconvert::Channel& channel, const downconvert::Block& block,
                         absl::Span<const uint8_t> samples) {
  const downconvert::OutputRange range = downconvert::OutputsOf(channel, block);
  Converted converted;
  converted.output.resize(
      static_cast<size_t>(range.count * downconvert::BytesPerOutput(channel.output)));
  const downconvert::ChannelResult result = downconvert::DownconvertOnCpu(
      channel, block, samples, range, absl::MakeSpan(converted.output),
      downconvert::SampleCheck::kYes);
  converted.saturated = result.saturated;
  converted.has_non_finite = result.has_non_finite;
  return converted;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_DOWNCONVERT_SIGNALS_H_
