#include "server/limits/slow_path_executor.h"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

SlowPathExecutor::SlowPathExecutor(const Options& options) : options_(options) {}

SlowPathExecutor::~SlowPathExecutor() { Finish(); }

absl::Status SlowPathExecutor::Add(const std::string& name, int64_t bytes, Work work) {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    return Because(UnservedReason::kDraining,
                   absl::UnavailableError("the server is shutting down"));
  }
  const auto refuse = [](std::string why) {
    return Because(UnservedReason::kPreparation, absl::ResourceExhaustedError(std::move(why)));
  };
  if (bytes_ > 0 && bytes > options_.max_bytes - bytes_) {
    return refuse(absl::StrCat(pieces_, " requests of ", bytes_,
                               " bytes wait for what takes long to prepare: at most ",
                               options_.max_bytes, " bytes may"));
  }
  auto found = clients_.find(name);
  if (found == clients_.end()) {
    if (static_cast<int64_t>(clients_.size()) >= options_.max_clients) {
      return refuse(absl::StrCat("requests of ", clients_.size(),
                                 " clients wait for what takes long to prepare: at most ",
                                 options_.max_clients, " may"));
    }
    found = clients_.emplace(name, Client()).first;
    found->second.name = name;
    found->second.used_s = virtual_s_;
    if (const auto debt = debts_.find(name); debt != debts_.end()) {
      found->second.used_s = std::max(debt->second, virtual_s_);
      debts_.erase(debt);
    }
  }
  Client& client = found->second;
  const auto of_client = static_cast<int64_t>(client.waiting.size()) + client.is_begun;
  if (of_client >= options_.max_of_client ||
      (of_client > 0 && bytes > options_.max_bytes / 2 - client.bytes)) {
    return refuse(
        absl::StrCat(of_client, " requests of ", client.bytes,
                     " bytes of this client wait for what takes long to prepare: at most ",
                     options_.max_of_client, " of ", options_.max_bytes / 2, " bytes may"));
  }
  client.bytes += bytes;
  client.waiting.push_back({bytes, std::move(work)});
  ++pieces_;
  bytes_ += bytes;
  if (turn_ == nullptr) PassTurn();
  return absl::OkStatus();
}

void SlowPathExecutor::PassTurn() {
  turn_ = nullptr;
  for (auto& [name, client] : clients_) {
    if (turn_ == nullptr || client.used_s < turn_->used_s) turn_ = &client;
  }
  if (turn_ == nullptr) return;
  virtual_s_ = std::max(virtual_s_, turn_->used_s);
  turn_->slice_begin = options_.clock();
  if (!turn_->is_begun && idle_ == 0) threads_.emplace_back([this] { Run(); });
}

void SlowPathExecutor::Leave(Clients::iterator client) {
  const std::string name = std::move(client->second.name);
  const double used_s = client->second.used_s;
  clients_.erase(client);
  if (clients_.empty()) {  // nobody has to wait because of what others have had
    debts_.clear();
    return;
  }
  for (auto debt = debts_.begin(); debt != debts_.end();) {
    debt = debt->second <= virtual_s_ ? debts_.erase(debt) : std::next(debt);
  }
  if (used_s <= virtual_s_) return;
  debts_[name] = used_s;
  if (static_cast<int64_t>(debts_.size()) > options_.max_clients) {
    debts_.erase(std::min_element(debts_.begin(), debts_.end(), [](const auto& a, const auto& b) {
      return a.second < b.second;
    }));
  }
}

int64_t SlowPathExecutor::CountClients() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(clients_.size() + debts_.size());
}

void SlowPathExecutor::Charge(Client& client) {
  const absl::Time now = options_.clock();
  client.used_s += std::max(0.0, absl::ToDoubleSeconds(now - client.slice_begin));
  client.slice_begin = now;
}

void SlowPathExecutor::GiveWay(Client& client) {
  absl::MutexLock lock(&mutex_);
  if (options_.clock() - client.slice_begin < options_.slice) return;
  Charge(client);
  PassTurn();
  const auto is_turn = [this, &client]()
                           ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return turn_ == &client; };
  mutex_.Await(absl::Condition(&is_turn));
}

bool SlowPathExecutor::HasNewsForIdle() const {
  return (turn_ != nullptr && !turn_->is_begun) || (closed_ && pieces_ == 0);
}

void SlowPathExecutor::Run() {
  pthread_setname_np(pthread_self(), "slow-path");
  for (;;) {
    Client* client = nullptr;
    Piece piece;
    {
      absl::MutexLock lock(&mutex_);
      ++idle_;
      mutex_.Await(absl::Condition(this, &SlowPathExecutor::HasNewsForIdle));
      --idle_;
      if (turn_ == nullptr || turn_->is_begun) return;  // closed, and all is done
      client = turn_;
      client->is_begun = true;
      piece = std::move(client->waiting.front());
      client->waiting.pop_front();
      client->slice_begin = options_.clock();
    }
    piece.work([this, client] {
      GiveWay(*client);
      return absl::OkStatus();
    });
    piece.work = nullptr;  // whatever it holds goes before others go on
    absl::MutexLock lock(&mutex_);
    Charge(*client);
    client->is_begun = false;
    --pieces_;
    bytes_ -= piece.bytes;
    client->bytes -= piece.bytes;
    if (client->waiting.empty()) Leave(clients_.find(client->name));
    PassTurn();
  }
}

void SlowPathExecutor::Finish() {
  {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }
  // Nothing is added any more, so that after the last piece there are no more threads.
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int64_t* pieces) { return *pieces == 0; }, &pieces_));
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace baseband::server
