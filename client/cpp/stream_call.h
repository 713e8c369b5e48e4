// One bidirectional call with one response a request: its events, its window, its end. Internal to
// the client library.
#ifndef BASEBAND_CLIENT_CPP_STREAM_CALL_H_
#define BASEBAND_CLIENT_CPP_STREAM_CALL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/async_call.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/downconvert_stream.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/steady_condition.h"

namespace baseband::client {

struct StreamSpec {
  std::string method;  // "/package.Service/Method"
  StreamOptions options;
};

// The contract of its methods is DownconvertStream's. At most one write and one read are
// outstanding; a read always is, until the server has ended the call. Thread-safe.
class StreamCall final : public AsyncCall, public std::enable_shared_from_this<StreamCall> {
 public:
  // `channels` and `queue` must live until `closed` has run, which happens exactly once, on the
  // thread that polls `queue`.
  StreamCall(StreamSpec spec, ChannelPool* channels, grpc::CompletionQueue* queue,
             std::function<void()> closed);

  void Start();
  bool Write(grpc::ByteBuffer message);
  bool Read(grpc::ByteBuffer* message);
  int in_flight() const;
  void HalfClose();
  absl::Status Finish();
  void Cancel() override;
  // Cancels because of `why`, which Finish() then returns.
  void Abort(absl::Status why);
  void OnEvent(int event, bool ok) override;

 private:
  enum Event : int { kStarted, kWritten, kHalfClosed, kRead, kFinished };

  CallTag* Tag(Event event);
  // Starts what is to be done next in this direction, if anything.
  void AdvanceWrites() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AbortLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnFinished() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until `condition` holds; when no response has come for too long, aborts and waits on.
  template <typename Condition>
  void AwaitResponses(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamSpec spec_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  std::function<void()> closed_;

  mutable absl::Mutex mutex_;
  SteadyCondition changed_;  // received_, responses_, ended_
  PooledChannel* channel_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_ ABSL_GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> requests_ ABSL_GUARDED_BY(mutex_);   // not yet with gRPC
  std::deque<grpc::ByteBuffer> responses_ ABSL_GUARDED_BY(mutex_);  // not yet read
  int64_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;                    // messages, by Write()
  int64_t received_ ABSL_GUARDED_BY(mutex_) = 0;                    // responses, by gRPC
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;                       // responses, by Read()
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_close_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // the server has ended the call
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status abort_ ABSL_GUARDED_BY(mutex_);   // why this side ended it
  absl::Status result_ ABSL_GUARDED_BY(mutex_);  // once ended_
  // Written by gRPC while the operation is outstanding.
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_STREAM_CALL_H_
