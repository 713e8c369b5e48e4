// One Submit stream: its events, its credits, its end. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_

#include <cstdint>
#include <functional>
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
#include "client/cpp/submit_queue.h"
#include "client/cpp/submit_stream.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// The contract of its methods is SubmitStream's. What waits for credits, in Submit() too, or to be
// written, goes earliest deadline first; and fails in its turn, unsent, if less is left to it than
// what requests like it usually take, and the server has others to do. Of those with a deadline the
// client's throttle refuses some, and lets others wait, with their credits, for room in flight.
// Thread-safe.
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
  using Place = SubmitQueue::Place;
  using Request = SubmitQueue::Request;
  struct Waiting {  // for its answer: it is written, or written next
    int response_field = 0;
    SubmitItem::Done done;  // null: it has run, for the request's deadline has passed
    absl::Time deadline;
    ResponseTimes::Kind kind;
    ClientThrottle::Kind throttled_as;
    absl::Duration timeout;
    absl::Time sent;
  };
  class RoomWaiter;
  struct Hopeless {
    SubmitItem::Done done;
    absl::Status why;
    ClientThrottle::Kind throttled_as;
  };

  void OnStart() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasNext() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return following_.has_value() || queue_.Next() != nullptr;
  }
  bool HasWaiting() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queue_.has_waiting();
  }
  absl::optional<grpc::ByteBuffer> TakeNext(bool* more) override;
  void OnHalfClosed() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnMessage(grpc::ByteBuffer message) override;
  absl::Status CheckComplete() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnEnd(const absl::Status& result) override;
  void OnAlarm() override;

  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasCredits(const SubmitItem& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queue_.HasCredits(item, /*is_alone=*/open_.empty());
  }
  Request Number(SubmitItem item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return SubmitQueue::Number(++last_id_, std::move(item), options_.priority);
  }
  // Whether `place`, of a thread in Submit(), is before all else that has no credits.
  bool IsNext(const Place& place) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(Request request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets requests take credits, to be called wherever there may have come some.
  void AcceptEnqueued() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next to be written, if its message has fewer bytes than `below`; it is in open_ then.
  // Withholds what is to wait, and gives up what is not worth sending, by what was answered lately.
  absl::optional<Request> TakeAdmitted(int64_t below) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ClientThrottle::Admission Admit(const Request& request,
                                  const std::shared_ptr<ClientThrottle::Waiter>& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // There may be room in flight for the request at `place`: whether it still waits for it.
  bool OnRoom(const Place& place) ABSL_LOCKS_EXCLUDED(mutex_);
  // Tells who waits for room in flight, of requests like these: they have ended, or were told of
  // room that they do not need.
  void PassOnRoom(const std::set<ClientThrottle::Kind>& kinds) const;
  // It has ended so, now. Who waits for its room is to be told then.
  void TellThrottle(const Waiting& waiting, const absl::Status& outcome);
  // Forgets the request as far as the server does not know of it; its callback is to be run.
  Hopeless GiveUp(const Place& place, absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsResponseDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sees to it that the alarm goes off when a deadline or the patience for a response passes.
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SubmitStreamOptions options_;

  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unordered_map<uint64_t, Waiting> open_ ABSL_GUARDED_BY(mutex_);
  int given_up_ ABSL_GUARDED_BY(mutex_) = 0;  // of them, those without `done`
  SubmitQueue queue_ ABSL_GUARDED_BY(mutex_);
  // Is written next, whatever comes, for the message before it may be held until then.
  absl::optional<Request> following_ ABSL_GUARDED_BY(mutex_);
  std::set<Place> blocked_ ABSL_GUARDED_BY(mutex_);         // threads in Submit()
  std::set<Place> deadlines_ ABSL_GUARDED_BY(mutex_);       // of open_ and queue_
  std::vector<Hopeless> hopeless_ ABSL_GUARDED_BY(mutex_);  // to be told so by the alarm
  ResponseTimes times_ ABSL_GUARDED_BY(mutex_);
  bool granted_ ABSL_GUARDED_BY(mutex_) = false;  // the first credits have come
  absl::Time heard_ ABSL_GUARDED_BY(mutex_);      // the last response, or since when one is due
  bool watching_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time alarm_time_ ABSL_GUARDED_BY(mutex_);
  SteadyAlarm alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_CALL_H_
