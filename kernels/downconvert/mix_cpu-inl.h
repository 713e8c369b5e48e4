// The mixer: phase words to sines and cosines, as nco_math.h has them, times samples.
//
// A vector of 2 N phases holds those of samples 0 .. N - 1 in its even lanes and of samples N .. 2
// N - 1 in its odd ones: it comes so from two vectors of 64-bit words, and repeating even or odd
// lanes makes it match two vectors of N complex samples.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/downconvert/kernels_cpu.h"
#include "kernels/downconvert/nco_math.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_DOWNCONVERT_MIX_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_DOWNCONVERT_MIX_CPU_INL_H_
#undef BASEBAND_KERNELS_DOWNCONVERT_MIX_CPU_INL_H_
#else
#define BASEBAND_KERNELS_DOWNCONVERT_MIX_CPU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::downconvert::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> df;
const hn::RebindToSigned<decltype(df)> di;
const hn::RebindToUnsigned<decltype(df)> du;
const hn::Repartition<uint64_t, decltype(df)> du64;
const hn::Half<decltype(du)> du_half;
using VF = hn::Vec<decltype(df)>;
using VI = hn::Vec<decltype(di)>;
using VU = hn::Vec<decltype(du)>;
using VU64 = hn::Vec<decltype(du64)>;

HWY_INLINE VF SwapIq(VF v) { return hn::Shuffle2301(v); }

// cos - j sin.
struct Turn {
  VF cosine;
  VF sine;
};

// The last steps of PhasorOf(): t in [-1/2, 1/2] quarter turns past `quarter`.
HWY_INLINE Turn TurnOf(VF t, VU quarter) {
  const VF u = hn::Mul(t, t);
  const auto set = [](float value) HWY_ATTR { return hn::Set(df, value); };
  VF low = hn::MulAdd(u, set(kSine7), set(kSine5));
  low = hn::MulAdd(u, low, set(kSine3));
  low = hn::MulAdd(u, low, set(kSine1Low));
  const VF sine = hn::MulAdd(t, set(kSine1), hn::Mul(t, low));
  VF cosine = hn::MulAdd(u, set(kCosine8), set(kCosine6));
  cosine = hn::MulAdd(u, cosine, set(kCosine4));
  cosine = hn::MulAdd(u, cosine, set(kCosine2));
  cosine = hn::MulAdd(u, cosine, set(1.0F));
  // Odd quarters swap the two; bit 1 of quarter + 1 and of quarter become their signs.
  const auto one = hn::Set(du, 1);
  const auto sign = hn::Set(du, uint32_t{1} << 31);
  const auto is_swapped = hn::MaskFromVec(
      hn::BitCast(df, hn::BroadcastSignBit(hn::BitCast(di, hn::ShiftLeft<31>(quarter)))));
  // Not without values: GCC compiles a constructor that nobody writes for no SIMD target.
  Turn turn{hn::IfThenElse(is_swapped, sine, cosine), hn::IfThenElse(is_swapped, cosine, sine)};
  const auto cosine_sign = hn::And(hn::ShiftLeft<30>(hn::Add(quarter, one)), sign);
  const auto sine_sign = hn::And(hn::ShiftLeft<30>(quarter), sign);
  turn.cosine = hn::Xor(turn.cosine, hn::BitCast(df, cosine_sign));
  turn.sine = hn::Xor(turn.sine, hn::BitCast(df, sine_sign));
  return turn;
}

// Of the words of N samples, and of the N after them.
HWY_INLINE Turn TurnOfWords(VU64 first, VU64 second) {
  const auto half = hn::Set(du64, uint64_t{1} << 31);
  const auto even = hn::ShiftRight<32>(hn::Add(first, half));
  const auto odd = hn::Add(second, half);
  const VU turns = hn::OddEven(hn::BitCast(du, odd), hn::BitCast(du, even));
  const VU quarter = hn::ShiftRight<30>(hn::Add(turns, hn::Set(du, uint32_t{1} << 29)));
  const VI rest = hn::BitCast(di, hn::Sub(turns, hn::ShiftLeft<30>(quarter)));
  return TurnOf(hn::Mul(hn::ConvertTo(df, rest), hn::Set(df, kTurnsToT)), quarter);
}

// [c, -s, c, -s, ..] alternating signs: what makes one product of two.
HWY_INLINE VF SignsOfQ() { return hn::BitCast(df, hn::Set(du64, uint64_t{1} << 63)); }

// N complex samples times (cosine - j sine), both given for I and for Q.
HWY_INLINE VF Multiply(VF sample, VF cosine, VF sine) {
  // I: i c + q s   Q: q c - i s
  return hn::MulAdd(sample, cosine, hn::Mul(SwapIq(sample), hn::Xor(sine, SignsOfQ())));
}

