// Entry points of carrier recovery on a GPU: checks a batch, and takes it through the kernels in
// rounds that fit the workspace.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/cufft_library.h"
#include "kernels/carrier/device_models.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/carrier/recover_launch.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"

namespace baseband::carrier {
namespace {

constexpr int64_t kMaxFrames = 1 << 20;
// Points of the line that are on their way from the FFT to the search at a time: they then meet in
// the second cache, of which they take 32 MB.
constexpr int64_t kLinePoints = int64_t{1} << 24;
// More rounds than this many frames each would leave the device idle between them.
constexpr int64_t kMaxRoundFrames = 16384;

int Log2Line(uint32_t num_symbols) {
  int log2 = kMinLog2Line;
  while ((1U << log2) < num_symbols) ++log2;
  return log2;
}

constexpr int64_t AlignUp(int64_t bytes) { return (bytes + 255) / 256 * 256; }

// How many frames' lines are transformed together, if there is memory for them.
int64_t LineFrames(const Parameters& parameters, int log2_line) {
  if (parameters.coarse == Coarse::kNone) return 0;
  return std::max<int64_t>(1, kLinePoints >> log2_line);
}

// The loop's output takes the place of a frame's symbols.
int64_t LoopBytes(uint32_t num_symbols) { return AlignUp(int64_t{num_symbols} * 8); }

// Parts of the workspace: of every frame of a round, and of the frames whose lines are transformed
// together. `shortest` and `longest` frames of the round: of a sweep, the shorter has the more
// candidates, the longer the more tiles.
int64_t FrameBytes(const Parameters& parameters, uint32_t shortest, uint32_t longest) {
  int64_t bytes = AlignUp(sizeof(FrameState)) + AlignUp(LineSumBytes(parameters, longest));
  if (parameters.fine == Fine::kSweep) {
    bytes += SweepFrameBytes(ShapeSweep(parameters, shortest, longest));
  }
  if (parameters.fine == Fine::kPll) bytes += LoopBytes(longest);
  return bytes;
}
// The most that one frame of up to `num_symbols` takes, whatever shares its round.
int64_t MostFrameBytes(const Parameters& parameters, uint32_t num_symbols) {
  int64_t most = 0;
  for (int log2 = kMinLog2Line; log2 <= Log2Line(num_symbols); ++log2) {
    const uint32_t shortest = log2 == kMinLog2Line ? kMinSymbols : (1U << (log2 - 1)) + 1;
    most = std::max(most, FrameBytes(parameters, shortest, 1U << log2));
  }
  return most;
}
int64_t LineBytes(int log2_line, int64_t frames) {
  if (frames == 0) return 0;
  // The transform's scratch is the search's once it is over.
  const int64_t scratch =
      std::max(FftPlans::WorkBytes(log2_line, frames), frames * PeakBytes(log2_line));
  return (frames << (log2_line + 3)) + AlignUp(scratch);
}

// How a stretch of frames of one FFT length goes through a workspace.
struct RoundShape {
  int64_t frames = 0;       // a round
  int64_t line_frames = 0;  // of these, transformed together
};

RoundShape ShapeRound(const Parameters& parameters, int log2_line, int64_t frame_bytes,
                      int64_t num_frames, int64_t workspace_bytes) {
  RoundShape shape;
  shape.line_frames = std::min(num_frames, LineFrames(parameters, log2_line));
  for (;;) {
    const int64_t left = workspace_bytes - LineBytes(log2_line, shape.line_frames);
    shape.frames = std::min({num_frames, kMaxRoundFrames, left <= 0 ? 0 : left / frame_bytes});
    // Fewer lines at a time, if that lets a round have more frames than lines.
    if (shape.frames >= shape.line_frames || shape.line_frames <= 1) return shape;
    shape.line_frames /= 2;
  }
}

// State of one device.
struct DeviceState {
  FftPlans plans;
  DeviceModels models;
  int multiprocessors = 0;
};

class Devices {
 public:
  // Null before PrepareRecover() on the current device.
  absl::StatusOr<DeviceState*> Current() {
    int device = 0;
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
    const absl::MutexLock lock(&mutex_);
    const auto found = states_.find(device);
    return found == states_.end() ? nullptr : found->second.get();
  }
  absl::Status Prepare() {
    int device = 0;
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
    const absl::MutexLock lock(&mutex_);
    if (states_.count(device) != 0) return absl::OkStatus();
    auto state = std::make_unique<DeviceState>();
    BASEBAND_ASSIGN_OR_RETURN(state->plans, FftPlans::Create());
    BASEBAND_ASSIGN_OR_RETURN(state->models, DeviceModels::Create());
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute"));
    BASEBAND_RETURN_IF_ERROR(PrepareRefine());
    BASEBAND_RETURN_IF_ERROR(PrepareSweep());
    BASEBAND_RETURN_IF_ERROR(PreparePll());
    states_[device] = std::move(state);
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  std::map<int, std::unique_ptr<DeviceState>> states_ ABSL_GUARDED_BY(mutex_);
};

// Never destroyed: CUDA may be gone by then.
Devices& AllDevices() {
  static auto* const devices = new Devices;
  return *devices;
}

absl::Status CheckPointer(const char* field, const void* pointer) {
  if (pointer == nullptr || reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is null or not 16-byte aligned"));
  }
  return absl::OkStatus();
}

absl::Status Check(const RecoverBatch& batch) {
  if (batch.model == nullptr) return absl::InvalidArgumentError("model is null");
  const auto num_frames = static_cast<int64_t>(batch.lengths.size());
  if (num_frames < 1 || num_frames > kMaxFrames) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of frames ", num_frames, " is not in [1, ", kMaxFrames, "]"));
  }
  uint32_t last = kMinSymbols;
  for (const uint32_t length : batch.lengths) {
    if (length < kMinSymbols || length > kMaxSymbols) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths: ", length, " is not in [", kMinSymbols, ", ", kMaxSymbols, "]"));
    }
    if (length < last) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths: ", length, " follows ", last, ": they are not ascending"));
    }
    last = length;
  }
  const Parameters& parameters = batch.parameters;
  if (parameters.fine == Fine::kSweep &&
      SweepCandidates(parameters, static_cast<int>(batch.lengths.front())) > kMaxSweepBins) {
    return absl::InvalidArgumentError(absl::StrCat("the sweep of a frame of ",
                                                   batch.lengths.front(), " symbols has more than ",
                                                   kMaxSweepBins, " candidates"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckPointer("frames", batch.frames));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("symbols", batch.symbols));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("results", batch.results));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("workspace", batch.workspace));
  if (parameters.want_corrected || parameters.want_curve) {
    BASEBAND_RETURN_IF_ERROR(CheckPointer("output", batch.output));
  }
  if (batch.known != nullptr || parameters.coarse == Coarse::kKnown) {
    BASEBAND_RETURN_IF_ERROR(CheckPointer("known", batch.known));
  }
  const uint32_t longest = batch.lengths.back();
  const int64_t least = RecoverWorkspaceBytes(parameters, static_cast<int>(longest), 1);
  if (batch.workspace_bytes < least) {
    return absl::InvalidArgumentError(absl::StrCat("workspace_bytes ", batch.workspace_bytes,
                                                   " is less than the ", least, " that a frame of ",
                                                   longest, " symbols takes"));
  }
  return absl::OkStatus();
}

