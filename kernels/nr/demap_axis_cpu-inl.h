// demap_math.h in vectors: from a chunk's levels and gains to its LLRs, in the same roundings.

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_NR_DEMAP_AXIS_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_NR_DEMAP_AXIS_CPU_INL_H_
#undef BASEBAND_KERNELS_NR_DEMAP_AXIS_CPU_INL_H_
#else
#define BASEBAND_KERNELS_NR_DEMAP_AXIS_CPU_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/nr/demap_chunk_cpu.h"
#include "kernels/nr/demap_math.h"
#include "kernels/nr/narrow_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

const hn::Repartition<uint16_t, decltype(di8)> du16;

// Segment of demap_math.h.
template <int kLevels>
HWY_INLINE VF SegmentOf(VF magnitude) {
  return hn::Min(hn::Floor(hn::Mul(magnitude, hn::Set(df, 0.5f))),
                 hn::Set(df, static_cast<float>(kLevels / 2 - 1)));
}

// AxisMetrics of demap_math.h.
template <int kH>
HWY_INLINE void MetricsOf(VF t, VF* metrics) {
  if constexpr (kH == 1) {
    metrics[0] = t;
  } else {
    const auto magnitude = hn::Abs(t);
    const auto j = SegmentOf<(1 << kH)>(magnitude);
    const auto metric = hn::Mul(hn::Add(j, hn::Set(df, 1.0f)), hn::Sub(magnitude, j));
    metrics[0] = hn::CopySign(metric, t);
    MetricsOf<kH - 1>(hn::Sub(hn::Set(df, static_cast<float>(1 << (kH - 1))), magnitude),
                      metrics + 1);
  }
}

HWY_INLINE VF ExpOfNegatives(VF x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(df, value); };
  const auto in_range = hn::Ge(x, f(-87.0f));
  // Next to 1.5 * 2^23 floats are whole numbers. Out of range, anything will do.
  const auto magic = f(12582912.0f);
  const auto shifted = hn::Add(hn::Mul(x, f(1.44269504f)), magic);
  const auto n = hn::Sub(shifted, magic);
  const auto r = hn::Sub(hn::Sub(x, hn::Mul(n, f(0.693359375f))), hn::Mul(n, f(-2.12194440e-4f)));
  auto e = hn::Add(hn::Mul(r, f(1.0f / 120.0f)), f(1.0f / 24.0f));
  e = hn::Add(hn::Mul(r, e), f(1.0f / 6.0f));
  e = hn::Add(hn::Mul(r, e), f(0.5f));
  e = hn::Add(hn::Mul(r, e), f(1.0f));
  e = hn::Add(hn::Mul(r, e), f(1.0f));
  const auto exponent = hn::Sub(hn::BitCast(di32, shifted), hn::Set(di32, 0x4b400000 - 127));
  const auto power = hn::BitCast(df, hn::ShiftLeft<23>(exponent));
  return hn::IfThenElseZero(in_range, hn::Mul(e, power));
}

HWY_INLINE VF LogsOf(VF x) {
  const auto f = [](float value) HWY_ATTR { return hn::Set(df, value); };
  const auto least = hn::Set(di32, 0x3f3504f3);
  const auto shifted = hn::Sub(hn::BitCast(di32, x), least);
  const auto n = hn::ConvertTo(df, hn::ShiftRight<23>(shifted));
  const auto m = hn::BitCast(df, hn::Add(hn::And(shifted, hn::Set(di32, 0x007fffff)), least));
  const auto s = hn::Div(hn::Sub(m, f(1.0f)), hn::Add(m, f(1.0f)));
  const auto s2 = hn::Mul(s, s);
  auto log = hn::Add(hn::Mul(s2, f(0.4f)), f(2.0f / 3.0f));
  log = hn::Add(hn::Mul(s2, log), f(2.0f));
  return hn::Add(hn::Mul(n, f(0.69314718f)), hn::Mul(s, log));
}

