// What is in flight on a Submit stream, and whether it may be: ids and credits.
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
  explicit FlowControlWindow(const SubmitWindow& window) : window_(window) {}

  // A request of a message of `bytes` has come. InvalidArgument: its id is 0 or in flight;
  // ResourceExhausted: there are no credits for it. Either names field, value and range, and leaves
  // everything as it was.
  absl::Status Open(uint64_t id, int64_t bytes);
  // Its response is about to be sent; returns the bytes it gives back.
  int64_t Close(uint64_t id);

  bool empty() const { return open_.empty(); }

 private:
  const SubmitWindow window_;
  std::unordered_map<uint64_t, int64_t> open_;
  int64_t bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_FLOW_CONTROL_WINDOW_H_
