// Demapping on the CPU device: chunks of symbols are made floats in units of the constellation,
// which hold I and Q in turns, and these LLRs, bit by bit of an axis.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "kernels/base/simd_targets.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/demap_chunk_cpu.h"
#include "kernels/nr/demap_math.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nr/demap_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/nr/demap_axis_cpu-inl.h"
#include "kernels/nr/narrow_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

// Symbols first, .. of a buffer as a row of kDemapChunk. Those past `count` are the last one.
template <typename Unit>
void Gather(const SymbolLayout& layout, const uint8_t* buffer, int64_t first, size_t count,
            uint8_t* row) {
  for (size_t i = 0; i < kDemapChunk; ++i) {
    const auto index = static_cast<uint64_t>(first) + std::min(i, count - 1);
    std::memcpy(row + i * sizeof(Unit), buffer + PlaceOfSymbol(layout, index) * sizeof(Unit),
                sizeof(Unit));
  }
}

// The same, where it lies if that is a row.
const uint8_t* RowOf(const SymbolLayout& layout, const uint8_t* buffer, size_t unit_bytes,
                     int64_t first, size_t count, uint8_t* copy) {
  if (count == kDemapChunk && (!layout.by_layer || layout.num_layers == 1)) {
    return buffer + static_cast<size_t>(first) * unit_bytes;
  }
  if (unit_bytes == 8) Gather<uint64_t>(layout, buffer, first, count, copy);
  if (unit_bytes == 4) Gather<uint32_t>(layout, buffer, first, count, copy);
  if (unit_bytes == 2) Gather<uint16_t>(layout, buffer, first, count, copy);
  return copy;
}

// One number of a buffer.
template <typename T>
HWY_INLINE VF LoadFloats(const uint8_t* from) {
  const hn::Rebind<T, decltype(df)> d;
  return hn::ConvertTo(df, hn::PromoteTo(di32, hn::LoadU(d, reinterpret_cast<const T*>(from))));
}
template <>
HWY_INLINE VF LoadFloats<float>(const uint8_t* from) {
  return hn::LoadU(df, reinterpret_cast<const float*>(from));
}
template <>
HWY_INLINE VF LoadFloats<uint16_t>(const uint8_t* from) {  // binary16
  return FloatsOfHalves(from);
}

// Their exponents in place: all bits set in what is not finite.
HWY_INLINE VI32 ExponentsOf(VF values) {
  return hn::And(hn::BitCast(di32, values), hn::Set(di32, 0x7f800000));
}
HWY_INLINE bool AreFinite(VI32 greatest_exponents) {
  return hn::AllFalse(di32, hn::Eq(greatest_exponents, hn::Set(di32, 0x7f800000)));
}

// Makes the levels of a row. False: some value is not finite.
template <typename T>
bool LoadLevels(const uint8_t* row, float to_level, float* levels) {
  constexpr bool kIsFloat = std::is_same_v<T, float> || std::is_same_v<T, uint16_t>;
  const auto factor = hn::Set(df, to_level);
  auto exponents = hn::Zero(di32);  // the greatest of each lane
  for (size_t i = 0; i < 2 * kDemapChunk; i += hn::Lanes(df)) {
    const uint8_t* const from = row + i * sizeof(T);
    const auto values = LoadFloats<T>(from);
    auto level = hn::Mul(values, factor);
    if constexpr (kIsFloat) {
      exponents = hn::Max(exponents, ExponentsOf(values));
      level = hn::Min(hn::Max(level, hn::Set(df, -kMaxLevel)), hn::Set(df, kMaxLevel));
    }
    hn::Store(level, df, levels + i);
  }
  return AreFinite(exponents);
}

bool LoadLevelsOf(SymbolFormat format, const uint8_t* row, float to_level, float* levels) {
  switch (format) {
    case SymbolFormat::kFloat32:
      return LoadLevels<float>(row, to_level, levels);
    case SymbolFormat::kFloat16:
      return LoadLevels<uint16_t>(row, to_level, levels);
    case SymbolFormat::kInt16:
      return LoadLevels<int16_t>(row, to_level, levels);
    case SymbolFormat::kInt8:
      return LoadLevels<int8_t>(row, to_level, levels);
  }
  return true;
}

// Makes the gains of a row of variances. False: some variance cannot be used.
template <typename T>
bool LoadGains(const uint8_t* row, float numerator, float* gains) {
  auto exponents = hn::Zero(di32);
  auto least = hn::Set(df, 1.0f);
  for (size_t i = 0; i < kDemapChunk; i += hn::Lanes(df)) {
    const auto n0 = LoadFloats<T>(row + i * sizeof(T));
    exponents = hn::Max(exponents, ExponentsOf(n0));
    least = hn::Min(least, n0);
    auto gain = hn::Div(hn::Set(df, numerator), n0);
    gain = hn::Min(hn::Max(gain, hn::Set(df, kMinGain)), hn::Set(df, kMaxGain));
    hn::StoreInterleaved2(gain, gain, df, gains + 2 * i);
  }
  return AreFinite(exponents) && hn::AllTrue(df, hn::Gt(least, hn::Zero(df)));
}

