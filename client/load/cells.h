// How many cells a server carries.
#ifndef BASEBAND_CLIENT_LOAD_CELLS_H_
#define BASEBAND_CLIENT_LOAD_CELLS_H_

#include <functional>

#include "absl/status/statusor.h"

namespace baseband::load {

// Whether a load of that many cells is carried; an error ends the search.
using Carries = std::function<absl::StatusOr<bool>(int cells)>;

// Where the most lie that are carried.
struct CellBracket {
  int carried = 0;   // 0: not even one is
  int too_many = 0;  // the fewest that were seen not to be; 0: none, up to kMaxCells (arrivals.h)
};

// Tries `first`, 1 .. kMaxCells, and twice as many each time until so many are not carried; then
// halves what lies between. Each number is tried once. Errors are those of `carries`.
absl::StatusOr<CellBracket> FindCells(int first, const Carries& carries);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_CELLS_H_