// 2 N samples.
template <bool kReal>
HWY_INLINE void MixVectors(const float* in, VF amplitude, Turn turn, float* out) {
  const size_t lanes = hn::Lanes(df);
  const VF cosine = hn::Mul(turn.cosine, amplitude);
  const VF sine = hn::Mul(turn.sine, amplitude);
  if constexpr (kReal) {
    const auto twice = [](const float* from) HWY_ATTR {
      const auto bits = hn::LoadU(du_half, reinterpret_cast<const uint32_t*>(from));
      const auto wide = hn::PromoteTo(du64, bits);
      return hn::BitCast(df, hn::Or(wide, hn::ShiftLeft<32>(wide)));
    };
    const VF negated = hn::Neg(sine);
    const VF first = hn::OddEven(hn::DupEven(negated), cosine);
    const VF second = hn::OddEven(negated, hn::DupOdd(cosine));
    hn::StoreU(hn::Mul(twice(in), first), df, out);
    hn::StoreU(hn::Mul(twice(in + lanes / 2), second), df, out + lanes);
  } else {
    const VF first = hn::LoadU(df, in);
    const VF second = hn::LoadU(df, in + lanes);
    hn::StoreU(Multiply(first, hn::DupEven(cosine), hn::DupEven(sine)), df, out);
    hn::StoreU(Multiply(second, hn::DupOdd(cosine), hn::DupOdd(sine)), df, out + lanes);
  }
}

// 2 N samples, of which the first `count` are written.
template <bool kReal>
HWY_INLINE void MixVectorsOf(size_t count, const float* in, VF amplitude, Turn turn, float* out) {
  if (count >= hn::Lanes(df)) return MixVectors<kReal>(in, amplitude, turn, out);
  HWY_ALIGN float tail[HWY_MAX_BYTES / 2];
  MixVectors<kReal>(in, amplitude, turn, tail);
  std::memcpy(out, tail, 2 * count * sizeof(float));
}

template <bool kReal>
void MixAs(const MixTask& task) {
  const size_t group = hn::Lanes(df);  // 2 N samples
  const VF amplitude = hn::Set(df, task.amplitude);
  const size_t in_step = kReal ? group : 2 * group;
  const float* in = task.in;
  float* out = task.out;
  HWY_ALIGN uint64_t start[HWY_MAX_BYTES / 4];
  for (size_t i = 0; i < group; ++i) start[i] = task.word + i * task.step;
  auto first = hn::Load(du64, start);
  auto second = hn::Load(du64, start + group / 2);
  const auto advance = hn::Set(du64, group * task.step);
  for (size_t i = 0; i < task.count; i += group, in += in_step, out += 2 * group) {
    if (task.words != nullptr) {
      first = hn::LoadU(du64, task.words + i);
      second = hn::LoadU(du64, task.words + i + group / 2);
    }
    MixVectorsOf<kReal>(task.count - i, in, amplitude, TurnOfWords(first, second), out);
    first = hn::Add(first, advance);
    second = hn::Add(second, advance);
  }
}

void Mix(const MixTask& task) {
  if (task.in_is_real) {
    MixAs<true>(task);
  } else {
    MixAs<false>(task);
  }
}

#if HWY_NATIVE_FMA

// Of radians below 2^24 quarter turns, in float32 throughout: products with parts of pi are exact
// before they are subtracted.
HWY_INLINE Turn TurnOfRadians(VF radians) {
  const auto set = [](float value) HWY_ATTR { return hn::Set(df, value); };
  const VF quarters = hn::Round(hn::Mul(radians, set(0.636619772F)));  // 2 / pi
  // pi / 2 in three parts.
  VF rest = hn::NegMulAdd(quarters, set(1.57079637F), radians);
  rest = hn::NegMulAdd(quarters, set(-4.37113883e-8F), rest);
  rest = hn::NegMulAdd(quarters, set(-1.71512449e-15F), rest);
  const VU quarter = hn::And(hn::BitCast(du, hn::ConvertTo(di, quarters)), hn::Set(du, 3));
  return TurnOf(hn::Mul(rest, set(0.636619772F)), quarter);
}

template <bool kReal>
void MixFloatAs(const FloatMixTask& task) {
  const size_t group = hn::Lanes(df);
  const VF amplitude = hn::Set(df, task.mix.amplitude);
  const VF increment = hn::Set(df, task.radians_per_sample);
  const VF phase = hn::Set(df, task.phase);
  const float* in = task.mix.in;
  float* out = task.mix.out;
  HWY_ALIGN int32_t order[HWY_MAX_BYTES / 4];
  for (size_t i = 0; i < group; ++i) {
    order[i] = task.first + static_cast<int32_t>(i / 2 + i % 2 * (group / 2));
  }
  auto index = hn::Load(di, order);
  const auto advance = hn::Set(di, static_cast<int32_t>(group));
  for (size_t i = 0; i < task.mix.count; i += group) {
    const VF radians = hn::MulAdd(increment, hn::ConvertTo(df, index), phase);
    MixVectorsOf<kReal>(task.mix.count - i, in, amplitude, TurnOfRadians(radians), out);
    index = hn::Add(index, advance);
    in += kReal ? group : 2 * group;
    out += 2 * group;
  }
}

void MixFloat(const FloatMixTask& task) {
  if (task.mix.in_is_real) {
    MixFloatAs<true>(task);
  } else {
    MixFloatAs<false>(task);
  }
}

#endif  // HWY_NATIVE_FMA

}  // namespace
}  // namespace baseband::downconvert::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_DOWNCONVERT_MIX_CPU_INL_H_
