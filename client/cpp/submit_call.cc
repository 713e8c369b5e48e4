#include "client/cpp/submit_call.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

CallHeader HeaderOf(const SubmitStreamOptions& options) {
  CallHeader header;
  header.wait_for_ready = options.wait_for_ready;
  header.priority = options.priority;
  return header;
}

// gRPC may hold back messages that others follow until there are so many bytes of them.
constexpr int64_t kMostHeldBytes = 64 << 10;

}  // namespace

// Of a request that is withheld until there is room in flight.
class SubmitCall::RoomWaiter final : public ClientThrottle::Waiter {
 public:
  RoomWaiter(std::weak_ptr<BidiCall> call, const Place& place)
      : call_(std::move(call)), place_(place) {}
  bool OnRoom() override {
    const auto call = std::static_pointer_cast<SubmitCall>(call_.lock());
    return call != nullptr && call->OnRoom(place_);
  }

 private:
  const std::weak_ptr<BidiCall> call_;
  const Place place_;
};

SubmitCall::SubmitCall(const SubmitStreamOptions& options, ChannelPool* channels,
                       grpc::CompletionQueue* queue, std::function<void()> closed)
    : BidiCall("/baseband.v1.Baseband/Submit", HeaderOf(options), channels, queue,
               std::move(closed)),
      options_(options),
      heard_(SteadyNow()),
      alarm_(channels->timer()) {}

void SubmitCall::OnStart() {
  heard_ = SteadyNow();
  Watch();
}

absl::Status SubmitCall::CheckOpen() const {
  if (!IsOpen()) {
    return absl::UnavailableError("the stream has ended: Finish() says why");
  }
  return half_close_wanted_ ? absl::FailedPreconditionError("the stream was finished")
                            : absl::OkStatus();
}

void SubmitCall::AcceptEnqueued() {
  for (;;) {
    const Request* const first = queue_.FirstWithoutCredits();
    if (first == nullptr || !HasCredits(first->item)) break;
    if (!blocked_.empty() && *blocked_.begin() < first->place()) break;
    if (!IsResponseDue()) heard_ = SteadyNow();
    queue_.TakeCredits();
  }
  Watch();
  changed_.NotifyAll();  // a thread in Submit() may be the next
}

void SubmitCall::Add(Request request) {
  const Place place = request.place();
  if (place.first != absl::InfiniteFuture()) deadlines_.insert(place);
  queue_.Add(std::move(request));
  AcceptEnqueued();
}

bool SubmitCall::IsNext(const Place& place) const {
  const Request* const first = queue_.FirstWithoutCredits();
  return *blocked_.begin() == place && (first == nullptr || place < first->place());
}

absl::Status SubmitCall::Submit(SubmitItem item, bool wait_for_credits) {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    Request request = Number(std::move(item));
    const Place place = request.place();
    blocked_.insert(place);
    const auto ready = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return !CheckOpen().ok() || (IsNext(place) && HasCredits(request.item));
    };
    const bool is_ready =
        wait_for_credits ? changed_.AwaitUntil(mutex_, place.first, ready) : ready();
    blocked_.erase(place);
    if (is_ready) {
      status = CheckOpen();
    } else if (wait_for_credits) {
      status = absl::DeadlineExceededError("the timeout passed while waiting for credits");
    } else {
      status = absl::ResourceExhaustedError(
          absl::StrCat("no credits: ", open_.size(), " requests are in flight on this stream"));
    }
    if (status.ok()) {
      Add(std::move(request));
    } else {
      AcceptEnqueued();
    }
  }
  Pump();
  return status;
}

absl::Status SubmitCall::Enqueue(SubmitItem item) {
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    Add(Number(std::move(item)));
  }
  Pump();
  return absl::OkStatus();
}

int SubmitCall::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(open_.size() + queue_.size() + hopeless_.size()) - given_up_;
}

absl::Status SubmitCall::Finish() {
  HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return result_;
}

ClientThrottle::Admission SubmitCall::Admit(const Request& request,
                                            const std::shared_ptr<ClientThrottle::Waiter>& waiter) {
  const absl::Time deadline = request.item.deadline;
  if (deadline == absl::InfiniteFuture() || !throttle().is_on()) return {};
  const absl::Time now = SteadyNow();
  if (!open_.empty() && deadline - now < times_.Usual(request.kind, now)) {
    return {absl::DeadlineExceededError("not sent: too little was left of the request's timeout")};
  }
  return throttle().Admit(request.throttled_as, deadline, request.timeout, waiter,
                          /*least_wait=*/0.0);
}

absl::optional<SubmitCall::Request> SubmitCall::TakeAdmitted(int64_t below) {
  for (;;) {
    const Request* const next = queue_.Next();
    if (next == nullptr || next->charged >= below) return absl::nullopt;
    const Place place = next->place();
    std::shared_ptr<RoomWaiter> waiter;
    if (place.first < absl::InfiniteFuture()) {
      waiter = std::make_shared<RoomWaiter>(weak_from_this(), place);
    }
    ClientThrottle::Admission admission = Admit(*next, waiter);
    if (admission.waits()) {
      queue_.Withhold(admission.wait_until, std::move(waiter));
    } else if (admission.status.ok()) {
      Request request = queue_.TakeNext();
      open_.emplace(request.id, Waiting{request.item.fields.response, std::move(request.item.done),
                                        request.item.deadline, request.kind, request.throttled_as,
                                        request.timeout, SteadyNow()});
      return request;
    } else {
      deadlines_.erase(place);
      hopeless_.push_back(GiveUp(place, std::move(admission.status)));
      AcceptEnqueued();
    }
    Watch();
  }
}

absl::optional<grpc::ByteBuffer> SubmitCall::TakeNext(bool* more) {
  absl::optional<Request> next;
  {
    absl::MutexLock lock(&mutex_);
    next = following_.has_value() ? std::exchange(following_, absl::nullopt)
                                  : TakeAdmitted(std::numeric_limits<int64_t>::max());
    if (!next.has_value()) return absl::nullopt;
    if (next->charged < kMostHeldBytes) following_ = TakeAdmitted(kMostHeldBytes);
    *more = following_.has_value();
  }
  const grpc::ByteBuffer message = ToMessage(next->id, next->item);
  absl::MutexLock lock(&mutex_);
  queue_.AddCredits(0, next->charged - static_cast<int64_t>(message.Length()));
  AcceptEnqueued();
  return message;
}

bool SubmitCall::OnRoom(const Place& place) {
  {
    absl::MutexLock lock(&mutex_);
    if (!IsResponseDue()) heard_ = SteadyNow();
    if (!queue_.LetGo(place)) return false;
    Watch();
  }
  Pump();
  return true;
}

}  // namespace baseband::client
