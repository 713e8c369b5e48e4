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
#include "server/jobs/layout.h"
#include "server/metrics/unserved.h"
#include "server/rings/ring_request.h"

namespace baseband::server {

absl::Time DeadlineAt(uint64_t deadline_ns) {
  if (deadline_ns == 0 || deadline_ns > INT64_MAX) {  // refused later
    return absl::InfiniteFuture();
  }
  timespec clock{};
  clock_gettime(CLOCK_MONOTONIC, &clock);
  return SteadyNow() + absl::Nanoseconds(static_cast<int64_t>(deadline_ns)) -
         absl::DurationFromTimespec(clock);
}

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
    } else if (now - begin > turn_time_) {
      break;  // it stays there
    }
    ++taken_;
    ++taken;
    Begin(submission, now);
  }
  StartJoined();
  TellRefused();
  return taken > 0;
}

void RingSession::Begin(const BasebandSubmission& submission, absl::Time arrival) {
  std::shared_ptr<const RegisteredJob> registered;
  if (submission.kind == BASEBAND_RING_RUN && submission.job != 0) {
    registered = FindJob(submission.job);
  }
  const bool is_sound = registered != nullptr && IsSound(submission, *registered);
  if (is_sound && IsRefused(submission, registered, arrival)) return;
  if (!is_sound || registered->most_joined < 2) {
    StartJoined();
    (void)Start(submission, std::move(registered), arrival);
    return;
  }
  if (!IsLikeJoined(submission, *registered)) StartJoined();
  if (joined_.submissions.empty()) {
    joined_.job = std::move(registered);
    joined_.earliest_ns = submission.deadline_ns;
    joined_.latest_ns = submission.deadline_ns;
    joined_.arrival = arrival;
  }
  joined_.earliest_ns = std::min(joined_.earliest_ns, submission.deadline_ns);
  joined_.latest_ns = std::max(joined_.latest_ns, submission.deadline_ns);
  joined_.submissions.push_back(submission);
}

bool RingSession::IsLikeJoined(const BasebandSubmission& submission,
                               const RegisteredJob& job) const {
  if (joined_.submissions.empty()) return true;
  const uint64_t deadline_ns = submission.deadline_ns;
  const bool have_deadlines = joined_.latest_ns != 0;
  const auto apart_ns =
      std::max(joined_.latest_ns, deadline_ns) - std::min(joined_.earliest_ns, deadline_ns);
  return joined_.job.get() == &job && joined_.submissions.size() < job.most_joined &&
         joined_.submissions.front().priority == submission.priority &&
         (deadline_ns != 0) == have_deadlines &&
         apart_ns <= static_cast<uint64_t>(absl::ToInt64Nanoseconds(kJoinedDeadlines));
}

void RingSession::StartJoined() {
  if (joined_.submissions.empty()) return;
  if (!AreOneJob()) {
    // One by one: some of them may have what is left of room and time. Once there is no room, there
    // is none for all that are left; for time see IsRefused, and for memory they are told apart.
    absl::Status refused;
    const auto is_for_all = [&refused] {
      return absl::IsResourceExhausted(refused) && ReasonOf(refused) != UnservedReason::kBacklog &&
             ReasonOf(refused) != UnservedReason::kMemory;
    };
    for (const BasebandSubmission& submission : joined_.submissions) {
      if (is_for_all()) {
        RefuseLater(refused, submission, joined_.job, joined_.arrival);
      } else if (!IsRefused(submission, joined_.job, joined_.arrival)) {
        refused = Start(submission, joined_.job, joined_.arrival);
      }
    }
  }
  joined_.submissions.clear();
  joined_.job.reset();
}

bool RingSession::AreOneJob() {
  const size_t count = joined_.submissions.size();
  if (count == 1) return false;
  const auto request = std::make_shared<InFlight>(
      shared_from_this(), joined_.submissions.front(), static_cast<int64_t>(count),
      joined_.job->operation, joined_.arrival, DeadlineAt(joined_.earliest_ns));
  request->registered = joined_.job;
  if (AcceptJoined(request, joined_.submissions).ok()) return true;
  request->context.Withdraw();
  return false;
}

absl::Status RingSession::Start(const BasebandSubmission& submission,
                                std::shared_ptr<const RegisteredJob> registered,
                                absl::Time arrival) {
  Operation* const operation =
      registered != nullptr ? registered->operation
      : submission.job != 0 ? nullptr
                            : environment_.operations->FindBySubmitField(submission.operation);
  const auto request = std::make_shared<InFlight>(shared_from_this(), submission, 1, operation,
                                                  arrival, DeadlineAt(submission.deadline_ns));
  request->registered = std::move(registered);
  request->askers.push_back({submission.id, submission.reply_offset, {}});
  absl::Status status = Accept(request);
  if (!status.ok()) {
    LetStand(*request, status);
    Refuse(request, status);
  }
  return status;
}

