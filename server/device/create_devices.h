// The devices that the configuration asks for and the host has.
#ifndef BASEBAND_SERVER_DEVICE_CREATE_DEVICES_H_
#define BASEBAND_SERVER_DEVICE_CREATE_DEVICES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/config.h"
#include "server/device/device.h"
#include "server/device/host_pool.h"
#include "server/device/object_store.h"

namespace baseband::server {

struct DeviceOptions {
  DeviceSelection selection;
  int cuda_lanes = 4;
  int cpu_threads = 1;       // at least 1
  bool standby_cpu = false;  // one more CPU device, on standby, after the others
  LaneCapacity lane;
  int64_t cuda_workspace_bytes = 0;
  ObjectLimits objects;  // of each device
  bool spin = true;
  bool resident = false;
  // Loads the kernels on a GPU, which is current when it is called.
  std::function<absl::Status()> prepare_cuda;
};

struct Devices {
  std::vector<std::unique_ptr<Device>> devices;  // at least one
  // Why there is no GPU among them though one was not ruled out: for the log. Empty otherwise.
  std::string no_cuda_because;
};

// kAuto: every GPU, or the CPU if there is none or none works. kCuda: Unavailable if a GPU that was
// asked for is missing or fails.
absl::StatusOr<Devices> CreateDevices(const DeviceOptions& options);

bool HasGpu(const Devices& devices);

// Where `resident` was asked for and has no effect, and why, as text; empty: nowhere. Known once
// the lanes have worked.
std::string WhereNotResident(const DeviceOptions& options, const Devices& devices);

// Memory for payloads or replies: page-locked if `devices` holds a GPU.
absl::StatusOr<std::shared_ptr<HostPool>> CreateHostPool(const Devices& devices, int64_t capacity);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CREATE_DEVICES_H_
