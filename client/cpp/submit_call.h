// One Submit stream: its events, its credits, its end. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/bidi_call.h"
#include "client/cpp/response_times.h"
#include "client/cpp/submit_item.h"
#include "client/cpp/submit_stream.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// The contract of its methods is SubmitStream's. What waits for credits, in Submit() too, or to be
// written, goes earliest deadline first; and fails in its turn, unsent, if less is left to it than
// what requests like it usually take, and the server has others to do, or if it has a deadline
// and the client's throttle withholds it. Thread-safe.
class SubmitCall final : public BidiCall {
 public:
  // As BidiCall; `closed` runs after all callbacks.
  SubmitCall(const SubmitStreamOptions& options, ChannelPool* channels,
             grpc::CompletionQueue* queue, std::function<void()> closed);

  absl::Status Submit(SubmitItem item, bool wait_for_credits);
  // The same, but a request for which there are no credits waits here: the caller bounds how many.
  absl::Status Enqueue(SubmitItem item);
  // Requests whose callbacks have not run.
  int in_flight() const;
  absl::Status Finish();

 private:
  // In which order requests go: by deadline, then by id.
  using Place = std::pair<absl::Time, uint64_t>;
  struct Waiting {  // for its answer
    int request_field = 0;
    int response_field = 0;
    SubmitItem::Done done;  // null: it has run, for the request's deadline has passed
    absl::Time deadline;
    ResponseTimes::Kind kind;
    ClientThrottle::Kind throttled_as;
    absl::Duration timeout;
    absl::Time sent;  // InfiniteFuture: not yet
  };
  struct Outgoing {
    uint64_t id = 0;
    int64_t charged = 0;  // of the credits, at least what it takes; 0: not yet
    ResponseTimes::Kind kind;
    ClientThrottle::Kind throttled_as;
    absl::Duration timeout;
    SubmitItem item;  // without `done` once it is charged
  };
  using Queue = std::map<Place, Outgoing>;
  using Hopeless = std::vector<std::pair<SubmitItem::Done, absl::Status>>;

  void OnStart() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNext() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !outgoing_.empty(); }
  bool HasWaiting() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !enqueued_.empty();
  }
  absl::optional<grpc::ByteBuffer> TakeNext(bool* more) override;
  void OnHalfClosed() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnMessage(grpc::ByteBuffer message) override;
  absl::Status CheckComplete() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnd(const absl::Status& result) override;
  void OnAlarm() override;

  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasCredits(const SubmitItem& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Outgoing Number(SubmitItem item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether `place`, of a thread in Submit(), is before all else that has no credits.
  bool IsNext(const Place& place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it is worth sending now, by what was answered lately; or why not.
  absl::Status CheckHope(const Outgoing& outgoing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Priority PriorityOf(const absl::optional<Priority>& priority) const {
    return priority.value_or(options_.priority);
  }
  // One that CheckHope let go has ended so, now.
  void TellThrottle(const Waiting& waiting, const absl::Status& outcome);
  void Add(Outgoing outgoing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Accepts what there are credits for, to be called wherever that may have become more.
  void AcceptEnqueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the credits, and a place among what is to be written.
  void Accept(Outgoing outgoing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the request as far as the server does not know of it. Its callback, which is to be run.
  SubmitItem::Done Withdraw(const Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsResponseDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sees to it that the alarm goes off when a deadline or the patience for a response passes.
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SubmitStreamOptions options_;

  int64_t credit_requests_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t credit_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, Waiting> open_ ABSL_GUARDED_BY(mutex_);
  int given_up_ ABSL_GUARDED_BY(mutex_) = 0;           // of them, those without `done`
  Queue outgoing_ ABSL_GUARDED_BY(mutex_);             // accepted, to be written
  Queue enqueued_ ABSL_GUARDED_BY(mutex_);             // without credits yet
  std::set<Place> blocked_ ABSL_GUARDED_BY(mutex_);    // threads in Submit()
  std::set<Place> deadlines_ ABSL_GUARDED_BY(mutex_);  // of open_ and enqueued_
  Hopeless hopeless_ ABSL_GUARDED_BY(mutex_);          // to be told so by the alarm
  ResponseTimes times_ ABSL_GUARDED_BY(mutex_);
  bool granted_ ABSL_GUARDED_BY(mutex_) = false;  // the first credits have come
  absl::Time heard_ ABSL_GUARDED_BY(mutex_);      // the last response, or since when one is due
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time alarm_time_ ABSL_GUARDED_BY(mutex_);
  SteadyAlarm alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
