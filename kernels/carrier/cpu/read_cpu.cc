// Stages S1 and, for corrected symbols, S6 on the CPU device: samples to float32 and back.
#include <algorithm>
#include <cstring>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/read_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

const hn::Rebind<int16_t, decltype(df)> d16;
const hn::Rebind<hwy::float16_t, decltype(df)> df16;

// A vector of samples as two vectors of numbers, and back. `samples` is aligned.
struct Float32 {
  using Sample = float;
  static HWY_INLINE void Load(const float* samples, V* re, V* im) {
    hn::LoadInterleaved2(df, samples, *re, *im);
  }
  static HWY_INLINE void Store(V re, V im, float* samples) {
    hn::StoreInterleaved2(re, im, df, samples);
  }
};
struct Int16 {
  using Sample = int16_t;
  static HWY_INLINE void Load(const int16_t* samples, V* re, V* im) {
    hn::Vec<decltype(d16)> low;
    hn::Vec<decltype(d16)> high;
    hn::LoadInterleaved2(d16, samples, low, high);
    *re = hn::ConvertTo(df, hn::PromoteTo(di, low));
    *im = hn::ConvertTo(df, hn::PromoteTo(di, high));
  }
  static HWY_INLINE hn::Vec<decltype(d16)> Saturated(V v) {
    const V held = hn::Max(hn::Min(v, hn::Set(df, 32767.0f)), hn::Set(df, -32768.0f));
    return hn::DemoteTo(d16, hn::NearestInt(held));
  }
  static HWY_INLINE void Store(V re, V im, int16_t* samples) {
    hn::StoreInterleaved2(Saturated(re), Saturated(im), d16, samples);
  }
};
struct Float16 {
  using Sample = uint16_t;
  static HWY_INLINE V Wide(const hwy::float16_t* half) {
    return hn::PromoteTo(df, hn::Load(df16, half));
  }
  static HWY_INLINE void Load(const uint16_t* samples, V* re, V* im) {
    HWY_ALIGN hwy::float16_t low[HWY_MAX_BYTES];
    HWY_ALIGN hwy::float16_t high[HWY_MAX_BYTES];
    const hn::Rebind<uint16_t, decltype(df)> du16;
    hn::Vec<decltype(du16)> a;
    hn::Vec<decltype(du16)> b;
    hn::LoadInterleaved2(du16, samples, a, b);
    hn::Store(a, du16, reinterpret_cast<uint16_t*>(low));
    hn::Store(b, du16, reinterpret_cast<uint16_t*>(high));
    *re = Wide(low);
    *im = Wide(high);
  }
  static HWY_INLINE void Store(V re, V im, uint16_t* samples) {
    const hn::Rebind<uint16_t, decltype(df)> du16;
    hn::StoreInterleaved2(hn::BitCast(du16, hn::DemoteTo(df16, re)),
                          hn::BitCast(du16, hn::DemoteTo(df16, im)), du16, samples);
  }
};

template <class Format>
bool ReadAs(float scale, absl::Span<const uint8_t> symbols, FrameCpu* frame,
            double* sum_of_squares) {
  using Sample = typename Format::Sample;
  const size_t lanes = hn::Lanes(df);
  const V factor = hn::Set(df, scale);
  HWY_ALIGN Sample samples[2 * kBlock];
  const auto count = static_cast<size_t>(frame->num_symbols);
  const V limit = hn::Set(df, kMaxMagnitude * kMaxMagnitude);
  M good = hn::FirstN(df, lanes);
  *sum_of_squares = 0.0;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t bytes = 2 * sizeof(Sample) * std::min(kBlock, count - first);
    if (bytes < sizeof(samples)) std::memset(samples, 0, sizeof(samples));
    std::memcpy(samples, symbols.data() + 2 * sizeof(Sample) * first, bytes);
    V sum = hn::Zero(df);
    for (size_t k = 0; k < kBlock; k += lanes) {
      V re;
      V im;
      Format::Load(samples + 2 * k, &re, &im);
      re = hn::Mul(re, factor);
      im = hn::Mul(im, factor);
      hn::Store(re, df, frame->symbols.re + first + k);
      hn::Store(im, df, frame->symbols.im + first + k);
      const V power = hn::MulAdd(re, re, hn::Mul(im, im));
      sum = hn::Add(sum, power);
      good = hn::And(good, hn::Le(power, limit));  // not so for NaN
    }
    *sum_of_squares += static_cast<double>(Sum(sum));
  }
  return hn::AllTrue(df, good);
}

