#include "kernels/minimize/workspace_cpu.h"

#include <cstring>

namespace baseband::minimize {

CpuWorkspace& CpuWorkspace::OfThisThread() {
  static thread_local CpuWorkspace workspace;
  return workspace;
}

CpuWorkspace::Memory CpuWorkspace::Allocate(size_t bytes) {
  Memory memory(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{kAlignment})));
  std::memset(memory.get(), 0, bytes);  // vectors read what nobody wrote
  return memory;
}

double* CpuWorkspace::Scratch(size_t count) {
  if (count > scratch_doubles_) {
    scratch_.reset();
    scratch_ = Allocate(count * sizeof(double));
    scratch_doubles_ = count;
    cell_ = kNoCell;
  }
  return reinterpret_cast<double*>(scratch_.get());
}

}  // namespace baseband::minimize