// Takes one launch through its rounds.
class Rounds {
 public:
  Rounds(const RecoverBatch& batch, const DeviceState& state, const ModelView& model,
         cudaStream_t stream)
      : batch_(batch), state_(state), stream_(stream) {
    task_.model = model;
    task_.parameters = batch.parameters;
    task_.symbols = batch.symbols;
    task_.known = batch.known;
    task_.output = batch.output;
    task_.results = batch.results;
  }

  // Frames begin .. end - 1, whose FFTs are of the same length.
  absl::Status Run(size_t begin, size_t end) {
    const Parameters& parameters = batch_.parameters;
    const uint32_t shortest = batch_.lengths[begin];
    const uint32_t longest = batch_.lengths[end - 1];
    task_.log2_line = Log2Line(longest);
    shortest_ = shortest;
    longest_ = longest;
    const RoundShape shape =
        ShapeRound(parameters, task_.log2_line, FrameBytes(parameters, shortest, longest),
                   static_cast<int64_t>(end - begin), batch_.workspace_bytes);
    while (begin < end) {
      const size_t count = std::min(end - begin, static_cast<size_t>(shape.frames));
      BASEBAND_RETURN_IF_ERROR(RunRound(begin, count, shape.line_frames));
      begin += count;
    }
    return absl::OkStatus();
  }

