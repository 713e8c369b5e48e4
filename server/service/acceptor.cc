#include "server/service/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/service/read_brake.h"
#include "server/service/shared_socket.h"

namespace baseband::server {
namespace {

// Without descriptors or memory there is nothing to do but wait.
constexpr int kPauseMs = 100;
// Accepted in a row, before others are looked after.
constexpr int kMaxAccepts = 64;

int64_t RoomFor(int64_t max_connections) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) {
    return max_connections;
  }
  const int64_t room = static_cast<int64_t>(files.rlim_cur) - Acceptor::kSpareDescriptors;
  if (room < max_connections) {
    spdlog::warn(
        "max_connections {} is more than the {} descriptors of this process allow: {} it is",
        max_connections, files.rlim_cur, std::max<int64_t>(room, 1));
  }
  return std::clamp<int64_t>(room, 1, max_connections);
}

}  // namespace

Acceptor::Acceptor(int64_t max_connections, absl::Duration patience, Strangers* strangers,
                   Metrics* metrics)
    : metrics_(metrics),
      connections_(RoomFor(max_connections), patience),
      watch_(strangers),
      stop_fd_(eventfd(0, EFD_CLOEXEC)) {}

Acceptor::~Acceptor() {
  Stop();
  close(stop_fd_);
}

absl::StatusOr<int> Acceptor::Listen(const Address& address, int socket_mode, HandOver hand_over) {
  BASEBAND_ASSIGN_OR_RETURN(const std::vector<ListeningSocket> sockets,
                            ListenAt(address, socket_mode));
  for (const ListeningSocket& socket : sockets) listeners_.push_back({socket, hand_over});
  return address.is_unix() ? 0 : PortOf(sockets.back());
}

void Acceptor::Start() {
  if (!read_brake::IsInPlace()) {
    spdlog::error(
        "this program was linked so that gRPC's reads are not braked: strangers can take"
        " gigabytes");
  }
  hand_over_threads_.Start();
  thread_ = std::thread([this] { Run(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    const ssize_t written = write(stop_fd_, &one, sizeof(one));
    static_cast<void>(written);  // it cannot fail: nobody has written before
    thread_.join();
  }
  for (const Listener& listener : listeners_) CloseListening(listener.socket);
  listeners_.clear();
}

void Acceptor::Run() {
  AcceptUntilStopped();
  for (const auto& waiting : waiting_) close(waiting.second.second);
  waiting_.clear();
  watch_.ForgetAll();
  hand_over_threads_.Finish();
  while (!hand_over_threads_.GetInWork().empty()) {
    absl::SleepFor(StrangerWatch::kInterval);
    ResetKept(SteadyNow(), absl::ZeroDuration());
  }
}

void Acceptor::AcceptUntilStopped() {
  std::vector<pollfd> polled = {{stop_fd_, POLLIN, 0}, {watch_.fd(), POLLIN, 0}};
  for (const Listener& listener : listeners_) polled.push_back({listener.socket.fd, POLLIN, 0});
  ResetDead(SteadyNow());
  bool pause = false;
  for (;;) {
    const auto left = absl::ToInt64Milliseconds(absl::Ceil(
        std::max(NextLook() - SteadyNow(), absl::ZeroDuration()), absl::Milliseconds(1)));
    // During a pause nobody is accepted.
    constexpr int kOthers = 2;  // the order to stop, and strangers
    const int events = poll(polled.data(), pause ? kOthers : polled.size(),
                            static_cast<int>(pause ? std::min<int64_t>(kPauseMs, left) : left));
    if (events > 0 && polled[0].revents != 0) return;
    const absl::Time now = SteadyNow();
    if (now >= connections_.NextLook()) ResetDead(now);
    ResetKept(now, kMaxHandOver);
    ResetGreedy(now);
    HandOverWaiting(now);
    pause = !may_connect_();
    if (pause) continue;
    for (const Listener& listener : listeners_) pause |= !AcceptSome(listener);
  }
}

absl::Time Acceptor::NextLook() const {
  absl::Time next = std::min(connections_.NextLook(), watch_.NextLook());
  if (!waiting_.empty()) next = std::min(next, waiting_.begin()->first);
  for (const HandOverThreads::InWork& one : hand_over_threads_.GetInWork()) {
    next = std::min(next, one.since + kMaxHandOver);
  }
  return next;
}

bool Acceptor::AcceptSome(const Listener& listener) {
  for (int i = 0; i < kMaxAccepts; ++i) {
    const int fd = accept4(listener.socket.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN) return true;
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        const char* const why = std::strerror(errno);
        metrics_->CountRefusedConnection();
        if (const auto others = no_descriptor_.Pass(SteadyNow()); others.has_value()) {
          spdlog::warn("cannot accept connections, they wait: {} ({} times more before)", why,
                       *others);
        }
        return false;
      }
      continue;  // the other side has gone already
    }
    const absl::Time now = SteadyNow();
    if (!connections_.Admit(fd, now) && !MakeRoom(fd, now)) {
      metrics_->CountRefusedConnection();
      close(fd);
      if (const auto others = no_room_.Pass(SteadyNow()); others.has_value()) {
        spdlog::warn("closed a connection: {} are open, and more may not be ({} more before)",
                     connections_.max(), *others);
      }
      continue;
    }
    const absl::optional<absl::Duration> wait = watch_.Admit(fd, now);
    if (!wait.has_value()) {
      RefuseGreedy(fd);
    } else if (*wait == absl::ZeroDuration()) {
      HandOverTo(listener, fd);
    } else {
      waiting_.emplace(now + *wait, std::make_pair(&listener, fd));
    }
  }
  return true;
}

