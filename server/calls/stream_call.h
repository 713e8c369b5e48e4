// One bidirectional call: a response for each request, in order, from a session that remembers.
//
// The transport of all streams; what differs between them stands in their session. Bounded: at
// most one request is in work and one waits behind it, the rest waits with the client (HTTP/2 flow
// control). A request for which there is no room now waits for it; a client that does not read its
// responses is cut off.
#ifndef BASEBAND_SERVER_CALLS_STREAM_CALL_H_
#define BASEBAND_SERVER_CALLS_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/calls/grpc_call.h"
#include "server/jobs/stream_session.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class StreamCall final : public GrpcCall {
 public:
  // Waits for the next call of `method`, the streams of an operation, on `queue`; when it comes,
  // waits for another. `method` outlives the calls.
  static void Listen(const CallEnvironment* environment, const OperationMethod* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<StreamCall>;

  StreamCall(const CallEnvironment* environment, const OperationMethod* method,
             grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnRoom(bool ok);  // time to look for room again
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void Destroy() override ABSL_NO_THREAD_SAFETY_ANALYSIS;  // nobody else is there any more

  void StartRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes up the request that waits, if nothing is in work; ends the call when all is done.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Begin(const grpc::ByteBuffer& message);
  // Hands over the job of the request in work, now or once there is room.
  absl::Status Submit();
  // The job's completion, on any thread.
  void Answer(absl::Status status, JobPtr job);
  // The request in work is through; so it ended for its client.
  void EndRequest(const absl::Status& status);
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const OperationMethod& method_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  Event arrived_{this, &StreamCall::OnArrived};
  Event read_{this, &StreamCall::OnRead};
  Event room_{this, &StreamCall::OnRoom};
  Event written_{this, &StreamCall::OnWritten};
  Event finished_{this, &StreamCall::OnFinished};
  std::unique_ptr<StreamSession> session_;

  absl::Mutex mutex_;
  grpc::ByteBuffer incoming_;  // gRPC's while reading_
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // the client sends no more
  std::optional<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  bool in_work_ ABSL_GUARDED_BY(mutex_) =
      false;  // from a request's beginning to its response's end
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // once ended_

  // The request in work; whoever works on it.
  std::optional<RequestContext> request_;
  Request wire_request_;
  std::unique_ptr<Preparation> preparation_;
  JobPtr job_;
  int64_t response_bytes_ = 0;
  SteadyAlarm room_alarm_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_STREAM_CALL_H_
