// The GPU's side of RecoverCarrierBatch. CUDA builds only.
#include <cstring>

#include "kernels/base/status_macros.h"
#include "kernels/carrier/recover_gpu.h"
#include "kernels/timing/timing_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/recover_carrier/recover_carrier_batch.h"

namespace baseband::server {

static_assert(sizeof(carrier::RecoverFrame) == kFrameDescriptorBytes);
static_assert(sizeof(timing::TimingFrame) == kFrameDescriptorBytes);

absl::Status PrepareRecoverCarrierCuda() {
  BASEBAND_RETURN_IF_ERROR(carrier::PrepareRecover());
  return timing::PrepareTiming();
}

std::vector<uint32_t> RecoverCarrierBatch::PlaceKnown(uint8_t* control, int64_t* offset) const {
  std::vector<uint32_t> places(num_groups_, carrier::kNoKnown);
  for (const Frame& frame : frames_) {
    const std::vector<carrier::Iq>& known = frame.group->known;
    uint32_t& place = places[frame.group_index];
    if (!known.empty() && place == carrier::kNoKnown) {
      place = static_cast<uint32_t>(*offset);
      std::memcpy(control + *offset, known.data(), known.size() * sizeof(carrier::Iq));
      *offset += AlignUp(static_cast<int64_t>(known.size() * sizeof(carrier::Iq)));
    }
  }
  return places;
}

absl::Status RecoverCarrierBatch::CudaCopyIn(const CudaLaneView& lane) {
  input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  std::vector<int64_t> reply_offsets;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    reply_offsets.push_back(output_.size());
    if (job(i).reply_bytes > 0) {
      output_.Add(job(i).reply_bytes, &job(i).reply);
    }
  }
  results_offset_ =
      output_.Add(static_cast<int64_t>(frames_.size() * sizeof(carrier::Result)), nullptr);
  if (const uint32_t num_timings = AssignSlots(); num_timings > 0) {
    timings_offset_ =
        output_.Add(static_cast<int64_t>(num_timings * sizeof(timing::Result)), nullptr);
  }

  int64_t control_bytes = AlignUp(static_cast<int64_t>(frames_.size()) * kFrameDescriptorBytes);
  const std::vector<uint32_t> known = PlaceKnown(lane.control_host, &control_bytes);
  uint8_t* descriptor = lane.control_host;
  for (const uint32_t f : GroupByLaunch()) {
    const Frame& frame = frames_[f];
    const RecoverCarrierJob& owner = job(frame.job);
    const auto received_offset = static_cast<uint32_t>(input_.device_offset(frame.job) +
                                                       (frame.received - owner.input.data()));
    const auto set_common = [&](auto* common) {
      common->corrected_offset =
          static_cast<uint32_t>(reply_offsets[frame.job] + (frame.corrected - owner.reply.data()));
      common->curve_offset =
          static_cast<uint32_t>(reply_offsets[frame.job] + (frame.curve - owner.reply.data()));
      common->known_offset = known[frame.group_index];
      common->result_index = frame.slot;
      std::memcpy(descriptor, common, sizeof(*common));
    };
    if (frame.group->has_timing()) {
      timing::TimingFrame of_samples;
      of_samples.samples_offset = received_offset;
      of_samples.num_samples = static_cast<uint32_t>(frame.group->frame_samples);
      set_common(&of_samples);
    } else {
      carrier::RecoverFrame of_symbols;
      of_symbols.symbols_offset = received_offset;
      of_symbols.num_symbols = static_cast<uint32_t>(frame.group->frame_symbols);
      set_common(&of_symbols);
    }
    descriptor += kFrameDescriptorBytes;
  }
  return CopyToDevice(control_bytes, input_.runs(), lane);
}

absl::Status RecoverCarrierBatch::RunCarrier(const Launch& launch, const CudaLaneView& lane) const {
  carrier::RecoverBatch batch;
  batch.model = launch.group->model.get();
  batch.parameters = launch.group->parameters;
  batch.frames = reinterpret_cast<const carrier::RecoverFrame*>(lane.control_device) + launch.begin;
  batch.lengths = absl::MakeConstSpan(lengths_).subspan(launch.begin, launch.count);
  batch.symbols = lane.input_device;
  batch.known = lane.control_device;
  batch.output = lane.output_device;
  batch.results = reinterpret_cast<carrier::Result*>(lane.output_device + results_offset_);
  batch.workspace = lane.workspace;
  batch.workspace_bytes = lane.workspace_bytes;
  return carrier::LaunchRecover(batch, lane.stream);
}

absl::Status RecoverCarrierBatch::RunTiming(const Launch& launch, const CudaLaneView& lane) const {
  timing::TimingBatch batch;
  batch.model = launch.group->model.get();
  batch.pulse = launch.group->pulse.get();
  batch.carrier = launch.group->parameters;
  batch.parameters = launch.group->timing;
  batch.frames = reinterpret_cast<const timing::TimingFrame*>(lane.control_device) + launch.begin;
  batch.lengths = absl::MakeConstSpan(lengths_).subspan(launch.begin, launch.count);
  batch.samples = lane.input_device;
  batch.known = lane.control_device;
  batch.output = lane.output_device;
  batch.results = reinterpret_cast<timing::Result*>(lane.output_device + timings_offset_);
  batch.carrier_results = reinterpret_cast<carrier::Result*>(lane.output_device + results_offset_);
  batch.workspace = lane.workspace;
  batch.workspace_bytes = lane.workspace_bytes;
  return timing::LaunchTiming(batch, lane.stream);
}

absl::Status RecoverCarrierBatch::CudaRun(const CudaLaneView& lane) {
  return lane.with_workspace([&]() -> absl::Status {
    for (const Launch& launch : launches_) {
      BASEBAND_RETURN_IF_ERROR(launch.group->has_timing() ? RunTiming(launch, lane)
                                                          : RunCarrier(launch, lane));
    }
    return absl::OkStatus();
  });
}

absl::Status RecoverCarrierBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
