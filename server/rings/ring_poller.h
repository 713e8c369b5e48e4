// A thread that looks after rings: takes what is submitted, one ring in turn after the other, and
// sleeps when nothing comes, until a bell is rung.
#ifndef BASEBAND_SERVER_RINGS_RING_POLLER_H_
#define BASEBAND_SERVER_RINGS_RING_POLLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/rings/ring_session.h"

namespace baseband::server {

class RingPoller {
 public:
  // Looks on for `spin` after the last submission or completion before it sleeps: whoever is
  // answered often sends the next one. `dispatch` starts what was taken: what comes at a time
  // leaves together. ResourceExhausted: there is no descriptor for it.
  static absl::StatusOr<std::unique_ptr<RingPoller>> Start(absl::Duration spin,
                                                           std::function<void()> dispatch);
  // No ring is looked after any more.
  ~RingPoller();
  RingPoller(const RingPoller&) = delete;
  RingPoller& operator=(const RingPoller&) = delete;

  // Thread-safe. `bell_fd` is an eventfd that whoever submits writes to if he is asked to; it is
  // never read, for whoever has it could keep a reader waiting. False: there is no memory for it.
  bool Add(const std::shared_ptr<RingSession>& session, int bell_fd);
  // Also of a session that was not added: nothing.
  void Remove(const std::shared_ptr<RingSession>& session, int bell_fd);
  size_t CountRings() const;

 private:
  using Sessions = std::vector<std::shared_ptr<RingSession>>;

  RingPoller(absl::Duration spin, std::function<void()> dispatch);
  void Run();
  // Until a bell is rung, or, if `look_again`, for a moment.
  void Sleep(bool look_again) const;
  void Wake() const;

  const absl::Duration spin_;
  const std::function<void()> dispatch_;
  const int epoll_fd_;
  const int wake_fd_;
  mutable absl::Mutex mutex_;
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> changes_{1};  // of sessions_
  std::atomic<bool> stops_{false};
  std::thread thread_;  // none, if it could not start
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_RINGS_RING_POLLER_H_
