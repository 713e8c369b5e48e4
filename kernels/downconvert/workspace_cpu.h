// What a thread of the CPU device keeps between blocks: memory that only grows.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "kernels/downconvert/nco.h"

namespace baseband::downconvert {

// Not thread-safe: one a thread.
class CpuWorkspace {
 public:
  static CpuWorkspace& OfThisThread() {
    static thread_local CpuWorkspace workspace;
    return workspace;
  }

  // `bytes` of memory aligned for any vector, whose contents are whatever was left there.
  uint8_t* Memory(size_t bytes) {
    if (bytes > memory_bytes_) {
      memory_.reset();
      memory_bytes_ = 0;
      memory_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{kAlignment})));
      memory_bytes_ = bytes;
    }
    return memory_.get();
  }

  std::vector<PhaseAnchor> anchors;

 private:
  static constexpr size_t kAlignment = 128;
  struct Free {
    void operator()(uint8_t* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };

  std::unique_ptr<uint8_t, Free> memory_;
  size_t memory_bytes_ = 0;
};

// Hands out consecutive arrays of a workspace's memory, each aligned for vectors. With a null base
// it only counts.
class MemoryCutter {
 public:
  explicit MemoryCutter(uint8_t* base) : base_(base) {}
  template <typename T>
  T* Take(size_t count) {
    T* const taken = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 127) / 128 * 128;
    return taken;
  }
  size_t used() const { return used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_WORKSPACE_CPU_H_
