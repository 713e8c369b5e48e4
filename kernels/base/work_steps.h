// How long work shows that it gets on, and learns that nobody wants it any more: whoever runs it
// sets both up for the thread, and the kernels under it count their steps.
//
//   const StepsScope counted(&steps);       // around the work
//   const WantedScope wanted(&cancelled);
//   if (!CountStep()) return;               // in it, every few milliseconds at least
#ifndef BASEBAND_KERNELS_BASE_WORK_STEPS_H_
#define BASEBAND_KERNELS_BASE_WORK_STEPS_H_

#include <atomic>
#include <cstdint>

namespace baseband {

// What one thread writes and others read; on a cache line of its own.
struct alignas(64) WorkSteps {
  std::atomic<int64_t> count{0};
};

namespace internal {
inline thread_local WorkSteps* work_steps = nullptr;
inline thread_local const std::atomic<bool>* work_unwanted = nullptr;
}  // namespace internal

// One step more of this thread's work is done; some nanoseconds. False: nobody wants the result any
// more. The work may then end early, with any result.
inline bool CountStep() {
  if (WorkSteps* const steps = internal::work_steps; steps != nullptr) {
    steps->count.store(steps->count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  const std::atomic<bool>* const unwanted = internal::work_unwanted;
  return unwanted == nullptr || !unwanted->load(std::memory_order_relaxed);
}

// While it lives, steps of this thread count in `steps`, which no other thread writes.
class StepsScope {
 public:
  explicit StepsScope(WorkSteps* steps) : before_(internal::work_steps) {
    internal::work_steps = steps;
  }
  ~StepsScope() { internal::work_steps = before_; }
  StepsScope(const StepsScope&) = delete;
  StepsScope& operator=(const StepsScope&) = delete;

 private:
  WorkSteps* const before_;
};

// While it lives, the work of this thread is wanted until `*unwanted` is true; null: to its end.
class WantedScope {
 public:
  explicit WantedScope(const std::atomic<bool>* unwanted) : before_(internal::work_unwanted) {
    internal::work_unwanted = unwanted;
  }
  ~WantedScope() { internal::work_unwanted = before_; }
  WantedScope(const WantedScope&) = delete;
  WantedScope& operator=(const WantedScope&) = delete;

 private:
  const std::atomic<bool>* const before_;
};

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_WORK_STEPS_H_
