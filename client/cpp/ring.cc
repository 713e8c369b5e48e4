#include "client/cpp/ring.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/placed_response.h"
#include "common/shm/region_messages.h"
#include "grpcpp/support/slice.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// Between two looks at what is overdue, and whether the ring ends.
constexpr int64_t kSliceNs = 20000000;
// A server refuses by itself what is late; who has not by then is not there.
constexpr absl::Duration kGrace = absl::Milliseconds(100);
constexpr int kUsesBeforeJob = 2;
constexpr size_t kUsualReply = 4096;

absl::Status FromErrno(int error) {
  const std::string text = basebandd_error();
  switch (-error) {
    case EINVAL:
      return absl::InvalidArgumentError(text);
    case EAGAIN:
    case ENOMEM:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::UnavailableError(text);
  }
}

uint64_t MonotonicNs(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return 0;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const absl::Duration at = absl::DurationFromTimespec(now) + (deadline - SteadyNow());
  return static_cast<uint64_t>(std::max<int64_t>(1, absl::ToInt64Nanoseconds(at)));
}

uint8_t ToC(absl::optional<Priority> priority) {
  if (!priority.has_value()) return BASEBANDD_PRIORITY_NORMAL;
  return *priority == Priority::kHigh  ? BASEBANDD_PRIORITY_HIGH
         : *priority == Priority::kLow ? BASEBANDD_PRIORITY_LOW
                                       : BASEBANDD_PRIORITY_NORMAL;
}

