#include "server/device/gpu_monitor.h"

#include <array>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_condition.h"
#include "kernels/base/steady_time.h"
#include "server/device/nvml.h"

namespace baseband::server {
namespace {

constexpr double kMilli = 1e-3;
constexpr double kMega = 1e6;
constexpr double kKilo = 1e3;
constexpr double kPercent = 1e-2;

// More events in one look than this are counted at the next.
constexpr int kMaxEvents = 1000;

// A count of the driver's, which begins anew when the GPU is reset, as one that never falls.
class Count {
 public:
  double Follow(unsigned long long now) {
    total_ += static_cast<double>(now >= last_ ? now - last_ : now);
    last_ = now;
    return total_;
  }

 private:
  unsigned long long last_ = 0;
  double total_ = 0;
};

// What `function` says, as the last of its arguments, in units of `unit`.
template <typename Value = unsigned int, typename Function, typename... Arguments>
absl::optional<Value> Ask(Function function, Arguments... arguments) {
  Value value = {};
  if (function == nullptr || function(arguments..., &value) != nvml::kSuccess) {
    return absl::nullopt;
  }
  return value;
}
template <typename Value>
absl::optional<double> Scaled(const absl::optional<Value>& value, double unit) {
  if (!value.has_value()) return absl::nullopt;
  return static_cast<double>(*value) * unit;
}
absl::optional<double> Followed(const absl::optional<unsigned long long>& value, Count& count) {
  if (!value.has_value()) return absl::nullopt;
  return count.Follow(*value);
}

// One GPU, as NVML knows it.
class Gpu {
 public:
  Gpu(const nvml::Library& nvml, std::string device, nvml::Device handle)
      : nvml_(nvml), device_(std::move(device)), handle_(handle) {
    unsigned int pending = 0;
    unsigned int sliced = 0;
    is_sliced_ = nvml_.DeviceGetMigMode != nullptr &&
                 nvml_.DeviceGetMigMode(handle_, &sliced, &pending) == nvml::kSuccess &&
                 sliced != 0;
  }

  const std::string& device() const { return device_; }
  nvml::Device handle() const { return handle_; }
  // From now on its XIDs are counted, by AddXid.
  void CountXids() { xids_ = 0; }
  void AddXid() { ++*xids_; }

  GpuReading Read() {
    GpuReading reading;
    reading.device = device_;
    if (!is_sliced_) {
      const auto busy = Ask<nvml::Utilization>(nvml_.DeviceGetUtilizationRates, handle_);
      if (busy.has_value()) reading.utilization = busy->gpu * kPercent;
      const auto memory = Ask<nvml::Memory>(nvml_.DeviceGetMemoryInfo, handle_);
      if (memory.has_value()) {
        reading.memory_used = static_cast<double>(memory->used);
        reading.memory_total = static_cast<double>(memory->total);
      }
    }
    reading.temperature =
        Scaled(Ask(nvml_.DeviceGetTemperature, handle_, nvml::kTemperatureOfGpu), 1);
    reading.power = Scaled(Ask(nvml_.DeviceGetPowerUsage, handle_), kMilli);
    reading.power_limit = Scaled(Ask(nvml_.DeviceGetEnforcedPowerLimit, handle_), kMilli);
    reading.sm_clock = Scaled(Ask(nvml_.DeviceGetClockInfo, handle_, nvml::kSmClock), kMega);
    reading.memory_clock =
        Scaled(Ask(nvml_.DeviceGetClockInfo, handle_, nvml::kMemoryClock), kMega);
    ReadThrottling(&reading);
    const auto ecc = [this](int errors) {
      return Ask<unsigned long long>(nvml_.DeviceGetTotalEccErrors, handle_, errors,
                                     nvml::kSinceDriverLoad);
    };
    reading.ecc_corrected = Followed(ecc(nvml::kCorrected), corrected_);
    reading.ecc_uncorrected = Followed(ecc(nvml::kUncorrected), uncorrected_);
    reading.pcie_in =
        Scaled(Ask(nvml_.DeviceGetPcieThroughput, handle_, nvml::kPcieReceived), kKilo);
    reading.pcie_out = Scaled(Ask(nvml_.DeviceGetPcieThroughput, handle_, nvml::kPcieSent), kKilo);
    reading.pcie_replays = Followed(Ask(nvml_.DeviceGetPcieReplayCounter, handle_), replays_);
    reading.xid_errors = xids_;
    return reading;
  }

 private:
  void ReadThrottling(GpuReading* reading) const {
    const auto reasons =
        Ask<unsigned long long>(nvml_.DeviceGetCurrentClocksThrottleReasons, handle_);
    if (!reasons.has_value()) return;
    const auto is = [&](unsigned long long mask) { return (*reasons & mask) != 0 ? 1.0 : 0.0; };
    reading->throttled_thermal = is(nvml::kSwThermalSlowdown | nvml::kHwThermalSlowdown);
    reading->throttled_power = is(nvml::kSwPowerCap);
    reading->throttled_hardware = is(nvml::kHwSlowdown | nvml::kHwPowerBrakeSlowdown);
  }

  const nvml::Library& nvml_;
  const std::string device_;
  const nvml::Device handle_;
  bool is_sliced_ = false;  // MIG
  Count corrected_;
  Count uncorrected_;
  Count replays_;
  absl::optional<double> xids_;
};

}  // namespace

struct GpuMonitor::Shared {
  Shared(GpuMonitorOptions o, std::shared_ptr<GpuReadings> r)
      : options(std::move(o)), readings(std::move(r)) {}

