#include "tests/support/proxy.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/support/loopback.h"

namespace baseband::testing {
namespace {

constexpr size_t kMaxRead = 64 << 10;
// Little, so that a stalled direction is felt at its other end soon.
constexpr int kSocketBuffer = 64 << 10;

}  // namespace

Proxy::Proxy(const std::string& target, std::function<Plan()> plan)
    : server_(target),
      plan_(std::move(plan)),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &kSocketBuffer, sizeof(kSocketBuffer));
  bind(listener_, reinterpret_cast<const sockaddr*>(&address), size);
  listen(listener_, SOMAXCONN);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  target_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy() {
  eventfd_write(stop_, 1);
  thread_.join();
  for (const Connection& connection : connections_) Close(connection, /*reset=*/true);
  close(listener_);
  close(stop_);
}

void Proxy::Close(const Connection& connection, bool reset) {
  const linger now = {1, 0};  // RST instead of FIN
  for (const int fd : {connection.up.from, connection.up.to}) {
    if (reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
  }
}

void Proxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0) return;
  const int server = ConnectTo(server_, kSocketBuffer);
  const int on = 1;
  for (const int fd : {client, server}) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  const Plan plan = plan_();
  Connection connection;
  connection.up = {client, server, plan.up, 0, "", false, false};
  connection.down = {server, client, plan.down, 0, "", false, false};
  connections_.push_back(connection);
}

bool Proxy::Move(Pipe& pipe, bool readable, bool writable) {
  const Treatment& treatment = pipe.treatment;
  if (readable && pipe.waiting.empty() && !pipe.ended && !pipe.stalled) {
    char buffer[kMaxRead];
    const int64_t left =
        std::min({static_cast<int64_t>(kMaxRead), treatment.bytes_per_ms,
                  std::min(treatment.stall_after, treatment.cut_after) - pipe.passed});
    const ssize_t n = recv(pipe.from, buffer, static_cast<size_t>(left), MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN) return false;
    if (n == 0) pipe.ended = true;
    if (n > 0) {
      pipe.waiting.assign(buffer, static_cast<size_t>(n));
      pipe.passed += n;
      writable = true;
    }
  }
  if (writable && !pipe.waiting.empty()) {
    const ssize_t n =
        send(pipe.to, pipe.waiting.data(), pipe.waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN) return false;
    if (n > 0) pipe.waiting.erase(0, static_cast<size_t>(n));
  }
  if (!pipe.waiting.empty()) return true;
  if (pipe.passed >= treatment.cut_after) {
    ++cut_;
    return false;
  }
  if (pipe.passed >= treatment.stall_after && !pipe.stalled) {
    pipe.stalled = true;
    ++stalled_;
  }
  if (pipe.ended) shutdown(pipe.to, SHUT_WR);
  return true;
}

void Proxy::Run() {
  for (;;) {
    std::vector<pollfd> polled = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    int wait_ms = -1;
    for (const Connection& connection : connections_) {
      // Descriptors of a pipe with nothing to do are left out but for their errors.
      short client = 0;
      short server = 0;
      const auto want = [&](const Pipe& pipe, short* from, short* to) {
        if (!pipe.waiting.empty()) {
          *to |= POLLOUT;
        } else if (!pipe.ended && !pipe.stalled) {
          *from |= POLLIN;
        }
        if (pipe.treatment.bytes_per_ms != Treatment::kNever) wait_ms = 1;
      };
      want(connection.up, &client, &server);
      want(connection.down, &server, &client);
      polled.push_back({connection.up.from, client, 0});
      polled.push_back({connection.up.to, server, 0});
    }
    if (wait_ms > 0) usleep(1000);  // what trickles does so a piece a round
    if (poll(polled.data(), polled.size(), wait_ms) > 0 && polled[0].revents != 0) return;
    std::vector<Connection> kept;
    for (size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      const short client = polled[2 + 2 * i].revents;
      const short server = polled[3 + 2 * i].revents;
      // Who has hung up may have left something to read.
      const auto is_dead = [](short events) {
        return (events & (POLLERR | POLLHUP)) != 0 && (events & POLLIN) == 0;
      };
      const bool alive = !is_dead(client) && !is_dead(server) &&
                         Move(connection.up, (client & POLLIN) != 0, (server & POLLOUT) != 0) &&
                         Move(connection.down, (server & POLLIN) != 0, (client & POLLOUT) != 0);
      if (alive && !(connection.up.ended && connection.down.ended)) {
        kept.push_back(std::move(connection));
      } else {
        Close(connection, /*reset=*/!alive);
      }
    }
    connections_ = std::move(kept);
    if (polled[1].revents != 0) Accept();
  }
}

}  // namespace baseband::testing
