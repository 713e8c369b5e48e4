#include "server/service/stranger_watch.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/auth/unix_peers.h"
#include "server/service/read_brake.h"
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

// The address of a connection; of IPv6 the network of 64 bits, all of which is one host's; of a
// Unix socket the user.
std::string OriginOf(int fd, const std::string& key) {
  if (IsKeyOfUnix(key)) {
    const absl::optional<UnixPeer> peer = PeerOf(fd);
    return peer.has_value() ? absl::StrCat("uid:", peer->uid) : key;
  }
  std::string address = key.substr(0, key.rfind(':'));
  in6_addr ipv6{};
  if (inet_pton(AF_INET6, address.c_str(), &ipv6) != 1) return address;
  return std::string(reinterpret_cast<const char*>(ipv6.s6_addr), sizeof(ipv6.s6_addr) / 2);
}

}  // namespace

StrangerWatch::StrangerWatch(Strangers* strangers)
    : strangers_(strangers),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      told_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = told_fd_;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, told_fd_, &event);
}

StrangerWatch::~StrangerWatch() {
  close(told_fd_);
  close(epoll_fd_);
}

void StrangerWatch::ForgetAll() {
  for (auto& [fd, connection] : connections_) {
    // Who was let in just now is not braked; of others gRPC gets no more than it has.
    if (!strangers_->Has(connection.key, connection.id)) read_brake::Release(fd, connection.inode);
    strangers_->Remove(connection.key, connection.id);
    WaitsNoMore(connection);
  }
  connections_.clear();
  by_age_.clear();
}

void StrangerWatch::Tell(uint64_t id, News news) {
  absl::MutexLock lock(&told_mutex_);
  told_.emplace_back(id, news);
  eventfd_write(told_fd_, 1);
}

void StrangerWatch::Watch(int fd, int operation) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;
  event.data.fd = fd;
  epoll_ctl(epoll_fd_, operation, fd, &event);
}

absl::optional<absl::Duration> StrangerWatch::Admit(int fd, absl::Time now) {
  std::string key = KeyOfSocket(fd);
  ForgetGone(fd, now);  // whose descriptor this was before
  if (key.empty() || strangers_->IsKnown(fd)) return absl::ZeroDuration();
  std::string from = OriginOf(fd, key);
  absl::Duration wait;
  if (FindOffender(from, now) != nullptr) {
    Offender& offender = offenders_.at(from);
    if (offender.waiting >= kMaxWaiting && !IsKeyOfUnix(key)) return absl::nullopt;
    ++offender.waiting;
    const double resets_over = -offender.resets.Left(now);
    wait = std::clamp(absl::Seconds(resets_over / kResetsPerSecond), kWait, kMaxWait);
  }
  Connection connection;
  connection.inode = InodeOf(fd);
  connection.is_unix = IsKeyOfUnix(key);
  connection.is_suspect =
      strangers_->is_limited() && !connection.is_unix && IsSuspicious(from, now);
  connection.id =
      strangers_->Add(key, this, connection.is_suspect ? kSuspectsCalls : Strangers::kCalls);
  connection.key = std::move(key);
  connection.from = std::move(from);
  connection.since = connection.braked_since = now;
  if (strangers_->is_limited()) {
    read_brake::Set(fd, connection.inode,
                    connection.is_suspect ? kSuspectsFirstBytes : kFirstBytes);
  }
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
  Remember(connection.from, now);  // for longer; it took nothing of the server's time
  Forget(fd);
  return false;
}

void StrangerWatch::Forget(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  WaitsNoMore(found->second);
  strangers_->Remove(found->second.key, found->second.id);
  read_brake::Release(fd, found->second.inode);
  by_age_.erase(found->second.id);
  connections_.erase(found);
}

void StrangerWatch::ForgetGone(int fd, absl::Time now) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  const Connection& connection = found->second;
  const double calls = strangers_->RecentCalls(connection.key, connection.id, now);
  const double in_passing = connection.is_suspect ? kSuspectsCallsInPassing : kCallsInPassing;
  if (calls > in_passing) CountOffence(connection.from, now);
  Forget(fd);
}

