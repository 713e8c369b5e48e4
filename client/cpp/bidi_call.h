// One bidirectional call: its events, the order of its writes, its end. What is written and what
// the messages mean, who derives from it says. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_BIDI_CALL_H_
#define BASEBAND_CLIENT_CPP_BIDI_CALL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/async_call.h"
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/steady_condition.h"

namespace baseband::client {

// At most one write is outstanding, and a read always is, until the server has ended the call.
// Thread-safe.
class BidiCall : public AsyncCall, public std::enable_shared_from_this<BidiCall> {
 public:
  void Start();
  // Nothing is written any more but what waits for it.
  void HalfClose();
  void Cancel() override;
  // Cancels because of `why`, with which the call then ends.
  void Abort(absl::Status why);
  void OnEvent(int event, bool ok) override;

 protected:
  enum Event : int { kStarted, kWritten, kHalfClosed, kRead, kFinished, kAlarm };

  // `channels` and `queue`, which one thread polls, must live until `closed` has run, which happens
  // exactly once, on that thread, after all else.
  BidiCall(std::string method, CallHeader header, ChannelPool* channels,
           grpc::CompletionQueue* queue, std::function<void()> closed)
      : method_(std::move(method)),
        header_(std::move(header)),
        channels_(channels),
        queue_(queue),
        closed_(std::move(closed)) {}

  virtual void OnStart() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // Whether there is a message that can be written now; takes it. `*more`: another one follows it,
  // whatever comes, so it may be held until then.
  virtual bool HasNext() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  virtual absl::optional<grpc::ByteBuffer> TakeNext(bool* more) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // Where there is none: whether others wait for something.
  virtual bool HasWaiting() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return false; }
  // HalfClose() is called for the first time.
  virtual void OnHalfCloseWanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  // All is written, and the server is told.
  virtual void OnHalfClosed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  virtual void OnMessage(grpc::ByteBuffer message) ABSL_LOCKS_EXCLUDED(mutex_) = 0;
  // The server has ended the call with OK; an error if it was too early for that.
  virtual absl::Status CheckComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The call is over with `result`, which Finish() returns when this has returned.
  virtual void OnEnd(const absl::Status& /*result*/) ABSL_LOCKS_EXCLUDED(mutex_) {}
  virtual void OnAlarm() ABSL_LOCKS_EXCLUDED(mutex_) {}

  CallTag* Tag(Event event) { return new CallTag{shared_from_this(), event}; }
  // Writes what is next, if anything.
  void Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  void AbortLocked(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Neither this side nor the server has ended the call.
  bool IsOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !finishing_ && abort_.ok(); }

  grpc::CompletionQueue* queue() const { return queue_; }
  SteadyTimer* timer() const { return channels_->timer(); }
  ClientThrottle& throttle() const { return channels_->throttle(); }

  mutable absl::Mutex mutex_;
  SteadyCondition changed_;  // any of what follows, and what who derives adds to it
  bool half_close_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;  // the server has ended the call
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status abort_ ABSL_GUARDED_BY(mutex_);   // why this side ended it
  absl::Status result_ ABSL_GUARDED_BY(mutex_);  // once ended_

 private:
  // Whether something is to be done, which is then the caller's to do: to write the next message,
  // or to say that there will be none.
  bool Claim(bool* write) ABSL_LOCKS_EXCLUDED(mutex_);
  void StartRead() { stream_->Read(&incoming_, Tag(kRead)); }
  void OnFinished();

  const std::string method_;
  const CallHeader header_;
  ChannelPool* const channels_;
  grpc::CompletionQueue* const queue_;
  std::function<void()> closed_;
  std::unique_ptr<Attempt> attempt_ ABSL_GUARDED_BY(mutex_);  // set once
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Written by gRPC while the operation is outstanding.
  grpc::ByteBuffer incoming_;
  grpc::Status status_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_BIDI_CALL_H_
