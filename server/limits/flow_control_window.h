// What is in flight on a Submit stream, and whether it may be: ids and credits.
//
// How many bytes may be in flight follows from what becomes of them, as TCP's window from what is
// lost: what is not answered in time was sent too early, and waits where it lies better with its
// sender, who knows what matters by then.
#ifndef BASEBAND_SERVER_LIMITS_FLOW_CONTROL_WINDOW_H_
#define BASEBAND_SERVER_LIMITS_FLOW_CONTROL_WINDOW_H_

#include <cstdint>
#include <unordered_map>

#include "absl/status/status.h"

namespace baseband::server {

// What may be in flight on one Submit stream.
struct SubmitWindow {
  int64_t requests = 0;
  int64_t bytes = 0;  // of their messages; a larger one may be in flight alone
};

// Not thread-safe.
class FlowControlWindow {
 public:
  // So many bytes at first, unless `window` has less.
  static constexpr int64_t kFirstBytes = 4 << 20;

  explicit FlowControlWindow(const SubmitWindow& window);

  // What the client may have in flight at first.
  SubmitWindow first() const { return {window_.requests, granted_}; }

  // A request of a message of `bytes` has come. InvalidArgument: its id is 0 or in flight;
  // ResourceExhausted: there are no credits for it. Either names field, value and range, and leaves
  // everything as it was.
  absl::Status Open(uint64_t id, int64_t bytes);
  // Its response is about to be sent. Returns the bytes it gives back: more than it took if the
  // window grows, which it does by its own size for each window's worth that is answered in time,
  // until the first one is not; then it is halved, and grows by a request for each window's worth.
  int64_t Close(uint64_t id, bool in_time);

  bool empty() const { return open_.empty(); }

 private:
  void Grow(int64_t bytes);
  void Shrink(int64_t bytes);

  const SubmitWindow window_;
  std::unordered_map<uint64_t, int64_t> open_;
  int64_t bytes_ = 0;
  int64_t granted_ = 0;    // in flight and not: what the client has of them
  double wanted_ = 0.0;    // what it is to have
  bool was_late_ = false;  // a request
  int64_t let_off_ = 0;    // requests sent before the window was halved: they say nothing new
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_FLOW_CONTROL_WINDOW_H_
