// A driver's management library as a test wants it: libnvidia-ml.so.1 with the functions of NVML
// that basebandd uses, and some that say what they answer (fake_nvml.h calls those).
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "server/device/nvml.h"

using namespace baseband::server::nvml;  // NOLINT: this is one more of its implementations

struct baseband::server::nvml::nvmlDevice_st {
  std::map<std::string, double> values;  // by name; those that are not there are not supported
};
struct baseband::server::nvml::nvmlEventSet_st {
  std::map<Device, bool> registered;
};

namespace {

// Never destroyed: the program may end while a thread is stuck in here.
std::mutex& mutex = *new std::mutex;
auto& devices = *new std::map<std::string, nvmlDevice_st>;  // by PCI bus id
auto& xids = *new std::deque<std::pair<Device, unsigned long long>>;
nvmlEventSet_st& event_set = *new nvmlEventSet_st;
Return failure = kSuccess;
std::atomic<bool> stuck{false};
std::atomic<int> num_stuck{0};  // threads

// All functions begin here.
Return Enter() {
  ++num_stuck;
  while (stuck) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  --num_stuck;
  const std::lock_guard<std::mutex> lock(mutex);
  return failure;
}

template <typename Value>
Return Get(Device device, const char* name, Value* value) {
  if (const Return failed = Enter(); failed != kSuccess) return failed;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = device->values.find(name);
  if (found == device->values.end()) return kNotSupported;
  *value = static_cast<Value>(found->second);
  return kSuccess;
}

}  // namespace

extern "C" {

void FakeNvmlReset() {
  const std::lock_guard<std::mutex> lock(mutex);
  devices.clear();
  xids.clear();
  event_set.registered.clear();
  failure = kSuccess;
  stuck = false;
}
void FakeNvmlSet(const char* pci_bus_id, const char* name, double value) {
  const std::lock_guard<std::mutex> lock(mutex);
  devices[pci_bus_id].values[name] = value;
}
void FakeNvmlUnset(const char* pci_bus_id, const char* name) {
  const std::lock_guard<std::mutex> lock(mutex);
  devices[pci_bus_id].values.erase(name);
}
void FakeNvmlXid(const char* pci_bus_id, unsigned long long xid) {
  const std::lock_guard<std::mutex> lock(mutex);
  xids.emplace_back(&devices[pci_bus_id], xid);
}
void FakeNvmlFail(int failing) {
  const std::lock_guard<std::mutex> lock(mutex);
  failure = failing;
}
void FakeNvmlStick(bool sticks) { stuck = sticks; }
bool FakeNvmlIsStuck() { return stuck && num_stuck > 0; }

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
Return nvmlInit_v2() { return Enter(); }
Return nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(Return error) {
  switch (error) {
    case kNoPermission:
      return "Insufficient Permissions";
    case kNotFound:
      return "Not Found";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

Return nvmlDeviceGetHandleByPciBusId_v2(const char* pci_bus_id, Device* device) {
  if (const Return failed = Enter(); failed != kSuccess) return failed;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = devices.find(pci_bus_id);
  if (found == devices.end()) return kNotFound;
  *device = &found->second;
  return kSuccess;
}

Return nvmlDeviceGetMigMode(Device device, unsigned int* now, unsigned int* pending) {
  *pending = 0;
  return Get(device, "mig", now);
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization) {
  utilization->memory = 0;
  return Get(device, "utilization", &utilization->gpu);
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  const Return got = Get(device, "memory_total", &memory->total);
  return got == kSuccess ? Get(device, "memory_used", &memory->used) : got;
}
Return nvmlDeviceGetTemperature(Device device, int, unsigned int* celsius) {
  return Get(device, "temperature", celsius);
}
Return nvmlDeviceGetPowerUsage(Device device, unsigned int* mw) { return Get(device, "power", mw); }
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned int* mw) {
  return Get(device, "power_limit", mw);
}
Return nvmlDeviceGetClockInfo(Device device, int type, unsigned int* mhz) {
  return Get(device, type == kSmClock ? "sm_clock" : "memory_clock", mhz);
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  return Get(device, "throttle_reasons", reasons);
}
Return nvmlDeviceGetTotalEccErrors(Device device, int errors, int counter,
                                   unsigned long long* count) {
  if (counter != kSinceDriverLoad) return kNotSupported;
  return Get(device, errors == kCorrected ? "ecc_corrected" : "ecc_uncorrected", count);
}
Return nvmlDeviceGetPcieThroughput(Device device, int counter, unsigned int* kb_per_s) {
  return Get(device, counter == kPcieSent ? "pcie_sent" : "pcie_received", kb_per_s);
}
Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned int* count) {
  return Get(device, "pcie_replays", count);
}

Return nvmlEventSetCreate(EventSet* set) {
  *set = &event_set;
  return Enter();
}
Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  if (const Return failed = Enter(); failed != kSuccess) return failed;
  const std::lock_guard<std::mutex> lock(mutex);
  if (device->values.count("no_events") != 0) return kNotSupported;
  set->registered[device] = types == kXidCriticalError;
  return kSuccess;
}
Return nvmlEventSetWait_v2(EventSet set, EventData* event, unsigned int) {
  if (const Return failed = Enter(); failed != kSuccess) return failed;
  const std::lock_guard<std::mutex> lock(mutex);
  while (!xids.empty()) {
    const auto [device, xid] = xids.front();
    xids.pop_front();
    if (!set->registered[device]) continue;
    *event = {device, kXidCriticalError, xid, ~0U, ~0U};
    return kSuccess;
  }
  return kTimeout;
}
Return nvmlEventSetFree(EventSet) { return kSuccess; }
// NOLINTEND(readability-identifier-naming)

}  // extern "C"
