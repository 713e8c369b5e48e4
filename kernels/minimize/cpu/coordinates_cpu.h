// Coordinates of runs of points on the CPU device. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_CPU_COORDINATES_CPU_H_
#define BASEBAND_KERNELS_MINIMIZE_CPU_COORDINATES_CPU_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/cpu/workspace_cpu.h"
#include "kernels/minimize/grid.h"

namespace baseband::minimize {

// [axis][point] of points first .. first + count - 1; count <= kMaxRun. Valid until the next call.
template <typename T>
std::array<const T*, kMaxAxes> RunCoordinates(const Grid& grid, int64_t first, size_t count,
                                              CpuWorkspace* workspace) {
  std::array<const T*, kMaxAxes> x{};
  const int last = grid.num_axes() - 1;
  for (int k = 0; k <= last; ++k) x[static_cast<size_t>(k)] = workspace->Coordinates<T>(k);
  const Axis& row = grid.axis(last);
  Indices indices = grid.IndicesOf(first);
  for (size_t done = 0; done < count;) {
    const int64_t from = indices[static_cast<size_t>(last)];
    const auto here = static_cast<size_t>(
        std::min<int64_t>(row.count - from, static_cast<int64_t>(count - done)));
    SearchKernelsOfThisProcessor<T>().coordinates(row, from, here,
                                                  workspace->Coordinates<T>(last) + done);
    for (int k = 0; k < last; ++k) {
      const auto value = static_cast<T>(grid.axis(k).At(indices[static_cast<size_t>(k)]));
      std::fill_n(workspace->Coordinates<T>(k) + done, here, value);
    }
    done += here;
    indices[static_cast<size_t>(last)] = 0;
    for (int k = last - 1; k >= 0; --k) {
      if (++indices[static_cast<size_t>(k)] < grid.axis(k).count) break;
      indices[static_cast<size_t>(k)] = 0;
    }
  }
  return x;
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_CPU_COORDINATES_CPU_H_
