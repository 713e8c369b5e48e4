// The stages of LaunchRecover, one a source file. Each checks nothing, enqueues its kernels on
// `stream` and does not wait. Internal; CUDA sources only.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_RECOVER_LAUNCH_H_
#define BASEBAND_KERNELS_CARRIER_GPU_RECOVER_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <climits>
#include <cstdint>

#include "absl/status/status.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/cuda/status.h"

namespace baseband::carrier {

// What a launch of `num_blocks` of `kernel` in clusters of `cluster` looks like.
inline cudaLaunchConfig_t TeamsConfig(unsigned num_blocks, int cluster, size_t shared_bytes,
                                      cudaLaunchAttribute* attribute) {
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(num_blocks);
  config.blockDim = dim3(kTeamThreads);
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = attribute;
  config.numAttrs = 1;
  return config;
}

// Which teams a device holds.
struct TeamLimits {
  int blocks = kMaxTeamBlocks;  // of the largest
  int at_once = INT_MAX;        // so many of these, with a multiprocessor for each block
};
// Prepares `kernel` for LaunchTeams with up to so many bytes, and lowers *limits to what it can
// have.
template <typename Kernel>
absl::Status PrepareTeams(Kernel kernel, size_t shared_bytes, TeamLimits* limits) {
  const auto set = [&](cudaFuncAttribute attribute, int value) {
    return cuda::ToStatus(cudaFuncSetAttribute(kernel, attribute, value), "cudaFuncSetAttribute");
  };
  BASEBAND_RETURN_IF_ERROR(
      set(cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)));
  BASEBAND_RETURN_IF_ERROR(set(cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  for (;; limits->blocks /= 2, limits->at_once = INT_MAX) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = TeamsConfig(static_cast<unsigned>(limits->blocks),
                                                  limits->blocks, shared_bytes, &attribute);
    int teams = 0;
    const cudaError_t error = cudaOccupancyMaxActiveClusters(&teams, kernel, &config);
    if (error == cudaSuccess && teams > 0) {
      limits->at_once = std::min(limits->at_once, teams);
      return absl::OkStatus();
    }
    cudaGetLastError();  // too large a cluster is told in one way or the other
    if (limits->blocks == 1) return cuda::ToStatus(error, "cudaOccupancyMaxActiveClusters");
  }
}

// Launches `kernel` with teams of `cluster` thread blocks, as many as there are frames, but no more
// than `max_blocks` blocks in all: a team goes on to further frames. `kernel` calls
// LetNextKernelCome and AwaitKernelBefore.
template <typename Kernel, typename... Arguments>
absl::Status LaunchTeams(Kernel kernel, const char* name, const RecoverTask& task,
                         uint32_t num_frames, int cluster, int max_blocks, size_t shared_bytes,
                         cudaStream_t stream, const Arguments&... arguments) {
  const auto size = static_cast<unsigned>(cluster);
  const unsigned num_teams =
      std::max(1U, std::min(num_frames, static_cast<unsigned>(max_blocks) / size));
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config = TeamsConfig(num_teams * size, cluster, shared_bytes, attributes);
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = task.overlaps ? 1 : 0;
  config.stream = stream;
  config.numAttrs = 2;
  return cuda::ToStatus(cudaLaunchKernelEx(&config, kernel, task, arguments...), name);
}

// Launches `blocks` of `kernel`, which calls LetNextKernelCome and AwaitKernelBefore: of few frames
// much of the time is that between one kernel's end and the next one's beginning.
template <typename Kernel, typename... Arguments>
absl::Status LaunchNext(Kernel kernel, const char* name, const RecoverTask& task, unsigned blocks,
                        unsigned threads, size_t shared_bytes, cudaStream_t stream,
                        const Arguments&... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = task.overlaps ? 1 : 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cuda::ToStatus(cudaLaunchKernelEx(&config, kernel, task, arguments...), name);
}

// S1, S2: statistics, SNR, the line. Each Prepare lowers *limits to what its kernels can have.
absl::Status PrepareLine(TeamLimits* limits);
absl::Status LaunchLine(const RecoverTask& task, int cluster, int max_blocks, cudaStream_t stream);

// S3: peaks of the transformed line. `memory`: PeakBytes for each frame.
int64_t PeakBytes(int log2_line);
absl::Status LaunchPeaks(const RecoverTask& task, void* memory, cudaStream_t stream);
// Then lines where the peaks are, or one at f = 0 if there was no search; from sums over blocks.
struct LineSums {
  LineBlock* memory = nullptr;  // [frame][lines][row]; LineSumBytes for each frame
  uint32_t num_symbols = 0;     // of the longest frame
  uint32_t lines = 0;
  uint32_t row = 0;
};
LineSums ShapeLineSums(const Parameters& parameters, uint32_t longest);
int64_t LineSumBytes(const Parameters& parameters, uint32_t longest);
absl::Status LaunchLines(const RecoverTask& task, const LineSums& sums, cudaStream_t stream);
// The spread of the line where the estimate is; `settles`: on the whole bin, to which the estimate
// moves.
absl::Status LaunchCarrierLine(const RecoverTask& task, const LineSums& sums, bool settles,
                               cudaStream_t stream);

// S4 and S5, or one of them; of S6 the sums over all symbols.
struct RefineStages {
  bool hypothesize = true;  // S4
  bool settle = true;       // S5
};
absl::Status PrepareRefine(TeamLimits* limits);
absl::Status LaunchRefine(const RecoverTask& task, RefineStages stages, int cluster, int max_blocks,
                          cudaStream_t stream);

// S6: results and corrected symbols. `longest`: symbols of the longest frame.
absl::Status LaunchJudge(const RecoverTask& task, uint32_t longest, int multiprocessors,
                         cudaStream_t stream);

// Fine::kSweep, between S4 and S5. What a round's arrays must hold: of a shorter frame more
// candidates, of a longer one more tiles.
struct SweepShape {
  int num_candidates = 0;    // the most that a frame has
  uint32_t num_symbols = 0;  // of the longest frame
  int64_t num_blocks = 0;    // of the line, at most
};
SweepShape ShapeSweep(const Parameters& parameters, uint32_t shortest, uint32_t longest);
int64_t SweepFrameBytes(const SweepShape& shape);
struct SweepTask {
  SweepShape shape;
  uint8_t* memory = nullptr;  // SweepFrameBytes for each frame of the round
};
absl::Status PrepareSweepLines(TeamLimits* limits);
absl::Status PrepareSweep();
// The line at every candidate; before S4 for Coarse::kNone, which has no peak but these.
absl::Status LaunchSweepLines(const RecoverTask& task, const SweepTask& sweep, int cluster,
                              int max_blocks, cudaStream_t stream);
// The sums of equation 8, and the least.
absl::Status LaunchSweep(const RecoverTask& task, const SweepTask& sweep, cudaStream_t stream);

// Fine::kPll, between S4 and S5.
absl::Status PreparePll();
absl::Status LaunchPll(const RecoverTask& task, cudaStream_t stream);

// The curve of the transformed line.
absl::Status LaunchSpectrumCurve(const RecoverTask& task, cudaStream_t stream);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_RECOVER_LAUNCH_H_
