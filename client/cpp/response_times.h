// How long requests like one that is to be sent have taken lately. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_RESPONSE_TIMES_H_
#define BASEBAND_CLIENT_CPP_RESPONSE_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

#include "absl/time/time.h"

namespace baseband::client {

// The time from sending to answer that only one of twenty exceeded, of late: what has less left
// comes too late more often, and for nothing. Where more is to be done than can be, what goes next
// has always the least time left that is let go, and with the average half of it would be late. It
// is forgotten after kMemory to twice that, for a server may become faster.
// Pure: the caller says what time it is.
class ResponseTimes {
 public:
  static constexpr absl::Duration kMemory = absl::Seconds(10);
  static constexpr size_t kMaxKinds = 1024;  // in each such time; what is more is not learned

  // Requests that are alike: of one operation, of one size and one timeout within a tenth.
  using Kind = std::tuple<int, int, int>;
  // `bytes` and `timeout` > 0.
  static Kind KindOf(int operation, int64_t bytes, absl::Duration timeout);

  // A request with a timeout > 0 was answered, in time or not, `time` after it was sent. Of a kind
  // that is not known one that took kMost of its timeout or more says nothing, and no more than
  // that is Usual: who has just begun has enough.
  static constexpr double kMost = 0.9;
  void Add(const Kind& kind, absl::Duration time, absl::Duration timeout, absl::Time now);
  // Zero: not known.
  absl::Duration Usual(const Kind& kind, absl::Time now);

 private:
  using Times = std::map<Kind, absl::Duration>;

  void Forget(absl::Time now);

  Times recent_;
  Times before_;
  absl::Time end_ = absl::InfinitePast();  // of what recent_ holds
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_RESPONSE_TIMES_H_
