#include "server/calls/call_environment.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

absl::Status TrySubmit(const CallEnvironment& environment, const RequestView& request,
                       const Submission& submission, JobPtr& job) {
  job->caller = submission.caller;
  job->deadline = submission.deadline;
  job->cancelled = submission.cancelled;
  job->times.arrived = submission.arrived;
  BASEBAND_ASSIGN_OR_RETURN(AdmissionTicket ticket, environment.dispatcher->Admit(job.get()));
  const int stream = static_cast<int>(job->operation());
  const auto prefix_bytes = static_cast<int64_t>(job->prefix.size());
  BASEBAND_ASSIGN_OR_RETURN(job->input,
                            environment.staging->Lease(prefix_bytes + job->payload_bytes, stream));
  BASEBAND_ASSIGN_OR_RETURN(job->reply, environment.reply->Lease(job->reply_bytes, stream));
  std::copy(job->prefix.begin(), job->prefix.end(), job->input.data());
  request.GatherPayload(job->input.data() + prefix_bytes);
  job->done = submission.done;
  return environment.dispatcher->Submit(job, std::move(ticket));
}

}  // namespace

absl::Time DeadlineOf(const grpc::ServerContext& context) {
  // gRPC keeps it by the monotonic clock; context.deadline() goes by way of the system's.
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return absl::InfiniteFuture();
  }
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return SteadyNow() + absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

ContinueCheck ContinueCheckOf(absl::Time deadline,
                              std::shared_ptr<const std::atomic<bool>> cancelled) {
  return [deadline, cancelled = std::move(cancelled), begin = SteadyNow()]() -> absl::Status {
    const absl::Time now = SteadyNow();
    if (cancelled->load()) {
      return absl::CancelledError("the client cancelled");
    }
    if (now >= deadline) {
      return absl::DeadlineExceededError("the deadline passed while filters were being designed");
    }
    if (now - begin > kMaxSlowPathTime) {
      return absl::ResourceExhaustedError(
          absl::StrCat("mask: the filters before it took ", absl::FormatDuration(now - begin),
                       " to design; they are kept: send the request again, or taps"));
    }
    return absl::OkStatus();
  };
}

absl::Status EnterStream(const CallEnvironment& environment, StreamLimit& limit,
                         const grpc::ServerContext& context, absl::Time arrival, Caller* caller,
                         ClientHold* hold) {
  BASEBAND_RETURN_IF_ERROR(limit.Enter());
  BASEBAND_RETURN_IF_ERROR(environment.access->Check(context, Role::kUser));
  BASEBAND_RETURN_IF_ERROR(environment.gate->CheckOpen(arrival));
  BASEBAND_ASSIGN_OR_RETURN(*caller, CallerOf(context, *environment.access));
  BASEBAND_ASSIGN_OR_RETURN(*hold, environment.quotas->EnterStream(caller->client));
  return absl::OkStatus();
}

absl::Status SubmitJob(const CallEnvironment& environment, const RequestView& request,
                       const Submission& submission, JobPtr& job) {
  if (job->reply_bytes > environment.reply->capacity() / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the reply would have ", job->reply_bytes, " bytes; this server sends at most ",
        environment.reply->capacity() / 2, ": split the request"));
  }
  if (submission.deadline <= submission.arrived) {
    return absl::DeadlineExceededError("the deadline had passed when the request arrived");
  }
  absl::Status status = TrySubmit(environment, request, submission, job);
  if (!status.ok()) {  // what waits to be tried again holds no memory
    job->input.Reset();
    job->reply.Reset();
  }
  return status;
}

void AddRetryHint(const absl::Status& status, const Dispatcher& dispatcher,
                  grpc::ServerContext* context) {
  if (!absl::IsResourceExhausted(status)) return;
  const absl::Duration delay = RetryAfter(status, dispatcher.RetryHint());
  const int64_t delay_ms = absl::ToInt64Milliseconds(absl::Ceil(delay, absl::Milliseconds(1)));
  context->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(delay_ms));
}

void Record(const CallEnvironment& environment, const grpc::ServerContext& context,
            const FlightEnd& end, const absl::Status& status, const Caller& caller,
            absl::Time answered, const JobTimes& times, absl::optional<uint64_t> id) {
  const absl::optional<FlightReason> reason = environment.recorder->Wants(end);
  if (!reason.has_value()) return;
  constexpr size_t kMaxIdBytes = 64;
  FlightRecord record;
  record.end = end;
  record.reason = *reason;
  record.message = std::string(status.message());
  record.caller = caller;
  const auto& metadata = context.client_metadata();
  const auto named = metadata.find("x-request-id");
  if (id.has_value()) {
    record.request_id = absl::StrCat(*id);
  } else if (named != metadata.end()) {
    record.request_id.assign(named->second.data(), std::min(named->second.size(), kMaxIdBytes));
  }
  record.answered = answered;
  record.times = times;
  environment.recorder->Add(std::move(record));
}

void ObserveStages(Rpc rpc, const JobTimes& times, Metrics& metrics) {
  metrics.ObserveStage(rpc, Stage::kReceive, times.submitted - times.arrived);
  metrics.ObserveStage(rpc, Stage::kQueue, times.started - times.submitted);
  metrics.ObserveStage(rpc, Stage::kCopyIn, times.stages.copy_in);
  metrics.ObserveStage(rpc, Stage::kH2d, times.stages.h2d);
  metrics.ObserveStage(rpc, Stage::kKernel, times.stages.kernel);
  metrics.ObserveStage(rpc, Stage::kD2h, times.stages.d2h);
}

}  // namespace baseband::server
