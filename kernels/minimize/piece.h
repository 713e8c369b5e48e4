// What devices evaluate: consecutive points of a problem, some milliseconds' worth at most.
#ifndef BASEBAND_KERNELS_MINIMIZE_PIECE_H_
#define BASEBAND_KERNELS_MINIMIZE_PIECE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/minimize/problem.h"

namespace baseband::minimize {

struct Piece {
  int64_t first = 0;
  int64_t count = 0;  // at least 1
  // Points whose boxes are left out, fewer than kMaxTop; null: none. No profile is made then.
  std::shared_ptr<const std::vector<int64_t>> excluded;
};

// The best of the points of a piece that lie in one block. Values are those of the goal "minimum":
// a maximum's are negated. Copied from the device as it is.
struct BlockResult {
  double value = 0.0;      // means nothing if there is no point
  int64_t index = -1;      // the lowest with that value; -1: all are excluded or not numbers
  int64_t num_nan = 0;     // excluded points are not counted
  int64_t first_nan = -1;  // -1: none
};
static_assert(sizeof(BlockResult) == 32, "copied from the device as it is");

inline bool IsBetter(const BlockResult& a, const BlockResult& b) {
  if (a.index < 0 || b.index < 0) return b.index < 0 && a.index >= 0;
  return a.value < b.value || (a.value == b.value && a.index < b.index);
}

// A piece's output lies in one block of memory: [num_blocks] BlockResult, then the profile:
// [profile_bins] uint64, ordered like the values that they stand for (OrderedKey), all ones where
// the piece has no point.
inline int64_t NumBlocks(const Problem& problem, const Piece& piece) {
  const int64_t points = problem.block_points();
  return (piece.first + piece.count - 1) / points - piece.first / points + 1;
}
inline int64_t ProfileOffset(const Problem& problem, const Piece& piece) {
  return NumBlocks(problem, piece) * static_cast<int64_t>(sizeof(BlockResult));
}
inline int64_t OutputBytes(const Problem& problem, const Piece& piece) {
  const int64_t bins = piece.excluded == nullptr ? problem.settings().profile_bins : 0;
  return ProfileOffset(problem, piece) + bins * static_cast<int64_t>(sizeof(uint64_t));
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_PIECE_H_
