// GetCapabilities: what this server can do.
#ifndef BASEBAND_SERVER_CONVERTERS_CAPABILITIES_H_
#define BASEBAND_SERVER_CONVERTERS_CAPABILITIES_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "server/config/config.h"
#include "server/converters/carrier_models.h"
#include "server/device/device.h"

namespace baseband::server {

// The answer but for the devices' health, which AddDevices reads anew, and what the request asks
// for.
v1::GetCapabilitiesResponse DescribeServer(const Config& config);
void AddDevices(absl::Span<Device* const> devices, v1::GetCapabilitiesResponse* response);
// InvalidArgument names a constellation that there is not.
absl::Status AddPoints(const v1::GetCapabilitiesRequest& request, CarrierModels& models,
                       v1::GetCapabilitiesResponse* response);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_CAPABILITIES_H_
