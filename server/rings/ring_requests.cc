// RingSession's part that reads what the client asks for, and makes jobs of it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/shm/region_messages.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/fingerprint.h"
#include "server/jobs/layout.h"
#include "server/metrics/unserved.h"
#include "server/rings/ring_request.h"
#include "server/rings/ring_session.h"

namespace baseband::server {
namespace {

// What a response says beside its bulk of each block, at most.
constexpr int64_t kMaxBlockFieldBytes = 192;
constexpr int64_t kMaxBulkFields = 2;  // each aligned

bool Overlap(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  return !a.empty() && !b.empty() && a.begin() < b.end() && b.begin() < a.end();
}

// What the reply's range has to have for the answer of `job`.
int64_t ReplyBytes(const Job& job) {
  return AlignUp(job.reply_bytes + kMaxBulkFields * shm::kRegionAlignment + kMaxFieldBytes +
                     job.footprint.blocks * kMaxBlockFieldBytes,
                 shm::kRegionAlignment);
}

// How many requests like `job` may be one.
size_t MostJoined(const Job& job, const RequestLimits& limits) {
  if (job.CopyJoined(1) == nullptr) return 1;
  const int64_t by_bytes = RingSession::kMaxJoinedBytes / (job.payload_bytes + job.reply_bytes);
  const int64_t by_blocks =
      std::min(RingSession::kMaxJoinedBlocks, limits.max_joined_blocks) / job.footprint.blocks;
  return static_cast<size_t>(std::max<int64_t>(1, std::min(by_bytes, by_blocks)));
}

}  // namespace

absl::Status RingSession::Accept(const InFlightPtr& request) {
  const BasebandSubmission& submission = request->submission;
  // First, for a refusal is written there.
  BASEBAND_ASSIGN_OR_RETURN(request->askers.front().reply,
                            Range("reply", submission.reply_offset, submission.reply_bytes));
  if (submission.reply_bytes % shm::kRegionAlignment != 0) {
    request->askers.front().reply = {};
    return absl::InvalidArgumentError(absl::StrCat(
        "reply_bytes ", submission.reply_bytes, " is not a multiple of ", shm::kRegionAlignment));
  }
  if (submission.kind == BASEBAND_RING_RUN) {
    request->context.Start(std::min(submission.header_bytes, kMaxRingHeader));
  }
  if (submission.reserved != 0) {
    return absl::InvalidArgumentError(absl::StrCat("reserved ", submission.reserved, " is not 0"));
  }
  if (submission.deadline_ns > INT64_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline_ns ", submission.deadline_ns, " is not in [0, ", INT64_MAX, "]"));
  }
  if (submission.header_bytes > kMaxRingHeader) {
    return absl::InvalidArgumentError(absl::StrCat("header_bytes ", submission.header_bytes,
                                                   " is not in [0, ", kMaxRingHeader, "]"));
  }
  if (submission.kind > BASEBAND_RING_FORGET) {
    return absl::InvalidArgumentError(absl::StrCat("kind ", submission.kind, " is not in [0, 2]"));
  }
  if (submission.kind == BASEBAND_RING_FORGET) {
    BASEBAND_RETURN_IF_ERROR(Forget(submission.job));
    CompleteWithout(request);
    return absl::OkStatus();
  }
  if (submission.job != 0 && request->registered == nullptr) {
    return submission.kind == BASEBAND_RING_RUN
               ? absl::NotFoundError(
                     absl::StrCat("job ", submission.job, " is none that this ring registered"))
               : absl::InvalidArgumentError(absl::StrCat("job ", submission.job, " is not 0"));
  }
  // Before anything is done for it: whoever sends more than this thread can look at is to have
  // those served that are still of use, not all of them too late.
  if (request->context.requester().deadline <= request->context.arrival()) {
    return LateOnArrival();
  }
  BASEBAND_RETURN_IF_ERROR(request->context.EnterNamed(request->operation, submission.priority,
                                                       submission.header_bytes));
  BASEBAND_RETURN_IF_ERROR(ReadRequest(request));
  if (request->registered != nullptr) {
    BASEBAND_RETURN_IF_ERROR(CheckRoom(request, request->registered->reply_bytes));
  }
  if (request->registered != nullptr && request->registered->job != nullptr) {
    JobPtr job = request->registered->job->Copy();
    job->fingerprint = request->registered->job->fingerprint;
    return UseJob(request, std::move(job));
  }
  return Convert(request);
}

bool RingSession::IsSound(const BasebandSubmission& submission, const RegisteredJob& job) const {
  if (submission.reserved != 0 || submission.header_bytes != 0 ||
      submission.deadline_ns > INT64_MAX || submission.payload_bytes != job.payload_bytes ||
      submission.reply_bytes < job.reply_bytes ||
      submission.reply_bytes % shm::kRegionAlignment != 0) {
    return false;
  }
  const auto payload = Range("payload", submission.payload_offset, submission.payload_bytes);
  const auto reply = Range("reply", submission.reply_offset, submission.reply_bytes);
  return payload.ok() && reply.ok() && !Overlap(*payload, *reply);
}

absl::Status RingSession::AcceptJoined(const InFlightPtr& request,
                                       absl::Span<const BasebandSubmission> submissions) {
  uint8_t* const base = memory_->region().base;
  Payload::Pieces pieces;
  pieces.reserve(submissions.size());
  for (const BasebandSubmission& submission : submissions) {
    pieces.push_back(PieceAt({base + submission.payload_offset, submission.payload_bytes}));
  }
  AddAskers(submissions, request.get());
  request->context.Start(0);
  BASEBAND_RETURN_IF_ERROR(
      request->context.EnterNamed(request->operation, request->submission.priority, 0));
  request->request.payload = Payload(pieces, memory_);
  const Job& registered = *request->registered->job;
  JobPtr job = registered.CopyJoined(static_cast<int64_t>(submissions.size()));
  job->fingerprint = registered.fingerprint;
  BASEBAND_RETURN_IF_ERROR(request->context.GrowQuota(request->request, *job));
  return Submit(request, std::move(job));
}

void RingSession::AddAskers(absl::Span<const BasebandSubmission> submissions,
                            InFlight* request) const {
  uint8_t* const base = memory_->region().base;
  request->askers.reserve(submissions.size());
  for (const BasebandSubmission& submission : submissions) {
    request->askers.push_back({submission.id,
                               submission.reply_offset,
                               {base + submission.reply_offset, submission.reply_bytes}});
  }
}

absl::StatusOr<absl::Span<uint8_t>> RingSession::Range(const char* field, uint64_t offset,
                                                       uint64_t bytes) const {
  const auto size = static_cast<uint64_t>(memory_->region().bytes);
  if (bytes == 0) return absl::Span<uint8_t>();
  if (offset % shm::kRegionAlignment != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, "_offset ", offset, " is not a multiple of ", shm::kRegionAlignment));
  }
  if (offset > size || bytes > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", bytes, " bytes from offset ",
                                                   offset, " on are not within a region of ",
                                                   size));
  }
  return absl::MakeSpan(memory_->region().base + offset, bytes);
}

