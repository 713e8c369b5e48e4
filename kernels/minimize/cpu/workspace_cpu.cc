#include "kernels/minimize/cpu/workspace_cpu.h"

#include <cstring>
#include <utility>

namespace baseband::minimize {

CpuWorkspace& CpuWorkspace::OfThisThread() {
  static thread_local CpuWorkspace workspace;
  return workspace;
}

void* CpuWorkspace::Kept(uint64_t number) const {
  for (const KeptThing& thing : kept_) {
    if (thing.number == number) return thing.what.get();
  }
  return nullptr;
}

void CpuWorkspace::Keep(uint64_t number, std::shared_ptr<void> what) {
  kept_[next_kept_] = {number, std::move(what)};
  next_kept_ = (next_kept_ + 1) % kMaxKept;
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
    row_ = cell_ = kNone;
  }
  return reinterpret_cast<double*>(scratch_.get());
}

}  // namespace baseband::minimize