// AxisLogSums of demap_math.h.
template <int kH>
HWY_INLINE void LogSumsOf(VF t, VF g, VF* llrs) {
  if constexpr (kH == 1) {
    llrs[0] = hn::Mul(hn::Mul(t, hn::Set(df, 4.0f)), g);
    return;
  }
  const auto j = SegmentOf<(1 << kH)>(hn::Abs(t));
  const auto nearest = hn::CopySign(hn::Add(hn::Mul(hn::Set(df, 2.0f), j), hn::Set(df, 1.0f)), t);
  const auto from = hn::Sub(hn::Add(t, t), nearest);
  VF sums[kH][2];
  for (auto& sum : sums) sum[0] = sum[1] = hn::Zero(df);
  for (uint32_t bits = 0; bits < 1u << kH; ++bits) {
    const auto level = hn::Set(df, static_cast<float>(PamLevel(kH, bits)));
    const auto further = hn::Mul(hn::Sub(nearest, level), hn::Sub(from, level));
    const auto term = ExpOfNegatives(hn::Neg(hn::Mul(g, further)));
    for (int k = 0; k < kH; ++k) {
      auto& sum = sums[k][bits >> (kH - 1 - k) & 1];
      sum = hn::Add(sum, term);
    }
  }
  MetricsOf<kH>(t, llrs);
  for (int k = 0; k < kH; ++k) {
    const auto max_log = hn::Mul(hn::Mul(llrs[k], hn::Set(df, 4.0f)), g);
    const auto log_sum = hn::Sub(LogsOf(sums[k][0]), LogsOf(sums[k][1]));
    const auto near = hn::Le(hn::Abs(max_log), hn::Set(df, kLogSumLimit));
    llrs[k] = hn::IfThenElse(near, log_sum, max_log);
  }
}

// The LLRs of one vector of levels, rounded: of I and of Q in turns, bit by bit of an axis.
template <int kH, bool kLogSum>
HWY_INLINE void RoundedLlrs(VF t, VF gain, VF llr_scale, VI32* rounded) {
  VF values[kH];
  if constexpr (kLogSum) {
    LogSumsOf<kH>(t, gain, values);
  } else {
    MetricsOf<kH>(t, values);
  }
  for (int k = 0; k < kH; ++k) {
    rounded[k] = RoundLlr(hn::Mul(values[k], kLogSum ? llr_scale : gain));
  }
}

// Stores pairs of I and Q in the order of bits: that of plane 0, of plane 1, .., then the next.
template <int kH>
HWY_INLINE void StorePairs(const VI8* planes, int8_t* llr) {
  auto* const to = reinterpret_cast<uint16_t*>(llr);
  const auto pairs = [&](int k) HWY_ATTR { return hn::BitCast(du16, planes[k]); };
  if constexpr (kH == 1) hn::StoreU(planes[0], di8, llr);
  if constexpr (kH == 2) hn::StoreInterleaved2(pairs(0), pairs(1), du16, to);
  if constexpr (kH == 3) hn::StoreInterleaved3(pairs(0), pairs(1), pairs(2), du16, to);
  if constexpr (kH == 4) hn::StoreInterleaved4(pairs(0), pairs(1), pairs(2), pairs(3), du16, to);
  if constexpr (kH == 5) {
    HWY_ALIGN int8_t rows[kH][HWY_MAX_BYTES];
    for (int k = 0; k < kH; ++k) hn::Store(planes[k], di8, rows[k]);
    for (size_t i = 0; i < hn::Lanes(di8); i += 2) {
      for (int k = 0; k < kH; ++k, llr += 2) std::memcpy(llr, rows[k] + i, 2);
    }
  }
}

