// Stage S3, second part: lines where the spectrum has its peaks, refined between the bins on sums
// over blocks of symbols; and the same sums for the carrier where a method has put it.
#include "kernels/carrier/gpu/line_blocks.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {
namespace {

// A thread block adds up this much of a frame: two tiles a warp, of few frames one.
uint32_t StretchOf(const RecoverTask& task) { return (task.overlaps ? 1 : 2) * kTeamWarps * kTile; }

// Lines that are refined: peaks that cannot come near the best are not. They are sorted, so that
// these are the last ones. Where there is no peak, since there was no search or there is nothing in
// the spectrum, the line is that at 0.
__device__ int NumLines(const FrameState& state) {
  if (state.num_peaks == 0) return 1;
  const double doubtful = (state.peaks[0].power - kDoubt * state.line_energy) * kHalfBinShare;
  int count = 1;
  while (count < state.num_peaks && state.peaks[count].power >= doubtful) ++count;
  return count;
}
// Where line k of S3 is added up around, cycles per symbol.
__device__ double NuOf(const FrameState& state, int k, int points) {
  return k < state.num_peaks ? 0.5 * state.peaks[k].half_bin / points : 0.0;
}

// Which sums are wanted.
enum class SumsOf { kPeaks, kBin, kCarrier };

// sums[frame][line][..]: a thread block for each stretch of a frame.
template <bool kSpread>
__global__ void __launch_bounds__(kTeamThreads)
    LineSumKernel(const __grid_constant__ RecoverTask task, SumsOf of, LineSums sums,
                  unsigned stretches, uint32_t stretch) {
  LetNextKernelCome();
  __shared__ alignas(16) unsigned char turn_memory[kKnownPeaks * sizeof(LineTurn)];
  __shared__ alignas(16) unsigned char weight_memory[kWeightNodes * sizeof(WeightNode)];
  auto* const turns = reinterpret_cast<LineTurn*>(turn_memory);
  const uint32_t f = blockIdx.x / stretches;
  const uint32_t begin = (blockIdx.x - f * stretches) * stretch;
  AwaitS1(task);
  const FrameView frame(task, f);
  if (begin >= frame.num_symbols) return;  // the frame's first block waits
  const FrameState& state = task.states[f];
  // Waits for all.
  const LineMaker maker(task, frame, state.estimate, kTeamThreads,
                        reinterpret_cast<WeightNode*>(weight_memory));
  const auto read = [&](uint32_t tile, Iq(&x)[kTileLanes]) {
    Iq r[kTileLanes];
    frame.samples.ReadTile(tile + threadIdx.x % 32, frame.num_symbols, r);
    maker.MakeTile(tile + threadIdx.x % 32, frame.num_symbols, r, x);
  };
  uint32_t tile = begin + threadIdx.x / 32 * kTile;
  Iq x[kTileLanes];
  read(tile, x);
  AwaitKernelBefore();
  if (state.bad != 0 || state.silent != 0) return;
  const int num_lines = of == SumsOf::kPeaks ? NumLines(state) : 1;
  const auto line = static_cast<int>(threadIdx.x);
  if (line < num_lines) {
    const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
    const double nu = of == SumsOf::kPeaks ? NuOf(state, line, 1 << task.log2_line)
                      : of == SumsOf::kBin ? state.chosen_bin
                                           : state.estimate.frequency * line_power;
    turns[line] = LineTurnOf(nu, frame.num_symbols);
  }
  __syncthreads();
  LineBlock* const of_frame = sums.memory + static_cast<size_t>(f) * sums.lines * sums.row;
  const uint32_t length = LineSumLength(frame.num_symbols);
  const uint32_t end = min(begin + stretch, frame.num_symbols);
  while (tile < end) {
    for (int k = 0; k < num_lines; ++k) {
      SumLineTile<kSpread>(frame, x, tile + threadIdx.x % 32, turns[k], length,
                           of_frame + static_cast<uint32_t>(k) * sums.row);
    }
    tile += kTeamWarps * kTile;
    if (tile < end) read(tile, x);
  }
}

// Refines a line from its blocks around `nu`. By one warp. `peak` is null if there is none.
__device__ RefinedLine Refine(const Blocks& blocks, double nu, double line_energy, int points,
                              const SpectrumPeak* peak, const LineClimb& climb) {
  double delta = 0.0;
  for (int step = 0; step < climb.steps; ++step) {
    if (!ClimbOn(blocks.At(delta), climb, &delta)) break;
  }
  const LineAt at = blocks.At(delta);
  RefinedLine line;
  line.nu = nu + delta / points;
  line.phase = at.phase_turns();
  line.lambda = at.power() / line_energy;
  line.bin_nu = line.nu;
  if (peak != nullptr) {
    int bin = static_cast<int>(floor(line.nu * points));
    const int first = (peak->half_bin >> 1) - 1;
    const auto power = [&](int k) { return peak->bins[min(max(k - first, 0), 3)]; };
    if (power(bin + 1) > power(bin)) ++bin;
    line.bin_nu = static_cast<double>(bin) / points;
  }
  return line;
}

// Sorts the lines by strength into the frame's state, without those that are another one's again.
// Peaks that were not refined show in the ratio of the two strongest only.
__device__ void KeepLines(const RefinedLine* lines, int num_lines, int num_symbols,
                          FrameState* state) {
  double second = 1.0;  // the mean of the bins, if there is no other peak
  if (num_lines < state->num_peaks) {
    second = fmax(second, state->peaks[num_lines].power / state->line_energy);
  }
  int order[kKnownPeaks];  // of the lines that are kept, strongest first
  int count = 0;
  for (int k = 0; k < num_lines; ++k) {
    bool found_before = false;
    for (int i = 0; i < count; ++i) {
      found_before = found_before || SamePeak(lines[k].nu, lines[order[i]].nu, num_symbols);
    }
    if (found_before) continue;
    int at = count++;
    for (; at > 0 && lines[k].lambda > lines[order[at - 1]].lambda; --at) order[at] = order[at - 1];
    order[at] = k;
  }
  for (int i = 0; i < count; ++i) state->lines[i] = lines[order[i]];
  if (count > 1) second = fmax(second, state->lines[1].lambda);
  state->num_lines = count;
  state->best_lambda = state->lines[0].lambda;
  state->second_lambda = second;
}

// A thread block for each frame, a warp of it for each line that there may be.
__global__ void __launch_bounds__(32 * kKnownPeaks)
    LinesKernel(const __grid_constant__ RecoverTask task, LineSums sums) {
  LetNextKernelCome();
  __shared__ alignas(16) unsigned char memory[kKnownPeaks * sizeof(RefinedLine)];
  auto* const lines = reinterpret_cast<RefinedLine*>(memory);
  const uint32_t f = blockIdx.x;
  AwaitS1(task);
  const FrameView frame(task, f);
  FrameState* const state = task.states + f;
  AwaitKernelBefore();
  if (state->bad != 0 || state->silent != 0) return;
  const int points = 1 << task.log2_line;
  const int num_lines = NumLines(*state);
  const auto warp = static_cast<int>(threadIdx.x / 32);
  if (warp < num_lines) {
    const size_t at = (static_cast<size_t>(f) * sums.lines + static_cast<size_t>(warp)) * sums.row;
    const Blocks blocks(sums.memory + at, static_cast<int>(frame.num_symbols), points);
    const SpectrumPeak* const peak = warp < state->num_peaks ? state->peaks + warp : nullptr;
    const bool around_zero =
        task.parameters.coarse == Coarse::kNone && task.parameters.fine == Fine::kInterpolate;
    LineClimb climb = LineClimbOf(peak != nullptr, static_cast<int>(frame.num_symbols), points);
    if (peak == nullptr && !around_zero) climb.steps = 0;
    const RefinedLine line =
        Refine(blocks, NuOf(*state, warp, points), state->line_energy, points, peak, climb);
    if (threadIdx.x % 32 == 0) lines[warp] = line;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    KeepLines(lines, num_lines, static_cast<int>(frame.num_symbols), state);
  }
}

// The line where the carrier was put: its spread and, if `settles`, its phase, which the carrier's
// then follows from where the line was chosen. A warp for each frame.
__global__ void __launch_bounds__(32)
    CarrierLineKernel(const __grid_constant__ RecoverTask task, LineSums sums, bool settles) {
  LetNextKernelCome();
  AwaitKernelBefore();
  const uint32_t f = blockIdx.x;
  const FrameView frame(task, f);
  FrameState* const state = task.states + f;
  if (state->bad != 0 || state->silent != 0) return;
  const int line_power = LineIsKnown(task, frame) ? 1 : task.model.power;
  const Blocks blocks(sums.memory + static_cast<size_t>(f) * sums.lines * sums.row,
                      static_cast<int>(frame.num_symbols), 1 << task.log2_line);
  const double phase = blocks.At(0.0).phase_turns();
  const Covariance covariance = blocks.CovarianceAt(phase, line_power);
  if (threadIdx.x != 0) return;
  state->line = covariance;
  if (!settles) return;
  const double turns = phase - state->chosen_phase;
  state->estimate.frequency = state->chosen_bin / line_power;
  state->estimate.phase += (turns - floor(turns + 0.5)) / line_power;
  if (task.parameters.fine == Fine::kSweep) state->coarse_frequency = state->estimate.frequency;
}

int MostLines(const Parameters& parameters) {
  if (parameters.coarse == Coarse::kNone) return 1;
  return parameters.coarse == Coarse::kKnown ? kKnownPeaks : kPeaks;
}

absl::Status LaunchSums(const RecoverTask& task, SumsOf of, const LineSums& sums,
                        cudaStream_t stream) {
  const uint32_t stretch = StretchOf(task);
  const unsigned stretches = (sums.num_symbols + stretch - 1) / stretch;
  auto* const kernel = of == SumsOf::kPeaks ? LineSumKernel<false> : LineSumKernel<true>;
  return LaunchNext(kernel, "LineSumKernel", task, task.num_frames * stretches, kTeamThreads, 0,
                    stream, of, sums, stretches, stretch);
}

}  // namespace

LineSums ShapeLineSums(const Parameters& parameters, uint32_t longest) {
  LineSums sums;
  sums.num_symbols = longest;
  sums.lines = static_cast<uint32_t>(MostLines(parameters));
  sums.row = MostLineSums(longest);
  return sums;
}
int64_t LineSumBytes(const Parameters& parameters, uint32_t longest) {
  const LineSums sums = ShapeLineSums(parameters, longest);
  return int64_t{sums.lines} * sums.row * static_cast<int64_t>(sizeof(LineBlock));
}

absl::Status LaunchLines(const RecoverTask& task, const LineSums& sums, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(LaunchSums(task, SumsOf::kPeaks, sums, stream));
  return LaunchNext(LinesKernel, "LinesKernel", task, task.num_frames, 32 * sums.lines, 0, stream,
                    sums);
}

absl::Status LaunchCarrierLine(const RecoverTask& task, const LineSums& sums, bool settles,
                               cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(
      LaunchSums(task, settles ? SumsOf::kBin : SumsOf::kCarrier, sums, stream));
  return LaunchNext(CarrierLineKernel, "CarrierLineKernel", task, task.num_frames, 32, 0, stream,
                    sums, settles);
}

}  // namespace baseband::carrier
