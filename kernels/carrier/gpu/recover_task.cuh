// What the kernels of RecoverCarrier hand to each other.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/carrier/gpu/samples.cuh"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/recover_gpu.h"

namespace baseband::carrier {

// A line that may be the carrier's, refined between the bins. Phases are the line's, in turns, at
// the frame's centre.
struct RefinedLine {
  double nu = 0.0;  // cycles per symbol
  double phase = 0.0;
  double lambda = 0.0;
  double bin_nu = 0.0;  // the stronger of the whole bins around it
};

// What the spectrum shows of a peak.
struct SpectrumPeak {
  int32_t half_bin = 0;
  float power = 0.0F;
  // Of the whole bins half_bin / 2 - 1 .. + 2, negative beyond the range: the line's own are among
  // them.
  float bins[4] = {};
};

// A frame on its way through the kernels; in the workspace.
struct FrameState {
  Estimate estimate;
  double coarse_frequency = 0.0;
  double max_frequency = 0.0;  // the parameter, or the limit that 0 stands for
  Covariance covariance;       // of an estimate that is the line's: LaunchCarrierLine
  double best_lambda = 0.0;
  double second_lambda = 0.0;
  double line_energy = 0.0;   // sum |x_n|^2
  double chosen_phase = 0.0;  // of the line that was chosen, where it was refined
  double chosen_bin = 0.0;    // cycles per symbol of that line: the stronger whole bin around it
  double received_rms = 0.0;
  int32_t blunt_table = 0;  // see BluntTable
  // Of Fine::kPll; its estimate has zeros in their place once the loop has turned the symbols back.
  double loop_frequency = 0.0;
  double loop_phase = 0.0;
  int32_t num_peaks = 0;
  int32_t num_lines = 0;
  uint8_t bad = 0;     // a symbol is not finite or too large
  uint8_t silent = 0;  // no energy
  uint8_t close_peak = 0;
  uint8_t close_branch = 0;
  KnownMoments known;
  HalfBin half;                     // of the spectrum
  SpectrumPeak peaks[kKnownPeaks];  // strongest first
  RefinedLine lines[kKnownPeaks];   // strongest first
  uint32_t histogram[kAmplitudeBins];
};

// What parameters and a frame's length come to; PlanRecovery of recover_plan.h, for device code.
struct FramePlan {
  bool known_line = false;  // the line is r conj(known), else symbols to the power
  int line_power = 1;       // the carrier's angles are the line's divided by this
  int branches = 1;         // phases that a line leaves open
  int max_peaks = 1;
  int last_half_bin = 0;   // half bins -last .. last are searched
  double half_bins = 1.0;  // how many these are
};
inline constexpr int kKnownStepBranches = 2;   // see StepLimit
inline constexpr double kPlanRounding = 1e-9;  // of a quotient that should be a whole number

BASEBAND_HOST_DEVICE inline FramePlan PlanFrame(const ModelView& model, Coarse coarse,
                                                double max_frequency, bool symbols_known,
                                                int points) {
  FramePlan plan;
  plan.known_line = coarse == Coarse::kKnown || (coarse == Coarse::kNone && symbols_known);
  plan.line_power = plan.known_line ? 1 : model.power;
  const int branches = plan.line_power / (symbols_known ? 1 : model.symmetry);
  plan.branches = branches > 1 ? branches : 1;
  if (coarse != Coarse::kNone) {
    plan.max_peaks = plan.known_line ? kKnownPeaks : kPeaks;
    const double last = 2.0 * points * plan.line_power * max_frequency * (1.0 + kPlanRounding);
    plan.last_half_bin = static_cast<int>(fmin(floor(last), static_cast<double>(points)));
    plan.half_bins = fmin(2.0 * plan.last_half_bin + 1.0, 2.0 * points);
  }
  return plan;
}

// A sweep's candidates are |k| <= this.
BASEBAND_HOST_DEVICE inline int LastCandidate(const Parameters& parameters, int num_symbols) {
  const double range = parameters.sweep_range > 0.0 ? parameters.sweep_range : 0.5 / num_symbols;
  const double last = floor(range / parameters.sweep_step * (1.0 + kPlanRounding));
  return static_cast<int>(fmin(last, static_cast<double>(kMaxSweepBins))) +
         parameters.sweep_guard_bins;
}
BASEBAND_HOST_DEVICE inline int SweepCandidates(const Parameters& parameters, int num_symbols) {
  return 2 * LastCandidate(parameters, num_symbols) + 1;
}
// Symbols in a block of the sweep's line sums: within one the line of the outermost candidate turns
// by a sixteenth at most.
BASEBAND_HOST_DEVICE inline int SweepBlockLength(const Parameters& parameters, int line_power,
                                                 int num_symbols) {
  const double turning =
      line_power * LastCandidate(parameters, num_symbols) * parameters.sweep_step;
  const int longest = LineBlockLength(num_symbols);
  int length = 1;
  while (length < longest && 2.0 * length * turning <= 1.0 / 16.0) length *= 2;
  return length;
}

// Points of a frame's curve (CurveOf), whose range does not depend on which symbols are known.
BASEBAND_HOST_DEVICE inline int CurvePointsOf(int last_half_bin) {
  const int half_bins = 2 * last_half_bin + 1;
  const int group = (half_bins + kMaxCurvePoints - 1) / kMaxCurvePoints;
  return (half_bins + group - 1) / group;
}

// One round: frames whose FFT has the same length, recovered alike. A kernel's parameter.
struct RecoverTask {
  ModelView model;  // in device memory
  Parameters parameters;
  const RecoverFrame* frames = nullptr;
  uint32_t num_frames = 0;
  const uint8_t* symbols = nullptr;
  const uint8_t* known = nullptr;
  uint8_t* output = nullptr;
  Result* results = nullptr;