bool ReadSymbolsSimd(SampleFormat format, float scale, absl::Span<const uint8_t> symbols,
                     FrameCpu* frame, double* sum_of_squares) {
  switch (format) {
    case SampleFormat::kFloat16:
      return ReadAs<Float16>(scale, symbols, frame, sum_of_squares);
    case SampleFormat::kInt16:
      return ReadAs<Int16>(scale, symbols, frame, sum_of_squares);
    case SampleFormat::kFloat32:
      break;
  }
  return ReadAs<Float32>(scale, symbols, frame, sum_of_squares);
}

template <class Format>
void WriteAs(float scale, const FrameCpu& frame, const Estimate& estimate,
             absl::Span<uint8_t> corrected) {
  using Sample = typename Format::Sample;
  const size_t lanes = hn::Lanes(df);
  HWY_ALIGN Sample samples[2 * kBlock];
  const auto count = static_cast<size_t>(frame.num_symbols);
  TurnBack turn(estimate, frame.centre(), 1.0 / static_cast<double>(scale));
  for (size_t first = 0; first < count; first += kBlock) {
    turn.Start(first);
    for (size_t k = 0; k < kBlock; k += lanes) {
      V re = hn::Load(df, frame.symbols.re + first + k);
      V im = hn::Load(df, frame.symbols.im + first + k);
      turn.Apply(k, &re, &im);
      Format::Store(re, im, samples + 2 * k);
    }
    std::memcpy(corrected.data() + 2 * sizeof(Sample) * first, samples,
                2 * sizeof(Sample) * std::min(kBlock, count - first));
  }
}

void WriteCorrectedSimd(SampleFormat format, float scale, const FrameCpu& frame,
                        const Estimate& estimate, absl::Span<uint8_t> corrected) {
  switch (format) {
    case SampleFormat::kFloat16:
      return WriteAs<Float16>(scale, frame, estimate, corrected);
    case SampleFormat::kInt16:
      return WriteAs<Int16>(scale, frame, estimate, corrected);
    case SampleFormat::kFloat32:
      break;
  }
  WriteAs<Float32>(scale, frame, estimate, corrected);
}

void CountAmplitudesSimd(const FrameCpu& frame, float inverse_rms, uint32_t* histogram) {
  // Four counters of each bin, taken in turn: two equal bins in a row do not wait for each other.
  constexpr size_t kCounters = 4;
  uint32_t counters[kCounters][kAmplitudeBins] = {};
  HWY_ALIGN int32_t bins[kBlock];
  const size_t lanes = hn::Lanes(df);
  const V scale = hn::Set(df, inverse_rms * (kAmplitudeBins / kAmplitudeExtent));
  const V last = hn::Set(df, kAmplitudeBins - 1.0f);
  const auto count = static_cast<size_t>(frame.num_symbols);
  for (size_t first = 0; first < count; first += kBlock) {
    for (size_t k = 0; k < kBlock; k += lanes) {
      const V re = hn::Load(df, frame.symbols.re + first + k);
      const V im = hn::Load(df, frame.symbols.im + first + k);
      const V magnitude = hn::Sqrt(hn::MulAdd(re, re, hn::Mul(im, im)));
      hn::Store(hn::ConvertTo(di, hn::Min(hn::Mul(magnitude, scale), last)), di, bins + k);
    }
    const size_t here = std::min(kBlock, count - first);
    for (size_t k = 0; k < here; ++k) ++counters[k % kCounters][bins[k]];
  }
  for (int bin = 0; bin < kAmplitudeBins; ++bin) {
    histogram[bin] = counters[0][bin] + counters[1][bin] + counters[2][bin] + counters[3][bin];
  }
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(ReadSymbolsSimd);
HWY_EXPORT(WriteCorrectedSimd);
HWY_EXPORT(CountAmplitudesSimd);

bool ReadSymbols(SampleFormat format, float scale, absl::Span<const uint8_t> symbols,
                 FrameCpu* frame, double* sum_of_squares) {
  return HWY_DYNAMIC_DISPATCH(ReadSymbolsSimd)(format, scale, symbols, frame, sum_of_squares);
}

void ReadKnown(absl::Span<const Iq> known, FrameCpu* frame) {
  const size_t padded = PaddedToBlock(known.size());
  for (size_t n = 0; n < padded; ++n) {
    frame->known.re[n] = n < known.size() ? known[n].i : 0.0F;
    frame->known.im[n] = n < known.size() ? known[n].q : 0.0F;
  }
}

void CountAmplitudes(const FrameCpu& frame, float inverse_rms, uint32_t* histogram) {
  HWY_DYNAMIC_DISPATCH(CountAmplitudesSimd)(frame, inverse_rms, histogram);
}

void WriteCorrected(SampleFormat format, float scale, const FrameCpu& frame,
                    const Estimate& estimate, absl::Span<uint8_t> corrected) {
  HWY_DYNAMIC_DISPATCH(WriteCorrectedSimd)(format, scale, frame, estimate, corrected);
}

}  // namespace baseband::carrier
#endif
