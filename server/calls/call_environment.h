// What calls need of the server, and what a completion queue hands back.
#ifndef BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_
#define BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/auth/access.h"
#include "server/batching/dispatcher.h"
#include "server/calls/caller.h"
#include "server/calls/flight_recorder.h"
#include "server/converters/rpc.h"
#include "server/device/host_pool.h"
#include "server/grpc/steady_alarm.h"
#include "server/limits/byte_limit.h"
#include "server/limits/client_quotas.h"
#include "server/limits/flow_control_window.h"
#include "server/limits/in_flight_gate.h"
#include "server/limits/slow_path_executor.h"
#include "server/limits/stream_limit.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

// All that it points to outlives every call.
struct CallEnvironment {
  AsyncService* service = nullptr;
  Dispatcher* dispatcher = nullptr;
  Metrics* metrics = nullptr;
  FlightRecorder* recorder = nullptr;
  Access* access = nullptr;
  RequestCaches* caches = nullptr;
  InFlightGate* gate = nullptr;
  SteadyTimer* timer = nullptr;
  ClientQuotas* quotas = nullptr;
  StreamLimit* streams = nullptr;
  StreamLimit* searches = nullptr;
  ByteLimit* search_memory = nullptr;
  std::vector<Device*> devices;
  SlowPathExecutor* slow_path = nullptr;
  std::shared_ptr<HostPool> staging;
  std::shared_ptr<HostPool> reply;
  RequestLimits limits;
  SubmitWindow submit_window;
  // A client that takes longer to read a message holds memory that others need: its call is ended.
  absl::Duration max_stall = absl::Seconds(10);
};

// gRPC sends so much of a call whether its client reads or not: half of HTTP/2's first window. A
// call that sends no more needs no alarm, each of which is an event for some thread.
inline constexpr int64_t kMaxUnread = 32 << 10;

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

// When the client wants its answer at the latest, by SteadyNow(); a call remembers it.
absl::Time DeadlineOf(const grpc::ServerContext& context);

// Of a call on the slow path: until it is cancelled, its deadline has passed, or it has been there
// for kMaxSlowPathTime. The last is ResourceExhausted: what was made until then is kept, and the
// same request gets further the next time.
inline constexpr absl::Duration kMaxSlowPathTime = absl::Seconds(10);
ContinueCheck ContinueCheckOf(absl::Time deadline,
                              std::shared_ptr<const std::atomic<bool>> cancelled);

// Whether a stream or search that arrived at `arrival` may come in; if so, who makes it and what it
// holds of their quotas. As StreamLimit::Enter, which it calls once whatever comes of it,
// Access::Check, InFlightGate::CheckOpen, CallerOf and ClientQuotas::EnterStream: its requests, and
// a search itself, have yet to enter the gate.
absl::Status EnterStream(const CallEnvironment& environment, StreamLimit& limit,
                         const grpc::ServerContext& context, absl::Time arrival, Caller* caller,
                         ClientHold* hold);

// For whom a job is done.
struct Submission {
  Caller caller;
  absl::Time arrived;
  absl::Time deadline;
  std::shared_ptr<std::atomic<bool>> cancelled;
  Job::Done done;
};

// Takes room and memory for `job`, fills its input from `request` and hands it to the dispatcher.
// OK: `done` will be called exactly once. Otherwise `job` is as it was, and may be submitted again:
// ResourceExhausted if there is no room now, or no time for it within its deadline (see
// Dispatcher::Admit).
absl::Status SubmitJob(const CallEnvironment& environment, const RequestView& request,
                       const Submission& submission, JobPtr& job);

// When a call that ended with `status` should be tried again, in milliseconds: a trailer.
void AddRetryHint(const absl::Status& status, const Dispatcher& dispatcher,
                  grpc::ServerContext* context);

// Keeps a request that has ended if it is worth it (see FlightRecorder). `context` is that of its
// call, `answered` when its answer was handed over, `id` the client's name for it if that is not
// the metadata x-request-id.
void Record(const CallEnvironment& environment, const grpc::ServerContext& context,
            const FlightEnd& end, const absl::Status& status, const Caller& caller,
            absl::Time answered, const JobTimes& times,
            absl::optional<uint64_t> id = absl::nullopt);

// Counts how long the stages of a job took.
void ObserveStages(Rpc rpc, const JobTimes& times, Metrics& metrics);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_CALL_ENVIRONMENT_H_
