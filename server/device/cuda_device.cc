#include "server/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/status.h"
#include "server/device/cuda_lane.h"

namespace baseband::server {

// One at work, one to follow it.
constexpr int kBackgroundLanes = 2;

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(const CudaDeviceOptions& options) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(options));
  BASEBAND_RETURN_IF_ERROR(device->Init());
  return device;
}

absl::Status CudaDevice::Init() {
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaSetDevice(options_.ordinal), "cudaSetDevice"));
  cudaDeviceProp properties;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDeviceProperties(&properties, options_.ordinal),
                                          "cudaGetDeviceProperties"));
  id_ = absl::StrCat("cuda:", options_.ordinal);
  name_ = properties.name;
  memory_bytes_ = static_cast<int64_t>(properties.totalGlobalMem);
  char bus_id[32] = "";
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), options_.ordinal), "cudaDeviceGetPCIBusId"));
  pci_bus_id_ = bus_id;
  if (options_.prepare) {
    BASEBAND_RETURN_IF_ERROR(options_.prepare());
  }
  if (options_.workspace_bytes > 0) {
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaMalloc(&workspace_, static_cast<size_t>(options_.workspace_bytes)), "cudaMalloc"));
  }
  cudaEvent_t free = nullptr;
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaEventCreateWithFlags(&free, cudaEventDisableTiming), "cudaEventCreate"));
  {
    absl::MutexLock lock(&workspace_mutex_);
    workspace_free_ = free;
  }
  for (int i = 0; i < options_.num_lanes + kBackgroundLanes; ++i) {
    BASEBAND_ASSIGN_OR_RETURN(std::unique_ptr<CudaLane> lane,
                              CudaLane::Create(this, i, /*background=*/i >= options_.num_lanes));
    lanes_.push_back(std::move(lane));
  }
  return absl::OkStatus();
}

CudaDevice::~CudaDevice() {
  lanes_.clear();
  absl::MutexLock lock(&workspace_mutex_);
  if (workspace_free_ != nullptr) {
    (void)cudaEventDestroy(static_cast<cudaEvent_t>(workspace_free_));
  }
  (void)cudaFree(workspace_);
}

absl::Status CudaDevice::WithWorkspace(void* stream, const std::function<absl::Status()>& enqueue) {
  absl::MutexLock lock(&workspace_mutex_);
  const auto event = static_cast<cudaEvent_t>(workspace_free_);
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaStreamWaitEvent(cuda_stream, event), "cudaStreamWaitEvent"));
  BASEBAND_RETURN_IF_ERROR(enqueue());
  return cuda::ToStatus(cudaEventRecord(event, cuda_stream), "cudaEventRecord");
}

absl::Status CudaDevice::OnDevice(const std::function<absl::Status()>& f) {
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaSetDevice(options_.ordinal), "cudaSetDevice"));
  return f();
}

int CountCudaDevices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

absl::StatusOr<std::shared_ptr<HostPool>> CreatePinnedPool(int64_t capacity) {
  constexpr int64_t kReadAhead = 64;  // kernels may read a little past the last block
  void* memory = nullptr;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaHostAlloc(&memory, static_cast<size_t>(capacity + kReadAhead), cudaHostAllocPortable),
      "cudaHostAlloc"));
  return HostPool::Create(static_cast<uint8_t*>(memory), capacity,
                          [memory] { (void)cudaFreeHost(memory); });
}

}  // namespace baseband::server
