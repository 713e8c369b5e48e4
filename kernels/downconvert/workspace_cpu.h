// What a thread of the CPU device keeps between blocks: memory that only grows.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_

#include <vector>

#include "kernels/base/growing_memory.h"
#include "kernels/downconvert/nco.h"

namespace baseband::downconvert {

// Not thread-safe: one a thread.
class CpuWorkspace {
 public:
  static CpuWorkspace& OfThisThread() {
    static thread_local CpuWorkspace workspace;
    return workspace;
  }

  GrowingMemory memory;
  std::vector<PhaseAnchor> anchors;
};

// The arrays of a workspace.
using MemoryCutter = baseband::MemoryCutter<>;

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_
