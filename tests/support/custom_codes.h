// Base matrices that no standard has, for what a client may send.
#ifndef BASEBAND_TESTS_SUPPORT_CUSTOM_CODES_H_
#define BASEBAND_TESTS_SUPPORT_CUSTOM_CODES_H_

#include <algorithm>
#include <random>
#include <vector>

#include "kernels/ldpc/code.h"

namespace baseband::testing {

inline constexpr int kNoBlock = -1;

// A matrix without blocks.
inline ldpc::BaseMatrix EmptyMatrix(int rows, int columns, int zc) {
  ldpc::BaseMatrix matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.zc = zc;
  matrix.shifts.assign(static_cast<size_t>(rows * columns), kNoBlock);
  return matrix;
}

inline int& ShiftAt(ldpc::BaseMatrix* matrix, int64_t row, int64_t column) {
  return matrix->shifts[static_cast<size_t>(row * matrix->columns + column)];
}

// A matrix with random information blocks, at least one in each row and column, and no parity.
inline ldpc::BaseMatrix RandomInformationPart(int rows, int columns, int zc, std::mt19937* random) {
  ldpc::BaseMatrix matrix = EmptyMatrix(rows, columns, zc);
  const auto shift = [&] { return static_cast<int>((*random)() % static_cast<unsigned>(zc)); };
  const int kb = columns - rows;
  for (int i = 0; i < std::max(rows, kb); ++i) {
    ShiftAt(&matrix, i % rows, i % kb) = shift();
    ShiftAt(&matrix, i % rows, static_cast<int>((*random)() % static_cast<unsigned>(kb))) = shift();
  }
  return matrix;
}

// Parity part lower triangular: three blocks a row and the diagonal, all shifted at random.
inline ldpc::BaseMatrix TriangularMatrix(int rows, int columns, int zc, std::mt19937* random) {
  ldpc::BaseMatrix matrix = RandomInformationPart(rows, columns, zc, random);
  const auto shift = [&] { return static_cast<int>((*random)() % static_cast<unsigned>(zc)); };
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < 3 && row > 0; ++i) {
      ShiftAt(&matrix, row,
              columns - rows + static_cast<int>((*random)() % static_cast<unsigned>(row))) =
          shift();
    }
    ShiftAt(&matrix, row, columns - rows + row) = shift();
  }
  return matrix;
}

// Parity part with a block everywhere but, if `without_diagonal`, on its diagonal; all shifted at
// random. No row or column gives itself up to substitution. With the diagonal it is singular: all
// rows have the same sum. Without it, and with an even number of rows and a power of two for zc,
// it has an inverse, and a dense one.
inline ldpc::BaseMatrix FullMatrix(int rows, int columns, int zc, bool without_diagonal,
                                   std::mt19937* random) {
  ldpc::BaseMatrix matrix = RandomInformationPart(rows, columns, zc, random);
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < rows; ++i) {
      if (i != row || !without_diagonal) {
        ShiftAt(&matrix, row, columns - rows + i) =
            static_cast<int>((*random)() % static_cast<unsigned>(zc));
      }
    }
  }
  return matrix;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CUSTOM_CODES_H_
