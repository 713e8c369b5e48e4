// What must stay true of a server that strangers attack, seen from outside.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_SERVER_WATCH_H_
#define BASEBAND_TESTS_FUZZ_WIRE_SERVER_WATCH_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/support/quiescence.h"
#include "tests/support/server_process.h"

namespace baseband::testing {

// How long this host keeps a thread waiting that only wants a little of a core now and then: what
// else runs here, this program included. Answers may take as much longer.
class HostStall {
 public:
  HostStall();
  ~HostStall();
  // The longest of about the last ten seconds.
  absl::Duration Longest() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run();

  mutable absl::Mutex mutex_;
  absl::Duration now_ ABSL_GUARDED_BY(mutex_);     // of the period that runs
  absl::Duration before_ ABSL_GUARDED_BY(mutex_);  // of the one before it
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class ServerWatch {
 public:
  struct Limits {
    int64_t more_bytes = 0;  // resident beside the calm server's; 0: not limited
    int64_t more_bytes_at_rest = 0;
    int64_t more_threads = 64;
    int64_t more_descriptors = 4096;          // gRPC closes them late on a busy host
    absl::Duration rest = absl::Seconds(30);  // within which all is given back
  };
  // `server` is calm now, and outlives it.
  ServerWatch(ServerProcess* server, const Limits& limits);

  // What is wrong while it is attacked; empty: nothing.
  std::string Look();
  // What is wrong once nobody attacks it any more. Waits for it.
  std::string LookAtRest();

  const Holdings& calm() const { return calm_; }
  // The most that Look has seen beside the calm server's.
  int64_t most_more_bytes() const { return most_more_bytes_; }
  int64_t ResidentBytes() const;
  // Of all cores, since it was started.
  absl::Duration CpuTime() const;

 private:
  // `more` bytes may be resident beside the calm server's.
  bool IsTooLarge(int64_t bytes, int64_t more) const;
  std::string LookAtProcess() const;
  std::string LookAtLog() const;

  ServerProcess& server_;
  const Limits limits_;
  const Holdings calm_;
  const int64_t calm_bytes_;
  int64_t most_more_bytes_ = 0;
  absl::Time next_log_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_SERVER_WATCH_H_
