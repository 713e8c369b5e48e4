// Which requests come too late whatever is done for them: those like the ones before.
#ifndef BASEBAND_SERVER_LIMITS_LATE_REQUESTS_H_
#define BASEBAND_SERVER_LIMITS_LATE_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/time/time.h"

namespace baseband::server {

// Times are the caller's clock's. Pure. Not thread-safe.
class LateRequests {
 public:
  // So many in a row were late: the next ones are not expected in time.
  static constexpr int kHopeless = 64;
  // What is not expected in time is tried each kPatience-th time, but not more often than this, and
  // if it was not for so long.
  static constexpr uint64_t kPatience = 16;
  static constexpr absl::Duration kLeastBetweenTries = absl::Milliseconds(10);
  static constexpr absl::Duration kMostBetweenTries = absl::Seconds(1);

  // Of so many kinds it is known; all are forgotten for one more.
  static constexpr size_t kMaxKinds = 4096;

  // Requests of a client, of a method, of one class of sizes, and of one timeout within a factor of
  // two. What others do with theirs is no sign of what becomes of his.
  using Kind = std::tuple<std::string, size_t, size_t, int>;
  static Kind KindOf(std::string client, size_t method, size_t size, absl::Duration timeout);

  // One that was read was answered, in time or not.
  void Add(const Kind& kind, bool in_time);
  // How many of a kind were late since one was in time.
  int InRow(const Kind& kind) const;
  // One of a kind is not expected in time: whether it is tried all the same.
  bool Tries(const Kind& kind, absl::Time now);

 private:
  struct Lateness {
    int in_row = 0;
    uint64_t refused = 0;
    absl::Time tried = absl::InfinitePast();
  };

  Lateness& Of(const Kind& kind);

  std::map<Kind, Lateness> late_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_LATE_REQUESTS_H_
