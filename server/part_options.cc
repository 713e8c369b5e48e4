#include "server/part_options.h"

#include <algorithm>
#include <cstdint>

namespace baseband::server {

DeviceOptions ToDeviceOptions(const Config& config, const OperationTable& operations) {
  // Descriptors of the largest batch, and room for the tables of many codes.
  constexpr int64_t kDescriptorBytes = 32;
  constexpr int64_t kTableBytes = 16 << 20;
  DeviceOptions options;
  options.selection = config.device;
  options.cuda_lanes = config.lanes;
  options.cpu_threads = config.cpu_threads;
  options.standby_cpu = config.standby_cpu;
  options.lane.input_bytes = MibToBytes(config.lane_input_mib);
  options.lane.output_bytes = MibToBytes(config.lane_output_mib);
  options.lane.control_bytes =
      kTableBytes +
      kDescriptorBytes * std::max(config.max_batch_blocks, config.max_blocks_per_request);
  options.objects.max_bytes = MibToBytes(config.object_mib);
  options.objects.max_bytes_per_owner = MibToBytes(config.client_object_mib);
  options.objects.time_to_live = config.object_lifetime;
  options.spin = config.completion == Completion::kSpin;
  options.cuda_workspace_bytes = operations.cuda_workspace_bytes();
  options.prepare_cuda = [&operations] { return operations.PrepareCuda(); };
  return options;
}

DispatcherOptions ToDispatcherOptions(const Config& config, const OperationTable& operations,
                                      const LaneCapacity& lane) {
  DispatcherOptions options;
  options.operations = &operations;
  options.limits.lane = lane;
  options.limits.max_blocks = config.max_batch_blocks;
  options.limits.max_requests = config.max_batch_requests;
  options.limits.max_queue_delay = config.max_queue_delay;
  options.low_share = config.low_share / 100.0;
  options.share_weights = {config.client_share.begin(), config.client_share.end()};
  options.queue_requests = config.queue_requests;
  options.queue_bytes = MibToBytes(config.queue_mib);
  options.watchdog = config.watchdog;
  return options;
}

}  // namespace baseband::server
