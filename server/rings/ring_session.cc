#include "server/rings/ring_session.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/shm/region_messages.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/grpc/wire.h"
#include "server/jobs/fingerprint.h"
#include "server/jobs/layout.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

// What a response says beside its bulk, at most, of itself and of each block.
constexpr int64_t kMaxFieldBytes = 256;
constexpr int64_t kMaxBlockFieldBytes = 192;
constexpr int64_t kMaxBulkFields = 2;  // each aligned

absl::Time DeadlineOf(const BasebandSubmission& submission, absl::Time now) {
  if (submission.deadline_ns == 0 || submission.deadline_ns > INT64_MAX) {  // refused later
    return absl::InfiniteFuture();
  }
  timespec clock{};
  clock_gettime(CLOCK_MONOTONIC, &clock);
  return now + absl::Nanoseconds(static_cast<int64_t>(submission.deadline_ns)) -
         absl::DurationFromTimespec(clock);
}

bool Overlap(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  return !a.empty() && !b.empty() && a.begin() < b.end() && b.begin() < a.end();
}

// What the reply's range has to have for the answer of `job`.
int64_t ReplyBytes(const Job& job) {
  return AlignUp(job.reply_bytes + kMaxBulkFields * shm::kRegionAlignment + kMaxFieldBytes +
                     job.footprint.blocks * kMaxBlockFieldBytes,
                 shm::kRegionAlignment);
}

}  // namespace

// From its submission to its completion.
struct RingSession::InFlight {
  InFlight(std::shared_ptr<RingSession> of, const BasebandSubmission& taken,
           Operation* named_operation, absl::Time arrival)
      : alive(of->environment_.calls),
        session(std::move(of)),
        submission(taken),
        operation(named_operation),
        // Submit's own if its message names no operation.
        context(session->environment_, operation != nullptr ? operation->rpc() : kSubmitRpc,
                arrival) {
    context.requester() = session->requester_;
    context.requester().hold = &session->hold_;
    context.requester().deadline = DeadlineOf(taken, arrival);
  }

  const LiveCount::One alive;  // first: destroyed last
  const std::shared_ptr<RingSession> session;
  const BasebandSubmission submission;
  Operation* const operation;  // null: none is named, or none that is known
  std::shared_ptr<const RegisteredJob> registered;
  RequestContext context;
  Request request;  // its header until its payload is where devices want it
  absl::Span<uint8_t> reply;
  std::unique_ptr<Preparation> preparation;
  uint64_t value = 0;  // of its completion
  InFlightPtr self;    // while the dispatcher has its job
};

struct RingSession::RegisteredJob {
  Operation* operation = nullptr;
  std::string header;
  int64_t payload_bytes = 0;
  int64_t reply_bytes = 0;
  JobPtr job;  // to be copied; null: to be made again
};

RingSession::RingSession(const CallEnvironment& environment, const std::string& client,
                         std::shared_ptr<const SharedMemory> memory, const BasebandRing& ring)
    : environment_(environment), memory_(std::move(memory)), ring_(ring) {
  requester_.caller.client = client;
  requester_.cancellation = std::make_shared<Cancellation>();
  requester_.gathers = true;
}

absl::StatusOr<std::shared_ptr<RingSession>> RingSession::Open(
    const CallEnvironment& environment, const std::string& client,
    std::shared_ptr<const SharedMemory> memory, uint64_t offset) {
  const auto size = static_cast<uint64_t>(memory->region().bytes);
  if (offset % shm::kRegionAlignment != 0 || offset > size ||
      size - offset < sizeof(BasebandRingHeader)) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", offset, ", where the ring begins, is not a multiple of ",
                     shm::kRegionAlignment, " in [0, ", size - sizeof(BasebandRingHeader), "]"));
  }
  BasebandRingHeader header;
  std::memcpy(&header, memory->region().base + offset, sizeof(header));
  if (header.version != BASEBAND_RING_VERSION) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", header.version, " is not ", BASEBAND_RING_VERSION));
  }
  if (baseband_ring_is_size(header.entries) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("entries ", header.entries,
                                                   " is not a power of two in [1, ",
                                                   BASEBAND_RING_MAX_ENTRIES, "]"));
  }
  if (const uint64_t bytes = baseband_ring_bytes(header.entries); bytes > size - offset) {
    return absl::InvalidArgumentError(absl::StrCat("a ring of ", header.entries, " entries has ",
                                                   bytes, " bytes: from offset ", offset,
                                                   " on, the region has ", size - offset));
  }
  BASEBAND_RETURN_IF_ERROR(environment.gate->CheckOpen(SteadyNow()));
  BASEBAND_ASSIGN_OR_RETURN(ClientHold hold, environment.quotas->EnterStream(client));
  BASEBAND_ASSIGN_OR_RETURN(StreamPlace place, environment.streams->Enter());
  const BasebandRing ring = baseband_ring_at(memory->region().base + offset, header.entries);
  std::shared_ptr<RingSession> session(
      new RingSession(environment, client, std::move(memory), ring));
  session->hold_ = std::move(hold);
  session->place_ = std::move(place);
  return session;
}

