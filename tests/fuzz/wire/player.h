// Plays sequences against a server, several at a time.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_PLAYER_H_
#define BASEBAND_TESTS_FUZZ_WIRE_PLAYER_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/fuzz/wire/methods.h"

namespace baseband::testing {

class Player {
 public:
  struct Options {
    std::string target;
    std::string pages;  // where the server's metrics are
    uint64_t seed = 1;
    int at_a_time = 8;
    int64_t first = 0;  // the number of the first sequence
    int64_t last = INT64_MAX;
  };
  struct Figures {
    std::atomic<int64_t> sequences{0};
    std::atomic<int64_t> connections{0};
    std::atomic<int64_t> not_connected{0};
    std::atomic<int64_t> sent_bytes{0};
    std::atomic<int64_t> heard_bytes{0};
    std::atomic<int64_t> ended{0};  // by the server, before the script was over
    std::atomic<int64_t> stuck{0};  // the server took nothing more
  };

  // `methods` outlive it.
  Player(Options options, const std::vector<Method>* methods);
  ~Player() { Stop(); }

  // Goes on with the next sequences, until Stop or the last one.
  void Start();
  // Nothing is left of what was played.
  void Stop();

  bool IsDone() const { return next_ > options_.last; }
  const Figures& figures() const { return figures_; }
  // Those that are played or linger now, as "12-40".
  std::string NumbersNow() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Loiterer {
    int fd;
    absl::Time until;
    bool is_reset;
    int64_t number;
  };
  class Stranger;

  void Run();
  void Play(int64_t number);
  // Keeps it open for a while, without a word.
  void Keep(Loiterer loiterer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends those whose time is over.
  void EndLoiterers(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const std::vector<Method>& methods_;
  Figures figures_;
  std::atomic<int64_t> next_;
  std::atomic<bool> stop_{true};
  mutable absl::Mutex mutex_;
  std::list<Loiterer> loiterers_ ABSL_GUARDED_BY(mutex_);
  std::set<int64_t> playing_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_PLAYER_H_
