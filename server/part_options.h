// What a configuration asks of the parts of the server.
#ifndef BASEBAND_SERVER_PART_OPTIONS_H_
#define BASEBAND_SERVER_PART_OPTIONS_H_

#include <memory>

#include "server/batching/dispatcher.h"
#include "server/config/config.h"
#include "server/device/create_devices.h"
#include "server/device/host_pool.h"
#include "server/limits/awaited_messages.h"
#include "server/limits/memory_steps.h"
#include "server/operations/operations.h"
#include "server/process/memory_watch.h"

namespace baseband::server {

// `operations` outlives the devices, which are prepared for them.
DeviceOptions ToDeviceOptions(const Config& config, const OperationTable& operations);

// Lets gRPC read into memory that the GPUs reach, if there are any and --grpc-pinned-share wants
// it: for good, whatever becomes of them. Before the server receives.
absl::Status StartReadArena(const Config& config, const Devices& devices);

// `operations` outlives the dispatcher; `lane` is what the devices were created with.
DispatcherOptions ToDispatcherOptions(const Config& config, const OperationTable& operations,
                                      const LaneCapacity& lane);

// By what is in use now; said with every scrape.
std::shared_ptr<MemorySteps> MakeMemorySteps(const Config& config, Metrics& metrics);

// The pools outlive the watch.
MemoryWatch::Options ToMemoryWatchOptions(const Config& config, const OperationCaches& caches,
                                          HostPool& staging, HostPool& reply,
                                          std::shared_ptr<AwaitedMessages> awaited);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PART_OPTIONS_H_
