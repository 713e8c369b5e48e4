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
#include "kernels/carrier/gpu/cufft_library.h"
#include "kernels/carrier/gpu/device_models.h"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_workspace.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/cuda/device_life.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/status.h"

namespace baseband::carrier {
namespace {

constexpr int64_t kMaxFrames = 1 << 20;

// State of one device.
struct DeviceState {
  const cuda::DeviceLife life = cuda::DeviceLife::Current();
  FftPlans plans;
  DeviceModels models;
  int multiprocessors = 0;
  TeamLimits teams;
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
    const auto found = states_.find(device);
    if (found != states_.end() && !found->second->life.is_over()) return absl::OkStatus();
    auto state = std::make_unique<DeviceState>();
    BASEBAND_ASSIGN_OR_RETURN(state->plans, FftPlans::Create());
    BASEBAND_ASSIGN_OR_RETURN(state->models, DeviceModels::Create());
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute"));
    BASEBAND_RETURN_IF_ERROR(PrepareLine(&state->teams));
    BASEBAND_RETURN_IF_ERROR(PrepareRefine(&state->teams));
    BASEBAND_RETURN_IF_ERROR(PrepareSweepLines(&state->teams));
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

absl::StatusOr<DeviceState*> PreparedState() {
  BASEBAND_ASSIGN_OR_RETURN(DeviceState* const state, AllDevices().Current());
  if (state == nullptr) {
    return absl::FailedPreconditionError("PrepareRecover was not called on this device");
  }
  return state;
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
      NumCandidates(parameters, static_cast<int>(batch.lengths.front())) > kMaxSweepBins) {
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
  // Enough thread blocks to a frame that `num_frames` of them fill the device, on which two of a
  // multiprocessor run at once; sums come out the same whatever their number. The largest teams
  // have multiprocessors of their own, for there is not much room for such.
  int ClusterFor(int64_t num_frames) const {
    const int64_t tiles = (longest_ + kTile - 1) / kTile;
    const auto fits = [&](int cluster) {
      return cluster == state_.teams.blocks
                 ? num_frames <= state_.teams.at_once
                 : cluster < state_.teams.blocks &&
                       num_frames * cluster <= int64_t{2} * state_.multiprocessors;
    };
    int cluster = 1;
    while (tiles > cluster * kTeamWarps && fits(2 * cluster)) cluster *= 2;
    return cluster;
  }

  absl::Status RunRound(size_t begin, size_t count, int64_t line_frames) {
    auto* const workspace = static_cast<uint8_t*>(batch_.workspace);
    const int64_t line_bytes = LineBytes(task_.log2_line, line_frames);
    auto* const line = reinterpret_cast<float2*>(workspace);
    void* const work =
        workspace + (FftPlans::Room(task_.log2_line, line_frames) << (task_.log2_line + 3));
    auto* const states = reinterpret_cast<FrameState*>(workspace + line_bytes);
    uint8_t* const known_tiles =
        workspace + line_bytes + AlignUp(static_cast<int64_t>(count * sizeof(FrameState)));
    task_.known_row = KnownRow(longest_);
    const int64_t known_bytes = static_cast<int64_t>(count) * task_.known_row;
    const int blocks = 4 * state_.multiprocessors;
    task_.overlaps = count < static_cast<size_t>(state_.multiprocessors);

    const bool searches = task_.parameters.coarse != Coarse::kNone;
    const size_t per_pass = searches ? static_cast<size_t>(line_frames) : count;
    for (size_t i = 0; i < count; i += per_pass) {
      const size_t here = std::min(per_pass, count - i);
      task_.frames = batch_.frames + begin + i;
      task_.num_frames = static_cast<uint32_t>(here);
      task_.states = states + i;
      task_.known_tiles = known_tiles + i * task_.known_row;
      task_.line = searches ? line : nullptr;
      task_.after_fft = false;
      const int cluster = ClusterFor(static_cast<int64_t>(here));
      BASEBAND_RETURN_IF_ERROR(LaunchLine(task_, cluster, 8 * blocks, stream_));
      if (!searches) continue;
      BASEBAND_RETURN_IF_ERROR(
          state_.plans.Forward(task_.log2_line, static_cast<int64_t>(here), line, work, stream_));
      task_.after_fft = task_.overlaps;
      // The transform is over: its scratch is free.
      BASEBAND_RETURN_IF_ERROR(LaunchPeaks(task_, work, stream_));
      if (task_.parameters.want_curve && task_.parameters.fine != Fine::kSweep) {
        BASEBAND_RETURN_IF_ERROR(LaunchSpectrumCurve(task_, stream_));
      }
    }
    task_.frames = batch_.frames + begin;
    task_.num_frames = static_cast<uint32_t>(count);
    task_.states = states;
    task_.known_tiles = known_tiles;
    task_.turned = nullptr;
    const int cluster = ClusterFor(static_cast<int64_t>(count));
    uint8_t* rest = known_tiles + AlignUp(known_bytes);
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
        return Finish({false, true}, cluster, blocks);
      case Fine::kNone:
        BASEBAND_RETURN_IF_ERROR(Settle(cluster, blocks));
        return Finish({false, true}, cluster, blocks);
      case Fine::kInterpolate:
        BASEBAND_RETURN_IF_ERROR(LaunchRefine(task_, {true, false}, cluster, blocks, stream_));
        BASEBAND_RETURN_IF_ERROR(LaunchCarrierLine(task_, sums_, false, stream_));
        return Finish({false, true}, cluster, blocks);
      case Fine::kRemodulate:
        break;
    }
    return Finish({true, true}, cluster, blocks);
  }

  // The rest, to the end.
  absl::Status Finish(RefineStages stages, int cluster, int blocks) {
    BASEBAND_RETURN_IF_ERROR(LaunchRefine(task_, stages, cluster, blocks, stream_));
    return LaunchJudge(task_, longest_, state_.multiprocessors, stream_);
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
    return Finish({false, true}, cluster, blocks);
  }

  const RecoverBatch& batch_;
  const DeviceState& state_;
  cudaStream_t stream_;
  RecoverTask task_;
  LineSums sums_;
  uint32_t shortest_ = 0;
  uint32_t longest_ = 0;
};

}  // namespace

absl::Status PrepareRecover() { return AllDevices().Prepare(); }

absl::StatusOr<ModelView> ModelOnDevice(const Model& model) {
  BASEBAND_ASSIGN_OR_RETURN(DeviceState* const state, PreparedState());
  return state->models.Find(model);
}

absl::Status LaunchRecover(const RecoverBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  BASEBAND_ASSIGN_OR_RETURN(DeviceState* const state, PreparedState());
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
