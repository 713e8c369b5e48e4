#include "server/limits/flow_control_window.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

FlowControlWindow::FlowControlWindow(const SubmitWindow& window)
    : window_(window),
      granted_(std::min(window.bytes, kFirstBytes)),
      wanted_(static_cast<double>(granted_)) {}

absl::Status FlowControlWindow::Open(uint64_t id, int64_t bytes) {
  if (id == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("id 0 is not in [1, ", UINT64_MAX, "]: it stands for no request"));
  }
  if (open_.count(id) > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("id ", id, " is in flight already: wait for its response or take another"));
  }
  const auto in_flight = static_cast<int64_t>(open_.size());
  if (in_flight >= window_.requests) {
    return Because(UnservedReason::kInvalidRequest,
                   absl::ResourceExhaustedError(absl::StrCat(
                       "id ", id, " is beyond the credits: ", in_flight,
                       " requests are in flight on this stream, of ", window_.requests)));
  }
  if (in_flight > 0 && bytes > granted_ - bytes_) {
    return Because(
        UnservedReason::kInvalidRequest,
        absl::ResourceExhaustedError(absl::StrCat("id ", id, " is beyond the credits: ", bytes_,
                                                  " bytes are in flight on this stream, of ",
                                                  granted_, ": no room for ", bytes, " more")));
  }
  open_.emplace(id, bytes);
  bytes_ += bytes;
  return absl::OkStatus();
}

int64_t FlowControlWindow::Close(uint64_t id, bool in_time) {
  const auto found = open_.find(id);
  const int64_t bytes = found->second;
  const bool is_used = 2 * bytes_ >= granted_;
  open_.erase(found);
  bytes_ -= bytes;
  if (let_off_ > 0) {
    --let_off_;
  } else if (!in_time) {
    Shrink(bytes);
  } else if (is_used) {
    Grow(bytes);
  }
  const int64_t back = std::max<int64_t>(0, bytes + static_cast<int64_t>(wanted_) - granted_);
  granted_ += back - bytes;
  return back;
}

void FlowControlWindow::Grow(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  wanted_ += was_late_ ? size * std::min(1.0, size / wanted_) : size;
  wanted_ = std::min(wanted_, static_cast<double>(window_.bytes));
}

void FlowControlWindow::Shrink(int64_t bytes) {
  // One request may be in flight whatever there is.
  wanted_ = std::min(wanted_, std::max(static_cast<double>(bytes), wanted_ / 2.0));
  was_late_ = true;
  let_off_ = static_cast<int64_t>(open_.size());
}

}  // namespace baseband::server
