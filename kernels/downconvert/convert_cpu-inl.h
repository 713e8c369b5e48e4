// Samples in: integers to float32. Samples out: float32 to float16 and int16.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/downconvert/kernels_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_DOWNCONVERT_CONVERT_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_DOWNCONVERT_CONVERT_CPU_INL_H_
#undef BASEBAND_KERNELS_DOWNCONVERT_CONVERT_CPU_INL_H_
#else
#define BASEBAND_KERNELS_DOWNCONVERT_CONVERT_CPU_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/downconvert/mix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::downconvert::HWY_NAMESPACE {
namespace {

const hn::Rebind<int16_t, decltype(df)> d16;

// Input may lie at any address and ends where it ends.
template <typename T>
HWY_INLINE VF LoadAsFloat(const uint8_t* from) {
  const hn::Rebind<T, decltype(df)> d;
  const auto values = hn::LoadU(d, reinterpret_cast<const T*>(from));
  return hn::ConvertTo(df, hn::PromoteTo(di, values));
}
template <>
HWY_INLINE VF LoadAsFloat<float>(const uint8_t* from) {
  return hn::LoadU(df, reinterpret_cast<const float*>(from));
}

// The bits of a float32's exponent: all of them are set in what is not finite.
constexpr int32_t kExponent = 0x7F800000;

HWY_INLINE bool IsFinite(VI greatest_exponent) {
  return hn::AllFalse(di, hn::Eq(greatest_exponent, hn::Set(di, kExponent)));
}

template <typename T>
bool ConvertFrom(const uint8_t* in, size_t count, float* out) {
  const size_t lanes = hn::Lanes(df);
  VI exponents = hn::Zero(di);  // the greatest of each lane
  const auto convert = [&](const uint8_t* from, float* to) HWY_ATTR {
    const VF values = LoadAsFloat<T>(from);
    if constexpr (std::is_same_v<T, float>) {
      const VI exponent = hn::And(hn::BitCast(di, values), hn::Set(di, kExponent));
      exponents = hn::Max(exponents, exponent);
    }
    hn::StoreU(values, df, to);
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) convert(in + i * sizeof(T), out + i);
  if (i < count) {
    HWY_ALIGN uint8_t tail[HWY_MAX_BYTES] = {};
    std::memcpy(tail, in + i * sizeof(T), (count - i) * sizeof(T));
    convert(tail, out + i);
  }
  return IsFinite(exponents);
}

bool Convert(InputFormat format, const uint8_t* in, size_t count, float* out) {
  switch (format) {
    case InputFormat::kInt8:
    case InputFormat::kRealInt8:
      return ConvertFrom<int8_t>(in, count, out);
    case InputFormat::kInt16:
    case InputFormat::kRealInt16:
      return ConvertFrom<int16_t>(in, count, out);
    case InputFormat::kFloat32:
    case InputFormat::kRealFloat32:
      return ConvertFrom<float>(in, count, out);
  }
  return true;
}

size_t FindNonFinite(const uint8_t* in, size_t count) {
  const size_t lanes = hn::Lanes(df);
  size_t i = 0;
  for (constexpr size_t kVectors = 16; i + kVectors * lanes <= count; i += kVectors * lanes) {
    VI exponents = hn::Zero(di);
    for (size_t v = 0; v < kVectors; ++v) {
      const VI bits = hn::BitCast(di, LoadAsFloat<float>(in + (i + v * lanes) * sizeof(float)));
      exponents = hn::Max(exponents, hn::And(bits, hn::Set(di, kExponent)));
    }
    if (!IsFinite(exponents)) break;
  }
  for (; i < count; ++i) {
    int32_t bits = 0;
    std::memcpy(&bits, in + i * sizeof(float), sizeof(bits));
    if ((bits & kExponent) == kExponent) return i;
  }
  return count;
}

// Each writer turns one vector into the lower half of its output and counts what did not fit.
struct WriteFloat16 {
  HWY_INLINE size_t operator()(VF value, uint8_t* out) const {
    const hn::Rebind<hwy::float16_t, decltype(df)> d;
    auto* const to = reinterpret_cast<hwy::float16_t*>(out);
#if (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || (HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON)
    hn::StoreU(hn::DemoteTo(d, value), d, to);
#else
    // Without an instruction for it Highway cuts off, where we round.
    const auto bits = hn::BitCast(du, value);
    const auto sign = hn::And(bits, hn::Set(du, uint32_t{1} << 31));
    const auto magnitude = hn::Xor(bits, sign);
    const auto signed_magnitude = hn::BitCast(di, magnitude);
    const auto at_least = [&](int32_t limit) HWY_ATTR {
      return hn::MaskFromVec(
          hn::BitCast(du, hn::VecFromMask(di, hn::Gt(signed_magnitude, hn::Set(di, limit - 1)))));
    };
    // Normal: the exponent's bias from 127 to 15, and the odd bit added for ties.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto biased = hn::Add(hn::Sub(magnitude, hn::Set(du, 112U << 23)), hn::Set(du, 0xFFF));
    const auto normal = hn::ShiftRight<13>(hn::Add(biased, odd));
    // Below 2^-14: adding 1/2 rounds at 2^-24.
    const auto half = hn::Set(df, 0.5F);
    const auto tiny =
        hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, magnitude), half)), hn::BitCast(du, half));
    auto result = hn::IfThenElse(at_least(113 << 23), normal, tiny);
    result = hn::IfThenElse(at_least(0x477FF000), hn::Set(du, 0x7C00), result);
    result = hn::IfThenElse(at_least(0x7F800001), hn::Set(du, 0x7E00), result);
    result = hn::Or(result, hn::ShiftRight<16>(sign));
    HWY_ALIGN uint32_t wide[HWY_MAX_BYTES / 4];
    hn::Store(result, du, wide);
    for (size_t i = 0; i < hn::Lanes(d); ++i) to[i].bits = static_cast<uint16_t>(wide[i]);
