// The messages of a Submit stream as bytes: an operation's request lies in a field of one message,
// its response in a field of another, and neither is copied on the way in or out.
#ifndef BASEBAND_SERVER_CALLS_SUBMIT_WIRE_H_
#define BASEBAND_SERVER_CALLS_SUBMIT_WIRE_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/grpc/wire.h"
#include "server/jobs/operation.h"
#include "server/jobs/request.h"

namespace baseband::server {

// A SubmitRequest, read where it lies.
class SubmitView {
 public:
  // InvalidArgument as of ReadRequest. Fields that are not known are passed over, and what comes
  // twice is taken as protobuf has it.
  static absl::StatusOr<SubmitView> Read(const grpc::ByteBuffer& message,
                                         const OperationTable& operations);

  uint64_t id() const { return id_; }
  // Infinite for 0.
  absl::Duration timeout() const;
  int32_t priority() const { return priority_; }  // any number
  // Null: none is set, or none that is known.
  Operation* operation() const { return operation_; }
  // The operation's request.
  Request& request() { return request_; }

 private:
  absl::Status Parse(google::protobuf::io::CodedInputStream& in, const OperationTable& operations);
  absl::Status ParseOperation(google::protobuf::io::CodedInputStream& in, Operation* operation);

  uint64_t id_ = 0;
  uint64_t timeout_us_ = 0;
  int32_t priority_ = 0;
  Operation* operation_ = nullptr;
  MessageSplit split_;
  Request request_;
};

// What is said of a request besides its result.
struct SubmitOutcome {
  uint64_t id = 0;
  absl::Status status;
  absl::Duration retry_after;  // 0: not said
  // Credits that come with it.
  int64_t requests = 0;
  int64_t bytes = 0;
};

// A SubmitResponse. `result` is the response of `operation` if the status is OK and the id not 0.
// The status' message is cut at 1 KiB, and what is not ASCII in it becomes "?".
grpc::ByteBuffer MakeSubmitResponse(const SubmitOutcome& outcome, const Operation* operation,
                                    const grpc::ByteBuffer& result);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SUBMIT_WIRE_H_
