// The threads on which gRPC gets its connections.
//
// gRPC 1.51 begins to read a connection on the thread that brings it, where its first bytes are
// there already, and goes on for as long as more come: who never stops sending keeps that thread.
#ifndef BASEBAND_SERVER_SERVICE_HAND_OVER_THREADS_H_
#define BASEBAND_SERVER_SERVICE_HAND_OVER_THREADS_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

// Thread-safe, except that Start is called once, and nothing is added after Finish.
class HandOverThreads {
 public:
  static constexpr size_t kThreads = 4;
  // Owns `fd`; `thread`, below kThreads, has nothing else to do meanwhile.
  using HandOver = std::function<void(size_t thread, int fd)>;
  // A socket that is being handed over: gRPC's already, or still this one's.
  struct InWork {
    int fd = -1;  // none
    ino_t inode = 0;
    absl::Time since;  // SteadyNow()'s
  };

  HandOverThreads() = default;
  ~HandOverThreads();
  HandOverThreads(const HandOverThreads&) = delete;
  HandOverThreads& operator=(const HandOverThreads&) = delete;

  void Start();
  // Has `hand_over` called on the next thread that is free.
  void Add(int fd, HandOver hand_over) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<InWork> GetInWork() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Closes the sockets that wait. Those in work are not awaited; the destructor does.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    int fd;
    HandOver hand_over;
  };

  void Run(size_t thread) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return is_finished_ || !waiting_.empty();
  }

  mutable absl::Mutex mutex_;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::array<InWork, kThreads> in_work_ ABSL_GUARDED_BY(mutex_);  // by thread
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_HAND_OVER_THREADS_H_
