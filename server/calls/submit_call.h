// One Submit stream: requests of any operation, answered when each is done, out of order.
//
// Reading goes on while jobs run: of a message its id and credits are looked at, then the next one
// is read while this one becomes a job, or is prepared on the slow path if that takes long.
// Responses wait for one another only to be written. Bounded by the credits: a response that waits
// to be written still holds its request's.
#ifndef BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_
#define BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/calls/grpc_call.h"
#include "server/calls/submit_wire.h"
#include "server/limits/flow_control_window.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it and all its requests have ended.
class SubmitCall final : public GrpcCall {
 public:
  // Waits for the next call of method `number` of the service on `queue`; when it comes, waits for
  // another.
  static void Listen(const CallEnvironment* environment, int number,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<SubmitCall>;
  struct InFlight;  // a request
  using InFlightPtr = std::shared_ptr<InFlight>;

  SubmitCall(const CallEnvironment* environment, int number, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnCancelled() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Destroy() override ABSL_NO_THREAD_SAFETY_ANALYSIS;  // nobody else is there any more

  // The first response: how much the client may have in flight. From then on requests are read.
  void Open() ABSL_LOCKS_EXCLUDED(mutex_);
  void StartRead();
  // Takes the message up and reads on; an error ends the stream.
  absl::Status Receive(const grpc::ByteBuffer& message) ABSL_LOCKS_EXCLUDED(mutex_);
  // From here on an error is the request's answer.
  absl::Status Begin(const InFlightPtr& request, int32_t priority);
  absl::Status Submit(const InFlightPtr& request, JobPtr job);
  // The job's completion, on any thread.
  void Answer(const InFlightPtr& request, const absl::Status& status, JobPtr job);
  void Respond(const InFlightPtr& request, const absl::Status& status,
               const grpc::ByteBuffer& result);

  // The stream ends so, unless it has to end otherwise already; what is in flight is cancelled.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes the next response or ends the call, if it is time for either.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing more will happen to the request.
  void Leave(const InFlightPtr& request, bool sent);

  const int number_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  Event arrived_{this, &SubmitCall::OnArrived};
  Event read_{this, &SubmitCall::OnRead};
  Event written_{this, &SubmitCall::OnWritten};
  Event finished_{this, &SubmitCall::OnFinished};
  grpc::ByteBuffer incoming_;  // gRPC's while it reads

  absl::Mutex mutex_;
  FlowControlWindow window_ ABSL_GUARDED_BY(mutex_);
  std::deque<InFlightPtr> answered_ ABSL_GUARDED_BY(mutex_);  // not yet with gRPC
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  InFlightPtr written_request_ ABSL_GUARDED_BY(mutex_);      // null: credits alone
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;         // the client sends no more
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;            // the server takes no more
  int64_t grant_bytes_ = 0;                                  // of the message that opens the stream
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // how it has to end
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;               // and gRPC knows
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SUBMIT_CALL_H_
