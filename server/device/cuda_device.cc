#include "server/device/cuda_device.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/status.h"
#include "server/device/cuda_lane.h"
#include "server/device/pinned_memory.h"

namespace baseband::server {

// One at work, one to follow it.
constexpr int kBackgroundLanes = 2;

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Create(const CudaDeviceOptions& options) {
  std::unique_ptr<CudaDevice> device(new CudaDevice(options));
  BASEBAND_RETURN_IF_ERROR(device->Describe());
  BASEBAND_RETURN_IF_ERROR(device->SetUp());
  return device;
}

absl::Status CudaDevice::Describe() {
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
  if (options_.objects.max_bytes > 0) {
    set_objects(std::make_shared<ObjectStore>(options_.objects, nullptr));
  }
  for (int i = 0; i < options_.num_lanes + kBackgroundLanes; ++i) {
    lanes_.push_back(std::make_unique<CudaLane>(this, i, /*background=*/i >= options_.num_lanes));
  }
  return absl::OkStatus();
}

absl::Status CudaDevice::SetUp() {
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaSetDevice(options_.ordinal), "cudaSetDevice"));
  BASEBAND_RETURN_IF_ERROR(cuda::PrepareGather());
  if (options_.prepare) {
    BASEBAND_RETURN_IF_ERROR(options_.prepare());
  }
  if (options_.workspace_bytes > 0) {
    BASEBAND_ASSIGN_OR_RETURN(workspace_, cuda::CreateDeviceBuffer<uint8_t>(
                                              static_cast<size_t>(options_.workspace_bytes)));
  }
  if (objects() != nullptr) {
    const int64_t bytes = options_.objects.max_bytes;
    BASEBAND_ASSIGN_OR_RETURN(auto buffer,
                              cuda::CreateDeviceBuffer<uint8_t>(static_cast<size_t>(bytes)));
    const auto memory = std::make_shared<cuda::DeviceBuffer<uint8_t>>(std::move(buffer));
    // Goes with the last object in it.
    objects()->Renew(
        HostPool::Create({memory->data(), bytes, /*is_page_locked=*/false}, [memory] {}));
  }
  {
    absl::MutexLock lock(&workspace_mutex_);
    BASEBAND_ASSIGN_OR_RETURN(workspace_free_, cuda::Event::Create(cudaEventDisableTiming));
  }
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    BASEBAND_RETURN_IF_ERROR(static_cast<CudaLane&>(*lane).SetUp());
  }
  return absl::OkStatus();
}

void CudaDevice::TearDown() {
  for (const std::unique_ptr<Lane>& lane : lanes_) static_cast<CudaLane&>(*lane).TearDown();
  workspace_ = {};
  if (objects() != nullptr) objects()->Renew(nullptr);
  absl::MutexLock lock(&workspace_mutex_);
  workspace_free_ = {};
}

std::string CudaDevice::WhereNotResident() const {
  if (!options_.resident) return "";
  int count = 0;
  absl::string_view why;
  for (int i = 0; i < options_.num_lanes; ++i) {
    const auto& lane = static_cast<const CudaLane&>(*lanes_[static_cast<size_t>(i)]);
    const absl::string_view why_not = lane.WhyNotResident();
    if (why_not.empty()) continue;
    ++count;
    why = why_not;
  }
  if (count == 0) return "";
  return absl::StrCat(count, " of the ", options_.num_lanes, " lanes of ", id_, " (", why, ")");
}

CudaDevice::~CudaDevice() { TearDown(); }

absl::Status CudaDevice::Reset(const Alone& alone) {
  absl::MutexLock lock(&use_mutex_);
  // Their threads first: from then on nobody but this one makes calls for this device.
  for (const std::unique_ptr<Lane>& lane : lanes_) static_cast<CudaLane&>(*lane).Stop();
  const auto renew = [this]() -> absl::Status {
    cuda::DeviceLife::End(options_.ordinal);
    TearDown();
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaSetDevice(options_.ordinal), "cudaSetDevice"));
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaFree(nullptr), "the first call after the reset"));
    return PageLock::RegisterAgain();
  };
  const bool others_feel_it = PageLock::HasRegistrar(options_.ordinal) && alone != nullptr;
  BASEBAND_RETURN_IF_ERROR(others_feel_it ? alone(renew) : renew());
  return SetUp();
}

absl::Status CudaDevice::WithWorkspace(void* stream, const std::function<absl::Status()>& enqueue) {
  absl::MutexLock lock(&workspace_mutex_);
  const cudaEvent_t event = workspace_free_.get();
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaStreamWaitEvent(cuda_stream, event), "cudaStreamWaitEvent"));
  absl::Status status = enqueue();
  // After an error, too: what was enqueued before it still runs, and the next user has to wait.
  status.Update(cuda::ToStatus(cudaEventRecord(event, cuda_stream), "cudaEventRecord"));
  return status;
}

absl::Status CudaDevice::OnDevice(const std::function<absl::Status()>& f) {
  absl::ReaderMutexLock lock(&use_mutex_);
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
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<PinnedMemory> memory,
                            PinnedMemory::Create(capacity + kReadAhead));
  uint8_t* const data = memory->data();
  return HostPool::Create({data, capacity, /*is_page_locked=*/true},
                          [memory = std::move(memory)] {});  // it goes with the pool
}

}  // namespace baseband::server