  double max_frequency = 0.0;    // the parameter, or the limit that 0 stands for
  FrameState* states = nullptr;  // [num_frames]
  int log2_line = 0;
  float2* line = nullptr;  // [num_frames][1 << log2_line]
  // Fine::kPll: the loop's output, a row for each frame, which takes the place of its symbols.
  float2* turned = nullptr;
  uint32_t turned_row = 0;
};

#ifdef __CUDACC__

// A frame as a kernel reads it.
struct FrameView {
  Samples samples;
  uint32_t num_symbols = 0;
  const Iq* known = nullptr;  // null: nothing is known

  __device__ FrameView(const RecoverTask& task, uint32_t frame) {
    const RecoverFrame descriptor = task.frames[frame];
    samples = {task.symbols + descriptor.symbols_offset, task.parameters.format,
               task.parameters.scale};
    num_symbols = descriptor.num_symbols;
    if (descriptor.known_offset != kNoKnown) {
      known = reinterpret_cast<const Iq*>(task.known + descriptor.known_offset);
    }
  }
  // The same frame as the loop left it.
  __device__ FrameView TurnedByLoop(const RecoverTask& task, uint32_t frame) const {
    FrameView turned = *this;
    const float2* const row = task.turned + static_cast<size_t>(frame) * task.turned_row;
    turned.samples = {reinterpret_cast<const uint8_t*>(row), SampleFormat::kFloat32, 1.0F};
    return turned;
  }
  __device__ double centre() const { return 0.5 * (num_symbols - 1.0); }
};

__device__ inline bool LineIsKnown(const RecoverTask& task, const FrameView& frame) {
  return task.parameters.coarse == Coarse::kKnown ||
         (task.parameters.coarse == Coarse::kNone && frame.known != nullptr);
}

__device__ inline int CurvePoints(const RecoverTask& task, int num_symbols) {
  const Parameters& parameters = task.parameters;
  if (parameters.fine == Fine::kSweep) return SweepCandidates(parameters, num_symbols);
  if (parameters.coarse == Coarse::kNone) return 0;
  const double limit = parameters.coarse == Coarse::kKnown ? 0.5 : 0.5 / task.model.power;
  const double max_frequency = parameters.max_frequency > 0.0 ? parameters.max_frequency : limit;
  return CurvePointsOf(
      PlanFrame(task.model, parameters.coarse, max_frequency, false, 1 << task.log2_line)
          .last_half_bin);
}

__device__ inline FramePlan PlanOf(const RecoverTask& task, const FrameView& frame,
                                   const FrameState& state) {
  return PlanFrame(task.model, task.parameters.coarse, state.max_frequency, frame.known != nullptr,
                   1 << task.log2_line);
}

#endif  // __CUDACC__

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_
