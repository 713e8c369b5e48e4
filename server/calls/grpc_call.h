// What all calls are made of: an object that lives until gRPC is through with it, its events, who
// makes it, and an eye on clients that do not read.
#ifndef BASEBAND_SERVER_CALLS_GRPC_CALL_H_
#define BASEBAND_SERVER_CALLS_GRPC_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/calls/call_environment.h"
#include "server/calls/request_context.h"

namespace baseband::server {

// A tag of a completion queue.
class CompletionEvent {
 public:
  virtual ~CompletionEvent() = default;
  virtual void OnEvent(bool ok) = 0;
};

// An event that calls a member function of `Call`.
template <typename Call>
class MemberEvent final : public CompletionEvent {
 public:
  MemberEvent(Call* call, void (Call::*handle)(bool)) : call_(call), handle_(handle) {}
  void OnEvent(bool ok) override { (call_->*handle_)(ok); }

 private:
  Call* const call_;
  void (Call::*const handle_)(bool);
};

// gRPC sends so much of a call whether its client reads or not: half of HTTP/2's first window. A
// call that sends no more needs no alarm, each of which is an event for some thread.
inline constexpr int64_t kMaxUnread = 32 << 10;

// Counts references: events that are due, and work on other threads. Whoever drops the last one is
// alone with the call, and Ends it.
class GrpcCall {
 public:
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

 protected:
  // Of a call that arrived there are two references: of its arrival, and of OnNotified, which may
  // come on another thread before the arrival has been seen.
  GrpcCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue)
      : alive_(environment->calls), environment_(*environment), queue_(queue) {
    requester_.cancellation = std::make_shared<Cancellation>();
    context_.AsyncNotifyWhenDone(&notified_);
  }
  virtual ~GrpcCall() = default;

  // The call has come, with `requester_` to be filled in: who makes it, in which class, until when.
  // To be called once, before anything of the request is read. Unauthenticated, PermissionDenied:
  // who may not; InvalidArgument: wrong metadata; ResourceExhausted: memory is scarce.
  absl::Status Identify();
  // The same of a stream, of whose requests each enters on its own.
  absl::Status EnterStream(StreamLimit& limit);
  // A stream or search is one more of `limit` and of its client's streams. Who is refused is none
  // of either.
  absl::Status TakeStreamPlace(StreamLimit& limit);
  // A stream or search is about to be finished, once: from what its client hears next, another may
  // come in its place, and nobody waits for what of it is still in work.
  void LeaveStream();

  // The last of what is done when the call has arrived; drops the arrival's reference.
  void EndArrival();
  // The client cancelled, is gone, or gRPC has its deadline passed; requester_.cancellation knows.
  // Not before EndArrival, and on any thread.
  virtual void OnCancelled() {}
  // The same, on any thread and at any time, also before the call has arrived.
  virtual void OnGone() {}
  // What was handed over was not read in time, or what WatchForStall was called for.
  virtual void OnStalled() { context_.TryCancel(); }
  // Deletes the call. Nothing else happens to it any more.
  virtual void Destroy() { delete this; }

  // Runs `work` away from gRPC's threads, in its client's share, holding the call. Otherwise says
  // why not: ResourceExhausted or Unavailable. `bytes` of memory wait with it.
  absl::Status RunOnSlowPath(int64_t bytes, std::function<void(const ContinueCheck&)> work);

  // A message was handed over: cancels the call unless it is read within `time`, that is, unless
  // StopWatching is called, or this again for the next one.
  void WatchForStall(absl::Duration time) ABSL_LOCKS_EXCLUDED(stall_mutex_);
  void StopWatching() ABSL_LOCKS_EXCLUDED(stall_mutex_);
  // The call is over: what still watches lets go of it.
  void EndWatching() ABSL_LOCKS_EXCLUDED(stall_mutex_);

  // When a call that ends with `status` should be tried again, in milliseconds: a trailer.
  void AddRetryHint(const absl::Status& status);
  // The client's name for the call: metadata x-request-id.
  std::string RequestId() const;

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy();
  }

  const LiveCount::One alive_;  // first: destroyed last
  absl::optional<LiveCount::One> there_;
  const CallEnvironment& environment_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  Requester requester_;
  absl::Time arrival_;

 private:
  using Event = MemberEvent<GrpcCall>;
  void OnNotified(bool ok);  // finished or cancelled, whichever comes first
  void OnStallCheck(bool ok) ABSL_LOCKS_EXCLUDED(stall_mutex_);
  void SetStallAlarm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(stall_mutex_);

  Event notified_{this, &GrpcCall::OnNotified};
  Event stall_check_{this, &GrpcCall::OnStallCheck};
  StreamPlace stream_place_;
  ClientHold stream_hold_;
  absl::Mutex stall_mutex_;
  absl::Time read_by_ ABSL_GUARDED_BY(stall_mutex_) = absl::InfiniteFuture();
  bool is_alarm_set_ ABSL_GUARDED_BY(stall_mutex_) = false;
  std::unique_ptr<SteadyAlarm> stall_alarm_ ABSL_GUARDED_BY(stall_mutex_);
  // Bits: EndArrival was called, the call was cancelled.
  static constexpr int kArrived = 1;
  static constexpr int kCancelled = 2;
  std::atomic<int> state_{0};
  std::atomic<int> references_{2};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_GRPC_CALL_H_
