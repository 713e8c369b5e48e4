// What calls need of the server.
#ifndef BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_
#define BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "common/grpc/steady_alarm.h"
#include "server/auth/access.h"
#include "server/batching/dispatcher.h"
#include "server/calls/flight_recorder.h"
#include "server/device/host_pool.h"
#include "server/grpc/raw_service.h"
#include "server/jobs/operation.h"
#include "server/limits/awaited_messages.h"
#include "server/limits/byte_limit.h"
#include "server/limits/client_quotas.h"
#include "server/limits/flow_control_window.h"
#include "server/limits/in_flight_gate.h"
#include "server/limits/live_count.h"
#include "server/limits/memory_steps.h"
#include "server/limits/message_reads.h"
#include "server/limits/slow_path_executor.h"
#include "server/limits/stream_limit.h"
#include "server/metrics/metrics.h"
#include "server/operations/operations.h"
#include "server/shm/region_table.h"

namespace baseband::server {

// All that it points to outlives every call.
struct CallEnvironment {
  RawService* service = nullptr;
  OperationTable* operations = nullptr;
  OperationCaches caches;
  Dispatcher* dispatcher = nullptr;
  Metrics* metrics = nullptr;
  FlightRecorder* recorder = nullptr;
  Access* access = nullptr;
  InFlightGate* gate = nullptr;
  LiveCount* calls = nullptr;        // each of them, also while it waits for a client
  LiveCount* calls_there = nullptr;  // those that have come, with their message, and are not over
  SteadyTimer* timer = nullptr;
  ClientQuotas* quotas = nullptr;
  StreamLimit* streams = nullptr;
  StreamLimit* searches = nullptr;
  ByteLimit* search_memory = nullptr;
  std::shared_ptr<const MemorySteps> memory = std::make_shared<MemorySteps>(0, 0);  // never scarce
  std::shared_ptr<AwaitedMessages> awaited = std::make_shared<AwaitedMessages>();
  MessageReads* reads = nullptr;
  int64_t max_message_bytes = 0;  // of a request: larger ones gRPC does not take
  std::vector<Device*> devices;
  SlowPathExecutor* slow_path = nullptr;
  std::shared_ptr<HostPool> staging;
  std::shared_ptr<HostPool> reply;
  const RegionTable* regions = nullptr;  // null: this server shares no memory
  RequestLimits limits;
  SubmitWindow submit_window;
  // A client that takes longer to read a message holds memory that others need: its call is ended.
  absl::Duration max_stall = absl::Seconds(10);
};

// A method of the service that serves an operation.
struct OperationMethod {
  int number = 0;  // RawService's
  Operation* operation = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_
