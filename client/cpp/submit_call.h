// One Submit stream: its events, its credits, its end. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/async_call.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/priority.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "grpcpp/alarm.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/steady_condition.h"

namespace baseband::client {

// A request, and who gets its answer.
struct SubmitItem {
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  SubmitFields fields;
  grpc::ByteBuffer request;
  absl::Time deadline = absl::InfiniteFuture();  // of SteadyNow()
  absl::optional<Priority> priority;
  Done done;
};

// The contract of its methods is SubmitStream's. At most one write is outstanding, and a read
// always is, until the server has ended the call. Thread-safe.
class SubmitCall final : public AsyncCall, public std::enable_shared_from_this<SubmitCall> {
 public:
  // `channels` and `queue`, which one thread polls, must live until `closed` has run, which happens
  // exactly once, on that thread, after all callbacks.
  SubmitCall(const SubmitStreamOptions& options, ChannelPool* channels,
             grpc::CompletionQueue* queue, std::function<void()> closed);

  void Start();
  absl::Status Submit(SubmitItem item, bool wait_for_credits);
  // The same, but a request for which there are no credits waits here: the caller bounds how many.
  absl::Status Enqueue(SubmitItem item);
  int in_flight() const;
  void HalfClose();
  absl::Status Finish();
  void Cancel() override;
  void OnEvent(int event, bool ok) override;

 private:
  enum Event : int { kStarted, kWritten, kHalfClosed, kRead, kFinished, kAlarm };
  struct Waiting {  // for its answer
    int response_field = 0;
    SubmitItem::Done done;
  };
  struct Outgoing {
    uint64_t id = 0;
    int64_t charged = 0;  // of the credits, at least what it takes
    SubmitItem item;      // without `done`
  };

  CallTag* Tag(Event event);
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasCredits(const SubmitItem& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the credits, an id and a place among what is to be written.
  void Accept(SubmitItem item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what is next, if anything.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  void StartRead();
  void OnRead() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFinished() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WatchResponses() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Abort(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SubmitStreamOptions options_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  std::function<void()> closed_;
  PooledChannel* channel_ = nullptr;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;

  mutable absl::Mutex mutex_;
  SteadyCondition changed_;  // what Submit() waits for: credits, or the end
  int64_t credit_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t credit_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, Waiting> open_ ABSL_GUARDED_BY(mutex_);
  std::deque<Outgoing> outgoing_ ABSL_GUARDED_BY(mutex_);
  std::deque<SubmitItem> enqueued_ ABSL_GUARDED_BY(mutex_);  // without credits yet
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_close_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // the server has ended the call
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status abort_ ABSL_GUARDED_BY(mutex_);    // why this side ended it
  absl::Status result_ ABSL_GUARDED_BY(mutex_);   // once ended_
  bool granted_ ABSL_GUARDED_BY(mutex_) = false;  // the first credits have come
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time heard_ ABSL_GUARDED_BY(mutex_);  // the last response, or since when one is due
  grpc::Alarm alarm_ ABSL_GUARDED_BY(mutex_);
  // Written by gRPC while the operation is outstanding.
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
