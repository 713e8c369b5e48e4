#include "server/batching/fair_share.h"

#include <algorithm>
#include <limits>

namespace baseband::server {
namespace {

constexpr char kTheRest[] = "";  // no client has this name

}  // namespace

FairAccount* FairShare::Add(const std::string& client, double cost_s, absl::Time now) {
  auto found = accounts_.find(client);
  if (found == accounts_.end()) {
    const bool full = static_cast<int64_t>(accounts_.size()) >= kMaxClients;
    const std::string& name = full ? kTheRest : client;
    found = accounts_.try_emplace(name).first;
    found->second.client = name;
    found->second.weight = WeightOf(name);
  }
  FairAccount& account = found->second;
  if (account.waiting == 0 && account.running == 0) {
    account.virtual_s = std::max(account.virtual_s, settled_s_);
  }
  if (account.waiting++ == 0) {
    ++clients_waiting_;
    weights_waiting_ += account.weight;
  }
  account.backlog_s += cost_s;
  backlog_s_ += cost_s;
  Seen(account, now);
  return &account;
}

void FairShare::Start(FairAccount* account, double cost_s, bool launched, absl::Time now) {
  if (--account->waiting == 0) {
    --clients_waiting_;
    weights_waiting_ = clients_waiting_ == 0 ? 0.0 : weights_waiting_ - account->weight;
  }
  // No rounding stays, nor becomes a debt where costs differ by orders of magnitude.
  account->backlog_s = account->waiting == 0 ? 0.0 : std::max(0.0, account->backlog_s - cost_s);
  backlog_s_ = clients_waiting_ == 0 ? 0.0 : std::max(0.0, backlog_s_ - cost_s);
  if (launched) {
    ++account->running;
    account->running_s += cost_s / account->weight;
    Seen(*account, now);
  } else {
    ForgetIfIdle(account);
  }
}

void FairShare::Ended(FairAccount* account, double cost_s, double actual_s, absl::Time now) {
  --account->running;
  account->running_s =
      account->running == 0 ? 0.0 : std::max(0.0, account->running_s - cost_s / account->weight);
  account->Charge(actual_s - cost_s);
  Seen(*account, now);
  ForgetIfIdle(account);
}

double FairShare::Horizon() {
  constexpr double kNobody = std::numeric_limits<double>::infinity();
  double least = kNobody;
  double settled = kNobody;
  for (const auto& [name, account] : accounts_) {
    if (account.waiting == 0) continue;
    least = std::min(least, account.virtual_s);
    settled = std::min(settled, account.settled_s());
  }
  if (least == kNobody) return settled_s_ + kLead;
  settled_s_ = std::max(settled_s_, settled);
  return std::max(settled_s_, least) + kLead;
}

bool FairShare::IsContended(absl::Time now) const {
  return clients_waiting_ > 1 || other_seen_ > now - kMemory;
}

double FairShare::Before(const std::string& client) const {
  const auto found = accounts_.find(client);
  const double own_s = found == accounts_.end() ? 0.0 : found->second.backlog_s;
  return std::min(backlog_s_, weights_waiting_ * (own_s / WeightOf(client) + kLead));
}

double FairShare::WeightOf(const std::string& client) const {
  const auto found = weights_.find(client);
  return found == weights_.end() ? 1.0 : found->second;
}

void FairShare::Seen(const FairAccount& account, absl::Time now) {
  if (account.client != last_client_) {
    other_seen_ = last_seen_;
    last_client_ = account.client;
  }
  last_seen_ = now;
}

void FairShare::ForgetIfIdle(FairAccount* account) {
  if (account->waiting > 0 || account->running > 0) return;
  if (account->virtual_s <= settled_s_) accounts_.erase(std::string(account->client));
  if (clients_waiting_ > 0) return;
  // Nobody waits: leads are void once nothing runs either, whoever was the last.
  const bool idle = std::all_of(accounts_.begin(), accounts_.end(),
                                [](const auto& entry) { return entry.second.running == 0; });
  if (idle) accounts_.clear();
}

}  // namespace baseband::server
