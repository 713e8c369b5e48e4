// Watches what memory the process takes, and gives back what it does not need.
#ifndef BASEBAND_SERVER_PROCESS_MEMORY_WATCH_H_
#define BASEBAND_SERVER_PROCESS_MEMORY_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "server/limits/memory_steps.h"

namespace baseband::server {

// What a process may take, and has.
struct MemoryUse {
  int64_t limit = 0;  // 0: nobody says
  int64_t used = 0;
};
// `limit` 0: that of the control group, which counts more than the process.
MemoryUse ReadMemoryUse(int64_t limit);

class MemoryWatch {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(100);
  // Memory is given back no more often than this: that takes a while, and what is needed again has
  // to be had again. Where requests are refused, and more than kSpare is free, after kShortPause.
  static constexpr absl::Duration kPause = absl::Seconds(2);
  static constexpr absl::Duration kShortPause = absl::Milliseconds(200);
  // What malloc has kept free for kIdle, and is more than kSpare, goes back in calm times too:
  // large messages leave it behind.
  static constexpr absl::Duration kIdle = absl::Seconds(20);
  static constexpr int64_t kSpare = 64 << 20;

  struct Options {
    std::function<int64_t()> used;                 // now
    std::function<int64_t()> free;                 // of malloc's, now
    std::function<void()> give_back;               // what is free, to the system
    std::function<void()> drop_caches;             // before that, where memory is scarce
    std::function<void(absl::Time)> end_late;      // now, requests whose message does not come
    std::function<void(const std::string&)> warn;  // a line of the log
  };
  // `steps` outlives it.
  MemoryWatch(Options options, MemorySteps& steps) : options_(std::move(options)), steps_(steps) {}

  // To be called every kInterval, on one thread.
  void Look(absl::Time now);

 private:
  void GiveBack(absl::Time now);
  // What malloc has free, and did not have free already when memory was given back last.
  bool HasSpare(int64_t used) const {
    return used > used_then_ + kSpare && options_.free() > kSpare;
  }

  const Options options_;
  MemorySteps& steps_;
  MemoryStep step_ = MemoryStep::kNone;
  absl::Time last_give_back_ = absl::InfinitePast();
  absl::Time next_sample_ = absl::InfinitePast();
  absl::Time idle_since_ = absl::InfiniteFuture();  // since when more than kSpare were free
  int64_t used_then_ = 0;  // after memory was given back: malloc calls it free still
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_MEMORY_WATCH_H_
