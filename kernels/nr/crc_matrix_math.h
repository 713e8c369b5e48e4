// CRCs as products of matrices over GF(2), for the tensor cores of a GPU, which multiply matrices
// of bits; and what these matrices hold, which the host can check.
//
// Bit d from the end of a message (the last bit is bit 0) adds x^(d + bits) mod g to its CRC. So
// the CRC is the message, a row of bits, times the matrix of these powers. Messages are cut from
// their end into steps of 256 bits, 8 words each; what is missing at the front is zeros, which
// change nothing:
//
//   step        2                1                          0
//   bits   ..0000mmmm | mmmmmmmm .. mmmmmmmm | mmmmmmmm .. mmmmmmmm
//   word       6    7    0    1   ..       7   0    1   ..       7
//
// One multiplication takes a step of 16 messages and 8 columns. The columns are the coefficients
// x^0, x^1, .. of CRC24B, then of CRC24A, then of CRC16: 3, 3 and 2 times 8.
#ifndef BASEBAND_KERNELS_NR_CRC_MATRIX_MATH_H_
#define BASEBAND_KERNELS_NR_CRC_MATRIX_MATH_H_

#include <cstdint>

#include "kernels/nr/crc_math.h"
#include "kernels/nr/packed_words_math.h"

namespace baseband::nr {

inline constexpr int kCrcStepBits = 256;
inline constexpr int kCrcStepWords = kCrcStepBits / 32;
inline constexpr int kMaxCrcSteps = 33;  // the largest K' is 8448
inline constexpr int kCrcTiles = 8;      // of 8 columns
inline constexpr int kFirstTileOf24A = 3;
inline constexpr int kFirstTileOf16 = 6;

// The right-hand operands as the lanes of a warp hold them: lane 4 c + q has words q and q + 4 of
// column c of the tile, bit i of a word being that of the power for bit i of a message word.
struct alignas(16) CrcMatrix {
  uint32_t words[kMaxCrcSteps][kCrcTiles][32][2];
};

namespace internal {

// Of one coefficient, word j: bit i is that of x^(bits + 32 j + i) mod g.
struct CrcColumn {
  uint32_t words[kMaxCrcSteps * kCrcStepWords];
};

// The coefficients of successive powers obey the generator's own recurrence; 32 of them at a time,
// for its 32nd power has the same terms, 32 places apart.
constexpr void FillCrcColumns(Crc crc, int first_column, CrcMatrix* matrix) {
  const CrcPolynomial p = PolynomialOf(crc);
  CrcColumn columns[24] = {};
  uint32_t power = p.generator;  // x^bits
  for (int n = 0; n < 32 * p.bits; ++n) {
    for (int c = 0; c < p.bits; ++c) columns[c].words[n / 32] |= (power >> c & 1) << n % 32;
    power = CrcTimesX(p, power);
  }
  for (int c = 0; c < p.bits; ++c) {
    uint32_t* const words = columns[c].words;
    for (int j = p.bits; j < kMaxCrcSteps * kCrcStepWords; ++j) {
      for (int k = 0; k < p.bits; ++k) {
        if ((p.generator >> k & 1) != 0) words[j] ^= words[j - p.bits + k];
      }
    }
    const int column = first_column + c;
    for (int j = 0; j < kMaxCrcSteps * kCrcStepWords; ++j) {
      const int word = kCrcStepWords - 1 - j % kCrcStepWords;
      matrix->words[j / kCrcStepWords][column / 8][4 * (column % 8) + word % 4][word / 4] =
          words[j];
    }
  }
}

}  // namespace internal

constexpr CrcMatrix MakeCrcMatrix() {
  CrcMatrix matrix = {};
  internal::FillCrcColumns(Crc::kCrc24B, 0, &matrix);
  internal::FillCrcColumns(Crc::kCrc24A, 8 * kFirstTileOf24A, &matrix);
  internal::FillCrcColumns(Crc::kCrc16, 8 * kFirstTileOf16, &matrix);
  return matrix;
}

// A message: `bits` bits of packed bits, from `first` on.
struct CrcMessage {
  const uint32_t* words = nullptr;  // from a multiple of 4 on
  uint32_t first = 0;
  uint32_t bits = 0;  // 0 .. kMaxCrcSteps * kCrcStepBits
};

BASEBAND_HOST_DEVICE inline uint32_t CrcStepsOf(uint32_t bits) {
  return (bits + kCrcStepBits - 1) / kCrcStepBits;
}

// Word `word` of step `step`. `load(i)` reads message.words[i]; none is read that holds no bit of
// the message.
template <typename Load>
BASEBAND_HOST_DEVICE inline uint32_t CrcMessageWord(const CrcMessage& message, uint32_t step,
                                                    uint32_t word, const Load& load) {
  // Where it ends, in bits from the message's end.
  const uint32_t after = kCrcStepBits * step + 32 * (kCrcStepWords - 1 - word);
  if (after >= message.bits) return 0;
  const uint32_t begun = message.bits - after;  // bits of the message up to there, at least 1
  if (begun >= 32) return PackedBitsAt(load, message.first + begun - 32);
  // The message begins within the word: of its `begun` first bits no later ones are wanted.
  const uint32_t bit = message.first;
  uint32_t bits = SwapWord(load(bit >> 5)) << (bit & 31);
  if ((bit & 31) + begun > 32) bits |= SwapWord(load((bit >> 5) + 1)) >> (32 - (bit & 31));
  return bits >> (32 - begun);
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_CRC_MATRIX_MATH_H_