absl::Status RingSession::ReadRequest(const InFlightPtr& request) const {
  const BasebandSubmission& submission = request->submission;
  Request& read = request->request;
  if (request->registered != nullptr) {
    if (submission.header_bytes != 0) {
      return absl::InvalidArgumentError(absl::StrCat("header_bytes ", submission.header_bytes,
                                                     " is not 0, and job ", submission.job,
                                                     " says what to do"));
    }
    if (const int64_t bytes = request->registered->payload_bytes;
        submission.payload_bytes != bytes) {
      return absl::InvalidArgumentError(absl::StrCat("payload_bytes ", submission.payload_bytes,
                                                     " is not that of job ", submission.job, ", ",
                                                     bytes));
    }
  }
  if (const int64_t most = environment_.limits.max_input_bytes; submission.payload_bytes > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload_bytes ", submission.payload_bytes, " is not in [0, ", most, "]"));
  }
  BASEBAND_ASSIGN_OR_RETURN(const absl::Span<uint8_t> header,
                            Range("header", submission.header_offset, submission.header_bytes));
  // Of a job that is to be registered only the size is known yet.
  const bool is_registered = submission.kind == BASEBAND_RING_REGISTER;
  BASEBAND_ASSIGN_OR_RETURN(
      const absl::Span<uint8_t> payload,
      Range("payload", is_registered ? 0 : submission.payload_offset, submission.payload_bytes));
  if (!is_registered && Overlap(payload, request->askers.front().reply)) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload_offset ", submission.payload_offset, ": the ",
                     submission.payload_bytes, " bytes from there on overlap the reply's ",
                     submission.reply_bytes, " from offset ", submission.reply_offset, " on"));
  }
  // A copy, for the client may write there while it is parsed.
  read.header.assign(reinterpret_cast<const char*>(header.data()), header.size());
  read.payload = Payload({PieceAt(payload)}, memory_);
  return absl::OkStatus();
}

