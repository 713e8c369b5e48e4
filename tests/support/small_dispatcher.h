// A dispatcher that a test's jobs can fill.
#ifndef BASEBAND_TESTS_SUPPORT_SMALL_DISPATCHER_H_
#define BASEBAND_TESTS_SUPPORT_SMALL_DISPATCHER_H_

#include "server/batching/dispatcher.h"
#include "tests/support/test_operations.h"

namespace baseband::server {

// Lanes of 1 MiB each way, batches of 100 jobs, a queue of `queue_requests` and 1 MiB.
inline DispatcherOptions SmallDispatcher(int64_t queue_requests) {
  DispatcherOptions options;
  options.operations = &TestOperations();
  options.limits.lane = {1 << 20, 1 << 20, 1 << 20};
  options.limits.max_blocks = 100;
  options.limits.max_requests = 100;
  options.queue_requests = queue_requests;
  options.queue_bytes = 1 << 20;
  return options;
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_SMALL_DISPATCHER_H_
