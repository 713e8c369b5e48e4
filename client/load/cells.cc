#include "client/load/cells.h"

#include <algorithm>

#include "client/load/arrivals.h"
#include "kernels/base/status_macros.h"

namespace baseband::load {

absl::StatusOr<CellBracket> FindCells(int first, const Carries& carries) {
  CellBracket found;
  const auto is_open = [&found] {
    return found.too_many == 0 ? found.carried < kMaxCells : found.too_many > found.carried + 1;
  };
  for (int cells = first; is_open();) {
    BASEBAND_ASSIGN_OR_RETURN(const bool carried, carries(cells));
    (carried ? found.carried : found.too_many) = cells;
    cells =
        found.too_many == 0 ? std::min(2 * cells, kMaxCells) : (found.carried + found.too_many) / 2;
  }
  return found;
}

}  // namespace baseband::load
