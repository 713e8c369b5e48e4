#include "server/limits/flow_control_window.h"

#include "absl/strings/str_cat.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

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
  if (in_flight > 0 && bytes > window_.bytes - bytes_) {
    return Because(UnservedReason::kInvalidRequest,
                   absl::ResourceExhaustedError(
                       absl::StrCat("id ", id, " is beyond the credits: ", bytes_,
                                    " bytes are in flight on this stream, of ", window_.bytes,
                                    ": no room for ", bytes, " more")));
  }
  open_.emplace(id, bytes);
  bytes_ += bytes;
  return absl::OkStatus();
}

int64_t FlowControlWindow::Close(uint64_t id) {
  const auto found = open_.find(id);
  const int64_t bytes = found->second;
  open_.erase(found);
  bytes_ -= bytes;
  return bytes;
}

}  // namespace baseband::server
