// What a worker remembers of a call in flight. Internal to the worker.
#ifndef BASEBAND_CLIENT_LOAD_WORKER_CALL_H_
#define BASEBAND_CLIENT_LOAD_WORKER_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/shared_bulk.h"
#include "client/load/worker.h"
#include "client/load/workload.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::load {

struct Worker::Call {
  std::shared_ptr<client::SharedBulk> bulk;  // null: all is in the messages, or in a ring's memory
  bool by_ring = false;
  grpc::ByteBuffer reply;
  absl::Status status;
  const Request* request = nullptr;
  absl::string_view payload;  // of the request, maybe in place
  size_t workload = 0;
  int64_t due_ns = 0;
  int64_t sent_ns = 0;
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_WORKER_CALL_H_
