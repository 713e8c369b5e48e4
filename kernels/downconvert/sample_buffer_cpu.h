// Consecutive samples on their way into a stage, by absolute index: a queue in one piece of memory.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_SAMPLE_BUFFER_CPU_H_
#define BASEBAND_KERNELS_DOWNCONVERT_SAMPLE_BUFFER_CPU_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace baseband::downconvert {

class SampleBuffer {
 public:
  // `memory` has room for `capacity` samples of `components` floats, and padding. Starts empty; the
  // first sample to come is sample `first`, which may be negative.
  void Start(float* memory, size_t capacity, size_t components, int64_t first) {
    memory_ = memory;
    capacity_ = capacity;
    components_ = components;
    begin_ = 0;
    held_ = 0;
    first_ = first;
  }

  int64_t first() const { return first_; }
  int64_t end() const { return first_ + static_cast<int64_t>(held_); }
  // Sample `index`, one of those held.
  const float* At(int64_t index) const {
    return memory_ + (begin_ + static_cast<size_t>(index - first_)) * components_;
  }

  // How many samples may be written to tail(). Moves what is held to the front of the memory where
  // that costs no more than the samples that have gone.
  size_t MakeRoom() {
    if (begin_ >= held_ || begin_ + held_ == capacity_) {
      if (begin_ > 0) std::memmove(memory_, front(), held_ * components_ * sizeof(float));
      begin_ = 0;
    }
    return capacity_ - begin_ - held_;
  }
  float* tail() { return front() + held_ * components_; }
  void Append(size_t count) { held_ += count; }

  // Samples before `index` are not needed any more, nor will be those still to come.
  void DropBefore(int64_t index) {
    const size_t gone =
        static_cast<size_t>(std::clamp<int64_t>(index - first_, 0, static_cast<int64_t>(held_)));
    begin_ += gone;
    held_ -= gone;
    first_ += static_cast<int64_t>(gone);
  }
  // The next sample to come is `index`, if nothing is held and it is a later one.
  void SkipTo(int64_t index) {
    if (held_ == 0) first_ = std::max(first_, index);
  }

 private:
  float* front() { return memory_ + begin_ * components_; }

  float* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t components_ = 2;
  size_t begin_ = 0;  // samples of the memory before the first one held
  size_t held_ = 0;
  int64_t first_ = 0;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_SAMPLE_BUFFER_CPU_H_