bool Acceptor::MakeRoom(int fd, absl::Time now) {
  const int oldest = watch_.ResetOldest(now);
  if (oldest < 0) return false;
  metrics_->CountEndedStrangers(1);
  connections_.Forget(oldest);  // gRPC closes it soon
  return connections_.Admit(fd, now);
}

void Acceptor::HandOverTo(const Listener& listener, int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // a Unix socket does not mind
  hand_over_threads_.Add(fd, [this, &listener](size_t thread, int connection) {
    char first = 0;
    if (recv(connection, &first, 1, MSG_PEEK) == 0) {  // gone already
      connections_.Forget(connection);
      close(connection);
    } else {
      listener.hand_over(thread, listener.socket.fd, connection);
    }
  });
}

void Acceptor::HandOverWaiting(absl::Time now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const auto [listener, fd] = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    if (watch_.Pass(fd, now)) {
      HandOverTo(*listener, fd);
    } else {
      RefuseGreedy(fd);
    }
  }
}

void Acceptor::RefuseGreedy(int fd) {
  metrics_->CountEndedStrangers(1);
  connections_.Forget(fd);
  close(fd);
  if (const auto others = returning_.Pass(SteadyNow()); others.has_value()) {
    spdlog::warn("closed a connection from where too much was sent before ({} more before)",
                 *others);
  }
}

void Acceptor::ResetGreedy(absl::Time now) {
  std::vector<int> kept;
  for (const HandOverThreads::InWork& one : hand_over_threads_.GetInWork()) kept.push_back(one.fd);
  const int64_t greedy = watch_.Look(now, kept);
  if (greedy == 0) return;
  metrics_->CountEndedStrangers(greedy);
  if (const auto others = greedy_.Pass(now); others.has_value()) {
    spdlog::warn(
        "closed {} connections that sent too much, or too many calls, before anybody there had"
        " shown that he may call ({} times before)",
        greedy, *others);
  }
}

void Acceptor::ResetKept(absl::Time now, absl::Duration time) {
  for (const HandOverThreads::InWork& one : hand_over_threads_.GetInWork()) {
    if (now - one.since < time) continue;
    if (ResetSocket(one.fd, one.inode) != ResetOutcome::kReset) continue;
    metrics_->CountEndedStrangers(1);
    if (const auto others = kept_.Pass(now); others.has_value()) {
      spdlog::warn("closed a connection that began with bytes without end ({} more before)",
                   *others);
    }
  }
}

void Acceptor::ResetDead(absl::Time now) {
  const int64_t dead = connections_.ResetDead(now);
  if (dead == 0) return;
  if (const auto others = dead_.Pass(now); others.has_value()) {
    spdlog::warn("closed {} connections whose clients have read nothing for {} ({} times before)",
                 dead, absl::FormatDuration(connections_.patience()), *others);
  }
}

}  // namespace baseband::server
