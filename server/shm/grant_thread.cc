#include "server/shm/grant_thread.h"

#include <algorithm>
#include <utility>

#include "absl/types/optional.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

// While memory that was freed is still used.
constexpr absl::Duration kLook = absl::Milliseconds(20);

}  // namespace

GrantThread::GrantThread(RegionTable* table, std::function<void()> made)
    : table_(table), made_signal_(std::move(made)), thread_([this] { Run(); }) {}

GrantThread::~GrantThread() {
  {
    const absl::MutexLock lock(&mutex_);
    is_over_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  for (Made& made : TakeMade()) {
    if (made.grant.ok()) table_->Remove(made.grant->name);  // a seal's has none
  }
}

void GrantThread::Add(Order order) {
  const absl::MutexLock lock(&mutex_);
  const absl::Time now = SteadyNow();
  orders_.erase(std::remove_if(orders_.begin(), orders_.end(),
                               [now](const Order& other) { return other.until <= now; }),
                orders_.end());
  orders_.push_back(std::move(order));
  changed_.NotifyAll();
}

void GrantThread::Seal(Order order) {
  errands_.Run([this, order = std::move(order)]() mutable {
    const absl::Status status = table_->Seal(order.region);
    Tell({std::move(order),
          status.ok() ? absl::StatusOr<RegionTable::Grant>(RegionTable::Grant()) : status});
  });
}

void GrantThread::Tell(Made made) {
  {
    const absl::MutexLock lock(&mutex_);
    made_.push_back(std::move(made));
  }
  made_signal_();
}

std::vector<GrantThread::Made> GrantThread::TakeMade() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(made_, {});
}

void GrantThread::Reap() {
  const absl::MutexLock lock(&mutex_);
  has_removed_ = true;
  changed_.NotifyAll();
}

void GrantThread::Run() {
  for (bool is_used = false;;) {
    absl::optional<Order> order;
    {
      const absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_over_ || has_removed_ || !orders_.empty();
      };
      changed_.AwaitUntil(mutex_, is_used ? SteadyNow() + kLook : absl::InfiniteFuture(), has_work);
      if (is_over_) return;
      has_removed_ = false;
      if (!orders_.empty()) {
        order = std::move(orders_.front());
        orders_.pop_front();
      }
    }
    is_used = table_->Reap([this](std::function<void()> end) { errands_.Run(std::move(end)); });
    if (!order.has_value() || SteadyNow() >= order->until) continue;
    absl::StatusOr<RegionTable::Grant> grant = table_->Add(order->client, order->bytes);
    Tell({*std::move(order), std::move(grant)});
  }
}

}  // namespace baseband::server
