#include "kernels/timing/cpu/workspace_cpu.h"

#include <algorithm>

#include "kernels/carrier/cpu/workspace_cpu.h"

namespace baseband::timing {
namespace {

using carrier::PaddedToBlock;

size_t LayOut(const LinePlan& plan, const PulseView& pulse, const carrier::FftPlan& fft,
              int num_symbols, uint8_t* base, FrameArrays* arrays) {
  carrier::SplitCutter cut(base);
  const auto points = static_cast<size_t>(plan.points);
  const auto num_groups = static_cast<size_t>(plan.num_groups);
  arrays->piece = cut.TakeSplit(std::max(points, PaddedToBlock(static_cast<size_t>(plan.window))));
  cut.Take<float>(32);  // arrays a power of two apart would fall into the same sets of the cache
  arrays->spectrum = cut.TakeSplit(points);
  arrays->fft_scratch = cut.Take<float>(fft.scratch_floats());
  arrays->weights = cut.Take<float>(static_cast<size_t>(plan.window));
  arrays->power = cut.Take<float>(points);
  arrays->power_before = cut.Take<double>(2 * points + 1);
  arrays->groups = cut.Take<Iq>(static_cast<size_t>(plan.num_pieces) * num_groups);
  arrays->line = cut.Take<Iq>(static_cast<size_t>(plan.num_pieces));
  arrays->group_weights = cut.Take<float>(num_groups);
  arrays->group_sums = cut.Take<double>(num_groups);
  // Symbols of a block are a drift further apart than nominally.
  const double spacing = 1.001 * plan.samples / plan.symbols;
  arrays->chunk = PaddedToBlock(static_cast<size_t>(kMatchBlock * spacing) +
                                static_cast<size_t>(pulse.row_taps) + 4);
  arrays->lead = PaddedToBlock(static_cast<size_t>(pulse.taps));
  arrays->read = cut.TakeSplit(arrays->chunk);
  arrays->turned = cut.TakeSplit(arrays->lead + arrays->chunk +
                                 PaddedToBlock(static_cast<size_t>(pulse.row_taps)));
  arrays->symbols = cut.Take<Iq>(static_cast<size_t>(num_symbols));
  arrays->slopes = cut.Take<Iq>(static_cast<size_t>(num_symbols));
  return cut.used();
}

}  // namespace

TimingWorkspace& TimingWorkspace::OfThisThread() {
  static thread_local TimingWorkspace workspace;
  return workspace;
}

FrameArrays TimingWorkspace::Arrays(const LinePlan& plan, const PulseView& pulse,
                                    const carrier::FftPlan& fft, int num_symbols) {
  FrameArrays arrays;
  const size_t bytes = LayOut(plan, pulse, fft, num_symbols, nullptr, &arrays);
  LayOut(plan, pulse, fft, num_symbols, memory_.AtLeast(bytes), &arrays);
  return arrays;
}

}  // namespace baseband::timing
