// What the kernels of RecoverCarrier hand to each other.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/carrier/gpu/samples.cuh"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/math/hypothesis_math.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/pll_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/math/stray_math.h"
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

// The half bins of a spectrum among which its peaks are.
struct SpectrumSearch {
  int32_t low = 0;
  int32_t high = 0;       // inclusive
  int32_t points = 0;     // L
  int32_t reach = 0;      // half bins no further than this from a peak are that peak's own
  int32_t max_peaks = 0;  // so many are wanted
  HalfBin half;
};

// What S5 leaves of a frame to be judged by.
struct Settled {
  Estimate estimate;        // of the last round, its step included
  FitSums<double> sums;     // of the last round, GainOfStep included
  int32_t sums_table = 0;   // that they were made in
  Information information;  // UsedInformation there
  double distance = 0.0;    // of hard decisions at `estimate`, squared and added up
  double apart = 0.0;       // sum of TurnedApart over the known symbols there
  Stretch stretches[kMaxStretches];
};

// A frame on its way through the kernels; in the workspace. S1 writes those that are told to begin
// with; of the others each is written by the stage whose result it is, and read by none that runs
// without that.
struct FrameState {
  Estimate estimate;          // S1; its frequency and phase are later stages'
  FrequencyRange range;       // S1
  SpectrumSearch search;      // S1, if the line is transformed
  double line_energy = 0.0;   // S2: sum |x_n|^2
  double received_rms = 0.0;  // S1
  double first_snr_db = 0.0;  // S1, by the amplitudes alone; if something is known
  int32_t num_peaks = 0;      // 0 from S1, then S3
  int32_t num_lines = 0;      // S3
  double best_lambda = 0.0;
  double second_lambda = 0.0;
  double coarse_frequency = 0.0;  // 0 from S1, then S4
  // Of the line that was chosen, at the carrier's alias: its phase where it was refined; cycles per
  // symbol of the stronger whole bin around it.
  double chosen_phase = 0.0;
  double chosen_bin = 0.0;
  double rival = kNoRival;  // S4
  int32_t blunt_table = 0;  // S4, see BluntTable
  Covariance line;          // of an estimate that is the line's: LaunchCarrierLine
  PllFound loop;            // of Fine::kPll; the estimate has zeros in its place from then on
  Settled settled;          // S5
  Estimate turn_back;       // S6: what the corrected symbols are turned back by
  uint8_t bad = 0;          // a symbol is not finite or too large
  uint8_t silent = 0;       // no energy
  uint8_t elsewhere = 0;    // S4
  uint8_t close_branch = 0;
  KnownMoments known;
  SpectrumPeak peaks[kKnownPeaks];  // strongest first
  RefinedLine lines[kKnownPeaks];   // strongest first
  uint32_t histogram[kAmplitudeBins];
};

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

  uint8_t* known_tiles = nullptr;  // [num_frames][known_row], of KnownView
  uint32_t known_row = 0;
  FrameState* states = nullptr;  // [num_frames]
  int log2_line = 0;
  float2* line = nullptr;  // [num_frames][1 << log2_line]
  // Fine::kPll: the loop's output, a row for each frame, which takes the place of its symbols.
  float2* turned = nullptr;
  uint32_t turned_row = 0;
  // Few frames: each kernel may be put on the device while those before it still run, see
  // AwaitKernelBefore.
  bool overlaps = false;
  // What S1 left may be read before that: the FFT, for which nothing overlaps, lies between.
  bool after_fft = false;
};

#ifdef __CUDACC__

// What a kernel launched by LaunchNext or LaunchTeams begins with: the next one may be put on the
// device as soon as all of this one's blocks are there, to get ready and wait.
__device__ __forceinline__ void LetNextKernelCome() { cudaTriggerProgrammaticLaunchCompletion(); }
// By every thread, before it touches anything but what S1 left (see AwaitS1) that a kernel before
// reads or writes: waits until the last one is done, which has waited for those before it. Some
// block of every kernel must, whatever its frames are: otherwise the kernel might end before those
// before it, and the next not wait for them.
__device__ __forceinline__ void AwaitKernelBefore() { cudaGridDependencySynchronize(); }
// The same, before it reads what S1 left and no later stage writes: not the estimate's frequency
// and phase.
__device__ __forceinline__ void AwaitS1(const RecoverTask& task) {
  if (!task.after_fft) AwaitKernelBefore();
}

// A frame as a kernel reads it.
struct FrameView {
  Samples samples;
  uint32_t num_symbols = 0;
  KnownView known;

  __device__ FrameView(const RecoverTask& task, uint32_t frame) {
    const RecoverFrame descriptor = task.frames[frame];
    samples = {task.symbols + descriptor.symbols_offset, task.parameters.format,
               task.parameters.scale};
    num_symbols = descriptor.num_symbols;
    if (descriptor.known_offset != kNoKnown) {
      known.symbols = reinterpret_cast<const Iq*>(task.known + descriptor.known_offset);
      known.tiles = task.known_tiles + static_cast<size_t>(frame) * task.known_row;
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
         (task.parameters.coarse == Coarse::kNone && frame.known);
}

__device__ inline int CurvePoints(const RecoverTask& task, int num_symbols) {
  if (task.parameters.fine == Fine::kSweep) return NumCandidates(task.parameters, num_symbols);
  return SpectrumCurveOf(task.model, task.parameters, 1 << task.log2_line).num_points;
}

__device__ inline FramePlan PlanOf(const RecoverTask& task, const FrameView& frame,
                                   const FrameState& state) {
  return PlanFrame(task.model, task.parameters, state.range, static_cast<bool>(frame.known),
                   static_cast<int>(frame.num_symbols), 1 << task.log2_line);
}

#endif  // __CUDACC__

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RECOVER_TASK_CUH_
