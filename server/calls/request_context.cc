#include "server/calls/request_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/shm/region_messages.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/deadline_outcome.h"
#include "server/converters/checks.h"
#include "server/jobs/fingerprint.h"
#include "server/jobs/layout.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

int64_t MostReplyBytes(const CallEnvironment& environment) {
  return environment.reply->capacity() / 2;
}

// Whether some device copies what it reads and writes, by itself.
bool HasGpu(const CallEnvironment& environment) {
  return std::any_of(environment.devices.begin(), environment.devices.end(),
                     [](const Device* device) { return device->copies_payloads(); });
}

// Whether devices may read `piece` where it lies, as often as they do. Of a region that was granted
// while no GPU was there to lock it they copy nothing.
bool IsInReach(const PayloadPiece& piece, bool has_gpu) {
  const MemoryRegion* const region = piece.region;
  return region != nullptr && (has_gpu ? region->is_page_locked : !region->is_shared);
}

// Whether a GPU had better gather a payload in those pieces, of which `copied` bytes and a job's
// prefix have to be copied before. One that is small is read in place once it was copied, which
// takes less than a launch; of one in crumbs a lane has no room to say where they are.
bool IsBetterScattered(const Payload& payload, int64_t copied) {
  constexpr int64_t kMinBytes = 64 << 10;
  constexpr int64_t kMaxCopied = 16;  // a part of it: the others are held for the rest
  return payload.bytes() >= kMinBytes && copied <= payload.bytes() / kMaxCopied &&
         static_cast<int64_t>(payload.pieces().size()) <= payload.bytes() / Payload::kMinMeanPiece;
}

// Brings `payload`, after the job's prefix, to where devices read it: what is not there is copied,
// and all of it where one of the devices, or the host, wants it in one piece.
absl::Status PlaceInput(const CallEnvironment& environment, const Payload& payload, Job* job) {
  const bool has_gpu = HasGpu(environment);
  int64_t copied = job->input_bytes() - payload.bytes();
  for (const PayloadPiece& piece : payload.pieces()) {
    if (!IsInReach(piece, has_gpu)) copied += piece.bytes;
  }
  const bool stays = (copied == 0 && payload.is_aligned()) ||
                     (has_gpu && !job->host_reads_input && IsBetterScattered(payload, copied));
  if (!stays) copied = job->input_bytes();
  uint8_t* next = nullptr;
  const MemoryRegion* const staging = &environment.staging->region();
  Payload input({}, stays ? payload.owner() : nullptr);
  if (copied > 0) {
    absl::StatusOr<HostLease> lease = environment.staging->Lease(copied, job->operation().index());
    if (!lease.ok()) return Because(UnservedReason::kStagingPool, lease.status());
    next = job->WritePrefix(lease->data());
    input.Add({lease->data(), next - lease->data(), staging});
    job->staging = *std::move(lease);
  }
  int64_t gathered = 0;
  for (const PayloadPiece& piece : payload.pieces()) {
    if (stays && IsInReach(piece, has_gpu)) {
      input.Add(piece);
      continue;
    }
    CopyPastCaches(next, piece.data, piece.bytes);
    input.Add({next, piece.bytes, staging});
    next += piece.bytes;
    gathered += piece.bytes;
  }
  job->input = std::move(input);
  if (!payload.is_shared()) {
    environment.metrics->AddPayloadBytes(payload.bytes() - gathered, gathered);
  }
  return absl::OkStatus();
}

// Replies from so many bytes on are written where the client wants them, by devices too: to copy
// them there would take longer than one more transfer does.
constexpr int64_t kMinWrittenThere = 32 << 10;

// Brings the memory for the reply: the client's own, or some from where it is copied to there.
absl::Status PlaceReply(const CallEnvironment& environment, Job* job) {
  if (job->reply_bytes == 0) return absl::OkStatus();
  const ReplyPlace& place = job->reply_place;
  if (job->reply_bytes >= kMinWrittenThere && !job->reply_has_gaps &&
      AlignUp(job->reply_bytes, shm::kRegionAlignment) <= place.bytes &&
      (place.region->is_page_locked || !HasGpu(environment))) {
    job->reply_is_shared = true;
    job->reply =
        HostLease(*place.region, {place.data, static_cast<size_t>(job->reply_bytes)}, place.owner);
    return absl::OkStatus();
  }
  absl::StatusOr<HostLease> lease =
      environment.reply->Lease(job->reply_bytes, job->operation().index());
  if (!lease.ok()) return Because(UnservedReason::kReplyPool, lease.status());
  job->reply = *std::move(lease);
  return absl::OkStatus();
}