bool StrangerWatch::IsSuspicious(const std::string& from, absl::Time now) const {
  const Offender* const offender = FindOffender(from, now);
  // Where tokens were guessed one waits, and is read as everybody is.
  return (offender != nullptr && now - offender->last_flood <= kGrudge) ||
         new_offenders_.Left(now) < 1.0 || strangers_->AreManyCalls(now);
}

void StrangerWatch::WaitsNoMore(Connection& connection) {
  if (!std::exchange(connection.waits, false)) return;
  const auto offender = offenders_.find(connection.from);
  // Another of that address may have been forgotten and come back since.
  if (offender != offenders_.end() && offender->second.waiting > 0) --offender->second.waiting;
}

const StrangerWatch::Offender* StrangerWatch::FindOffender(const std::string& from,
                                                           absl::Time now) const {
  const auto found = offenders_.find(from);
  return found != offenders_.end() && now - found->second.last <= kGrudge ? &found->second
                                                                          : nullptr;
}

StrangerWatch::Offender& StrangerWatch::Remember(const std::string& from, absl::Time now) {
  if (offenders_.size() >= kMaxOffenders && offenders_.count(from) == 0) {
    offenders_.erase(std::min_element(
        offenders_.begin(), offenders_.end(),
        [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  }
  Offender& offender = offenders_[from];
  offender.last = now;
  return offender;
}

void StrangerWatch::CountOffence(const std::string& from, absl::Time now) {
  // Those of who is known for it wait, and are suspect, without everybody being so.
  if (FindOffender(from, now) == nullptr) new_offenders_.Take(now);
  Offender& offender = Remember(from, now);
  offender.resets.Take(now);
  offender.last_flood = now;
}

StrangerWatch::Verdict StrangerWatch::Judge(int fd, Connection& connection, bool is_kept,
                                            absl::Time now) const {
  const double seconds = absl::ToDoubleSeconds(now - connection.since);
  const int64_t allowed = kBytes + static_cast<int64_t>(seconds * kBytesPerSecond);
  const int64_t taken = std::max(TakenFrom(fd), read_brake::TakenFrom(fd, connection.inode));
  if (taken > kBytesAtMost || connection.has_called) return Verdict::kReset;
  if (taken <= allowed && !(read_brake::IsHeld(fd, connection.inode) && UnreadOf(fd) > 0)) {
    connection.exceeded = absl::InfiniteFuture();
    return Verdict::kHarmless;
  }
  connection.exceeded = std::min(connection.exceeded, now);
  const bool is_offender = FindOffender(connection.from, now) != nullptr;
  const absl::Duration grace = is_kept                                 ? kKeepersGrace
                               : is_offender && !connection.is_suspect ? kOffendersGrace
                                                                       : kGrace;
  return now - connection.exceeded < grace ? Verdict::kExceeds : Verdict::kReset;
}

int64_t StrangerWatch::MostBytes(const Connection& connection, absl::Time now) const {
  const bool is_suspect =
      connection.is_suspect || (!connection.is_unix && IsSuspicious(connection.from, now));
  if (!is_suspect) return kFirstBytes;
  const bool has_called = strangers_->RecentCalls(connection.key, connection.id, now) > 0.0;
  return has_called ? kSuspectsBytesAfterCalls : kSuspectsBytesALook;
}

void StrangerWatch::AllowMore(int fd, Connection& connection, absl::Time now) {
  const double seconds = absl::ToDoubleSeconds(now - std::exchange(connection.braked_since, now));
  const int64_t per_second = FindOffender(connection.from, now) != nullptr
                                 ? kOffendersBytesPerSecond
                                 : kBrakedBytesPerSecond;
  read_brake::Allow(fd, connection.inode,
                    static_cast<int64_t>(seconds * static_cast<double>(per_second)),
                    MostBytes(connection, now));
}

bool StrangerWatch::EndGreedy(int fd, absl::Time now, int64_t* reset) {
  const Connection& connection = connections_.at(fd);
  const ResetOutcome outcome = DropSocket(fd, connection.inode);
  if (outcome == ResetOutcome::kNotYet) return false;
  if (outcome == ResetOutcome::kReset) {
    ++*reset;
    CountOffence(connection.from, now);
    Forget(fd);
  } else {
    ForgetGone(fd, now);
  }
  return true;
}

void StrangerWatch::TakeTold(absl::Time now, int64_t* reset) {
  std::vector<std::pair<uint64_t, News>> told;
  {
    absl::MutexLock lock(&told_mutex_);
    told.swap(told_);
  }
  for (const auto& [id, news] : told) {
    const auto found = by_age_.find(id);
    if (found == by_age_.end()) continue;
    switch (news) {
      case News::kLetIn:
        Forget(found->second);
        break;
      case News::kManyGuesses:  // the next ones from there wait; nobody else is in danger
        Remember(connections_.at(found->second).from, now).resets.Take(now);
        break;
      case News::kManyCalls: {
        const int fd = found->second;
        Connection& connection = connections_.at(fd);
        connection.has_called = true;
        const bool is_there =
            InodeOf(fd) == connection.inode && strangers_->Has(connection.key, connection.id);
        if (!is_there || !EndGreedy(fd, now, reset)) active_.push_back(fd);
        break;
      }
    }
  }
}

int64_t StrangerWatch::Look(absl::Time now, const std::vector<int>& kept) {
  int64_t reset = 0;
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_fd_, events.data(), events.size(), 0);
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd != told_fd_) {
      active_.push_back(fd);
      continue;
    }
    eventfd_t times = 0;
    eventfd_read(fd, &times);
    TakeTold(now, &reset);
  }
  if (!active_.empty()) next_look_ = std::min(next_look_, now + kInterval);
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweepInterval;
    next_look_ = now;
    active_.clear();
    for (const auto& connection : connections_) active_.push_back(connection.first);
  }
  if (now < next_look_) return reset;
  next_look_ = absl::InfiniteFuture();
  const auto look_again = [&](int fd) {
    active_.push_back(fd);
    next_look_ = now + kInterval;
  };
  // Twice, where a descriptor is another socket's by now: whoever is looked at twice at a time is
  // never seen to wait.
  std::vector<int> looked_at = std::exchange(active_, {});
  std::sort(looked_at.begin(), looked_at.end());
  looked_at.erase(std::unique(looked_at.begin(), looked_at.end()), looked_at.end());
  for (const int fd : looked_at) {
    const auto found = connections_.find(fd);
    if (found == connections_.end()) continue;
    Connection& connection = found->second;
    if (InodeOf(fd) != connection.inode || !strangers_->Has(connection.key, connection.id)) {
      ForgetGone(fd, now);
      continue;
    }
    const bool is_kept = std::find(kept.begin(), kept.end(), fd) != kept.end();
    switch (Judge(fd, connection, is_kept, now)) {
      case Verdict::kHarmless:
        AllowMore(fd, connection, now);
        Watch(fd, EPOLL_CTL_MOD);
        break;
      case Verdict::kExceeds:
        AllowMore(fd, connection, now);
        look_again(fd);
        break;
      case Verdict::kReset:
        if (!EndGreedy(fd, now, &reset)) look_again(fd);
        break;
    }
  }
  return reset;
}

int StrangerWatch::ResetOldest(absl::Time now) {
  for (auto it = by_age_.begin(); it != by_age_.end();) {
    const int fd = (it++)->second;
    const Connection& connection = connections_.at(fd);
    if (connection.waits) continue;
    const bool is_stranger = strangers_->Has(connection.key, connection.id);
    const ResetOutcome outcome =
        is_stranger ? DropSocket(fd, connection.inode) : ResetOutcome::kGone;
    if (outcome == ResetOutcome::kNotYet) break;
    if (outcome == ResetOutcome::kGone) {
      ForgetGone(fd, now);
      continue;
    }
    Forget(fd);
    return fd;
  }
  return -1;
}

absl::Time StrangerWatch::NextLook() const {
  return connections_.empty() ? next_look_ : std::min(next_look_, next_sweep_);
}

}  // namespace baseband::server