void RingSession::Answer(const InFlightPtr& request, const absl::Status& end, JobPtr job) {
  if (!end.ok() && ReasonOf(end) == UnservedReason::kDeviceLost && job->reply_is_shared &&
      job->times.lane != nullptr) {
    request->is_written_by_lost_device = true;
    request->value = 1;
  }
  std::vector<ReplyPlace> places;
  places.reserve(request->askers.size());
  for (const InFlight::Asker& asker : request->askers) {
    places.push_back({asker.reply.data(), static_cast<int64_t>(asker.reply.size()),
                      static_cast<int64_t>(asker.reply_offset), nullptr, nullptr});
  }
  const absl::StatusOr<std::vector<Reply>> replies =
      request->context.RepliesOf(end, *request->operation, std::move(job), places);
  if (!replies.ok()) {
    Refuse(request, replies.status());
    return;
  }
  std::vector<BasebandCompletion> completions(request->askers.size());
  for (size_t i = 0; i < completions.size(); ++i) {
    const InFlight::Asker& asker = request->askers[i];
    const Reply& reply = (*replies)[i];
    BasebandCompletion& completion = completions[i];
    int64_t bulk_end = 0;  // in the range
    for (const BulkField& field : reply.fields) {
      if (field.bytes == 0) continue;
      if (bulk_end == 0) {
        completion.payload_offset = asker.reply_offset + static_cast<uint64_t>(field.offset);
        completion.payload_bytes = static_cast<uint64_t>(field.bytes);
      }
      bulk_end = AlignUp(field.offset + field.bytes, shm::kRegionAlignment);
    }
    const bool has_place = bulk_end == 0 || reply.placed_at.has_value();
    const std::string message = has_place ? PlacedMessage(reply) : std::string();
    if (!has_place || bulk_end + static_cast<int64_t>(message.size()) >
                          static_cast<int64_t>(asker.reply.size())) {
      Refuse(request, absl::DataLossError(absl::StrCat("reply_bytes ", asker.reply.size(),
                                                       " had no room for the answer")));
      return;
    }
    std::copy(message.begin(), message.end(), asker.reply.begin() + bulk_end);
    completion.header_offset = asker.reply_offset + static_cast<uint64_t>(bulk_end);
    completion.header_bytes = static_cast<uint32_t>(message.size());
  }
  Complete(request, absl::OkStatus(), absl::MakeSpan(completions));
}

void RingSession::Refuse(const InFlightPtr& request, const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) {
    request->value = static_cast<uint64_t>(
        absl::ToInt64Microseconds(environment_.dispatcher->RetryDelay(status)));
  }
  std::vector<BasebandCompletion> completions(request->askers.size());
  for (size_t i = 0; i < completions.size(); ++i) {
    const InFlight::Asker& asker = request->askers[i];
    absl::string_view text = status.message().substr(0, asker.reply.size());
    size_t at = 0;
    if (request->is_written_by_lost_device) {  // but for the end, which has room beside the reply
      text = text.substr(0, kMaxFieldBytes);
      at = asker.reply.size() - text.size();
    }
    std::copy(text.begin(), text.end(), asker.reply.begin() + static_cast<std::ptrdiff_t>(at));
    completions[i].code = static_cast<uint32_t>(status.code());
    completions[i].header_offset = asker.reply_offset + at;
    completions[i].header_bytes = static_cast<uint32_t>(text.size());
  }
  Complete(request, status, absl::MakeSpan(completions));
}

void RingSession::CompleteWithout(const InFlightPtr& request) {
  BasebandCompletion completion{};
  Complete(request, absl::OkStatus(), absl::MakeSpan(&completion, 1));
}

void RingSession::Complete(const InFlightPtr& request, const absl::Status& status,
                           absl::Span<BasebandCompletion> completions) {
  int64_t told_bytes = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    completions[i].id = request->askers[i].id;
    completions[i].value = request->value;
    told_bytes += completions[i].header_bytes;
  }
  request->context.Answer(status);
  // Before it is told, for then it may send another.
  request->context.LeaveQuota();
  bool wakes = false;
  {
    const SpinningLock lock(&mutex_);
    uint64_t number = completed_.load();
    for (const BasebandCompletion& completion : completions) {
      wakes |= baseband_ring_complete(&ring_, number, &completion) != 0;
      completed_.store(++number);
    }
  }
  if (wakes) {
    (void)syscall(SYS_futex, &ring_.header->client_waits, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  const bool is_heard = !is_over_.load();
  request->context.End(is_heard ? status : absl::CancelledError("the client is gone"),
                       is_heard ? told_bytes : 0,
                       [&] { return absl::StrCat(request->submission.id); });
}

}  // namespace baseband::server