 private:
  // Enough thread blocks to a frame that `num_frames` of them fill the device; sums come out the
  // same whatever their number.
  int ClusterFor(int64_t num_frames, int blocks_per_multiprocessor) const {
    const int64_t wanted = int64_t{state_.multiprocessors} * blocks_per_multiprocessor;
    const int64_t tiles = (longest_ + kTile - 1) / kTile;
    int cluster = 1;
    while (cluster < kMaxCluster && num_frames * cluster * 2 <= wanted &&
           tiles >= 2 * cluster * kTeamWarps) {
      cluster *= 2;
    }
    return cluster;
  }

  absl::Status RunRound(size_t begin, size_t count, int64_t line_frames) {
    auto* const workspace = static_cast<uint8_t*>(batch_.workspace);
    const int64_t line_bytes = LineBytes(task_.log2_line, line_frames);
    auto* const line = reinterpret_cast<float2*>(workspace);
    void* const work = workspace + (line_frames << (task_.log2_line + 3));
    auto* const states = reinterpret_cast<FrameState*>(workspace + line_bytes);
    const int blocks = 4 * state_.multiprocessors;

    const bool searches = task_.parameters.coarse != Coarse::kNone;
    const size_t per_pass = searches ? static_cast<size_t>(line_frames) : count;
    for (size_t i = 0; i < count; i += per_pass) {
      const size_t here = std::min(per_pass, count - i);
      task_.frames = batch_.frames + begin + i;
      task_.num_frames = static_cast<uint32_t>(here);
      task_.states = states + i;
      task_.line = searches ? line : nullptr;
      const int cluster = ClusterFor(static_cast<int64_t>(here), 4);
      BASEBAND_RETURN_IF_ERROR(LaunchLine(task_, cluster, 8 * blocks, stream_));
      if (!searches) continue;
      BASEBAND_RETURN_IF_ERROR(
          state_.plans.Forward(task_.log2_line, static_cast<int64_t>(here), line, work, stream_));
      // The transform is over: its scratch is free.
      BASEBAND_RETURN_IF_ERROR(LaunchPeaks(task_, work, stream_));
      if (task_.parameters.want_curve && task_.parameters.fine != Fine::kSweep) {
        BASEBAND_RETURN_IF_ERROR(LaunchSpectrumCurve(task_, stream_));
      }
    }
    task_.frames = batch_.frames + begin;
    task_.num_frames = static_cast<uint32_t>(count);
    task_.states = states;
    task_.turned = nullptr;
    const int cluster = ClusterFor(static_cast<int64_t>(count), 2);
    uint8_t* rest =
        workspace + line_bytes + AlignUp(static_cast<int64_t>(count * sizeof(FrameState)));
    sums_ = ShapeLineSums(task_.parameters, longest_);
    sums_.memory = reinterpret_cast<LineBlock*>(rest);
    rest += AlignUp(static_cast<int64_t>(count) * LineSumBytes(task_.parameters, longest_));
    BASEBAND_RETURN_IF_ERROR(LaunchLines(task_, sums_, stream_));
    switch (task_.parameters.fine) {
      case Fine::kSweep:
        return RunSweep(rest, cluster, blocks);
      case Fine::kPll:
        BASEBAND_RETURN_IF_ERROR(Settle(cluster, blocks));
        task_.turned = reinterpret_cast<float2*>(rest);
        task_.turned_row = static_cast<uint32_t>(LoopBytes(longest_) / 8);
        BASEBAND_RETURN_IF_ERROR(LaunchPll(task_, stream_));
        return LaunchRefine(task_, {false, true}, cluster, blocks, stream_);
      case Fine::kNone:
        BASEBAND_RETURN_IF_ERROR(Settle(cluster, blocks));
        return LaunchRefine(task_, {false, true}, cluster, blocks, stream_);
      case Fine::kInterpolate:
        BASEBAND_RETURN_IF_ERROR(LaunchRefine(task_, {true, false}, cluster, blocks, stream_));
        BASEBAND_RETURN_IF_ERROR(LaunchCarrierLine(task_, sums_, false, stream_));
        return LaunchRefine(task_, {false, true}, cluster, blocks, stream_);
      case Fine::kRemodulate:
        break;
    }
    return LaunchRefine(task_, {true, true}, cluster, blocks, stream_);
  }

