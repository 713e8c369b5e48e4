#include "kernels/carrier/cpu/workspace_cpu.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/carrier/math/line_math.h"

namespace baseband::carrier {
namespace {

// Hands out consecutive arrays, aligned for vectors. With a null base it only counts.
class Cutter {
 public:
  explicit Cutter(uint8_t* base) : base_(base) {}
  template <typename T>
  T* Take(size_t count) {
    T* const taken = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + 127) / 128 * 128;
    return taken;
  }
  Split TakeSplit(size_t count) {
    Split split;
    split.re = Take<float>(count);
    split.im = Take<float>(count);
    return split;
  }
  size_t used() const { return used_; }

 private:
  uint8_t* base_;
  size_t used_ = 0;
};

size_t LayOut(const RecoverPlan& plan, const FftPlan& fft, uint8_t* base, FrameArrays* arrays) {
  Cutter cut(base);
  const size_t symbols = PaddedToBlock(static_cast<size_t>(plan.num_symbols));
  const auto points = static_cast<size_t>(plan.points);
  arrays->frame.num_symbols = plan.num_symbols;
  arrays->frame.symbols = cut.TakeSplit(symbols);
  arrays->frame.known = cut.TakeSplit(symbols);
  arrays->line = cut.TakeSplit(std::max(points, symbols));
  // Arrays a power of two apart would fall into the same sets of the cache.
  cut.Take<float>(32);
  arrays->spectrum = cut.TakeSplit(points + 1);
  arrays->fft_scratch = cut.Take<float>(fft.scratch_floats());
  arrays->peak_scratch = cut.Take<float>(points / kPeakGroup);
  const int shortest = std::min(plan.sweep_block, LineBlockLength(plan.num_symbols));
  const int longest = LineBlocksRoom(plan.num_symbols, shortest);
  arrays->blocks = cut.Take<LineBlock>(static_cast<size_t>(longest));
  const auto candidates = static_cast<size_t>(plan.num_candidates());
  arrays->candidates = cut.Take<double>(candidates);
  arrays->evm = cut.Take<float>(candidates);
  return cut.used();
}

}  // namespace

void RecoverWorkspace::Free::operator()(uint8_t* memory) const {
  ::operator delete (memory, std::align_val_t{kAlignment});
}

RecoverWorkspace& RecoverWorkspace::OfThisThread() {
  static thread_local RecoverWorkspace workspace;
  return workspace;
}

const FftPlan& RecoverWorkspace::PlanOf(int points) {
  size_t log2 = 0;
  while (1 << log2 < points) ++log2;
  std::unique_ptr<FftPlan>& plan = plans_[log2];
  if (plan == nullptr) plan = std::make_unique<FftPlan>(points);
  return *plan;
}

FrameArrays RecoverWorkspace::Arrays(const RecoverPlan& plan) {
  FrameArrays arrays;
  const FftPlan& fft = PlanOf(plan.points);
  const size_t bytes = LayOut(plan, fft, nullptr, &arrays);
  if (bytes > memory_bytes_) {
    memory_.reset();
    memory_bytes_ = 0;
    memory_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{kAlignment})));
    memory_bytes_ = bytes;
    std::memset(memory_.get(), 0, bytes);
  }
  LayOut(plan, fft, memory_.get(), &arrays);
  return arrays;
}

}  // namespace baseband::carrier