// All LLRs of a chunk. kH bits an axis.
template <int kH, bool kLogSum>
void QamLlrs(const DemapScale& scale, const DemapChunk& chunk, bool /*begins_odd*/, int8_t* llr) {
  const size_t lanes = hn::Lanes(df);
  const auto llr_scale = hn::Set(df, scale.llr_scale);
  for (size_t i = 0; i < 2 * kDemapChunk; i += 4 * lanes) {
    VI32 rounded[4][kH];
    for (size_t v = 0; v < 4; ++v) {
      const auto t = hn::Load(df, chunk.levels + i + v * lanes);
      const auto gain = hn::Load(df, chunk.gains + i + v * lanes);
      RoundedLlrs<kH, kLogSum>(t, gain, llr_scale, rounded[v]);
    }
    VI8 planes[kH];
    for (int k = 0; k < kH; ++k) {
      planes[k] = NarrowLlrs(rounded[0][k], rounded[1][k], rounded[2][k], rounded[3][k]);
    }
    StorePairs<kH>(planes, llr + i * kH);
  }
}

// The same for pi/2-BPSK; the chunk begins at an odd place of the code word or not.
template <bool kLogSum>
void BpskLlrs(const DemapScale& scale, const DemapChunk& chunk, bool begins_odd, int8_t* llr) {
  const size_t lanes = hn::Lanes(df);
  // The sign of I turns at odd places.
  const auto odd =
      hn::Ne(hn::And(hn::Iota(di32, begins_odd ? 1 : 0), hn::Set(di32, 1)), hn::Zero(di32));
  const auto turn = hn::IfThenElseZero(hn::RebindMask(df, odd), hn::Set(df, -0.0f));
  const auto llr_scale = hn::Set(df, scale.llr_scale);
  for (size_t i = 0; i < kDemapChunk; i += 4 * lanes) {
    VI32 rounded[4];
    for (size_t v = 0; v < 4; ++v) {
      const size_t at = 2 * (i + v * lanes);
      VF t_i, t_q, gain, same;
      hn::LoadInterleaved2(df, chunk.levels + at, t_i, t_q);
      hn::LoadInterleaved2(df, chunk.gains + at, gain, same);
      auto metric = hn::Mul(hn::Add(hn::Xor(t_i, turn), t_q), gain);
      if (kLogSum) metric = hn::Mul(hn::Mul(metric, hn::Set(df, 4.0f)), llr_scale);
      rounded[v] = RoundLlr(metric);
    }
    hn::StoreU(NarrowLlrs(rounded[0], rounded[1], rounded[2], rounded[3]), di8, llr + i);
  }
}

#if HWY_TARGET == HWY_EMU128
// Processors without vectors take symbol by symbol: vectors of Highway's emulation are slower, and
// so many take compilers minutes.
template <int kQm, bool kLogSum>
void PlainLlrs(const DemapScale& scale, const DemapChunk& chunk, bool begins_odd, int8_t* llr) {
  for (size_t i = 0; i < kDemapChunk; ++i) {
    DemapSymbol<kQm, kLogSum>(scale, chunk.levels[2 * i], chunk.levels[2 * i + 1],
                              chunk.gains[2 * i], i + (begins_odd ? 1 : 0), llr + i * kQm);
  }
}
#endif

using ToLlrs = void (*)(const DemapScale&, const DemapChunk&, bool begins_odd, int8_t* llr);

template <int kQm, bool kLogSum>
constexpr ToLlrs LlrsOf() {
#if HWY_TARGET == HWY_EMU128
  return PlainLlrs<kQm, kLogSum>;
#else
  if constexpr (kQm == 1) {
    return BpskLlrs<kLogSum>;
  } else {
    return QamLlrs<kQm / 2, kLogSum>;
  }
#endif
}

template <bool kLogSum>
ToLlrs LlrsOf(int qm) {
  switch (qm) {
    case 1:
      return LlrsOf<1, kLogSum>();
    case 2:
      return LlrsOf<2, kLogSum>();
    case 4:
      return LlrsOf<4, kLogSum>();
    case 6:
      return LlrsOf<6, kLogSum>();
    case 8:
      return LlrsOf<8, kLogSum>();
    default:
      return LlrsOf<10, kLogSum>();
  }
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_NR_DEMAP_AXIS_CPU_INL_H_
