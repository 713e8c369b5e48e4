// Entry points of the GPU's down-conversion: plans, checks, and starts the kernels.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/downconvert_gpu.h"
#include "kernels/downconvert/gpu_launch.h"
#include "kernels/downconvert/gpu_plan.h"

namespace baseband::downconvert {
namespace {

constexpr uint64_t kMaxThreadBlocks = (uint64_t{1} << 31) - 1;  // of one kernel launch

// Kept by each thread that launches, so that planning allocates nothing in the long run.
gpu::GpuPlan& PlanOfThisThread() {
  static thread_local gpu::GpuPlan plan;
  return plan;
}

absl::Status CheckAligned(const char* field, const void* pointer) {
  if (pointer == nullptr) return absl::InvalidArgumentError(absl::StrCat(field, " is null"));
  if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not aligned to 16 bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const DownconvertLaunch& launch) {
  if (launch.channels.empty() || launch.channels.size() > kMaxChannels) {
    return absl::InvalidArgumentError(
        absl::StrCat("channels has ", launch.channels.size(), " entries, not 1 to ", kMaxChannels));
  }
  if (launch.output_offsets.size() != launch.channels.size()) {
    return absl::InvalidArgumentError(absl::StrCat("output_offsets has ",
                                                   launch.output_offsets.size(), " entries, not ",
                                                   launch.channels.size(), ", one a channel"));
  }
  for (const int64_t offset : launch.output_offsets) {
    if (offset < 0 || offset % 16 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output offset ", offset, " is not a multiple of 16 and >= 0"));
    }
  }
  BASEBAND_RETURN_IF_ERROR(CheckAligned("samples", launch.samples));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("output", launch.output));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("results", launch.results));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("plan_host", launch.plan_host));
  return CheckAligned("plan_device", launch.plan_device);
}

absl::Status CheckPlan(const DownconvertLaunch& launch, const gpu::GpuPlan& plan) {
  if (launch.plan_bytes < static_cast<int64_t>(plan.layout().bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("plan_bytes ", launch.plan_bytes,
                                                   " is less than the ", plan.layout().bytes,
                                                   " that the launch takes"));
  }
  if (launch.workspace_bytes < static_cast<int64_t>(plan.workspace_bytes())) {
    return absl::InvalidArgumentError(absl::StrCat("workspace_bytes ", launch.workspace_bytes,
                                                   " is less than the ", plan.workspace_bytes(),
                                                   " that the launch takes"));
  }
  if (plan.workspace_bytes() > 0) {
    BASEBAND_RETURN_IF_ERROR(CheckAligned("workspace", launch.workspace));
  }
  for (const gpu::ProductLaunch& product : plan.launches()) {
    if (product.num_blocks > kMaxThreadBlocks) {
      return absl::InvalidArgumentError(absl::StrCat(
          "num_samples ", launch.block.num_samples, " of ", launch.channels.size(),
          " channels take ", product.num_blocks, " thread blocks, not up to ", kMaxThreadBlocks));
    }
  }
  return absl::OkStatus();
}

}  // namespace

LaunchSizes LaunchSizesOf(absl::Span<const Channel> channels, const Block& block) {
  gpu::GpuPlan& plan = PlanOfThisThread();
  plan.Build(channels, block, {});
  LaunchSizes sizes;
  sizes.plan_bytes = static_cast<int64_t>(plan.layout().bytes);
  sizes.workspace_bytes = static_cast<int64_t>(plan.workspace_bytes());
  return sizes;
}

absl::Status PrepareDownconvert() {
  BASEBAND_RETURN_IF_ERROR(gpu::LoadPrepare());
  BASEBAND_RETURN_IF_ERROR(gpu::LoadMix());
  return gpu::LoadProducts();
}

absl::Status LaunchDownconvert(const DownconvertLaunch& launch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckMemory(launch));
  gpu::GpuPlan& plan = PlanOfThisThread();
  plan.Build(launch.channels, launch.block, launch.output_offsets);
  BASEBAND_RETURN_IF_ERROR(CheckPlan(launch, plan));
  plan.CopyTo(launch.plan_host);
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaMemcpyAsync(launch.plan_device, launch.plan_host, plan.layout().bytes,
                                     cudaMemcpyHostToDevice, stream),
                     "cudaMemcpyAsync"));
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaMemsetAsync(launch.results, 0, launch.channels.size() * sizeof(ChannelResult), stream),
      "cudaMemsetAsync"));
  gpu::Memory memory;
  memory.samples = launch.samples;
  memory.plan = launch.plan_device;
  memory.workspace = static_cast<uint8_t*>(launch.workspace);
  memory.output = launch.output;
  memory.results = launch.results;
  BASEBAND_RETURN_IF_ERROR(gpu::LaunchPrepare(plan, memory, stream));
  BASEBAND_RETURN_IF_ERROR(gpu::LaunchMix(plan, memory, stream));
  return gpu::LaunchProducts(plan, memory, stream);
}

}  // namespace baseband::downconvert
