#include "server/auth/strangers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/auth/identity.h"

namespace baseband::server {

bool IsKeyOfUnix(absl::string_view key) { return absl::StartsWith(key, "fd:"); }

std::string KeyOfPeer(absl::string_view grpc_peer) {
  if (IsKeyOfUnix(grpc_peer)) return std::string(grpc_peer);
  if (!absl::StartsWith(grpc_peer, "ipv4:") && !absl::StartsWith(grpc_peer, "ipv6:")) return "";
  const std::string host = HostOfPeer(grpc_peer);
  return absl::StrCat(host.substr(0, host.find('%')), grpc_peer.substr(grpc_peer.rfind(':')));
}

std::string KeyOfSocket(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  char host[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ipv4.sin_addr, host, sizeof(host));
    return absl::StrCat(host, ":", ntohs(ipv4.sin_port));
  }
  if (address.ss_family == AF_UNIX) return absl::StrCat("fd:", fd);
  if (address.ss_family != AF_INET6) return "";
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {  // as gRPC writes it
    inet_ntop(AF_INET, &ipv6.sin6_addr.s6_addr[12], host, sizeof(host));
  } else {
    inet_ntop(AF_INET6, &ipv6.sin6_addr, host, sizeof(host));
  }
  return absl::StrCat(host, ":", ntohs(ipv6.sin6_port));
}

template <typename What>
void Strangers::ForEach(const std::string& key, const What& what) {
  auto it = connections_.lower_bound(std::make_pair(key, uint64_t{0}));
  for (; it != connections_.end() && it->first.first == key; ++it)
    what(it->second, it->first.second);
}

uint64_t Strangers::Add(const std::string& key, Watcher* watcher, int calls) {
  if (key.empty()) return 0;
  absl::MutexLock lock(&mutex_);
  connections_.try_emplace(std::make_pair(key, ++last_id_), watcher, calls);
  count_.store(connections_.size(), std::memory_order_release);
  return last_id_;
}

void Strangers::Remove(const std::string& key, uint64_t id) {
  absl::MutexLock lock(&mutex_);
  connections_.erase(std::make_pair(key, id));
  count_.store(connections_.size(), std::memory_order_release);
}

void Strangers::LetIn(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  auto it = connections_.lower_bound(std::make_pair(key, uint64_t{0}));
  while (it != connections_.end() && it->first.first == key) {
    if (it->second.watcher != nullptr) it->second.watcher->OnLetIn(it->first.second);
    it = connections_.erase(it);
  }
  count_.store(connections_.size(), std::memory_order_release);
}

bool Strangers::Has(const std::string& key, uint64_t id) const {
  absl::MutexLock lock(&mutex_);
  return connections_.count(std::make_pair(key, id)) > 0;
}

bool Strangers::HasAny(const std::string& key) const {
  absl::MutexLock lock(&mutex_);
  const auto it = connections_.lower_bound(std::make_pair(key, uint64_t{0}));
  return it != connections_.end() && it->first.first == key;
}

bool Strangers::MayShowToken(const std::string& key, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  bool may = true;
  ForEach(key, [&](Connection& one, uint64_t) { may &= one.guesses.Left(now) >= 1.0; });
  return may;
}

void Strangers::CountGuess(const std::string& key, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  ForEach(key, [&](Connection& one, uint64_t id) {
    one.guesses.Take(now);
    if (one.guesses.Left(now) >= 1.0 || one.watcher == nullptr) return;
    if (!std::exchange(one.has_guessed, true)) one.watcher->OnManyGuesses(id);
  });
}

void Strangers::CountCall(const std::string& key, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  all_calls_.Take(now);
  ForEach(key, [&](Connection& one, uint64_t id) {
    one.calls.Take(now);
    if (one.calls.Left(now) >= 0.0 || one.watcher == nullptr) return;
    if (!std::exchange(one.has_called, true)) one.watcher->OnManyCalls(id);
  });
}

double Strangers::RecentCalls(const std::string& key, uint64_t id, absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(std::make_pair(key, id));
  if (found == connections_.end()) return 0.0;
  return found->second.calls.Used(now);
}

bool Strangers::AreManyCalls(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  return all_calls_.Left(now) < 0.0;
}

}  // namespace baseband::server
