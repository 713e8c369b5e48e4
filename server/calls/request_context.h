// One request, from its arrival to the end of its answer: what is the same for every one of them,
// however it came. A unary call is one, so is a search, a message of a stream, a request of Submit.
//
//   RequestContext request(environment, rpc, arrival);
//   request.Start(bytes);
//   if (status = request.Enter(); status.ok()) status = request.Submit(wire_request, job, done);
//   ...
//   request.Answer(status);            // its answer is handed over
//   request.End(sent, bytes, id);      // nothing more will happen to it
//
// Several that are alike, came together and are one job (Job::requests) are one as well, of that
// `count`: each is counted.
#ifndef BASEBAND_SERVER_CALLS_REQUEST_CONTEXT_H_
#define BASEBAND_SERVER_CALLS_REQUEST_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/base/steady_time.h"
#include "server/calls/call_environment.h"
#include "server/jobs/caller.h"
#include "server/jobs/job.h"
#include "server/jobs/request.h"
#include "server/limits/client_quotas.h"

namespace baseband::server {

// Whether somebody still waits. Shared with jobs, which may outlive their call. Thread-safe.
class Cancellation {
 public:
  // Nobody does any more: the client has given up, at `now`; the first time counts.
  void Cancel(absl::Time now);
  // Nobody does any more: the call has ended, and its client was told how. It has given up nothing.
  void Abandon() { cancelled_.store(true, std::memory_order_release); }
  bool is_cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // When the client gave up; InfiniteFuture while it has not.
  absl::Time given_up() const;

  static std::shared_ptr<std::atomic<bool>> FlagOf(const std::shared_ptr<Cancellation>& shared) {
    return {shared, &shared->cancelled_};
  }

 private:
  std::atomic<int64_t> given_up_ns_{INT64_MAX};
  std::atomic<bool> cancelled_{false};
};

// Who asks, until when, and whether it still matters.
struct Requester {
  Caller caller;
  absl::Time deadline = absl::InfiniteFuture();
  std::shared_ptr<Cancellation> cancellation;
  const ClientHold* hold = nullptr;  // of the same client, for longer; null: none is known
  bool gathers = false;              // calls DispatchGathered() after its last job
};

// Of what has come too late for anything to be done for it.
inline absl::Status LateOnArrival() {
  return absl::DeadlineExceededError("the deadline had passed when the request arrived");
}

// A piece of work for `requester` that arrived at `arrived`: takes room and memory for `job`, fills
// its input from `payload` and hands it to the dispatcher. OK: `done` will be called exactly once.
// Otherwise `job` is as it was, and may be submitted again: ResourceExhausted if there is no room
// now, or no time for it within its deadline (see Dispatcher::Admit).
absl::Status SubmitJob(const CallEnvironment& environment, const Requester& requester,
                       absl::Time arrived, const Payload& payload, JobPtr& job, Job::Done done);

// Finds the memory that `request` shares with its client, if it names some. InvalidArgument, and
// FailedPrecondition if there is none of that name; see RegionTable.
absl::Status LookUpSharedMemory(const CallEnvironment& environment, Request* request);

// On the slow path: `turn`, until the request is cancelled, its deadline has passed, or it has
// worked there for kMaxSlowPathTime. The last is ResourceExhausted: what was made by then is kept,
// and the same request gets further the next time.
inline constexpr absl::Duration kMaxSlowPathTime = absl::Seconds(10);
ContinueCheck SlowPathCheck(const Requester& requester, ContinueCheck turn);

// Counts how long the stages of a job took, of each of its requests.
void ObserveStages(Rpc rpc, const JobTimes& times, Metrics& metrics, int64_t count = 1);

// One thread at a time but for what `requester.cancellation` has.
class RequestContext {
 public:
  RequestContext(const CallEnvironment& environment, Rpc rpc, absl::Time arrival, int64_t count = 1)
      : environment_(environment), rpc_(rpc), arrival_(arrival), count_(count) {}
  // Gives back what it holds.
  ~RequestContext() { Release(); }
  RequestContext(const RequestContext&) = delete;
  RequestContext& operator=(const RequestContext&) = delete;

  // It has come, with a message of `bytes`, and counts among the requests of its RPC from now on.
  // Not called for the messages of a stream that counts as one.
  void Start(int64_t bytes);
  // It was refused, and is tried in another way: it counts as if it had not come, and holds
  // nothing.
  void Withdraw();

