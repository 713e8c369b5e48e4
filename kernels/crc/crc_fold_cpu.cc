// With a = a_1 x^64 + a_0 the 128 bits so far and m the 128 bits that stand n bits further on,
//   a x^n + m  is congruent to  a_1 (x^(n+64) mod g) + a_0 (x^n mod g) + m,
// which has 128 bits again. Four such sums go side by side, 512 bits apart, and are added up at the
// end. (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel,
// 2009.)
#include "kernels/crc/crc_fold_cpu.h"

#include "kernels/base/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/crc/crc_fold_cpu.cc"
#include "hwy/foreach_target.h"  // Compiles this file once for each target.
#include "hwy/highway.h"

#ifndef BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_TABLES_
#define BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_TABLES_
namespace baseband {
alignas(16) constexpr uint8_t kBackwards[16] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                7,  6,  5,  4,  3,  2,  1, 0};
}  // namespace baseband
#endif  // BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_TABLES_

HWY_BEFORE_NAMESPACE();
namespace baseband::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::Full128<uint64_t>;
using V = hn::Vec<D64>;

// 128 bits as a number: the first byte in memory is the highest of the upper lane.
HWY_INLINE V LoadNumber(const uint8_t* from) {
  const hn::Full128<uint8_t> d8;
  return hn::BitCast(D64(), hn::TableLookupBytes(hn::LoadU(d8, from), hn::Load(d8, kBackwards)));
}

HWY_INLINE V LoadBits(const uint8_t* from, int shift) {
  const V v = LoadNumber(from);
  if (shift == 0) return v;
  return hn::Or(hn::ShiftLeftSame(v, shift), hn::ShiftRightSame(LoadNumber(from + 1), 8 - shift));
}

HWY_INLINE V Multiply(V a, V powers) {
  return hn::Xor(hn::CLMulLower(a, powers), hn::CLMulUpper(a, powers));
}

HWY_INLINE V PowersOf(uint64_t lower, uint64_t upper) {
  const D64 d;
  return hn::InterleaveLower(d, hn::Set(d, lower), hn::Set(d, upper));
}

Folded Fold(const FoldPowers& powers, uint64_t first, const uint8_t* bytes, int shift,
            int64_t steps) {
  const D64 d;
  const V by_512 = PowersOf(powers.of_512, powers.of_576);
  V a0 = hn::Xor(LoadBits(bytes, shift), PowersOf(0, first));
  V a1 = LoadBits(bytes + 16, shift);
  V a2 = LoadBits(bytes + 32, shift);
  V a3 = LoadBits(bytes + 48, shift);
  for (int64_t step = 1; step < steps; ++step) {
    bytes += kFoldBits / 8;
    a0 = hn::Xor(Multiply(a0, by_512), LoadBits(bytes, shift));
    a1 = hn::Xor(Multiply(a1, by_512), LoadBits(bytes + 16, shift));
    a2 = hn::Xor(Multiply(a2, by_512), LoadBits(bytes + 32, shift));
    a3 = hn::Xor(Multiply(a3, by_512), LoadBits(bytes + 48, shift));
  }
  const V by_128 = PowersOf(powers.of_128, powers.of_192);
  a1 = hn::Xor(a1, Multiply(a0, by_128));
  a2 = hn::Xor(a2, Multiply(a1, by_128));
  a3 = hn::Xor(a3, Multiply(a2, by_128));
  alignas(16) uint64_t lanes[2];
  hn::Store(a3, d, lanes);
  return {lanes[1], lanes[0]};
}

// Where Highway only imitates the instruction, tables are faster.
bool IsNative() { return HWY_TARGET != HWY_EMU128; }

}  // namespace
}  // namespace baseband::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband {

HWY_EXPORT(Fold);
HWY_EXPORT(IsNative);

bool FoldsOnCpu() { return HWY_DYNAMIC_DISPATCH(IsNative)(); }

Folded FoldOnCpu(const FoldPowers& powers, uint64_t first, const uint8_t* bytes, int shift,
                 int64_t steps) {
  return HWY_DYNAMIC_DISPATCH(Fold)(powers, first, bytes, shift, steps);
}

}  // namespace baseband
#endif  // HWY_ONCE
