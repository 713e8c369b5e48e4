#include "client/cpp/submit_queue.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

SubmitQueue::Request SubmitQueue::Number(uint64_t id, SubmitItem item, Priority priority) {
  Request request;
  request.id = id;
  request.timeout = item.deadline - SteadyNow();
  // Requests of one operation are of one kind to the throttle, beside unary calls.
  request.throttled_as = ClientThrottle::KindOf(absl::StrCat("Submit ", item.fields.request),
                                                item.priority.value_or(priority), request.timeout);
  if (request.timeout > absl::ZeroDuration() && request.timeout < absl::InfiniteDuration()) {
    request.kind = ResponseTimes::KindOf(item.fields.request, BytesOf(item), request.timeout);
  }
  request.item = std::move(item);
  return request;
}

void SubmitQueue::AddCredits(int64_t requests, int64_t bytes) {
  credit_requests_ += requests;
  credit_bytes_ += bytes;
}

bool SubmitQueue::HasCredits(const SubmitItem& item, bool is_alone) const {
  return credit_requests_ > 0 &&
         (BytesOf(item) <= credit_bytes_ || (is_alone && ready_.empty() && withheld_.empty()));
}

void SubmitQueue::Add(Request request) {
  const Place place = request.place();
  without_credits_.emplace(place, std::move(request));
}

const SubmitQueue::Request* SubmitQueue::FirstWithoutCredits() const {
  return without_credits_.empty() ? nullptr : &without_credits_.begin()->second;
}

void SubmitQueue::TakeCredits() {
  auto first = without_credits_.extract(without_credits_.begin());
  Request& request = first.mapped();
  request.charged = BytesOf(request.item);
  AddCredits(-1, -request.charged);
  ready_.insert(std::move(first));
}

const SubmitQueue::Request* SubmitQueue::Next() const {
  return ready_.empty() ? nullptr : &ready_.begin()->second;
}

SubmitQueue::Request SubmitQueue::TakeNext() {
  return std::move(ready_.extract(ready_.begin()).mapped());
}

void SubmitQueue::Withhold(absl::Time until, std::shared_ptr<ClientThrottle::Waiter> waiter) {
  Request request = TakeNext();
  const Place place = request.place();
  withheld_.emplace(place, Withheld{std::move(request), until, std::move(waiter)});
  until_.emplace(until, place);
}

bool SubmitQueue::LetGo(const Place& place) {
  auto withheld = withheld_.extract(place);
  if (withheld.empty()) return false;
  until_.erase({withheld.mapped().until, place});
  ready_.emplace(place, std::move(withheld.mapped().request));
  return true;
}

void SubmitQueue::LetGoUntil(absl::Time now) {
  while (!until_.empty() && until_.begin()->first <= now) {
    LetGo(Place(until_.begin()->second));
  }
}

absl::optional<SubmitQueue::Request> SubmitQueue::Withdraw(const Place& place) {
  if (auto request = without_credits_.extract(place); !request.empty()) {
    return std::move(request.mapped());
  }
  LetGo(place);
  auto request = ready_.extract(place);
  if (request.empty()) return absl::nullopt;
  AddCredits(1, request.mapped().charged);
  return std::move(request.mapped());
}

std::vector<SubmitQueue::Request> SubmitQueue::WithdrawAll() {
  LetGoUntil(absl::InfiniteFuture());
  std::vector<Request> all;
  for (auto* const queue : {&ready_, &without_credits_}) {
    for (auto& [place, request] : *queue) all.push_back(std::move(request));
    queue->clear();
  }
  return all;
}

}  // namespace baseband::client