  // S4, and from there to the whole bin.
  absl::Status Settle(int cluster, int blocks) {
    BASEBAND_RETURN_IF_ERROR(LaunchRefine(task_, {true, false}, cluster, blocks, stream_));
    return LaunchCarrierLine(task_, sums_, task_.parameters.coarse != Coarse::kNone, stream_);
  }

  absl::Status RunSweep(uint8_t* memory, int cluster, int blocks) {
    SweepTask sweep;
    sweep.shape = ShapeSweep(task_.parameters, shortest_, longest_);
    sweep.memory = memory;
    // Without a coarse stage the candidates' lines are the only ones to choose among.
    const bool searched = task_.parameters.coarse != Coarse::kNone;
    if (searched) BASEBAND_RETURN_IF_ERROR(Settle(cluster, blocks));
    BASEBAND_RETURN_IF_ERROR(LaunchSweepLines(task_, sweep, cluster, blocks, stream_));
    if (!searched) BASEBAND_RETURN_IF_ERROR(Settle(cluster, blocks));
    BASEBAND_RETURN_IF_ERROR(LaunchSweep(task_, sweep, stream_));
    BASEBAND_RETURN_IF_ERROR(LaunchCarrierLine(task_, sums_, false, stream_));
    return LaunchRefine(task_, {false, true}, cluster, blocks, stream_);
  }

  static constexpr int kMaxCluster = 8;

  const RecoverBatch& batch_;
  const DeviceState& state_;
  cudaStream_t stream_;
  RecoverTask task_;
  LineSums sums_;
  uint32_t shortest_ = 0;
  uint32_t longest_ = 0;
};

}  // namespace

int64_t RecoverWorkspaceBytes(const Parameters& parameters, int num_symbols, int64_t num_frames) {
  const auto length = static_cast<uint32_t>(num_symbols);
  const int log2_line = Log2Line(length);
  const int64_t frames = std::min(num_frames, kMaxRoundFrames);
  return LineBytes(log2_line, std::min(frames, LineFrames(parameters, log2_line))) +
         std::max(frames * FrameBytes(parameters, length, length),
                  MostFrameBytes(parameters, length));
}

absl::Status PrepareRecover() { return AllDevices().Prepare(); }

absl::Status LaunchRecover(const RecoverBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  BASEBAND_ASSIGN_OR_RETURN(DeviceState* const state, AllDevices().Current());
  if (state == nullptr) {
    return absl::FailedPreconditionError("PrepareRecover was not called on this device");
  }
  BASEBAND_ASSIGN_OR_RETURN(const ModelView model, state->models.Find(*batch.model));
  Rounds rounds(batch, *state, model, stream);
  size_t begin = 0;
  while (begin < batch.lengths.size()) {
    size_t end = begin + 1;
    while (end < batch.lengths.size() &&
           Log2Line(batch.lengths[end]) == Log2Line(batch.lengths[begin])) {
      ++end;
    }
    BASEBAND_RETURN_IF_ERROR(rounds.Run(begin, end));
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace baseband::carrier