size_t Up(size_t bytes) {
  return static_cast<size_t>(shm::RoundUp(static_cast<int64_t>(bytes), shm::kRegionAlignment));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ring>> Ring::Connect(const v1::SharedMemoryCapabilities& shared,
                                                    const RingOptions& options) {
  if (shared.listen().empty() || shared.max_ring_entries() == 0) {
    return absl::FailedPreconditionError("the server has no rings (--shm-listen)");
  }
  basebandd_options raw{};
  raw.memory_bytes = static_cast<uint64_t>(std::max<int64_t>(options.memory_bytes, 1));
  raw.entries = options.entries;
  raw.spin_ns =
      options.spin == absl::InfiniteDuration()
          ? UINT64_MAX
          : static_cast<uint64_t>(std::max<int64_t>(0, absl::ToInt64Nanoseconds(options.spin)));
  basebandd_connection* connection = nullptr;
  if (const int error = basebandd_open(shared.listen().c_str(), &raw, &connection); error != 0) {
    return FromErrno(error);
  }
  std::unique_ptr<Ring> ring(new Ring(connection, raw.memory_bytes));
  std::string id(16, '\0');
  basebandd_server_id(connection, reinterpret_cast<uint8_t*>(id.data()));
  if (id != shared.server_id()) {
    return absl::UnavailableError(absl::StrCat(shared.listen(), ": another server is there"));
  }
  return ring;
}

Ring::Ring(basebandd_connection* connection, size_t memory_bytes)
    : connection_(connection), memory_bytes_(memory_bytes), thread_([this] { Receive(); }) {}

Ring::~Ring() {
  End();
  basebandd_close(connection_);
}

void Ring::End() {
  stops_.store(true);
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Ring::Known> Ring::Find(const Request& request) {
  std::string key =
      absl::StrCat(request.operation, " ", request.payload.size(), " ", request.header);
  auto found = known_.find(key);
  if (found != known_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.recent);
    return found->second.known;
  }
  if (known_.size() >= kMaxKnown && !ForgetOldest()) return nullptr;
  found = known_.emplace(std::move(key), Entry{std::make_shared<Known>(), {}}).first;
  found->second.recent = recent_.insert(recent_.begin(), &found->first);
  return found->second.known;
}

bool Ring::ForgetOldest() {
  const auto oldest = known_.find(*recent_.back());
  const Known& known = *oldest->second.known;
  // A request that is under way may be sent again, by its number.
  if (oldest->second.known.use_count() > 1) return false;
  if (known.job != 0) {
    basebandd_request raw{};
    raw.id = last_id_ + 1;  // nobody waits for its answer
    raw.kind = BASEBANDD_FORGET;
    raw.job = known.job;
    if (basebandd_submit(connection_, &raw) != 0) return false;
    ++last_id_;
  }
  recent_.pop_back();
  known_.erase(oldest);
  return true;
}

absl::Status Ring::Place(size_t reply_bytes, InFlight* request) {
  absl::string_view& payload = request->request.payload;
  const size_t copied = request->request.is_in_place ? 0 : payload.size();
  auto* const memory = static_cast<uint8_t*>(basebandd_loan(connection_, Up(copied) + reply_bytes));
  if (memory == nullptr) return absl::ResourceExhaustedError("all of the ring's memory is in use");
  std::copy_n(payload.begin(), copied, memory);
  if (copied > 0) payload = {reinterpret_cast<const char*>(memory), copied};
  basebandd_give_back(connection_, std::exchange(request->memory, memory));
  request->reply = memory + Up(copied);
  request->reply_bytes = reply_bytes;
  return absl::OkStatus();
}

absl::Status Ring::Submit(InFlightPtr& request) {
  basebandd_request raw{};
  raw.id = last_id_ + 1;
  raw.payload = request->request.payload.data();
  raw.payload_bytes = request->request.payload.size();
  raw.reply = request->reply;
  raw.reply_bytes = request->reply_bytes;
  raw.deadline_ns = MonotonicNs(request->request.deadline);
  raw.priority = ToC(request->request.priority);
  if (request->known != nullptr && request->known->job != 0) {
    raw.job = request->known->job;
  } else {
    raw.header = request->request.header.data();
    raw.header_bytes = request->request.header.size();
    raw.operation = static_cast<uint8_t>(request->request.operation);
  }
  if (const int error = basebandd_submit(connection_, &raw); error != 0) return FromErrno(error);
  in_flight_.emplace(++last_id_, std::move(request));
  return absl::OkStatus();
}

absl::Status Ring::SubmitLarger(uint64_t reply_bytes, InFlightPtr& request) {
  // A server knows at once what the answer takes.
  if (std::exchange(request->has_grown, true)) {
    return absl::InternalError("the server wants more room than it has said");
  }
  if (reply_bytes > memory_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the ring has ", memory_bytes_, " bytes in all"));
  }
  BASEBAND_RETURN_IF_ERROR(Place(reply_bytes, request.get()));
  return Submit(request);
}

void Ring::Learn(const InFlight& like) {
  Known* const known = like.known.get();
  if (known == nullptr || known->job != 0 || ++known->uses != kUsesBeforeJob) return;
  basebandd_request raw{};
  raw.id = last_id_ + 1;
  raw.kind = BASEBANDD_REGISTER;
  raw.operation = static_cast<uint8_t>(like.request.operation);
  raw.header = like.request.header.data();
  raw.header_bytes = like.request.header.size();
  raw.payload_bytes = like.request.payload.size();
  if (basebandd_submit(connection_, &raw) != 0) {
    known->uses = 0;
    return;
  }
  auto registers = std::make_unique<InFlight>();
  registers->known = like.known;
  in_flight_.emplace(++last_id_, std::move(registers));
}

absl::Status Ring::Start(Request request, Done done) {
  auto sent = std::make_unique<InFlight>();
  size_t reply_bytes = kUsualReply;
  {
    const absl::MutexLock lock(&mutex_);
    sent->known = Find(request);
    if (sent->known != nullptr) reply_bytes = sent->known->reply_bytes;
  }
  sent->request = std::move(request);
  // Not under the lock: answers do not wait for a payload to be copied.
  BASEBAND_RETURN_IF_ERROR(Place(reply_bytes, sent.get()));
  sent->done = std::move(done);
  const absl::MutexLock lock(&mutex_);
  absl::Status status;
  if (has_ended_) {
    status = absl::UnavailableError("the ring has ended");
  } else {
    Learn(*sent);
    status = Submit(sent);
  }
  if (!status.ok()) basebandd_give_back(connection_, sent->memory);
  return status;
}

void Ring::Receive() {
  std::array<basebandd_answer, 64> answers;
  absl::Time look = SteadyNow();
  for (;;) {
    const int there = basebandd_wait(connection_, kSliceNs);
    const int count = basebandd_poll(connection_, answers.data(), answers.size());
    for (int i = 0; i < count; ++i) OnAnswer(answers[static_cast<size_t>(i)]);
    if (there < 0 && count <= 0) is_alive_.store(false);
    if (!is_alive_.load() || stops_.load()) return EndAll();
    if (SteadyNow() - look > absl::Nanoseconds(kSliceNs)) {
      look = SteadyNow();
      ExpireOverdue();
    }
  }
}

void Ring::OnAnswer(const basebandd_answer& answer) {
  InFlightPtr request;
  absl::Status failure;
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = in_flight_.find(answer.id);
    if (found == in_flight_.end()) return;
    request = std::move(found->second);
    in_flight_.erase(found);
    if (request->memory == nullptr) {
      if (answer.code == 0) request->known->job = static_cast<uint32_t>(answer.value);
      return;
    }
    if (answer.code == 0) {
      if (request->has_grown && request->known != nullptr) {
        request->known->reply_bytes = std::max(request->known->reply_bytes, request->reply_bytes);
      }
    } else {
      // A copy, for the text lies in memory that may be lent to another before it is told.
      failure = absl::Status(static_cast<absl::StatusCode>(answer.code),
                             absl::string_view(answer.text, answer.text_bytes));
    }
    if (absl::IsOutOfRange(failure) && request->done != nullptr &&
        answer.value > request->reply_bytes) {
      const absl::Status again = SubmitLarger(answer.value, request);
      if (again.ok()) return;
      failure = absl::UnavailableError(absl::StrCat(failure.message(), ": ", again.message()));
    }
  }
  if (request->done != nullptr) {
    if (answer.code == 0) {
      const grpc::Slice header(answer.header, answer.header_bytes, grpc::Slice::STATIC_SLICE);
      const grpc::ByteBuffer message(&header, 1);
      absl::StatusOr<absl::optional<grpc::ByteBuffer>> whole = WholeResponse(
          message, static_cast<const char*>(answer.reply), answer.reply_bytes, answer.reply_offset);
      request->done(!whole.ok() ? absl::StatusOr<grpc::ByteBuffer>(whole.status())
                                : whole->value_or(message));
    } else {
      request->done(failure);
    }
  }
  // A device that was lost may write there as long as there is the ring.
  const auto code = static_cast<absl::StatusCode>(answer.code);
  const bool is_lost = answer.value != 0 && (code == absl::StatusCode::kUnavailable ||
                                             code == absl::StatusCode::kInternal);
  if (!is_lost) basebandd_give_back(connection_, request->memory);
}

void Ring::ExpireOverdue() {
  std::vector<Done> overdue;
  {
    const absl::MutexLock lock(&mutex_);
    const absl::Time now = SteadyNow();
    for (auto& [id, request] : in_flight_) {
      if (request->done != nullptr && request->request.deadline + kGrace < now) {
        overdue.push_back(std::exchange(request->done, nullptr));
      }
    }
  }
  for (const Done& done : overdue) {
    done(absl::DeadlineExceededError("the deadline passed, and the server says nothing"));
  }
}

void Ring::EndAll() {
  is_alive_.store(false);
  std::unordered_map<uint64_t, InFlightPtr> ended;
  {
    const absl::MutexLock lock(&mutex_);
    has_ended_ = true;
    ended.swap(in_flight_);
  }
  for (auto& [id, request] : ended) {
    if (request->done != nullptr) {
      request->done(absl::UnavailableError("the ring has ended before the answer"));
    }
  }
}

}  // namespace baseband::client
