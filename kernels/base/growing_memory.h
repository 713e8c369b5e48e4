// What a thread of the CPU device works in: memory that only grows, cut into arrays.
#ifndef BASEBAND_KERNELS_BASE_GROWING_MEMORY_H_
#define BASEBAND_KERNELS_BASE_GROWING_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace baseband {

// Not thread-safe: one a thread.
class GrowingMemory {
 public:
  static constexpr size_t kAlignment = 128;  // of any vector

  // `bytes` of memory, aligned; zero where it is new, else whatever was left there. Valid until
  // more is asked for.
  uint8_t* AtLeast(size_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();  // before, so that both are never there at once
      bytes_ = 0;
      memory_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{kAlignment})));
      bytes_ = bytes;
      std::memset(memory_.get(), 0, bytes);
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };

  std::unique_ptr<uint8_t, Free> memory_;
  size_t bytes_ = 0;
};

// Hands out consecutive arrays, each a multiple of `kAlignment` from `base`. With a null base it
// only counts.
template <size_t kAlignment = GrowingMemory::kAlignment>
class MemoryCutter {
 public:
  explicit MemoryCutter(uint8_t* base) : base_(base) {}
  template <typename T>
  T* Take(size_t count) {
    T* const taken = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return taken;
  }
  size_t used() const { return used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_GROWING_MEMORY_H_
