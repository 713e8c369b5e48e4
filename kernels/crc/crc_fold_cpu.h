// Long messages made short for a CRC by carry-less multiplication. SIMD, chosen for this processor
// at run time.
#ifndef BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_H_
#define BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_H_

#include <cstdint>

namespace baseband {

inline constexpr int kFoldBits = 512;  // of a step

// x^n modulo a generator, for the n that steps need.
struct FoldPowers {
  uint64_t of_512 = 0;
  uint64_t of_576 = 0;
  uint64_t of_128 = 0;
  uint64_t of_192 = 0;
};

// Of 128 bits, `high` are the first.
struct Folded {
  uint64_t high = 0;
  uint64_t low = 0;
};

// Whether this processor multiplies so.
bool FoldsOnCpu();

// 128 bits that are congruent, modulo the generator of `powers`, to the message of `steps` *
// kFoldBits bits, steps >= 1, that begins `shift` bits (0 .. 7) into `bytes`, with `first` added to
// its first 64 bits. Reads no byte that holds none of the bits.
Folded FoldOnCpu(const FoldPowers& powers, uint64_t first, const uint8_t* bytes, int shift,
                 int64_t steps);

}  // namespace baseband

#endif  // BASEBAND_KERNELS_CRC_CRC_FOLD_CPU_H_
