#include "server/service/stranger_watch.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "server/service/shared_socket.h"

namespace baseband::server {
namespace {

// All connections are looked at so often: also those that ended without a word, and those whose
// bytes gRPC takes before they are seen.
constexpr absl::Duration kSweepInterval = absl::Seconds(2);
// Addresses remembered; beyond it the one that was reset longest ago is forgotten.
constexpr size_t kMaxOffenders = 4096;

int64_t UnreadOf(int fd) {
  int unread = 0;
  return ioctl(fd, SIOCINQ, &unread) == 0 ? unread : 0;
}

// Bytes that gRPC has read of a TCP connection.
int64_t TakenFrom(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  const bool is_known =
      getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
      size >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  return is_known ? static_cast<int64_t>(info.tcpi_bytes_received) - UnreadOf(fd) : 0;
}

// The address of a connection; of IPv6 the network of 64 bits, all of which is one host's.
std::string AddressOf(const std::string& key) {
  std::string address = key.substr(0, key.rfind(':'));
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, address.c_str(), &ipv6) != 1) return address;
  return std::string(reinterpret_cast<const char*>(ipv6.s6_addr), sizeof(ipv6.s6_addr) / 2);
}

}  // namespace

double StrangerWatch::Offender::ResetsLeft(absl::Time now) const {
  const double more = absl::ToDoubleSeconds(now - counted) * kResetsPerSecond;
  return std::min<double>(kResetsPerSecond, resets_left + more);
}

StrangerWatch::StrangerWatch(Strangers* strangers)
    : strangers_(strangers), epoll_fd_(epoll_create1(EPOLL_CLOEXEC)) {}

StrangerWatch::~StrangerWatch() { close(epoll_fd_); }

void StrangerWatch::Watch(int fd, int operation) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.fd = fd;
  epoll_ctl(epoll_fd_, operation, fd, &event);
}

absl::optional<absl::Duration> StrangerWatch::Admit(int fd, absl::Time now) {
  std::string key = KeyOfSocket(fd);
  if (key.empty()) return absl::ZeroDuration();
  Forget(fd);  // whose descriptor this was before
  absl::Duration wait;
  if (FindOffender(key, now) != nullptr) {
    Offender& offender = offenders_[AddressOf(key)];
    if (offender.waiting >= kMaxWaiting) return absl::nullopt;
    ++offender.waiting;
    const double resets_over = -offender.ResetsLeft(now);
    wait = std::clamp(absl::Seconds(resets_over / kResetsPerSecond), kWait, kMaxWait);
  }
  Connection connection;
  connection.inode = InodeOf(fd);
  connection.id = strangers_->Add(key);
  connection.key = std::move(key);
  connection.since = now;
  connection.waits = wait > absl::ZeroDuration();
  by_age_.emplace(connection.id, fd);
  connections_.emplace(fd, std::move(connection));
  if (wait == absl::ZeroDuration()) Watch(fd, EPOLL_CTL_ADD);
  return wait;
}

bool StrangerWatch::Pass(int fd, absl::Time now) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return true;  // let in, by a call of the same key
  Connection& connection = found->second;
  WaitsNoMore(connection);
  if (UnreadOf(fd) <= kBytesWaiting) {
    Watch(fd, EPOLL_CTL_ADD);
    return true;
  }
  Remember(connection.key, now);  // for longer; it took nothing of the server's time
  Forget(fd);
  return false;
}

void StrangerWatch::Forget(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  WaitsNoMore(found->second);
  strangers_->Remove(found->second.key, found->second.id);
  by_age_.erase(found->second.id);
  connections_.erase(found);
}

void StrangerWatch::WaitsNoMore(Connection& connection) {
  if (!std::exchange(connection.waits, false)) return;
  const auto offender = offenders_.find(AddressOf(connection.key));
  // Another of that address may have been forgotten and come back since.
  if (offender != offenders_.end() && offender->second.waiting > 0) --offender->second.waiting;
}

