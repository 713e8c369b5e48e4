// One unary call, from its arrival on a completion queue to the end of its answer.
//
// The transport of all batched operations; what differs between them stands in their Operation.
// The handler is three steps: convert or refuse; submit the job; answer from the job's one
// completion. It never waits: what takes long to convert is prepared on the slow path.
#ifndef BASEBAND_SERVER_CALLS_UNARY_CALL_H_
#define BASEBAND_SERVER_CALLS_UNARY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "server/calls/request_call.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class UnaryCall final : public RequestCall {
 public:
  // Waits for the next call of `method` on `queue`; when it comes, waits for another. `method`
  // outlives the calls.
  static void Listen(const CallEnvironment* environment, const OperationMethod* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<UnaryCall>;

  UnaryCall(const CallEnvironment* environment, const OperationMethod* method,
            grpc::ServerCompletionQueue* queue);

  void ListenForNext() override { Listen(&environment_, &method_, queue_); }
  // Makes a job of the request and submits it, or says why not.
  absl::Status Accept() override;
  void Refuse(const absl::Status& status) override;
  void OnFinished(bool ok);
  void Destroy() override;

  absl::Status Submit(JobPtr job);
  // The job's completion, on any thread.
  void Answer(const absl::Status& status, JobPtr job);
  void Finish(const absl::Status& status, const grpc::ByteBuffer& reply);
  // How long it took once it was read, for those that come.
  void TellTime(const absl::Status& status);

  const OperationMethod& method_;
  Event finished_{this, &UnaryCall::OnFinished};

  Request wire_request_;  // until its payload is where devices want it
  std::unique_ptr<Preparation> preparation_;
  double work_s_ = 0.0;  // of a device, that it had
  int64_t response_bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_UNARY_CALL_H_
