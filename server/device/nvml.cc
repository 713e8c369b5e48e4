#include "server/device/nvml.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/dynamic_library.h"
#include "kernels/base/status_macros.h"

namespace baseband::server::nvml {
namespace {

constexpr char kNoun[] = "NVML";

}  // namespace

std::string Library::Text(Return error) const {
  return ErrorString != nullptr ? ErrorString(error) : absl::StrCat("error ", error);
}

absl::StatusOr<Library> Load(const std::string& path) {
  const char* const paths[] = {path.c_str()};
  BASEBAND_ASSIGN_OR_RETURN(void* const library, LoadLibrary(kNoun, paths));
  Library nvml;
#define BASEBAND_NVML_NEEDED(name) \
  BASEBAND_RETURN_IF_ERROR(FindFunction(library, kNoun, "nvml" #name, &nvml.name))
#define BASEBAND_NVML_WANTED(name) (void)FindFunction(library, kNoun, "nvml" #name, &nvml.name)
  BASEBAND_NVML_NEEDED(Init_v2);
  BASEBAND_NVML_NEEDED(Shutdown);
  BASEBAND_NVML_NEEDED(DeviceGetHandleByPciBusId_v2);
  BASEBAND_NVML_WANTED(ErrorString);
  BASEBAND_NVML_WANTED(DeviceGetMigMode);
  BASEBAND_NVML_WANTED(DeviceGetUtilizationRates);
  BASEBAND_NVML_WANTED(DeviceGetMemoryInfo);
  BASEBAND_NVML_WANTED(DeviceGetTemperature);
  BASEBAND_NVML_WANTED(DeviceGetPowerUsage);
  BASEBAND_NVML_WANTED(DeviceGetEnforcedPowerLimit);
  BASEBAND_NVML_WANTED(DeviceGetClockInfo);
  BASEBAND_NVML_WANTED(DeviceGetCurrentClocksThrottleReasons);
  BASEBAND_NVML_WANTED(DeviceGetTotalEccErrors);
  BASEBAND_NVML_WANTED(DeviceGetPcieThroughput);
  BASEBAND_NVML_WANTED(DeviceGetPcieReplayCounter);
  BASEBAND_NVML_WANTED(EventSetCreate);
  BASEBAND_NVML_WANTED(DeviceRegisterEvents);
  BASEBAND_NVML_WANTED(EventSetWait_v2);
  BASEBAND_NVML_WANTED(EventSetFree);
#undef BASEBAND_NVML_WANTED
#undef BASEBAND_NVML_NEEDED
  return nvml;
}

}  // namespace baseband::server::nvml
