// What a configuration asks of the parts of the server.
#ifndef BASEBAND_SERVER_PART_OPTIONS_H_
#define BASEBAND_SERVER_PART_OPTIONS_H_

#include "server/batching/dispatcher.h"
#include "server/config/config.h"
#include "server/device/create_devices.h"
#include "server/operations/operations.h"

namespace baseband::server {

// `operations` outlives the devices, which are prepared for them.
DeviceOptions ToDeviceOptions(const Config& config, const OperationTable& operations);

// `operations` outlives the dispatcher; `lane` is what the devices were created with.
DispatcherOptions ToDispatcherOptions(const Config& config, const OperationTable& operations,
                                      const LaneCapacity& lane);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PART_OPTIONS_H_
