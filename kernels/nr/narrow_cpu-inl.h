// From scaled floats to int8 LLRs, a vector at a time.

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_NR_NARROW_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_NR_NARROW_CPU_INL_H_
#undef BASEBAND_KERNELS_NR_NARROW_CPU_INL_H_
#else
#define BASEBAND_KERNELS_NR_NARROW_CPU_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

const hn::ScalableTag<float> df;
const hn::ScalableTag<int32_t> di32;
const hn::ScalableTag<uint32_t> du32;
const hn::ScalableTag<int16_t> di16;
const hn::ScalableTag<int8_t> di8;
using VF = hn::Vec<decltype(df)>;
using VI32 = hn::Vec<decltype(di32)>;
using VI8 = hn::Vec<decltype(di8)>;

// Clamped to +-127 and rounded to the nearest integer, ties to even.
HWY_INLINE VI32 RoundLlr(VF value) {
  // Next to 1.5 * 2^23 floats are whole numbers, so that the sum is rounded to one.
  const auto magic = hn::Set(df, 12582912.0f);
  value = hn::Min(hn::Max(value, hn::Set(df, -127.0f)), hn::Set(df, 127.0f));
  return hn::Sub(hn::BitCast(di32, hn::Add(value, magic)), hn::BitCast(di32, magic));
}

// Four vectors of integers that fit into bytes, one after the other.
HWY_INLINE VI8 NarrowLlrs(VI32 a, VI32 b, VI32 c, VI32 d) {
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
  // Within each block of 16 bytes: 4 of a, 4 of b, 4 of c, 4 of d.
#if HWY_MAX_BYTES == 64
  alignas(64) static constexpr int32_t kOrder[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                     2, 6, 10, 14, 3, 7, 11, 15};
  const auto bytes = hn::Vec<decltype(di8)>{
      _mm512_packs_epi16(_mm512_packs_epi32(a.raw, b.raw), _mm512_packs_epi32(c.raw, d.raw))};
#else
  alignas(32) static constexpr int32_t kOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const auto bytes = hn::Vec<decltype(di8)>{
      _mm256_packs_epi16(_mm256_packs_epi32(a.raw, b.raw), _mm256_packs_epi32(c.raw, d.raw))};
#endif
  const auto order = hn::SetTableIndices(di32, kOrder);
  return hn::BitCast(di8, hn::TableLookupLanes(hn::BitCast(di32, bytes), order));
#else
  static_assert(HWY_MAX_BYTES == 16, "one block is in order");
  const hn::Half<decltype(di8)> half;
  const hn::Half<decltype(di16)> half16;
  const auto low = hn::Combine(di16, hn::DemoteTo(half16, b), hn::DemoteTo(half16, a));
  const auto high = hn::Combine(di16, hn::DemoteTo(half16, d), hn::DemoteTo(half16, c));
  return hn::Combine(di8, hn::DemoteTo(half, high), hn::DemoteTo(half, low));
#endif
}

// IEEE binary16 as floats, exactly; from any address.
HWY_INLINE VF FloatsOfHalves(const uint8_t* from) {
#if HWY_ARCH_X86 && HWY_TARGET < HWY_SSE4  // better than that: with instructions for it
  const hn::Rebind<hwy::float16_t, decltype(df)> dh;
  return hn::PromoteTo(df, hn::LoadU(dh, reinterpret_cast<const hwy::float16_t*>(from)));
#else  // where Highway does it by other means, it knows neither NaN nor infinity
  const hn::Rebind<uint16_t, decltype(df)> dh;
  const auto half = hn::PromoteTo(di32, hn::LoadU(dh, reinterpret_cast<const uint16_t*>(from)));
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(di32, 0x8000)));
  const auto magnitude = hn::ShiftLeft<13>(hn::And(half, hn::Set(di32, 0x7fff)));
  const auto exponent = hn::Set(di32, 0x7c00 << 13);
  const auto finite = hn::BitCast(
      di32,
      hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 5192296858534827628530496329220096.0f)));
  const auto special = hn::Or(magnitude, hn::Set(di32, 0x7f800000));
  const auto is_finite = hn::Lt(magnitude, exponent);
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(is_finite, finite, special)));
#endif
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_NR_NARROW_CPU_INL_H_
