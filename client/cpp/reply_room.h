// How large answers are beside their requests, by what has come lately. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_REPLY_ROOM_H_
#define BASEBAND_CLIENT_CPP_REPLY_ROOM_H_

#include <algorithm>
#include <map>

#include "absl/time/time.h"

namespace baseband::client {

// Bytes of an answer over those of the request's payload, of each kind of call, which has any
// number. Not thread-safe; the caller says what time it is.
class ReplyRoom {
 public:
  // What was learned is forgotten after one of these, and before the end of the second.
  static constexpr absl::Duration kMemory = absl::Seconds(10);

  void Learn(int kind, double ratio, absl::Time now) {
    Kind& known = Turned(kind, now);
    known.latest = std::max(known.latest, ratio);
  }
  // The largest that is remembered; 1 if none is.
  double Ratio(int kind, absl::Time now) {
    const Kind& known = Turned(kind, now);
    const double most = std::max(known.latest, known.before);
    return most < 0 ? 1 : most;
  }

 private:
  struct Kind {
    absl::Time begin = absl::InfinitePast();
    double latest = -1;  // since `begin`; negative: nothing
    double before = -1;  // in as long a time before that
  };

  Kind& Turned(int kind, absl::Time now) {
    Kind& known = kinds_[kind];
    const absl::Duration age = now - known.begin;
    if (age >= kMemory) {
      known.before = age < 2 * kMemory ? known.latest : -1;
      known.latest = -1;
      known.begin = now;
    }
    return known;
  }

  std::map<int, Kind> kinds_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_REPLY_ROOM_H_
