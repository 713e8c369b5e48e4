#include "kernels/carrier/cpu/workspace_cpu.h"

#include <algorithm>

#include "kernels/carrier/math/line_math.h"

namespace baseband::carrier {
namespace {

size_t LayOut(const RecoverPlan& plan, const FftPlan& fft, uint8_t* base, FrameArrays* arrays) {
  SplitCutter cut(base);
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
  LayOut(plan, fft, memory_.AtLeast(bytes), &arrays);
  return arrays;
}

}  // namespace baseband::carrier
