#include "client/cpp/attempt.h"

#include <algorithm>
#include <random>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client_options.h"
#include "client/cpp/submit_wire.h"
#include "client/cpp/to_status.h"
#include "common/grpc/grpc_time.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// gRPC's own deadline goes first: it tells the server at the same time.
constexpr absl::Duration kPrecedence = absl::Milliseconds(2);
// What RetryAfter() says of 0, which would be that the server does not say.
constexpr absl::Duration kAtOnce = absl::Microseconds(1);

constexpr char kPushbackTrailer[] = "grpc-retry-pushback-ms";

// A message of no more comes with its headers, or right after them: nothing is gained by a word
// before.
constexpr size_t kMostUnannouncedBytes = 16 << 10;

// The metadata baseband-request-bytes, by which a server lets the call in before it reads on.
void Announce(size_t request_bytes, grpc::ClientContext* context) {
  if (request_bytes <= kMostUnannouncedBytes) return;
  context->AddMetadata("baseband-request-bytes", absl::StrCat(request_bytes));
}

// gRPC rounds what is left to milliseconds; of less than this that is much.
constexpr absl::Duration kSoon = absl::Seconds(1);

// When the answer is wanted, to the microsecond.
void SetTimeout(absl::Time deadline, grpc::ClientContext* context) {
  const absl::Duration left = std::max(absl::ZeroDuration(), deadline - SteadyNow());
  if (left > kSoon) return;
  context->AddMetadata("baseband-timeout-us", absl::StrCat(absl::ToInt64Microseconds(left)));
}

// As the server reads it: the metadata baseband-priority, nothing for normal.
void SetPriority(Priority priority, grpc::ClientContext* context) {
  if (priority == Priority::kNormal) return;
  context->AddMetadata("baseband-priority", priority == Priority::kHigh ? "high" : "low");
}

}  // namespace

Attempt::Attempt(const CallHeader& header, ChannelPool* channels, size_t request_bytes)
    : Task(channels->timer()), channel_(channels->Pick()) {
  channel_.calls.fetch_add(1, std::memory_order_relaxed);
  channels->Authorize(&context_);
  context_.set_wait_for_ready(header.wait_for_ready);
  SetPriority(header.priority, &context_);
  Announce(request_bytes, &context_);
  if (!IsToken(header.request_id)) {
    // gRPC ends the process of who gives it other bytes.
    refusal_ =
        absl::InvalidArgumentError("request_id has a byte that is not printable ASCII, or a blank");
    Cancel();
  } else if (!header.request_id.empty()) {
    context_.AddMetadata("x-request-id", header.request_id);
  }
  if (header.deadline != absl::InfiniteFuture()) {
    context_.set_deadline(ToGrpcTime(header.deadline));
    SetTimeout(header.deadline, &context_);
    Schedule(header.deadline + kPrecedence);
  }
}

void Attempt::Run() {
  expired_ = true;
  context_.TryCancel();
}

void Attempt::End() {
  if (ended_) {
    return;
  }
  ended_ = true;
  Unschedule();
  channel_.calls.fetch_sub(1, std::memory_order_relaxed);
}

absl::Status Attempt::Outcome(const grpc::Status& status, bool cancelled) const {
  if (!refusal_.ok()) {
    return refusal_;
  }
  if (expired_ && !cancelled && status.error_code() == grpc::StatusCode::CANCELLED) {
    return absl::DeadlineExceededError("the timeout passed");
  }
  absl::Status outcome = cancelled ? ToStatus(status) : ToStatusUncancelled(status);
  const absl::optional<absl::Duration> pushback = Pushback();
  if (!outcome.ok() && pushback.has_value() && *pushback < absl::InfiniteDuration()) {
    SetRetryAfter(std::max(*pushback, kAtOnce), &outcome);
  }
  return outcome;
}

absl::optional<absl::Duration> Attempt::Pushback() const {
  const auto& trailers = context_.GetServerTrailingMetadata();
  const auto pushback = trailers.find(kPushbackTrailer);
  if (pushback == trailers.end()) {
    return absl::nullopt;
  }
  int milliseconds = -1;
  const absl::string_view text(pushback->second.data(), pushback->second.size());
  return absl::SimpleAtoi(text, &milliseconds) && milliseconds >= 0
             ? absl::Milliseconds(milliseconds)
             : absl::InfiniteDuration();
}

absl::Duration RetryOptions::PauseAfter(int attempts) const {
  if (attempts <= 1) {
    return absl::ZeroDuration();
  }
  thread_local std::minstd_rand random{std::random_device()()};
  const double more = std::uniform_real_distribution<double>(1, 1.2)(random);
  return std::min(initial_backoff * (1 << std::min(attempts - 2, 20)), max_backoff) * more;
}

}  // namespace baseband::client
