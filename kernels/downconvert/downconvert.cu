// Entry points of the GPU's down-conversion: checks, and starts the kernels.
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

absl::Status CheckAligned(const char* field, const void* pointer) {
  if (pointer == nullptr) return absl::InvalidArgumentError(absl::StrCat(field, " is null"));
  if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not aligned to 16 bytes"));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const DownconvertLaunch& launch) {
  const absl::Span<const int64_t> offsets = launch.plan->output_offsets();
  if (offsets.empty() || offsets.size() > kMaxChannels) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan has ", offsets.size(), " channels, not 1 to ", kMaxChannels));
  }
  for (const int64_t offset : offsets) {
    if (offset < 0 || offset % 16 != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output offset ", offset, " is not a multiple of 16 and >= 0"));
    }
  }
  BASEBAND_RETURN_IF_ERROR(CheckAligned("samples", launch.samples));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("output", launch.output));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("results", launch.results));
  return CheckAligned("plan_device", launch.plan_device);
}

absl::Status CheckPlan(const DownconvertLaunch& launch) {
  const gpu::GpuPlan& plan = *launch.plan;
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
          "num_samples ", plan.block().num_samples, " of ", plan.output_offsets().size(),
          " channels take ", product.num_blocks, " thread blocks, not up to ", kMaxThreadBlocks));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrepareDownconvert() {
  BASEBAND_RETURN_IF_ERROR(gpu::LoadPrepare());
  BASEBAND_RETURN_IF_ERROR(gpu::LoadMix());
  BASEBAND_RETURN_IF_ERROR(gpu::LoadProducts());
  return gpu::LoadFixedProducts();
}

absl::Status LaunchDownconvert(const DownconvertLaunch& launch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckMemory(launch));
  BASEBAND_RETURN_IF_ERROR(CheckPlan(launch));
  const gpu::GpuPlan& plan = *launch.plan;
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
