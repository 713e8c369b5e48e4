// One bidirectional call: a response for each request, in order, from a session that remembers.
//
// The transport of all streams; what differs between them stands in their session. Bounded: at
// most kMaxInWork requests are in work, so that one is read and placed while the device has
// another, and one waits behind them; the rest waits with the client (HTTP/2 flow control). A
// request for which there is no room now, or none in its client's quota, waits for it: a stream
// cannot be sent again. It holds of that quota only while it is in work itself, not while others'
// responses wait for a client that reads late, so that no stream waits for another's reader. A
// client that does not read its responses is cut off. A request that fails ends the call, after the
// responses of those before it; those behind it are let go.
#ifndef BASEBAND_SERVER_CALLS_STREAM_CALL_H_
#define BASEBAND_SERVER_CALLS_STREAM_CALL_H_

#include <grpcpp/grpcpp.h>

#include <deque>
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

  static constexpr size_t kMaxInWork = 2;
  // A request in work: from when it is taken up until its response is sent.
  struct Message;

  void StartRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes up the request that waits, if it may come into work.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Begin(Message& message);
  // Makes its job, now or once its client's quota lets it.
  absl::Status Convert(Message& message);
  // Hands over its job, now or once there is room; then the next request may be taken up.
  absl::Status Submit(Message& message);
  // What the message was refused for want of room is tried again after a while. Otherwise, or if
  // nobody waits for it any more: `refusal`.
  absl::Status AwaitRoom(const absl::Status& refusal);
  // The message has failed, or its job has ended; on any thread.
  void Done(Message& message, absl::Status status, JobPtr job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers the first message in work if it is done, and ends the call when all is.
  void Deliver() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndMessage(Message& message, const absl::Status& status);

  const OperationMethod& method_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  Event arrived_{this, &StreamCall::OnArrived};
  Event read_{this, &StreamCall::OnRead};
  Event room_{this, &StreamCall::OnRoom};
  Event written_{this, &StreamCall::OnWritten};
  Event finished_{this, &StreamCall::OnFinished};
  std::unique_ptr<StreamSession> session_;

  absl::Mutex mutex_;
  grpc::ByteBuffer incoming_;                         // gRPC's from StartRead to OnRead
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;  // the client sends no more
  std::optional<grpc::ByteBuffer> waiting_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::unique_ptr<Message>> messages_ ABSL_GUARDED_BY(mutex_);  // in work, in order
  // The last of them has no job that was handed over yet; for good if it failed before that.
  bool is_converting_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_answering_ ABSL_GUARDED_BY(mutex_) = false;  // the first one, until that is sent
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);  // once ended_

  int64_t response_bytes_ = 0;  // whoever answers
  SteadyAlarm room_alarm_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_STREAM_CALL_H_
