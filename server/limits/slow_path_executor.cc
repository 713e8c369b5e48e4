#include "server/limits/slow_path_executor.h"

#include <algorithm>
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
  if (bytes > options_.max_bytes - bytes_) {
    return refuse(absl::StrCat(pieces_, " requests of ", bytes_,
                               " bytes wait for what takes long to prepare: at most ",
                               options_.max_bytes, " bytes may"));
  }
  const auto found = clients_.find(name);
  const bool is_active = found != clients_.end() && found->second.IsReady();
  if (!is_active && active_clients_ >= options_.max_clients) {
    return refuse(absl::StrCat("requests of ", active_clients_,
                               " clients wait for what takes long to prepare: at most ",
                               options_.max_clients, " may"));
  }
  Client& client = clients_[name];
  const auto of_client = static_cast<int64_t>(client.waiting.size()) + client.is_begun;
  if (of_client >= options_.max_of_client ||
      (of_client > 0 && bytes > options_.max_bytes / 2 - client.bytes)) {
    return refuse(
        absl::StrCat(of_client, " requests of ", client.bytes,
                     " bytes of this client wait for what takes long to prepare: at most ",
                     options_.max_of_client, " of ", options_.max_bytes / 2, " bytes may"));
  }
  active_clients_ += !is_active;
  client.bytes += bytes;
  if (of_client == 0) client.used_s = std::max(client.used_s, virtual_s_);
  client.waiting.push_back({bytes, std::move(work)});
  ++pieces_;
  bytes_ += bytes;
  if (turn_ == nullptr) PassTurn();
  return absl::OkStatus();
}

void SlowPathExecutor::PassTurn() {
  turn_ = nullptr;
  for (auto it = clients_.begin(); it != clients_.end();) {
    Client& client = it->second;
    if (!client.IsReady() && client.used_s <= virtual_s_) {  // it begins anew when it comes again
      it = clients_.erase(it);
      continue;
    }
    if (client.IsReady() && (turn_ == nullptr || client.used_s < turn_->used_s)) turn_ = &client;
    ++it;
  }
  if (turn_ == nullptr) return;
  virtual_s_ = std::max(virtual_s_, turn_->used_s);
  turn_->slice_begin = options_.clock();
  if (!turn_->is_begun && idle_ == 0) threads_.emplace_back([this] { Run(); });
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
    active_clients_ -= !client->IsReady();
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