absl::Status TrySubmit(const CallEnvironment& environment, const Requester& requester,
                       absl::Time arrived, const Payload& payload, JobPtr& job, Job::Done done) {
  job->caller = requester.caller;
  job->deadline = requester.deadline;
  job->cancelled = Cancellation::FlagOf(requester.cancellation);
  job->times.arrived = arrived;
  BASEBAND_RETURN_IF_ERROR(job->Bind(environment.devices));
  BASEBAND_ASSIGN_OR_RETURN(AdmissionTicket ticket, environment.dispatcher->Admit(job.get()));
  BASEBAND_RETURN_IF_ERROR(PlaceInput(environment, payload, job.get()));
  BASEBAND_RETURN_IF_ERROR(PlaceReply(environment, job.get()));
  BASEBAND_RETURN_IF_ERROR(job->Hold(environment.devices));
  job->done = std::move(done);
  return environment.dispatcher->Submit(job, std::move(ticket), requester.gathers);
}

}  // namespace

void Cancellation::Cancel(absl::Time now) {
  int64_t none = INT64_MAX;
  given_up_ns_.compare_exchange_strong(none, absl::ToUnixNanos(now), std::memory_order_acq_rel);
  cancelled_.store(true, std::memory_order_release);
}

absl::Time Cancellation::given_up() const {
  const int64_t ns = given_up_ns_.load(std::memory_order_acquire);
  return ns == INT64_MAX ? absl::InfiniteFuture() : absl::FromUnixNanos(ns);
}

absl::Status SubmitJob(const CallEnvironment& environment, const Requester& requester,
                       absl::Time arrived, const Payload& payload, JobPtr& job, Job::Done done) {
  if (const int64_t most = MostReplyBytes(environment); job->reply_bytes > most) {
    return absl::InvalidArgumentError(absl::StrCat("the reply would have ", job->reply_bytes,
                                                   " bytes; this server sends at most ", most,
                                                   ": split the request"));
  }
  if (requester.deadline <= arrived) {
    return LateOnArrival();
  }
  absl::Status status = TrySubmit(environment, requester, arrived, payload, job, std::move(done));
  if (!status.ok()) {  // what waits to be tried again holds no memory
    job->DropInput();
    job->reply.Reset();
    job->LetGo();
  }
  return status;
}

absl::Status LookUpSharedMemory(const CallEnvironment& environment, Request* request) {
  if (!request->names_memory()) return absl::OkStatus();
  if (environment.regions == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(request->payload_at.has_value() ? "payload_at"
                     : request->reply_at.has_value() ? "reply_at"
                                                     : "hold",
                     " is set, but this server shares no memory (--shm-listen)"));
  }
  if (const int64_t most = environment.limits.max_input_bytes;
      request->payload_at.has_value() && request->payload_at->bytes > static_cast<uint64_t>(most)) {
    return absl::InvalidArgumentError(absl::StrCat("payload_at.bytes ", request->payload_at->bytes,
                                                   " is not in [0, ", most, "]"));
  }
  return environment.regions->LookUp(request);
}

ContinueCheck SlowPathCheck(const Requester& requester, ContinueCheck turn) {
  return [requester, turn = std::move(turn), begin = SteadyNow(),
          waited = absl::ZeroDuration()]() mutable -> absl::Status {
    const absl::Time asked = SteadyNow();
    (void)turn();
    const absl::Time now = SteadyNow();
    waited += now - asked;
    if (requester.cancellation->is_cancelled()) {
      return absl::CancelledError("the client cancelled");
    }
    if (now >= requester.deadline) {
      return absl::DeadlineExceededError("the deadline passed while the request was prepared");
    }
    if (const absl::Duration worked = now - begin - waited; worked > kMaxSlowPathTime) {
      return Because(UnservedReason::kPreparation,
                     absl::ResourceExhaustedError(absl::StrCat(
                         "the request took ", absl::FormatDuration(worked),
                         " to prepare; what was made is kept: send it again, or ask for less")));
    }
    return absl::OkStatus();
  };
}

