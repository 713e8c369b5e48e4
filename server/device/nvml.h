// What is used of NVML, the management library of NVIDIA's driver (libnvidia-ml.so.1): its binary
// interface as the "NVML API Reference" documents it. Declared here, and looked for at run time, so
// that builds need no toolkit and servers no driver.
#ifndef BASEBAND_SERVER_DEVICE_NVML_H_
#define BASEBAND_SERVER_DEVICE_NVML_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace baseband::server::nvml {

using Return = int;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kTimeout = 10;
inline constexpr Return kGpuIsLost = 15;

using Device = struct nvmlDevice_st*;
using EventSet = struct nvmlEventSet_st*;

struct Utilization {  // percent of the last sample period
  unsigned int gpu;
  unsigned int memory;
};
struct Memory {  // bytes
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  // the XID
  unsigned int gpu_instance;
  unsigned int compute_instance;
};

inline constexpr int kTemperatureOfGpu = 0;                 // nvmlTemperatureSensors_t
enum ClockType { kSmClock = 1, kMemoryClock = 2 };          // nvmlClockType_t
enum EccErrors { kCorrected = 0, kUncorrected = 1 };        // nvmlMemoryErrorType_t
inline constexpr int kSinceDriverLoad = 0;                  // nvmlEccCounterType_t: volatile
enum PcieCounter { kPcieSent = 0, kPcieReceived = 1 };      // nvmlPcieUtilCounter_t; by the GPU
inline constexpr unsigned long long kXidCriticalError = 8;  // nvmlEventType..

// nvmlClocksThrottleReason.., later nvmlClocksEventReason..
inline constexpr unsigned long long kSwPowerCap = 0x04;
inline constexpr unsigned long long kHwSlowdown = 0x08;
inline constexpr unsigned long long kSwThermalSlowdown = 0x20;
inline constexpr unsigned long long kHwThermalSlowdown = 0x40;
inline constexpr unsigned long long kHwPowerBrakeSlowdown = 0x80;

// The functions, by their names without "nvml". Those that ask for one value are null where the
// library has none of the name.
struct Library {
  Return (*Init_v2)() = nullptr;
  Return (*Shutdown)() = nullptr;
  const char* (*ErrorString)(Return) = nullptr;
  Return (*DeviceGetHandleByPciBusId_v2)(const char*, Device*) = nullptr;

  Return (*DeviceGetMigMode)(Device, unsigned int* now, unsigned int* pending) = nullptr;
  Return (*DeviceGetUtilizationRates)(Device, Utilization*) = nullptr;
  Return (*DeviceGetMemoryInfo)(Device, Memory*) = nullptr;
  Return (*DeviceGetTemperature)(Device, int sensor, unsigned int* celsius) = nullptr;
  Return (*DeviceGetPowerUsage)(Device, unsigned int* mw) = nullptr;
  Return (*DeviceGetEnforcedPowerLimit)(Device, unsigned int* mw) = nullptr;
  Return (*DeviceGetClockInfo)(Device, int type, unsigned int* mhz) = nullptr;
  Return (*DeviceGetCurrentClocksThrottleReasons)(Device, unsigned long long*) = nullptr;
  Return (*DeviceGetTotalEccErrors)(Device, int errors, int counter, unsigned long long*) = nullptr;
  // Takes 20 ms to look.
  Return (*DeviceGetPcieThroughput)(Device, int counter, unsigned int* kb_per_s) = nullptr;
  Return (*DeviceGetPcieReplayCounter)(Device, unsigned int*) = nullptr;

  Return (*EventSetCreate)(EventSet*) = nullptr;
  Return (*DeviceRegisterEvents)(Device, unsigned long long types, EventSet) = nullptr;
  Return (*EventSetWait_v2)(EventSet, EventData*, unsigned int timeout_ms) = nullptr;
  Return (*EventSetFree)(EventSet) = nullptr;

  std::string Text(Return error) const;
};

// Loads the library at `path`, for good. Unavailable, and why, if it is not there or none.
absl::StatusOr<Library> Load(const std::string& path);

}  // namespace baseband::server::nvml

#endif  // BASEBAND_SERVER_DEVICE_NVML_H_