  // The thread.
  void Run();
  void Watch(const nvml::Library& nvml);
  std::vector<Gpu> FindGpus(const nvml::Library& nvml, std::vector<GpuReading>* missing) const;
  nvml::EventSet ListenForXids(const nvml::Library& nvml, std::vector<Gpu>& gpus) const;
  void CountXids(const nvml::Library& nvml, nvml::EventSet events, std::vector<Gpu>& gpus) const;

  // Whether to end, after an interval or sooner.
  bool AwaitEnd() {
    absl::MutexLock lock(&mutex);
    return changed.AwaitUntil(mutex, SteadyNow() + options.interval, [this] {
      mutex.AssertHeld();
      return stopping;
    });
  }
  void Stop() {
    absl::MutexLock lock(&mutex);
    stopping = true;
    changed.NotifyAll();
  }

  const GpuMonitorOptions options;
  const std::shared_ptr<GpuReadings> readings;
  absl::Mutex mutex;
  SteadyCondition changed;
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  bool ended ABSL_GUARDED_BY(mutex) = false;
};

GpuMonitor::GpuMonitor(GpuMonitorOptions options, std::shared_ptr<GpuReadings> readings)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(readings))) {
  std::thread([shared = shared_] {
    shared->Run();
    absl::MutexLock lock(&shared->mutex);
    shared->ended = true;
    shared->changed.NotifyAll();
  }).detach();
}

GpuMonitor::~GpuMonitor() { shared_->Stop(); }

bool GpuMonitor::Stop(absl::Duration patience) {
  shared_->Stop();
  Shared& shared = *shared_;
  absl::MutexLock lock(&shared.mutex);
  return shared.changed.AwaitUntil(shared.mutex, SteadyNow() + patience, [&shared] {
    shared.mutex.AssertHeld();
    return shared.ended;
  });
}

void GpuMonitor::Shared::Run() {
  const absl::StatusOr<nvml::Library> nvml = nvml::Load(options.library);
  if (!nvml.ok()) {
    options.info(absl::StrCat("the GPUs are not monitored: ", nvml.status().message()));
    return;
  }
  const nvml::Return init = nvml->Init_v2();
  if (init != nvml::kSuccess) {
    options.info(absl::StrCat("the GPUs are not monitored: NVML: ", nvml->Text(init)));
    return;
  }
  Watch(*nvml);
  nvml->Shutdown();
}

void GpuMonitor::Shared::Watch(const nvml::Library& nvml) {
  std::vector<GpuReading> missing;
  std::vector<Gpu> gpus = FindGpus(nvml, &missing);
  const nvml::EventSet events = ListenForXids(nvml, gpus);
  do {
    if (events != nullptr) CountXids(nvml, events, gpus);
    std::vector<GpuReading> all = missing;
    for (Gpu& gpu : gpus) all.push_back(gpu.Read());
    readings->Set(std::move(all), SteadyNow());
  } while (!AwaitEnd());
  if (events != nullptr) nvml.EventSetFree(events);
}

std::vector<Gpu> GpuMonitor::Shared::FindGpus(const nvml::Library& nvml,
                                              std::vector<GpuReading>* missing) const {
  std::vector<Gpu> gpus;
  for (const MonitoredGpu& gpu : options.gpus) {
    nvml::Device handle = nullptr;
    const nvml::Return found = nvml.DeviceGetHandleByPciBusId_v2(gpu.pci_bus_id.c_str(), &handle);
    if (found == nvml::kSuccess) {
      gpus.emplace_back(nvml, gpu.device, handle);
      continue;
    }
    options.info(absl::StrCat(gpu.device, " at ", gpu.pci_bus_id,
                              " is not monitored: NVML: ", nvml.Text(found)));
    missing->emplace_back().device = gpu.device;
  }
  return gpus;
}

nvml::EventSet GpuMonitor::Shared::ListenForXids(const nvml::Library& nvml,
                                                 std::vector<Gpu>& gpus) const {
  nvml::EventSet events = nullptr;
  if (nvml.DeviceRegisterEvents == nullptr || nvml.EventSetWait_v2 == nullptr ||
      nvml.EventSetFree == nullptr || nvml.EventSetCreate == nullptr ||
      nvml.EventSetCreate(&events) != nvml::kSuccess) {
    return nullptr;
  }
  for (Gpu& gpu : gpus) {
    if (nvml.DeviceRegisterEvents(gpu.handle(), nvml::kXidCriticalError, events) ==
        nvml::kSuccess) {
      gpu.CountXids();
    }
  }
  return events;
}

void GpuMonitor::Shared::CountXids(const nvml::Library& nvml, nvml::EventSet events,
                                   std::vector<Gpu>& gpus) const {
  nvml::EventData event = {};
  for (int i = 0; i < kMaxEvents; ++i) {
    if (nvml.EventSetWait_v2(events, &event, /*timeout_ms=*/0) != nvml::kSuccess) return;
    for (Gpu& gpu : gpus) {
      if (event.type != nvml::kXidCriticalError || gpu.handle() != event.device) continue;
      gpu.AddXid();
      options.warn(absl::StrCat(gpu.device(), ": the driver reports XID ", event.data));
    }
  }
}

}  // namespace baseband::server