void RingSession::End() {
  is_over_.store(true);
  requester_.cancellation->Cancel(SteadyNow());
}

bool RingSession::Take() {
  int taken = 0;
  absl::Time begin;
  BasebandSubmission submission;
  while (taken < kTurn && !is_over_.load() && !is_full() &&
         baseband_ring_take(&ring_, taken_, &submission) != 0) {
    const absl::Time now = SteadyNow();
    if (taken == 0) {
      begin = now;
    } else if (now - begin > kTurnTime) {
      break;  // it stays there
    }
    ++taken_;
    ++taken;
    Begin(submission, now);
  }
  return taken > 0;
}

void RingSession::Begin(const BasebandSubmission& submission, absl::Time arrival) {
  std::shared_ptr<const RegisteredJob> registered;
  if (submission.kind == BASEBAND_RING_RUN && submission.job != 0) {
    registered = FindJob(submission.job);
  }
  Operation* const operation =
      registered != nullptr ? registered->operation
      : submission.job != 0 ? nullptr
                            : environment_.operations->FindBySubmitField(submission.operation);
  const auto request =
      std::make_shared<InFlight>(shared_from_this(), submission, operation, arrival);
  request->registered = std::move(registered);
  if (const absl::Status status = Accept(request); !status.ok()) Refuse(request, status);
}

