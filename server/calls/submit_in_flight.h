// One request of a Submit stream, from its message to the end of its response.
#ifndef BASEBAND_SERVER_CALLS_SUBMIT_IN_FLIGHT_H_
#define BASEBAND_SERVER_CALLS_SUBMIT_IN_FLIGHT_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>

#include "server/calls/request_context.h"
#include "server/calls/submit_call.h"
#include "server/jobs/operation.h"

namespace baseband::server {

struct SubmitCall::InFlight {
  InFlight(const CallEnvironment& environment, const SubmitView& view, absl::Time arrival)
      : id(view.id()),
        operation(view.operation()),
        // Submit's own if its message names no operation.
        context(environment, operation != nullptr ? operation->rpc() : kSubmitRpc, arrival) {}

  const uint64_t id;
  Operation* const operation;  // null: none is set, or none that is known
  int64_t bytes = 0;           // of its message
  RequestContext context;
  Request wire_request;  // until its payload is where devices want it
  std::unique_ptr<Preparation> preparation;
  absl::Status status;  // its answer, once it has one
  grpc::ByteBuffer result;
  int64_t response_bytes = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SUBMIT_IN_FLIGHT_H_
