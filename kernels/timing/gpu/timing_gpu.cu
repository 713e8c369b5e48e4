// Entry points of symbol timing on a GPU: checks a batch, and takes it through the kernels in
// rounds that fit the workspace.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/gpu/device_models.h"
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/cuda/device_life.h"
#include "kernels/cuda/status.h"
#include "kernels/timing/gpu/device_pulses.h"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_workspace.h"
#include "kernels/timing/timing_gpu.h"

namespace baseband::timing {
namespace {

constexpr int64_t kMaxFrames = 1 << 20;

// State of one device.
struct DeviceTiming {
  const cuda::DeviceLife life = cuda::DeviceLife::Current();
  DevicePulses pulses;
  int multiprocessors = 0;
};

class TimingDevices {
 public:
  // FailedPrecondition before PrepareTiming() on the current device.
  absl::StatusOr<DeviceTiming*> Current() {
    int device = 0;
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
    const absl::MutexLock lock(&mutex_);
    const auto found = states_.find(device);
    if (found == states_.end()) {
      return absl::FailedPreconditionError("PrepareTiming was not called on this device");
    }
    return found->second.get();
  }
  absl::Status Prepare() {
    BASEBAND_RETURN_IF_ERROR(carrier::PrepareRecover());
    int device = 0;
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
    const absl::MutexLock lock(&mutex_);
    const auto found = states_.find(device);
    if (found != states_.end() && !found->second->life.is_over()) return absl::OkStatus();
    auto state = std::make_unique<DeviceTiming>();
    BASEBAND_ASSIGN_OR_RETURN(state->pulses, DevicePulses::Create());
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaDeviceGetAttribute(&state->multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute"));
    BASEBAND_RETURN_IF_ERROR(PreparePieces());
    BASEBAND_RETURN_IF_ERROR(PrepareSearch());
    BASEBAND_RETURN_IF_ERROR(PrepareMatch());
    BASEBAND_RETURN_IF_ERROR(PrepareRefineTiming());
    states_[device] = std::move(state);
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  std::map<int, std::unique_ptr<DeviceTiming>> states_ ABSL_GUARDED_BY(mutex_);
};

// Never destroyed: CUDA may be gone by then.
TimingDevices& AllTimingDevices() {
  static auto* const devices = new TimingDevices;
  return *devices;
}

absl::Status CheckPlace(const char* field, const void* pointer) {
  if (pointer == nullptr || reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is null or not 16-byte aligned"));
  }
  return absl::OkStatus();
}

absl::Status CheckLengths(const TimingBatch& batch) {
  const auto num_frames = static_cast<int64_t>(batch.lengths.size());
  if (num_frames < 1 || num_frames > kMaxFrames) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of frames ", num_frames, " is not in [1, ", kMaxFrames, "]"));
  }
  const PulseShape& pulse = batch.pulse->shape();
  const int64_t least = SamplesFor(pulse, batch.parameters, carrier::kMinSymbols);
  const int64_t most = SamplesFor(pulse, batch.parameters, carrier::kMaxSymbols + 1) - 1;
  uint32_t last = 0;
  for (const uint32_t length : batch.lengths) {
    if (length < least || length > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths: ", length, " is not in [", least, ", ", most, "]"));
    }
    if (length < last) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths: ", length, " follows ", last, ": they are not ascending"));
    }
    last = length;
  }
  return absl::OkStatus();
}

// All that carrier::LaunchRecover would refuse, too: by then kernels are on their way.
absl::Status CheckBatch(const TimingBatch& batch) {
  if (batch.model == nullptr) return absl::InvalidArgumentError("model is null");
  if (batch.pulse == nullptr) return absl::InvalidArgumentError("pulse is null");
  const double max_clock_error = batch.parameters.max_clock_error;
  if (!(max_clock_error >= 0.0 && max_clock_error <= kMaxClockError)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_clock_error ", max_clock_error, " is not in [0, ", kMaxClockError, "]"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckLengths(batch));
  const carrier::Parameters& parameters = batch.carrier;
  const int64_t fewest = SymbolsOf(batch.pulse->shape(), batch.parameters, batch.lengths.front());
  if (parameters.fine == carrier::Fine::kSweep &&
      carrier::NumCandidates(parameters, static_cast<int>(fewest)) > carrier::kMaxSweepBins) {
    return absl::InvalidArgumentError(absl::StrCat("the sweep of a frame of ", fewest,
                                                   " symbols has more than ",
                                                   carrier::kMaxSweepBins, " candidates"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckPlace("frames", batch.frames));
  BASEBAND_RETURN_IF_ERROR(CheckPlace("samples", batch.samples));
  BASEBAND_RETURN_IF_ERROR(CheckPlace("results", batch.results));
  BASEBAND_RETURN_IF_ERROR(CheckPlace("carrier_results", batch.carrier_results));
  BASEBAND_RETURN_IF_ERROR(CheckPlace("workspace", batch.workspace));
  if (parameters.want_corrected || parameters.want_curve) {
    BASEBAND_RETURN_IF_ERROR(CheckPlace("output", batch.output));
  }
  if (batch.known != nullptr || parameters.coarse == carrier::Coarse::kKnown) {
    BASEBAND_RETURN_IF_ERROR(CheckPlace("known", batch.known));
  }
  const uint32_t longest = batch.lengths.back();
  const int64_t least = WorkspaceBytes(parameters, *batch.pulse, batch.parameters, longest, 1);
  if (batch.workspace_bytes < least) {
    return absl::InvalidArgumentError(absl::StrCat("workspace_bytes ", batch.workspace_bytes,
                                                   " is less than the ", least, " that a frame of ",
                                                   longest, " samples takes"));
  }
  return absl::OkStatus();
}

// Takes one launch through its rounds.
class TimingRounds {
 public:
  TimingRounds(const TimingBatch& batch, const DeviceTiming& state, const carrier::ModelView& model,
               const PulseOnDevice& pulse, cudaStream_t stream)
      : batch_(batch), state_(state), stream_(stream) {
    task_.model = model;
    task_.carrier = batch.carrier;
    task_.parameters = batch.parameters;
    task_.pulse = pulse;
    task_.samples = batch.samples;
    task_.known = batch.known;
    task_.output = batch.output;
    task_.results = batch.results;
    task_.carrier_results = batch.carrier_results;
    for (const uint32_t length : batch.lengths) {
      num_symbols_.push_back(
          static_cast<uint32_t>(SymbolsOf(batch.pulse->shape(), batch.parameters, length)));
    }
  }

  // Frames begin .. end - 1, of one class.
  absl::Status Run(size_t begin, size_t end) {
    while (begin < end) {
      const RoundShape shape = FitRound(batch_.carrier, batch_.pulse->shape(), batch_.parameters,
                                        batch_.lengths[end - 1], static_cast<int64_t>(end - begin),
                                        batch_.workspace_bytes);
      if (shape.num_frames == 0) return absl::InternalError("a frame does not fit its workspace");
      BASEBAND_RETURN_IF_ERROR(RunRound(begin, shape));
      begin += static_cast<size_t>(shape.num_frames);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status RunRound(size_t begin, const RoundShape& shape) {
    auto* const workspace = static_cast<uint8_t*>(batch_.workspace);
    DivideWorkspace(shape, workspace, &task_);
    task_.frames = batch_.frames + begin;
    task_.num_frames = static_cast<uint32_t>(shape.num_frames);
    BASEBAND_RETURN_IF_ERROR(PlanFrames(task_, stream_));
    BASEBAND_RETURN_IF_ERROR(TransformPieces(task_, stream_));
    BASEBAND_RETURN_IF_ERROR(SearchLine(task_, stream_));
    BASEBAND_RETURN_IF_ERROR(MatchSymbols(task_, shape.longest_symbols, stream_));
    carrier::RecoverBatch symbols;
    symbols.model = batch_.model;
    symbols.parameters = batch_.carrier;
    symbols.parameters.format = carrier::SampleFormat::kFloat32;
    symbols.parameters.scale = 1.0F;
    symbols.parameters.want_corrected = false;
    symbols.frames = task_.symbol_frames;
    symbols.lengths =
        absl::MakeConstSpan(num_symbols_).subspan(begin, static_cast<size_t>(shape.num_frames));
    symbols.symbols = reinterpret_cast<const uint8_t*>(task_.symbols);
    symbols.known = batch_.known;
    symbols.output = batch_.output;
    symbols.results = batch_.carrier_results;
    symbols.workspace = workspace + shape.carrier;
    symbols.workspace_bytes = batch_.workspace_bytes - shape.carrier;
    BASEBAND_RETURN_IF_ERROR(carrier::LaunchRecover(symbols, stream_));
    return RefineTiming(task_, shape.longest_symbols, state_.multiprocessors, stream_);
  }

  const TimingBatch& batch_;
  const DeviceTiming& state_;
  cudaStream_t stream_;
  TimingTask task_;
  std::vector<uint32_t> num_symbols_;  // of each frame
};

}  // namespace

absl::Status PrepareTiming() { return AllTimingDevices().Prepare(); }

absl::Status LaunchTiming(const TimingBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckBatch(batch));
  BASEBAND_ASSIGN_OR_RETURN(DeviceTiming* const state, AllTimingDevices().Current());
  BASEBAND_ASSIGN_OR_RETURN(const carrier::ModelView model, carrier::ModelOnDevice(*batch.model));
  BASEBAND_ASSIGN_OR_RETURN(const PulseOnDevice pulse, state->pulses.Find(*batch.pulse));
  TimingRounds rounds(batch, *state, model, pulse, stream);
  size_t begin = 0;
  while (begin < batch.lengths.size()) {
    size_t end = begin + 1;
    while (end < batch.lengths.size() &&
           LengthClass(batch.lengths[end]) == LengthClass(batch.lengths[begin])) {
      ++end;
    }
    BASEBAND_RETURN_IF_ERROR(rounds.Run(begin, end));
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace baseband::timing
