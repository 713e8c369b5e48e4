// The GPU's side of DownconvertBatch. CUDA builds only.
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/downconvert_gpu.h"
#include "server/device/object_store.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/downconvert/downconvert_batch.h"

namespace baseband::server {

absl::Status PrepareDownconvertCuda() { return downconvert::PrepareDownconvert(); }

DownconvertPlanPtr PlanDownconvert(DownconvertChannels channels, const downconvert::Block& block,
                                   absl::Span<const int64_t> output_offsets,
                                   DownconvertPlanPtr last) {
  if (last == nullptr) last = std::make_shared<DownconvertPlan>();
  // Others may have it as well.
  if (last->channels == channels && last->gpu.block() == block) return last;
  // As long as the channels are the same ones, so are the offsets of blocks that a plan moves to.
  if (last->channels != channels || !last->gpu.MoveTo(block)) {
    last->gpu.Build(*channels, block, output_offsets);
    last->channels = std::move(channels);
  }
  return last;
}

absl::Status DownconvertBatch::CudaCopyIn(const CudaLaneView& lane) {
  input_ = InputLayout(jobs_, lane.capacity.input_bytes);
  int64_t plan_offset = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const DownconvertJob& owner = job(i);
    Place place;
    place.direct = owner.reply_bytes > 0 && owner.staging_offsets() == owner.reply_offsets();
    if (owner.staging_bytes() > 0) {
      place.output_offset =
          output_.Add(owner.staging_bytes(), place.direct ? &owner.reply : nullptr);
    }
    place.plan_offset = plan_offset;
    owner.plan()->gpu.CopyTo(lane.control_host + plan_offset);
    plan_offset += owner.footprint.control_bytes;
    places_.push_back(place);
  }
  // Side by side: one fill, and one copy brings them all.
  const int64_t results_begin = output_.size();
  for (size_t i = 0; i < jobs_.size(); ++i) {
    places_[i].results_offset = output_.Add(
        static_cast<int64_t>(job(i).results.size() * sizeof(downconvert::ChannelResult)), nullptr);
  }
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaMemsetAsync(lane.output_device + results_begin, 0,
                      static_cast<size_t>(output_.size() - results_begin), lane.stream),
      "cudaMemsetAsync"));
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (job(i).has_lane_workspace()) {
      places_[i].workspace_offset = output_.Reserve(job(i).workspace_bytes());
    }
  }
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const DownconvertJob& owner = job(i);
    if (owner.resident_bytes == 0) continue;
    BASEBAND_RETURN_IF_ERROR(CopyOnDevice(lane.input_device + input_.device_offset(i),
                                          owner.objects.front()->data(), owner.resident_bytes,
                                          lane));
  }
  return CopyToDevice(plan_offset, input_.runs(), lane);
}

absl::Status DownconvertBatch::CudaKeep(size_t i, const CudaLaneView& lane) {
  DownconvertJob& owner = job(i);
  ObjectStore* const store = lane.device->objects();
  if (owner.keep_bytes() == 0 || store == nullptr) return absl::OkStatus();
  ObjectKey key = {owner.caller.client, std::string(owner.keep_name())};
  if (owner.objects.empty()) {
    absl::StatusOr<ObjectPin> made = store->Create(key, owner.keep_object_bytes());
    if (!made.ok()) return absl::OkStatus();  // the next request brings the samples again
    owner.objects.push_back(*std::move(made));
  }
  const downconvert::Block& block = owner.block();
  const int64_t sample_bytes = downconvert::BytesPerSample(block.format);
  BASEBAND_RETURN_IF_ERROR(CopyOnDevice(owner.objects.front()->data(),
                                        lane.input_device + input_.device_offset(i) +
                                            block.num_samples * sample_bytes - owner.keep_bytes(),
                                        owner.keep_bytes(), lane));
  owner.kept = {lane.device, std::move(key), block.first_index + block.num_samples,
                owner.keep_bytes() / sample_bytes};
  return absl::OkStatus();
}

absl::Status DownconvertBatch::CudaRun(const CudaLaneView& lane) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const DownconvertJob& owner = job(i);
    downconvert::DownconvertLaunch launch;
    launch.plan = &owner.plan()->gpu;
    launch.samples = lane.input_device + input_.device_offset(i);
    launch.output = lane.output_device + places_[i].output_offset;
    launch.results = reinterpret_cast<downconvert::ChannelResult*>(lane.output_device +
                                                                   places_[i].results_offset);
    launch.plan_device = lane.control_device + places_[i].plan_offset;
    launch.plan_bytes = owner.footprint.control_bytes;
    launch.workspace_bytes = owner.workspace_bytes();
    const auto enqueue = [&] { return downconvert::LaunchDownconvert(launch, lane.stream); };
    if (owner.has_lane_workspace()) {
      launch.workspace = lane.output_device + places_[i].workspace_offset;
      BASEBAND_RETURN_IF_ERROR(enqueue());
    } else {
      launch.workspace = lane.workspace;
      BASEBAND_RETURN_IF_ERROR(lane.with_workspace(enqueue));
    }
    BASEBAND_RETURN_IF_ERROR(CudaKeep(i, lane));
  }
  return absl::OkStatus();
}

absl::Status DownconvertBatch::CudaCopyOut(const CudaLaneView& lane) {
  output_staging_ = lane.output_staging_host;
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