absl::Status RingSession::Accept(const InFlightPtr& request) {
  const BasebandSubmission& submission = request->submission;
  // First, for a refusal is written there.
  BASEBAND_ASSIGN_OR_RETURN(request->reply,
                            Range("reply", submission.reply_offset, submission.reply_bytes));
  if (submission.reply_bytes % shm::kRegionAlignment != 0) {
    request->reply = {};
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
    Complete(request, absl::OkStatus(), BasebandCompletion());
    return absl::OkStatus();
  }
  if (submission.job != 0 && request->registered == nullptr) {
    return submission.kind == BASEBAND_RING_RUN
               ? absl::NotFoundError(
                     absl::StrCat("job ", submission.job, " is none that this ring registered"))
               : absl::InvalidArgumentError(absl::StrCat("job ", submission.job, " is not 0"));
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
  if (!is_registered && Overlap(payload, request->reply)) {
    return absl::InvalidArgumentError("payload and reply overlap");
  }
  // A copy, for the client may write there while it is parsed.
  read.header.assign(reinterpret_cast<const char*>(header.data()), header.size());
  read.payload = Payload(
      {{payload.data(), static_cast<int64_t>(payload.size()), &memory_->region()}}, memory_);
  read.reply_place = {request->reply.data(), static_cast<int64_t>(request->reply.size()),
                      static_cast<int64_t>(submission.reply_offset), memory_};
  return absl::OkStatus();
}

absl::Status RingSession::Convert(const InFlightPtr& request) {
  if (request->registered != nullptr) request->request.header = request->registered->header;
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
  if (static_cast<int64_t>(request->reply.size()) >= bytes) return absl::OkStatus();
  request->value = static_cast<uint64_t>(bytes);
  return Because(UnservedReason::kReplyRange,
                 absl::OutOfRangeError(absl::StrCat("reply_bytes ", request->reply.size(),
                                                    " is less than the answer may take, ", bytes)));
}

absl::Status RingSession::UseJob(const InFlightPtr& request, JobPtr job) {
  if (request->submission.kind == BASEBAND_RING_REGISTER) {
    return Register(request, std::move(job));
  }
  BASEBAND_RETURN_IF_ERROR(CheckRoom(request, ReplyBytes(*job)));
  BASEBAND_RETURN_IF_ERROR(request->context.GrowQuota(request->request, *job));
  request->self = request;
  // What it captures needs no memory of its own, as a shared pointer would.
  const absl::Status status = request->context.Submit(
      request->request, job, [answered = request.get()](const absl::Status& end, JobPtr done) {
        const InFlightPtr ended = std::move(answered->self);
        ended->session->Answer(ended,
                               ended->context.ReplyOf(end, *ended->operation, std::move(done)));
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
  if (job->Copy() != nullptr) registered->job = std::move(job);
  {
    const SpinningLock lock(&mutex_);
    const auto bytes = static_cast<int64_t>(registered->header.size());
    if (jobs_.size() >= kMaxJobs || bytes > kMaxJobBytes - job_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this ring has registered ", jobs_.size(), " jobs of ", job_bytes_,
                       " bytes: it may have ", kMaxJobs, " of ", kMaxJobBytes));
    }
    job_bytes_ += bytes;
    do {
      ++last_job_;
    } while (last_job_ == 0 || jobs_.count(last_job_) > 0);
    request->value = last_job_;
    jobs_.emplace(last_job_, std::move(registered));
  }
  Complete(request, absl::OkStatus(), BasebandCompletion());
  return absl::OkStatus();
}

absl::Status RingSession::Forget(uint32_t number) {
  const SpinningLock lock(&mutex_);
  const auto found = jobs_.find(number);
  if (found == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job ", number, " is none that this ring registered"));
  }
  job_bytes_ -= static_cast<int64_t>(found->second->header.size());
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

void RingSession::Answer(const InFlightPtr& request, absl::StatusOr<Reply> reply) {
  if (!reply.ok()) {
    Refuse(request, reply.status());
    return;
  }
  BasebandCompletion completion{};
  int64_t end = 0;  // of the bulk in the range
  for (const BulkField& field : reply->fields) {
    if (field.bytes == 0) continue;
    if (end == 0) {
      completion.payload_offset =
          request->submission.reply_offset + static_cast<uint64_t>(field.offset);
      completion.payload_bytes = static_cast<uint64_t>(field.bytes);
    }
    end = AlignUp(field.offset + field.bytes, shm::kRegionAlignment);
  }
  const std::string message = PlacedMessage(*reply);
  const bool has_place = end == 0 || reply->placed_at.has_value();
  if (!has_place ||
      end + static_cast<int64_t>(message.size()) > static_cast<int64_t>(request->reply.size())) {
    Refuse(request, absl::DataLossError(absl::StrCat("reply_bytes ", request->reply.size(),
                                                     " had no room for the answer")));
    return;
  }
  std::copy(message.begin(), message.end(), request->reply.begin() + end);
  completion.header_offset = request->submission.reply_offset + static_cast<uint64_t>(end);
  completion.header_bytes = static_cast<uint32_t>(message.size());
  Complete(request, absl::OkStatus(), completion);
}

void RingSession::Refuse(const InFlightPtr& request, const absl::Status& status) {
  BasebandCompletion completion{};
  completion.code = static_cast<uint32_t>(status.code());
  const absl::string_view text = status.message().substr(0, request->reply.size());
  std::copy(text.begin(), text.end(), request->reply.begin());
  completion.header_offset = request->submission.reply_offset;
  completion.header_bytes = static_cast<uint32_t>(text.size());
  if (absl::IsResourceExhausted(status)) {
    request->value = static_cast<uint64_t>(
        absl::ToInt64Microseconds(environment_.dispatcher->RetryDelay(status)));
  }
  Complete(request, status, completion);
}

void RingSession::Complete(const InFlightPtr& request, const absl::Status& status,
                           const BasebandCompletion& completion) {
  BasebandCompletion written = completion;
  written.id = request->submission.id;
  written.value = request->value;
  request->context.Answer(status);
  // Before it is told, for then it may send another.
  request->context.LeaveQuota();
  bool wakes = false;
  {
    const SpinningLock lock(&mutex_);
    const uint64_t number = completed_.load();
    wakes = baseband_ring_complete(&ring_, number, &written) != 0;
    completed_.store(number + 1);
  }
  if (wakes) {
    (void)syscall(SYS_futex, &ring_.header->client_waits, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  const bool is_heard = !is_over_.load();
  request->context.End(is_heard ? status : absl::CancelledError("the client is gone"),
                       is_heard ? written.header_bytes : 0,
                       [&] { return absl::StrCat(request->submission.id); });
}

}  // namespace baseband::server