absl::Status RingSession::Convert(const InFlightPtr& request) {
  if (request->registered != nullptr) request->request.header = request->registered->header;
  request->request.client = requester_.caller.client;
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion,
                            request->operation->Convert(request->request, environment_.limits));
  if (conversion.job != nullptr) return UseJob(request, std::move(conversion.job));
  request->preparation = std::move(conversion.preparation);
  return environment_.slow_path->Add(
      requester_.caller.client, request->request.bytes(),
      [this, request](const ContinueCheck& turn) {
        absl::StatusOr<JobPtr> job =
            request->preparation->Finish(SlowPathCheck(request->context.requester(), turn));
        request->preparation.reset();
        const absl::Status status = job.ok() ? UseJob(request, *std::move(job)) : job.status();
        if (!status.ok()) Refuse(request, status);
        environment_.dispatcher->DispatchGathered();
      });
}

absl::Status RingSession::CheckRoom(const InFlightPtr& request, int64_t bytes) {
  if (static_cast<int64_t>(request->askers.front().reply.size()) >= bytes) return absl::OkStatus();
  request->value = static_cast<uint64_t>(bytes);
  return Because(
      UnservedReason::kReplyRange,
      absl::OutOfRangeError(absl::StrCat("reply_bytes ", request->askers.front().reply.size(),
                                         " is less than the answer may take, ", bytes)));
}

absl::Status RingSession::UseJob(const InFlightPtr& request, JobPtr job) {
  if (request->submission.kind == BASEBAND_RING_REGISTER) {
    return Register(request, std::move(job));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRoom(request, ReplyBytes(*job)));
  BASEBAND_RETURN_IF_ERROR(request->context.GrowQuota(request->request, *job));
  return Submit(request, std::move(job));
}

absl::Status RingSession::Submit(const InFlightPtr& request, JobPtr job) {
  request->self = request;
  if (request->askers.size() == 1) {
    const InFlight::Asker& asker = request->askers.front();
    request->request.reply_place = {asker.reply.data(), static_cast<int64_t>(asker.reply.size()),
                                    static_cast<int64_t>(asker.reply_offset),
                                    &request->session->memory_->region(),
                                    request->session->memory_};
  }
  // What it captures needs no memory of its own, as a shared pointer would.
  const absl::Status status = request->context.Submit(
      request->request, job, [answered = request.get()](const absl::Status& end, JobPtr done) {
        const InFlightPtr ended = std::move(answered->self);
        ended->session->Answer(ended, end, std::move(done));
      });
  if (!status.ok()) request->self.reset();
  request->request.header = std::string();
  return status;
}

absl::Status RingSession::Register(const InFlightPtr& request, JobPtr job) {
  auto registered = std::make_shared<RegisteredJob>();
  registered->operation = request->operation;
  registered->header = std::move(request->request.header);
  registered->payload_bytes = job->payload_bytes;
  registered->reply_bytes = ReplyBytes(*job);
  // An operation may have seen to it, and left out what differs between requests that are alike.
  if (job->fingerprint == 0) {
    job->fingerprint = FingerprintOf(job->operation(), registered->header);
  }
  registered->kept_bytes = job->kept_bytes();
  // Copies are made before the lock is taken, for which completions wait.
  const bool is_kept = registered->kept_bytes <= kMaxKeptBytes && job->Copy() != nullptr;
  const size_t most_joined = is_kept ? MostJoined(*job, environment_.limits) : 0;
  {
    const SpinningLock lock(&mutex_);
    const auto bytes = static_cast<int64_t>(registered->header.size());
    if (jobs_.size() >= kMaxJobs || bytes > kMaxJobBytes - job_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this ring has registered ", jobs_.size(), " jobs of ", job_bytes_,
                       " bytes: it may have ", kMaxJobs, " of ", kMaxJobBytes));
    }
    job_bytes_ += bytes;
    if (most_joined > 0 && registered->kept_bytes <= kMaxKeptBytes - kept_bytes_) {
      kept_bytes_ += registered->kept_bytes;
      registered->most_joined = most_joined;
      registered->job = std::move(job);
    }
    do {
      ++last_job_;
    } while (last_job_ == 0 || jobs_.count(last_job_) > 0);
    request->value = last_job_;
    jobs_.emplace(last_job_, std::move(registered));
  }
  CompleteWithout(request);
  return absl::OkStatus();
}

absl::Status RingSession::Forget(uint32_t number) {
  const SpinningLock lock(&mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job ", number, " is none that this ring registered"));
  }
  job_bytes_ -= static_cast<int64_t>(found->second->header.size());
  if (found->second->job != nullptr) kept_bytes_ -= found->second->kept_bytes;
  jobs_.erase(found);
  found_.reset();
  return absl::OkStatus();
}

std::shared_ptr<const RingSession::RegisteredJob> RingSession::FindJob(uint32_t number) {
  if (found_ == nullptr || found_number_ != number) {
    const SpinningLock lock(&mutex_);
    const auto found = jobs_.find(number);
    found_ = found == jobs_.end() ? nullptr : found->second;
    found_number_ = number;
  }
  return found_;
}

}  // namespace baseband::server