template <typename T>
T ReadAs(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
float ReadFloat(bool is_half, const uint8_t* row, size_t i) {
  return is_half ? FloatOfHalf(ReadAs<uint16_t>(row + 2 * i)) : ReadAs<float>(row + 4 * i);
}

// Looks at each symbol of a chunk for itself: clears the LLRs of those that cannot be used.
int64_t ClearUnusable(const DemapParameters& parameters, const uint8_t* symbols,
                      const uint8_t* noise, size_t count, int8_t* llr) {
  const SymbolFormat format = parameters.layout.format;
  const bool is_float = format == SymbolFormat::kFloat32 || format == SymbolFormat::kFloat16;
  const auto qm = static_cast<size_t>(parameters.qm);
  int64_t unusable = 0;
  for (size_t i = 0; i < count; ++i) {
    bool good = true;
    if (is_float) {
      const bool is_half = format == SymbolFormat::kFloat16;
      good = IsFinite(ReadFloat(is_half, symbols, 2 * i)) &&
             IsFinite(ReadFloat(is_half, symbols, 2 * i + 1));
    }
    if (parameters.noise_format != NoiseFormat::kOne) {
      good =
          good && IsVariance(ReadFloat(parameters.noise_format == NoiseFormat::kFloat16, noise, i));
    }
    if (good) continue;
    ++unusable;
    std::memset(llr + i * qm, 0, qm);
  }
  return unusable;
}

int64_t Demap(const DemapParameters& parameters, const uint8_t* symbols, const uint8_t* noise,
              int64_t first, int64_t count, int8_t* llr) {
  const SymbolLayout& layout = parameters.layout;
  const DemapScale scale = MakeDemapScale(parameters);
  const ToLlrs to_llrs =
      parameters.log_sum ? LlrsOf<true>(parameters.qm) : LlrsOf<false>(parameters.qm);
  const auto symbol_bytes = static_cast<size_t>(BytesPerSymbol(layout.format));
  const auto variance_bytes = static_cast<size_t>(BytesPerVariance(parameters.noise_format));
  const auto qm = static_cast<size_t>(parameters.qm);
  DemapChunk chunk;
  if (variance_bytes == 0) {
    if (!IsVariance(parameters.noise_variance)) {
      std::memset(llr, 0, static_cast<size_t>(count) * qm);
      return count;
    }
    std::fill(std::begin(chunk.gains), std::end(chunk.gains),
              GainOf(scale, parameters.noise_variance));
  }
  int64_t unusable = 0;
  for (int64_t done = 0; done < count; done += kDemapChunk) {
    const auto here = static_cast<size_t>(std::min<int64_t>(count - done, kDemapChunk));
    const uint8_t* const symbol_row =
        RowOf(layout, symbols, symbol_bytes, first + done, here, chunk.symbols);
    bool good = LoadLevelsOf(layout.format, symbol_row, scale.to_level, chunk.levels);
    const uint8_t* noise_row = nullptr;
    if (variance_bytes != 0) {
      noise_row = RowOf(layout, noise, variance_bytes, first + done, here, chunk.noise);
      const bool good_noise = variance_bytes == 4
                                  ? LoadGains<float>(noise_row, scale.numerator, chunk.gains)
                                  : LoadGains<uint16_t>(noise_row, scale.numerator, chunk.gains);
      good = good && good_noise;
    }
    int8_t* const to = llr + static_cast<size_t>(done) * qm;
    const bool whole = here == kDemapChunk;
    to_llrs(scale, chunk, (first + done) % 2 != 0, whole ? to : chunk.llrs);
    if (!whole) std::memcpy(to, chunk.llrs, here * qm);
    if (!good) unusable += ClearUnusable(parameters, symbol_row, noise_row, here, to);
  }
  return unusable;
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::nr {

HWY_EXPORT(Demap);

DemapScale MakeDemapScale(const DemapParameters& parameters) {
  const double unit = AxisUnit(parameters.qm);
  const double llr_scale = parameters.llr_scale;
  DemapScale scale;
  scale.to_level = static_cast<float>(1.0 / (unit * parameters.layout.scale));
  scale.numerator =
      static_cast<float>(parameters.log_sum ? unit * unit : 4.0 * unit * unit * llr_scale);
  scale.llr_scale = parameters.llr_scale;
  return scale;
}

int64_t DemapOnCpu(const DemapParameters& parameters, absl::Span<const uint8_t> symbols,
                   absl::Span<const uint8_t> noise, int64_t first, int64_t count,
                   absl::Span<int8_t> llr) {
  return HWY_DYNAMIC_DISPATCH(Demap)(parameters, symbols.data(), noise.data(), first, count,
                                     llr.data());
}

}  // namespace baseband::nr
#endif
