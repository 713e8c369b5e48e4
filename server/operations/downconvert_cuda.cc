// The GPU's side of DownconvertBatch. CUDA builds only.
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/downconvert_gpu.h"
#include "server/operations/cuda_copies.h"
#include "server/operations/downconvert_batch.h"

namespace baseband::server {

int64_t DownconvertPlanBytes(absl::Span<const downconvert::Channel> channels,
                             const downconvert::Block& block) {
  return downconvert::LaunchSizesOf(channels, block).plan_bytes;
}

int64_t DownconvertWorkspaceBytes(absl::Span<const downconvert::Channel> channels,
                                  const downconvert::Block& block) {
  return downconvert::LaunchSizesOf(channels, block).workspace_bytes;
}

absl::Status DownconvertBatch::CudaCopyIn(const CudaLaneView& lane) {
  input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  int64_t plan_offset = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const DownconvertJob& owner = job(i);
    Place place;
    int64_t bytes = 0;
    bool packed = true;
    for (size_t c = 0; c < owner.channels().size(); ++c) {
      packed &= bytes == owner.reply_offsets()[c];
      place.output_offsets.push_back(bytes);
      bytes += AlignUp(owner.output_bytes(c), 16);
    }
    place.direct = packed && owner.reply_bytes > 0;
    const int64_t offset =
        bytes > 0 ? output_.Add(bytes, place.direct ? owner.reply.data() : nullptr) : 0;
    for (int64_t& channel_offset : place.output_offsets) {
      channel_offset += offset;
    }
    place.results_offset = output_.Add(
        static_cast<int64_t>(owner.results.size() * sizeof(downconvert::ChannelResult)), nullptr);
    place.plan_offset = plan_offset;
    plan_offset += owner.footprint.control_bytes;
    places_.push_back(std::move(place));
  }
  return CopyToDevice(input_.runs(), lane);
}

absl::Status DownconvertBatch::CudaRun(const CudaLaneView& lane) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const DownconvertJob& owner = job(i);
    downconvert::DownconvertLaunch launch;
    launch.channels = owner.channels();
    launch.block = owner.block();
    launch.samples = lane.input_device + input_.device_offset(i);
    launch.output = lane.output_device;
    launch.output_offsets = places_[i].output_offsets;
    launch.results = reinterpret_cast<downconvert::ChannelResult*>(lane.output_device +
                                                                   places_[i].results_offset);
    launch.plan_host = lane.control_host + places_[i].plan_offset;
    launch.plan_device = lane.control_device + places_[i].plan_offset;
    launch.plan_bytes = owner.footprint.control_bytes;
    launch.workspace_bytes =
        downconvert::LaunchSizesOf(launch.channels, launch.block).workspace_bytes;
    const auto enqueue = [&] { return downconvert::LaunchDownconvert(launch, lane.stream); };
    if (launch.workspace_bytes == 0) {
      BASEBAND_RETURN_IF_ERROR(enqueue());
    } else {
      launch.workspace = lane.workspace;
      BASEBAND_RETURN_IF_ERROR(lane.with_workspace(enqueue));
    }
  }
  return absl::OkStatus();
}

absl::Status DownconvertBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
