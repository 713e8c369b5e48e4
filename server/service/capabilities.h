// GetCapabilities: what this server can do.
#ifndef BASEBAND_SERVER_SERVICE_CAPABILITIES_H_
#define BASEBAND_SERVER_SERVICE_CAPABILITIES_H_

#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "server/config/config.h"
#include "server/device/device.h"

namespace baseband::server {

// The answer but for the devices' health, which AddDevices reads anew.
v1::GetCapabilitiesResponse DescribeServer(const Config& config);
void AddDevices(absl::Span<Device* const> devices, v1::GetCapabilitiesResponse* response);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_CAPABILITIES_H_