void ObserveStages(Rpc rpc, const JobTimes& times, Metrics& metrics, int64_t count) {
  metrics.ObserveStage(rpc, Stage::kReceive, times.submitted - times.arrived, count);
  metrics.ObserveStage(rpc, Stage::kQueue, times.started - times.submitted, count);
  metrics.ObserveStage(rpc, Stage::kCopyIn, times.stages.copy_in, count);
  metrics.ObserveStage(rpc, Stage::kH2d, times.stages.h2d, count);
  metrics.ObserveStage(rpc, Stage::kKernel, times.stages.kernel, count);
  metrics.ObserveStage(rpc, Stage::kD2h, times.stages.d2h, count);
}

void RequestContext::Start(int64_t bytes) {
  bytes_ = bytes;
  is_counted_ = true;
  environment_.metrics->RequestStarted(rpc_, bytes, count_);
}

void RequestContext::Withdraw() {
  if (std::exchange(is_counted_, false)) environment_.metrics->RequestsWithdrawn(rpc_, count_);
  Release();
}

absl::Status RequestContext::EnterGate() {
  BASEBAND_RETURN_IF_ERROR(environment_.gate->Enter(arrival_, count_));
  is_inside_ = true;
  return absl::OkStatus();
}

absl::Status RequestContext::EnterQuota(int64_t bytes) {
  BASEBAND_ASSIGN_OR_RETURN(
      hold_, requester_.hold != nullptr
                 ? environment_.quotas->EnterRequest(*requester_.hold, bytes, count_)
                 : environment_.quotas->EnterRequest(requester_.caller.client, bytes));
  return absl::OkStatus();
}

absl::Status RequestContext::GrowQuota(const Request& request, const Job& job) {
  // What a request asks for, or names in shared memory, may be more than what it brings, by orders
  // of magnitude. What it can never have is told so when it is submitted.
  if (job.reply_bytes > MostReplyBytes(environment_)) return absl::OkStatus();
  return hold_.GrowTo(std::max(job.reply_bytes, request.payload.bytes()));
}

absl::Status RequestContext::Enter(int64_t bytes) {
  BASEBAND_RETURN_IF_ERROR(EnterGate());
  BASEBAND_RETURN_IF_ERROR(environment_.dispatcher->CheckRoom(bytes));
  return EnterQuota(bytes);
}

absl::Status RequestContext::EnterNamed(const Operation* operation, int32_t priority,
                                        int64_t bytes) {
  if (operation == nullptr) {
    return absl::InvalidArgumentError(
        "operation is not set, or is none of encode, decode, recover_carrier, downconvert, "
        "encode_shared_channel, decode_shared_channel");
  }
  if (priority != v1::PRIORITY_UNSPECIFIED) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("priority", priority, v1::Priority_MIN, v1::Priority_MAX));
    requester_.caller.priority = static_cast<Priority>(priority - v1::PRIORITY_HIGH);
  }
  BASEBAND_RETURN_IF_ERROR(environment_.memory->Admit(requester_.caller.priority));
  return Enter(bytes);
}

absl::Status RequestContext::Submit(const Request& request, JobPtr& job, Job::Done done) {
  if (job->fingerprint == 0) job->fingerprint = FingerprintOf(job->operation(), request.header);
  job->reply_place = request.reply_place;
  if (request.payload.is_shared()) {  // once it is accepted, its answer may be out and this gone
    done = [metrics = environment_.metrics, bytes = request.payload.bytes(),
            done = std::move(done)](const absl::Status& status, JobPtr ended) {
      metrics->AddSharedBytes(bytes, 0);
      done(status, std::move(ended));
    };
  }
  return SubmitJob(environment_, requester_, arrival_, request.payload, job, std::move(done));
}

