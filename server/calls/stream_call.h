// One bidirectional call: a response for each request, in order, from a session that remembers.
//
// The transport of all streams; what differs between them stands in their StreamPage. Bounded: at
// most one request is in work and one waits behind it, the rest waits with the client (HTTP/2 flow
// control). A request for which there is no room now waits for it; a client that does not read its
// responses is cut off.
#ifndef BASEBAND_SERVER_CALLS_STREAM_CALL_H_
#define BASEBAND_SERVER_CALLS_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/calls/call_environment.h"

namespace baseband::server {

// What one stream remembers. Called from one thread at a time: FromProto, then, once the job is
// done, ToProto, then FromProto again.
class StreamSession {
 public:
  virtual ~StreamSession() = default;
  // As MethodDescriptor::from_proto. The job's prefix stays valid until ToProto has returned.
  virtual absl::StatusOr<JobPtr> FromProto(const RequestView& request,
                                           const ContinueCheck& may_continue) = 0;
  // As MethodDescriptor::to_proto and count_results.
  virtual absl::StatusOr<grpc::ByteBuffer> ToProto(Job& job) = 0;
};

// How a stream is listened for, and begun.
struct StreamListening {
  grpc::ServerContext* context = nullptr;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>* stream = nullptr;
  grpc::ServerCompletionQueue* queue = nullptr;
  void* tag = nullptr;
};
struct StreamPage {
  Rpc rpc;
  int payload_field;
  void (*listen)(AsyncService& service, const StreamListening& listening);
  std::unique_ptr<StreamSession> (*new_session)(const CallEnvironment& environment);
};

extern const StreamPage kDownconvertStream;

// Deletes itself once gRPC is through with it.
class StreamCall {
 public:
  // Waits for the next call of `page` on `queue`; when it comes, waits for another.
  static void Listen(const CallEnvironment* environment, const StreamPage* page,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<StreamCall>;

  StreamCall(const CallEnvironment* environment, const StreamPage* page,
             grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnNotified(bool ok);  // finished or cancelled, whichever comes first
  void OnRead(bool ok);
  void OnRoom(bool ok);  // time to look for room again
  void OnWritten(bool ok);
  void OnStalled(bool ok);  // the client should have read the response by now
  void OnFinished(bool ok);

  void StartRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes up the request that waits, if nothing is in work; ends the call when all is done.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Begin(const grpc::ByteBuffer& message);
  // Makes a job of the request in work; on the slow path if that takes long.
  absl::Status Convert(const ContinueCheck& may_continue);
  absl::Status RunOnSlowPath();
  absl::Status Submit();
  // The job's completion, on any thread.
  void Answer(absl::Status status, JobPtr job);
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the request in work, which has ended.
  void RecordRequest(const absl::Status& status, absl::Time answered);
  // Of the request in work, which was accepted and is answered now.
  void CountRequestsDeadline(absl::StatusCode code);
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  // The last one is alone with the call, and deletes it.
  void Unref() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const CallEnvironment& environment_;
  const StreamPage& page_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  Event arrived_{this, &StreamCall::OnArrived};
  Event notified_{this, &StreamCall::OnNotified};
  Event read_{this, &StreamCall::OnRead};
  Event room_{this, &StreamCall::OnRoom};
  Event written_{this, &StreamCall::OnWritten};
  Event stalled_{this, &StreamCall::OnStalled};
  Event finished_{this, &StreamCall::OnFinished};

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  absl::Time given_up_ = absl::InfiniteFuture();  // by the client; once cancelled_ is set
  absl::Time arrival_;
  absl::Time deadline_;
  Caller caller_;
  ClientHold hold_;
  std::unique_ptr<StreamSession> session_;

  absl::Mutex mutex_;
  grpc::ByteBuffer incoming_;  // gRPC's while reading_
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // the client sends no more
  std::optional<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  bool in_work_ ABSL_GUARDED_BY(mutex_) =
      false;  // from a request's beginning to its response's end
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::StatusCode code_ ABSL_GUARDED_BY(mutex_) = absl::StatusCode::kOk;

  // Of the request in work; whoever works on it.
  std::optional<RequestView> view_;
  JobPtr job_;
  absl::Time request_arrival_;
  absl::Time answered_;
  JobTimes times_;
  bool inside_ = false;  // the door
  int64_t response_bytes_ = 0;
  SteadyAlarm room_alarm_;
  std::unique_ptr<SteadyAlarm> stall_alarm_;

  // Events that are due, and work on other threads. Of a call that arrived: OnArrived, and
  // OnNotified, which may come on another thread before OnArrived has begun.
  std::atomic<int> references_{2};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_STREAM_CALL_H_
