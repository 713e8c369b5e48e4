// Asks the driver how the GPUs are: a thread of its own, for the driver may not answer.
#ifndef BASEBAND_SERVER_DEVICE_GPU_MONITOR_H_
#define BASEBAND_SERVER_DEVICE_GPU_MONITOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/metrics/gpu_readings.h"

namespace baseband::server {

struct MonitoredGpu {
  std::string device;      // "cuda:0"
  std::string pci_bus_id;  // "0000:17:00.0"
};

struct GpuMonitorOptions {
  std::vector<MonitoredGpu> gpus;
  std::string library = "libnvidia-ml.so.1";
  absl::Duration interval = absl::Seconds(1);
  // Called with a line for the log, on the monitor's thread: that there is nothing to be learned of
  // a GPU, and why; XIDs as they come.
  std::function<void(const std::string&)> info = [](const std::string&) {};
  std::function<void(const std::string&)> warn = [](const std::string&) {};
};

// Each interval writes what NVML says of the GPUs. What it does not say, for want of the library, a
// function, the right to it, or on a GPU of this kind, is nothing in the reading; of a GPU in
// slices (MIG) neither its memory nor its utilization is told, which are not those of the slice.
//
// Whatever the driver is stuck in, nobody waits for it: the thread shares what it uses, and stays
// behind. Thread-safe.
class GpuMonitor {
 public:
  GpuMonitor(GpuMonitorOptions options, std::shared_ptr<GpuReadings> readings);
  // Asks the thread to end and does not wait for it.
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  // Asks the thread to end and waits for it, so long at most. False: it is stuck in the driver, and
  // the process must end without destructors, which the thread may not survive.
  bool Stop(absl::Duration patience);

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_GPU_MONITOR_H_
