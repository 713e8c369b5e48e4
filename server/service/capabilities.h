// GetCapabilities: what this server can do.
#ifndef BASEBAND_SERVER_SERVICE_CAPABILITIES_H_
#define BASEBAND_SERVER_SERVICE_CAPABILITIES_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "server/config/config.h"
#include "server/device/device.h"
#include "server/operations/recover_carrier/carrier_models.h"
#include "server/shm/region_table.h"

namespace baseband::server {

// The answer but for the devices' health, which AddDevices reads anew, and what the request asks
// for.
v1::GetCapabilitiesResponse DescribeServer(const Config& config);
// Of a server that shares memory.
void AddSharedMemory(const Config& config, const RegionTable& regions,
                     v1::GetCapabilitiesResponse* response);
void AddDevices(absl::Span<Device* const> devices, v1::GetCapabilitiesResponse* response);
// False: a model has to be made, and there is no `may_continue` to ask. InvalidArgument names a
// constellation that there is not.
absl::StatusOr<bool> AddPoints(const v1::GetCapabilitiesRequest& request, CarrierModels& models,
                               const ContinueCheck* may_continue,
                               v1::GetCapabilitiesResponse* response);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_CAPABILITIES_H_
