// One request of a Submit stream, from its message to the end of its response.
#ifndef BASEBAND_SERVER_CALLS_SUBMIT_REQUEST_H_
#define BASEBAND_SERVER_CALLS_SUBMIT_REQUEST_H_

#include <cstdint>

#include "server/calls/submit_call.h"

namespace baseband::server {

struct SubmitCall::Request {
  uint64_t id = 0;
  const SubmitOperation* operation = nullptr;
  int64_t bytes = 0;  // of its message
  int32_t priority = 0;
  absl::Time arrival;
  absl::Time deadline;
  Caller caller;
  ClientHold hold;
  bool inside = false;    // the door
  bool accepted = false;  // by the dispatcher

  absl::Time answered;
  absl::Status status;
  JobTimes times;
  int64_t reply_bytes = 0;
  grpc::ByteBuffer result;

  Rpc rpc() const { return RpcOf(operation->page->operation); }
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SUBMIT_REQUEST_H_
