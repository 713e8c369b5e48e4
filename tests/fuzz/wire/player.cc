#include "tests/fuzz/wire/player.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "tests/fuzz/wire/script.h"
#include "tests/support/loopback.h"

namespace baseband::testing {
namespace {

constexpr size_t kMaxLoiterers = 64;
// A server that takes nothing for so long is left alone.
constexpr absl::Duration kSendPatience = absl::Seconds(1);

// Closed, or with a reset, which throws away what is on its way.
void End(int fd, bool is_reset) {
  const linger now = {1, 0};
  if (is_reset) setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(fd);
}

// A socket that does not block, from 127.0.1.`source` to 127.0.0.1:`port`; or -1.
int ConnectFrom(int source, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in from = Loopback(0);
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 255 + static_cast<uint32_t>(source));
  const sockaddr_in to = Loopback(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) != 0 ||
      connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    close(fd);
    return -1;
  }
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

}  // namespace

// One connection, that of a script.
class Player::Stranger {
 public:
  Stranger(const Script& script, int port, Figures* figures)
      : script_(script), figures_(*figures), fd_(ConnectFrom(script.source, port)) {
    ++(fd_ < 0 ? figures_.not_connected : figures_.connections);
    is_over_ = fd_ < 0;
  }

  bool IsOver() const { return is_over_ || next_ == script_.steps.size(); }
  // Whom the socket belongs to from now on.
  int Release() { return std::exchange(fd_, -1); }
  bool WasEnded() const { return was_ended_; }

  void TakeStep() {
    const Step& step = script_.steps[next_++];
    switch (step.kind) {
      case Step::Kind::kSend:
        Send(step.bytes);
        break;
      case Step::Kind::kPause:
        absl::SleepFor(absl::Milliseconds(step.milliseconds));
        break;
      case Step::Kind::kAwait:
        Poll(POLLIN, step.milliseconds);
        break;
      case Step::Kind::kStopReading:
        reads_ = false;
        break;
      case Step::Kind::kHalfClose:
        shutdown(fd_, SHUT_WR);
        is_mute_ = true;
        break;
    }
    if (reads_) Read();
  }

 private:
  bool Poll(int16_t events, int milliseconds) const {
    pollfd polled = {fd_, events, 0};
    return poll(&polled, 1, milliseconds) > 0;
  }

  void Send(const std::string& bytes) {
    if (is_mute_) return;
    const absl::Time deadline = SteadyNow() + kSendPatience;
    for (size_t at = 0; at < bytes.size() && !is_over_;) {
      const ssize_t n = send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (n > 0) {
        at += static_cast<size_t>(n);
        figures_.sent_bytes += n;
      } else if (errno != EAGAIN) {
        BeEnded();
      } else if (SteadyNow() > deadline) {
        ++figures_.stuck;
        is_over_ = true;
      } else {
        if (reads_) Read();
        Poll(POLLOUT, 20);
      }
    }
  }

  void Read() {
    std::array<char, 16384> heard;
    for (;;) {
      const ssize_t n = recv(fd_, heard.data(), heard.size(), 0);
      if (n > 0) {
        figures_.heard_bytes += n;
      } else {
        if (n == 0 || errno != EAGAIN) BeEnded();
        return;
      }
    }
  }

  void BeEnded() {
    if (!was_ended_) ++figures_.ended;
    was_ended_ = true;
    is_over_ = true;
  }

  const Script& script_;
  Figures& figures_;
  int fd_;
  size_t next_ = 0;
  bool reads_ = true;
  bool is_mute_ = false;
  bool is_over_ = false;
  bool was_ended_ = false;
};

Player::Player(Options options, const std::vector<Method>* methods)
    : options_(std::move(options)), methods_(*methods), next_(options_.first) {}

void Player::Start() {
  stop_ = false;
  for (int i = 0; i < options_.at_a_time; ++i) threads_.emplace_back([this] { Run(); });
}

void Player::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  EndLoiterers(absl::InfiniteFuture());
}

void Player::Run() {
  while (!stop_) {
    const int64_t number = next_++;
    if (number > options_.last) return;
    Play(number);
    EndLoiterers(SteadyNow());
  }
}

void Player::Play(int64_t number) {
  const Sequence sequence = SequenceOf(options_.seed, number, methods_);
  {
    absl::MutexLock lock(&mutex_);
    playing_.insert(number);
  }
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (const Script& script : sequence) {
    strangers.push_back(std::make_unique<Stranger>(
        script, PortOf(script.to_pages ? options_.pages : options_.target), &figures_));
  }
  for (bool some_go_on = true; some_go_on && !stop_;) {
    some_go_on = false;
    for (const auto& stranger : strangers) {
      if (stranger->IsOver()) continue;
      stranger->TakeStep();
      some_go_on = true;
    }
  }
  for (size_t i = 0; i < sequence.size(); ++i) {
    const int fd = strangers[i]->Release();
    if (fd < 0) continue;
    if (strangers[i]->WasEnded() || sequence[i].linger_milliseconds == 0) {
      End(fd, sequence[i].is_reset);
    } else {
      Keep({fd, SteadyNow() + absl::Milliseconds(sequence[i].linger_milliseconds),
            sequence[i].is_reset, number});
    }
  }
  ++figures_.sequences;
  absl::MutexLock lock(&mutex_);
  playing_.erase(number);
}

void Player::Keep(Loiterer loiterer) {
  absl::MutexLock lock(&mutex_);
  loiterers_.push_back(loiterer);
  if (loiterers_.size() <= kMaxLoiterers) return;
  End(loiterers_.front().fd, loiterers_.front().is_reset);
  loiterers_.pop_front();
}

void Player::EndLoiterers(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  loiterers_.remove_if([now](const Loiterer& loiterer) {
    if (loiterer.until > now) return false;
    End(loiterer.fd, loiterer.is_reset);
    return true;
  });
}

std::string Player::NumbersNow() const {
  absl::MutexLock lock(&mutex_);
  std::set<int64_t> numbers = playing_;
  for (const Loiterer& loiterer : loiterers_) numbers.insert(loiterer.number);
  if (numbers.empty()) return absl::StrCat(next_ - 1);
  return absl::StrCat(*numbers.begin(), "-", *numbers.rbegin());
}

}  // namespace baseband::testing