absl::StatusOr<Reply> RequestContext::ReplyOf(const absl::Status& status, Operation& operation,
                                              JobPtr job) {
  const ReplyPlace place = std::move(job->reply_place);
  BASEBAND_ASSIGN_OR_RETURN(std::vector<Reply> replies, RepliesOf(status, operation, std::move(job),
                                                                  absl::MakeConstSpan(&place, 1)));
  return std::move(replies.front());
}

absl::StatusOr<std::vector<Reply>> RequestContext::RepliesOf(const absl::Status& status,
                                                             Operation& operation, JobPtr job,
                                                             absl::Span<const ReplyPlace> places) {
  Ended(job->times);
  BASEBAND_RETURN_IF_ERROR(status);
  const uint8_t* const memory = job->reply.data();  // it stays there, whoever has the lease
  BASEBAND_ASSIGN_OR_RETURN(std::vector<Reply> replies, operation.ToReplies(*job));
  job->DropInput();
  ObserveStages(rpc_, job->times, *environment_.metrics, count_);
  operation.CountResults(*job, environment_.metrics->ResultsOf(rpc_));
  if (SteadyNow() > requester_.deadline) {
    return absl::DeadlineExceededError("the deadline passed before the work was done");
  }
  for (size_t i = 0; i < replies.size(); ++i) Place(places[i], memory, replies[i]);
  return replies;
}

void RequestContext::Place(const ReplyPlace& place, const uint8_t* memory, Reply& reply) const {
  const auto step = [](const BulkField& field) {
    return AlignUp(field.bytes, shm::kRegionAlignment);
  };
  int64_t bytes = 0;
  for (const BulkField& field : reply.fields) bytes += step(field);
  if (bytes == 0 || bytes > place.bytes) return;
  int64_t at = 0;
  for (BulkField& field : reply.fields) {
    // One that was written there begins there, and is alone.
    if (memory != place.data) std::copy_n(memory + field.offset, field.bytes, place.data + at);
    field.offset = at;
    at += step(field);
  }
  reply.memory.Reset();
  reply.placed_at = place.offset;
  environment_.metrics->AddSharedBytes(0, reply.bulk_bytes());
}

void RequestContext::Answer(const absl::Status& status) {
  if (std::exchange(is_answered_, true)) return;
  answered_ = SteadyNow();
  status_ = status;
  if (!is_accepted_) return;
  CountDeadline({rpc_, status.code(), arrival_, requester_.deadline, answered_},
                requester_.cancellation->given_up(), count_, *environment_.metrics);
}

void RequestContext::End(const absl::Status& status, int64_t response_bytes,
                         const std::function<std::string()>& id) {
  if (sent_ == absl::InfinitePast()) Sent();
  const absl::Time given_up = requester_.cancellation->given_up();
  const bool is_heard = has_message_ || given_up == absl::InfiniteFuture();
  const absl::Status heard =
      EndOf(is_heard ? status : absl::CancelledError(), arrival_, requester_.deadline, given_up);
  if (std::exchange(is_counted_, false)) {
    if (!absl::IsCancelled(heard)) {
      environment_.metrics->ObserveStage(rpc_, Stage::kReply, sent_ - answered_, count_);
    }
    if (!heard.ok() && !absl::IsInvalidArgument(heard)) {
      environment_.metrics->AddBytesInVain(rpc_, bytes_);
    }
    environment_.metrics->RequestFinished(
        rpc_, heard, sent_ - arrival_, heard.code() == status.code() ? response_bytes : 0, count_);
  }
  const FlightEnd end = {rpc_, heard.code(), arrival_, requester_.deadline, sent_};
  if (const absl::optional<FlightReason> reason = environment_.recorder->Wants(end)) {
    constexpr size_t kMaxIdBytes = 64;
    FlightRecord record;
    record.end = end;
    record.reason = *reason;
    record.message = std::string(heard.message());
    record.caller = requester_.caller;
    record.request_id = id().substr(0, kMaxIdBytes);
    record.answered = answered_;
    record.times = times_;
    environment_.recorder->Add(std::move(record));
  }
  Release();
}

void RequestContext::Release() {
  hold_ = ClientHold();
  if (std::exchange(is_inside_, false)) environment_.gate->Leave(count_);
}

}  // namespace baseband::server