#endif
    return 0;
  }
};

struct WriteInt16 {
  HWY_INLINE size_t operator()(VF value, uint8_t* out) const {
    const VF rounded = hn::Round(hn::Mul(value, hn::Set(df, 32767.0F)));
    const VF least = hn::Set(df, -32768.0F);
    const VF most = hn::Set(df, 32767.0F);
    // Comparisons with a NaN are false.
    const auto fits = hn::And(hn::Ge(rounded, least), hn::Le(rounded, most));
    const VF clipped = hn::Max(least, hn::Min(rounded, most));
    const auto integer = hn::ConvertTo(di, hn::IfThenElseZero(hn::Eq(rounded, rounded), clipped));
    hn::StoreU(hn::DemoteTo(d16, integer), d16, reinterpret_cast<int16_t*>(out));
    return hn::Lanes(df) - hn::CountTrue(df, fits);
  }
};

template <typename Writer>
int64_t StoreAs(const float* in, size_t count, uint8_t* out) {
  const Writer write;
  const size_t lanes = hn::Lanes(df);
  size_t saturated = 0;
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) saturated += write(hn::LoadU(df, in + i), out + 2 * i);
  if (i < count) {
    HWY_ALIGN uint8_t tail[HWY_MAX_BYTES];
    const VF rest = hn::IfThenElseZero(hn::FirstN(df, count - i), hn::LoadU(df, in + i));
    saturated += write(rest, tail);
    std::memcpy(out + 2 * i, tail, 2 * (count - i));
  }
  return static_cast<int64_t>(saturated);
}

int64_t StoreOutput(OutputFormat format, const float* in, size_t count, uint8_t* out) {
  switch (format) {
    case OutputFormat::kFloat32:
      std::memcpy(out, in, count * sizeof(float));
      return 0;
    case OutputFormat::kFloat16:
      return StoreAs<WriteFloat16>(in, count, out);
    case OutputFormat::kInt16:
      return StoreAs<WriteInt16>(in, count, out);
  }
  return 0;
}

}  // namespace
}  // namespace baseband::downconvert::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_DOWNCONVERT_CONVERT_CPU_INL_H_
