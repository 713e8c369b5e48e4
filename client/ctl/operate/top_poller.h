// Looks at the metrics pages of many servers, at all of them at a time.
#ifndef BASEBAND_CLIENT_CTL_OPERATE_TOP_POLLER_H_
#define BASEBAND_CLIENT_CTL_OPERATE_TOP_POLLER_H_

#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/load/metrics_page.h"

namespace baseband::ctl {

enum class ServerState { kUnknown, kServing, kStarting, kDraining, kNoDevice, kUnreachable };
// "serving", "no device", ..
const char* NameOf(ServerState state);

// What one look at a server found.
struct Sample {
  absl::Time time;  // by SteadyNow(), when the page was there; the past for ever: no look has ended
  ServerState state = ServerState::kUnknown;
  std::string why;         // of an unreachable server
  load::MetricsPage page;  // empty of an unreachable server
};

// The state is what /readyz beside the page says; of a server that has no such page, what its
// devices' health says.
Sample LookAt(const std::string& url, absl::Duration timeout, const std::string& password);

// A thread a server. Thread-safe.
class TopPoller {
 public:
  // A look takes at most some `timeout`s.
  TopPoller(std::vector<std::string> urls, absl::Duration timeout, std::string password);
  // Waits for the looks that are under way.
  ~TopPoller();
  TopPoller(const TopPoller&) = delete;
  TopPoller& operator=(const TopPoller&) = delete;

  // Begins a look at every server that none is under way at.
  void Ask();
  // A file descriptor that can be read from while no look is under way.
  int idle_fd() const { return idle_fd_; }
  void WaitUntilIdle() const;
  // The last look at each server, in the order of `urls`.
  std::vector<Sample> Last() const;

 private:
  struct Server {
    std::string url;
    bool asked = false;
    Sample last;
  };
  void Run(size_t i);

  const absl::Duration timeout_;
  const std::string password_;
  const int idle_fd_;
  mutable absl::Mutex mutex_;
  std::vector<Server> servers_ ABSL_GUARDED_BY(mutex_);
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_OPERATE_TOP_POLLER_H_
