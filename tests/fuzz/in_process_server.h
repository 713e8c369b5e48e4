// A server without its transport: what calls have of one (CallEnvironment), on two threads of the
// CPU device, small enough that a few clients fill each of its queues, quotas and pools.
#ifndef BASEBAND_TESTS_FUZZ_IN_PROCESS_SERVER_H_
#define BASEBAND_TESTS_FUZZ_IN_PROCESS_SERVER_H_

#include <array>
#include <memory>

#include "server/calls/call_environment.h"
#include "server/device/cpu_device.h"

namespace baseband::server {

class InProcessServer {
 public:
  static constexpr int64_t kMiB = int64_t{1} << 20;
  static constexpr int64_t kMaxBlocks = 1024;
  static constexpr int64_t kSearchMemoryBytes = 64 * kMiB;

  InProcessServer()
      : operations_(MakeOperations(caches_)),
        dispatcher_(DispatcherOptionsOf(operations_), devices_, &metrics_),
        slow_path_(SlowPathExecutor::Options()) {
    device_.set_healthy(true);
    environment_.operations = &operations_;
    environment_.caches = caches_;
    environment_.dispatcher = &dispatcher_;
    environment_.metrics = &metrics_;
    environment_.recorder = &recorder_;
    environment_.gate = &gate_;
    environment_.quotas = &quotas_;
    environment_.streams = &streams_;
    environment_.searches = &searches_;
    environment_.search_memory = &search_memory_;
    environment_.devices.assign(devices_.begin(), devices_.end());
    environment_.slow_path = &slow_path_;
    environment_.staging = Pool(0);
    environment_.reply = Pool(1);
    environment_.limits.max_blocks_per_request = kMaxBlocks;
    environment_.limits.max_joined_blocks = 4;
    environment_.limits.max_input_bytes = kLane.input_bytes;
    environment_.limits.max_search = absl::Milliseconds(5);
    environment_.submit_window = {4, 4 * kMiB};
  }

  const CallEnvironment& environment() const { return environment_; }
  OperationTable& operations() { return operations_; }

 private:
  static constexpr LaneCapacity kLane = {8 * kMiB, 16 * kMiB, 8 * kMiB};

  // These two are of the process: what they take is a part of what a server is started with.
  static std::shared_ptr<HostPool> Pool(size_t number) {
    static const auto& pools = *new std::array<std::shared_ptr<HostPool>, 2>{
        *HostPool::CreatePageable(32 * kMiB), *HostPool::CreatePageable(32 * kMiB)};
    return pools[number];
  }
  static DispatcherOptions DispatcherOptionsOf(const OperationTable& operations) {
    DispatcherOptions options;
    options.operations = &operations;
    options.limits.lane = kLane;
    options.limits.max_blocks = kMaxBlocks;
    options.limits.max_requests = 8;
    options.queue_requests = 8;
    options.queue_bytes = 8 * kMiB;
    options.low_share = 0.1;
    return options;
  }

  OperationCaches caches_;
  OperationTable operations_;
  Metrics metrics_{"fuzzer", operations_.counted()};
  // Soft bits of few blocks have room.
  CpuDevice device_{2, /*standby=*/false, {/*max_bytes=*/kMiB, /*max_bytes_per_owner=*/kMiB / 4}};
  const std::array<Device*, 1> devices_ = {&device_};
  FlightRecorder recorder_{absl::ZeroDuration()};
  InFlightGate gate_;
  ClientQuotas quotas_{{/*requests=*/8, /*bytes=*/8 * kMiB, /*streams=*/3}};
  StreamLimit streams_{"streams", 4};
  StreamLimit searches_{"searches", 2};
  ByteLimit search_memory_{"searches", kSearchMemoryBytes};
  Dispatcher dispatcher_;
  SlowPathExecutor slow_path_;  // ends before what it goes on to
  CallEnvironment environment_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_FUZZ_IN_PROCESS_SERVER_H_