const StrangerWatch::Offender* StrangerWatch::FindOffender(const std::string& key,
                                                           absl::Time now) const {
  const auto found = offenders_.find(AddressOf(key));
  return found != offenders_.end() && now - found->second.last <= kGrudge ? &found->second
                                                                          : nullptr;
}

StrangerWatch::Offender& StrangerWatch::Remember(const std::string& key, absl::Time now) {
  const std::string address = AddressOf(key);
  if (offenders_.size() >= kMaxOffenders && offenders_.count(address) == 0) {
    offenders_.erase(std::min_element(
        offenders_.begin(), offenders_.end(),
        [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  }
  Offender& offender = offenders_[address];
  offender.resets_left = offender.ResetsLeft(now);
  offender.counted = now;
  offender.last = now;
  return offender;
}

StrangerWatch::Verdict StrangerWatch::Judge(int fd, Connection& connection, bool is_kept,
                                            absl::Time now) const {
  const double seconds = absl::ToDoubleSeconds(now - connection.since);
  const int64_t allowed = kBytes + static_cast<int64_t>(seconds * kBytesPerSecond);
  const int64_t taken = TakenFrom(fd);
  if (taken > kBytesAtMost) return Verdict::kReset;
  if (taken <= allowed) return Verdict::kHarmless;
  connection.exceeded = std::min(connection.exceeded, now);
  const bool is_offender = FindOffender(connection.key, now) != nullptr;
  const absl::Duration grace = is_kept ? kKeepersGrace : is_offender ? kOffendersGrace : kGrace;
  return now - connection.exceeded < grace ? Verdict::kExceeds : Verdict::kReset;
}

int64_t StrangerWatch::Look(absl::Time now, const std::vector<int>& kept) {
  for (const std::string& key : strangers_->TakeGuessers()) Remember(key, now).resets_left -= 1.0;
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_fd_, events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) active_.push_back(events[static_cast<size_t>(i)].data.fd);
  if (!active_.empty()) next_look_ = std::min(next_look_, now + kInterval);
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweepInterval;
    next_look_ = now;
    active_.clear();
    for (const auto& connection : connections_) active_.push_back(connection.first);
  }
  if (now < next_look_) return 0;
  next_look_ = absl::InfiniteFuture();
  int64_t reset = 0;
  const auto look_again = [&](int fd) {
    active_.push_back(fd);
    next_look_ = now + kInterval;
  };
  for (const int fd : std::exchange(active_, {})) {
    const auto found = connections_.find(fd);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    if (InodeOf(fd) != connection.inode || !strangers_->Has(connection.key, connection.id)) {
      Forget(fd);
      continue;
    }
    const bool is_kept = std::find(kept.begin(), kept.end(), fd) != kept.end();
    switch (Judge(fd, connection, is_kept, now)) {
      case Verdict::kHarmless:
        Watch(fd, EPOLL_CTL_MOD);
        break;
      case Verdict::kExceeds:
        look_again(fd);
        break;
      case Verdict::kReset: {
        const ResetOutcome outcome = ResetSocket(fd, connection.inode);
        if (outcome == ResetOutcome::kNotYet) {
          look_again(fd);
          break;
        }
        if (outcome == ResetOutcome::kReset) {
          ++reset;
          Remember(connection.key, now).resets_left -= 1.0;
        }
        Forget(fd);
        break;
      }
    }
  }
  return reset;
}

int StrangerWatch::ResetOldest() {
  for (auto it = by_age_.begin(); it != by_age_.end();) {
    const int fd = (it++)->second;
    const Connection& connection = connections_.at(fd);
    if (connection.waits) continue;
    const bool is_stranger = strangers_->Has(connection.key, connection.id);
    const ResetOutcome outcome =
        is_stranger ? ResetSocket(fd, connection.inode) : ResetOutcome::kGone;
    if (outcome == ResetOutcome::kNotYet) break;
    Forget(fd);
    if (outcome == ResetOutcome::kReset) return fd;
  }
  return -1;
}

absl::Time StrangerWatch::NextLook() const {
  return connections_.empty() ? next_look_ : std::min(next_look_, next_sweep_);
}

}  // namespace baseband::server
