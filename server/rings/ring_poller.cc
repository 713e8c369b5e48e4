#include "server/rings/ring_poller.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/pause.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

// Between two looks at a ring that is full.
constexpr int kLookMs = 1;

bool Watch(int epoll_fd, int fd) {
  // By edges: each write tells, though nobody reads.
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

RingPoller::RingPoller(absl::Duration spin, std::function<void()> dispatch)
    : spin_(spin),
      dispatch_(std::move(dispatch)),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

absl::StatusOr<std::unique_ptr<RingPoller>> RingPoller::Start(absl::Duration spin,
                                                              std::function<void()> dispatch) {
  std::unique_ptr<RingPoller> self(new RingPoller(spin, std::move(dispatch)));
  if (self->epoll_fd_ < 0 || self->wake_fd_ < 0 || !Watch(self->epoll_fd_, self->wake_fd_)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a thread that looks after rings does not start (--ring-threads): ", std::strerror(errno)));
  }
  self->thread_ = std::thread([poller = self.get()] { poller->Run(); });
  return self;
}

RingPoller::~RingPoller() {
  stops_.store(true);
  Wake();
  if (thread_.joinable()) thread_.join();
  if (wake_fd_ >= 0) close(wake_fd_);
  if (epoll_fd_ >= 0) close(epoll_fd_);
}

bool RingPoller::Add(const std::shared_ptr<RingSession>& session, int bell_fd) {
  if (!Watch(epoll_fd_, bell_fd)) return false;
  {
    const absl::MutexLock lock(&mutex_);
    sessions_.push_back(session);
    changes_.fetch_add(1);
  }
  Wake();
  return true;
}

void RingPoller::Remove(const std::shared_ptr<RingSession>& session, int bell_fd) {
  // Others may have the descriptor's file still: closing it does not end the watch.
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, bell_fd, nullptr);
  {
    const absl::MutexLock lock(&mutex_);
    sessions_.erase(std::remove(sessions_.begin(), sessions_.end(), session), sessions_.end());
    changes_.fetch_add(1);
  }
  Wake();
}

size_t RingPoller::CountRings() const {
  const absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

void RingPoller::Wake() const {
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof(one));
}

void RingPoller::Sleep(bool look_again) const {
  std::array<epoll_event, 16> events;
  epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), look_again ? kLookMs : -1);
  uint64_t count = 0;
  (void)!read(wake_fd_, &count, sizeof(count));
}

void RingPoller::Run() {
  pthread_setname_np(pthread_self(), "ring");
  Sessions sessions;
  uint64_t seen = 0;
  uint64_t answered = 0;
  absl::Time last = SteadyNow();
  while (!stops_.load()) {
    if (changes_.load() != seen) {
      const absl::MutexLock lock(&mutex_);
      seen = changes_.load();
      sessions = sessions_;
    }
    bool any = false;
    uint64_t completed = 0;
    for (const auto& session : sessions) {
      const bool took = session->Take();
      if (took) dispatch_();  // before the next one's turn, while lanes may be idle
      any |= took;
      completed += session->completed();
    }
    any |= std::exchange(answered, completed) != completed;
    if (any || SteadyNow() - last < spin_) {
      if (any) last = SteadyNow();
      Pause();
      continue;
    }
    bool look_again = false;
    const bool may_sleep =
        std::all_of(sessions.begin(), sessions.end(),
                    [&look_again](const auto& session) { return session->MaySleep(&look_again); });
    if (may_sleep && changes_.load() == seen) Sleep(look_again);
    for (const auto& session : sessions) session->Awake();
    last = SteadyNow();
  }
}

}  // namespace baseband::server
