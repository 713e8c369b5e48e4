// What statuses of requests mean to a flow graph.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_FAILURE_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/submit_stream.h"

namespace gr::baseband_offload {

// Whether the same request may be answered at another time, or by another server.
inline bool IsPassing(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kInternal:  // the device refused, or was lost
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return true;
    case absl::StatusCode::kResourceExhausted:  // without a pause: more than it ever takes
      return ::baseband::client::RetryAfter(status) > absl::ZeroDuration();
    default:
      return false;
  }
}

// So often a request may fail as INTERNAL, which may be its own fault, before it counts as refused.
inline constexpr int kMostInternalErrors = 3;
inline absl::Status NotPassing(const absl::Status& status) {
  return absl::DataLossError(absl::StrCat("again and again: ", status.ToString()));
}

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_FAILURE_H_
