#include "server/device/create_devices.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "server/device/cpu_device.h"
#if BASEBAND_HAS_CUDA
#include "server/device/cuda_device.h"
#endif

namespace baseband::server {
namespace {

#if BASEBAND_HAS_CUDA
// The GPUs of the selection; Unavailable if there are none.
absl::StatusOr<std::vector<std::unique_ptr<Device>>> CreateCudaDevices(
    const DeviceOptions& options) {
  const int count = CountCudaDevices();
  if (count == 0) {
    return absl::UnavailableError("no NVIDIA GPU or driver was found");
  }
  std::vector<int> ordinals = options.selection.cuda_ordinals;
  if (ordinals.empty()) {
    ordinals.resize(static_cast<size_t>(count));
    std::iota(ordinals.begin(), ordinals.end(), 0);
  }
  std::vector<std::unique_ptr<Device>> devices;
  for (const int ordinal : ordinals) {
    if (ordinal >= count) {
      return absl::UnavailableError(
          absl::StrCat("device cuda:", ordinal, " is not in [0, ", count - 1, "]"));
    }
    CudaDeviceOptions cuda;
    cuda.ordinal = ordinal;
    cuda.num_lanes = options.cuda_lanes;
    cuda.lane = options.lane;
    cuda.workspace_bytes = options.cuda_workspace_bytes;
    cuda.objects = options.objects;
    cuda.spin = options.spin;
    cuda.resident = options.resident;
    cuda.prepare = options.prepare_cuda;
    absl::StatusOr<std::unique_ptr<CudaDevice>> device = CudaDevice::Create(cuda);
    if (!device.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cuda:", ordinal, ": ", device.status().message()));
    }
    devices.push_back(*std::move(device));
  }
  return devices;
}
#else
absl::StatusOr<std::vector<std::unique_ptr<Device>>> CreateCudaDevices(const DeviceOptions&) {
  return absl::UnavailableError("this build has no CUDA device");
}
#endif

std::unique_ptr<Device> CreateCpuDevice(const DeviceOptions& options, bool standby) {
  return std::make_unique<CpuDevice>(options.cpu_threads, standby, options.objects);
}

// Those that are not on standby.
absl::StatusOr<Devices> CreateFirstDevices(const DeviceOptions& options) {
  Devices result;
  if (options.selection.kind != DeviceSelection::Kind::kCpu) {
    absl::StatusOr<std::vector<std::unique_ptr<Device>>> cuda = CreateCudaDevices(options);
    if (cuda.ok()) {
      result.devices = *std::move(cuda);
      return result;
    }
    if (options.selection.kind == DeviceSelection::Kind::kCuda) {
      return cuda.status();
    }
    result.no_cuda_because = std::string(cuda.status().message());
  }
  result.devices.push_back(CreateCpuDevice(options, /*standby=*/false));
  return result;
}

}  // namespace

bool HasGpu(const Devices& devices) { return devices.devices.front()->kind() == "cuda"; }

absl::StatusOr<Devices> CreateDevices(const DeviceOptions& options) {
  BASEBAND_ASSIGN_OR_RETURN(Devices result, CreateFirstDevices(options));
  if (options.standby_cpu) {
    result.devices.push_back(CreateCpuDevice(options, /*standby=*/true));
  }
  return result;
}

std::string WhereNotResident(const DeviceOptions& options, const Devices& devices) {
  if (!options.resident) return "";
  if (!HasGpu(devices)) return "the CPU device";
  std::vector<std::string> where;
#if BASEBAND_HAS_CUDA
  for (const std::unique_ptr<Device>& device : devices.devices) {
    if (device->kind() != "cuda") continue;  // on standby
    std::string lanes = static_cast<const CudaDevice&>(*device).WhereNotResident();
    if (!lanes.empty()) where.push_back(std::move(lanes));
  }
#endif
  return absl::StrJoin(where, ", ");
}

absl::StatusOr<std::shared_ptr<HostPool>> CreateHostPool(const Devices& devices, int64_t capacity) {
#if BASEBAND_HAS_CUDA
  if (HasGpu(devices)) {
    return CreatePinnedPool(capacity);
  }
#else
  static_cast<void>(devices);
#endif
  return HostPool::CreatePageable(capacity);
}

}  // namespace baseband::server
