#include "server/limits/message_reads.h"

#include <utility>
#include <vector>

#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

// While somebody waits.
constexpr absl::Duration kLook = absl::Milliseconds(1);
// Clients whose last sizes are remembered: all are forgotten for one more.
constexpr size_t kMaxClients = 1024;

}  // namespace

MessageReads::MessageReads(int64_t max_waiting, ReadQueue::LookAtDevices look_at_devices)
    : queue_(max_waiting, std::move(look_at_devices)), watch_([this] { Watch(); }) {}

MessageReads::~MessageReads() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  changed_.NotifyAll();
  watch_.join();
}

absl::Status MessageReads::Enter(Reader* reader) {
  bool wakes = false;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = queue_.Enter(reader, SteadyNow()); !status.ok()) return status;
  }
  GiveTurns();
  {
    absl::MutexLock lock(&mutex_);
    if (queue_.waiting() > 0) wakes = !std::exchange(is_watching_, true);
  }
  if (wakes) changed_.NotifyAll();
  return absl::OkStatus();
}

void MessageReads::Leave(Reader* reader, ReadQueue::End end) {
  {
    absl::MutexLock lock(&mutex_);
    queue_.Leave(reader, end, SteadyNow());
  }
  GiveTurns();
}

bool MessageReads::Abandon(Reader* reader) {
  absl::MutexLock lock(&mutex_);
  return queue_.Abandon(reader);
}

void MessageReads::Close(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    queue_.Close(why);
  }
  GiveTurns();
}

void MessageReads::Answered(const Reader& reader, absl::Duration duration, double work_s,
                            bool in_time) {
  absl::MutexLock lock(&mutex_);
  queue_.Answered(reader, absl::ToDoubleSeconds(duration), work_s, in_time);
}

void MessageReads::Hurry(Priority priority, absl::Duration timeout) {
  if (!ReadQueue::IsHurry(priority, timeout)) return;
  absl::MutexLock lock(&mutex_);
  queue_.Hurry(priority, timeout, SteadyNow());
}

int64_t MessageReads::LastBytes(const std::string& client, size_t method) const {
  absl::MutexLock lock(&mutex_);
  const auto found = last_bytes_.find(client);
  return found == last_bytes_.end() ? 0 : found->second[method];
}

void MessageReads::SetLastBytes(const std::string& client, size_t method, int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (last_bytes_.size() >= kMaxClients && last_bytes_.count(client) == 0) last_bytes_.clear();
  last_bytes_[client][method] = bytes;
}

MessageReads::State MessageReads::Look() {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = SteadyNow();
  queue_.DropOverdue(now);
  queue_.Hurry(Priority::kNormal, absl::InfiniteDuration(), now);  // it may be forgotten by now
  return {queue_.waiting(), queue_.reading(), queue_.overdue(), queue_.rate(), queue_.ahead_s()};
}

void MessageReads::GiveTurns() {
  std::vector<ReadQueue::Turn> turns;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = SteadyNow();
    while (true) {
      ReadQueue::Turn turn = queue_.Next(now);
      if (turn.message == nullptr) break;
      turns.push_back(std::move(turn));
    }
  }
  for (const ReadQueue::Turn& turn : turns) {
    static_cast<Reader*>(turn.message)->OnTurn(turn.status);
  }
}

void MessageReads::Watch() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (stop_) return;
      is_watching_ = queue_.waiting() > 0;
      changed_.WaitUntil(mutex_, is_watching_ ? SteadyNow() + kLook : absl::InfiniteFuture());
    }
    GiveTurns();
  }
}

}  // namespace baseband::server