  // In at the gate. Unavailable: the server is shutting down.
  absl::Status EnterGate();
  // Takes what a request of `bytes` is of its client's quota. ResourceExhausted: there is not that
  // much left.
  absl::Status EnterQuota(int64_t bytes);
  // Its reply, of `job`, or the payload that it shares count in its message's place where one is
  // larger. ResourceExhausted: there is not that much left. Not for what waits for room, which
  // would hold its message's part meanwhile.
  absl::Status GrowQuota(const Request& request, const Job& job);
  // Gives it back, if it has it, before its end.
  void LeaveQuota() { hold_ = ClientHold(); }
  // Both, if there is room in the queues for `bytes`: ResourceExhausted if not.
  absl::Status Enter(int64_t bytes);
  // The same of a request that says by itself what it is: of `operation`, null if it names none,
  // and of class `priority`, a v1::Priority or any other number; unspecified: as requester() has
  // it.
  absl::Status EnterNamed(const Operation* operation, int32_t priority, int64_t bytes);

  // Hands the job made of `request` over, as SubmitJob; a job without a fingerprint gets one. OK:
  // it is accepted.
  absl::Status Submit(const Request& request, JobPtr& job, Job::Done done);
  // Its job, whose work has ended with `status`, is answered with this: its reply, placed where the
  // client wants it, or why there is none. What became of the job is counted.
  absl::StatusOr<Reply> ReplyOf(const absl::Status& status, Operation& operation, JobPtr job);
  // The same of each of its count(), placed at `places`.
  absl::StatusOr<std::vector<Reply>> RepliesOf(const absl::Status& status, Operation& operation,
                                               JobPtr job, absl::Span<const ReplyPlace> places);
  // Brings the bulk of `reply` to `place`, if it fits there and has not been written there.
  void Place(const ReplyPlace& place, Reply& reply) const {
    Place(place, reply.memory.data(), reply);
  }
  // It is over, or to be refused for that, before its message has come. If it was cancelled, by its
  // client or by gRPC, which takes no message that is too large or packed, nobody hears the answer.
  void HasNoMessage() { has_message_ = false; }
  // It was accepted: from here on its deadline counts as met or missed.
  void Accepted() { is_accepted_ = true; }
  // Its work, which is no job of its own, has ended with those times.
  void Ended(const JobTimes& times) {
    Accepted();
    times_ = times;
  }

  // The answer, or the refusal, is handed over to whoever sends it. An accepted request has met or
  // missed its deadline now. Only the first one counts.
  void Answer(const absl::Status& status);
  // The answer is sent, or will never be, now.
  void Sent() { sent_ = SteadyNow(); }
  // Nothing more will happen to the request, not even its cancellation, which tells whether the
  // client heard `status`. Counts it, if Start did, records it if it is worth it, and gives back
  // what it holds. `id`, asked for a record only, is the client's name for it.
  void End(const absl::Status& status, int64_t response_bytes,
           const std::function<std::string()>& id);

  Requester& requester() { return requester_; }
  const Requester& requester() const { return requester_; }
  bool is_cancelled() const { return requester_.cancellation->is_cancelled(); }
  Rpc rpc() const { return rpc_; }
  int64_t bytes() const { return bytes_; }  // of its message
  absl::Time arrival() const { return arrival_; }
  const JobTimes& times() const { return times_; }
  absl::Time answered() const { return answered_; }
  const absl::Status& status() const { return status_; }

 private:
  void Place(const ReplyPlace& place, const uint8_t* memory, Reply& reply) const;
  void Release();

  const CallEnvironment& environment_;
  const Rpc rpc_;
  const absl::Time arrival_;
  const int64_t count_;
  Requester requester_;
  ClientHold hold_;
  int64_t bytes_ = 0;
  bool is_counted_ = false;  // Start was called, End was not
  bool has_message_ = true;
  bool is_inside_ = false;    // the gate
  bool is_accepted_ = false;  // by the dispatcher
  bool is_answered_ = false;
  JobTimes times_;
  absl::Time answered_;
  absl::Time sent_ = absl::InfinitePast();
  absl::Status status_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_REQUEST_CONTEXT_H_
