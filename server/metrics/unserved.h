// Why a request was not served. Every status that ends a request otherwise than OK has one reason.
// It travels with the status, from where it arises to where the request is counted; who tries again
// instead has refused nothing.
//
//   return Because(UnservedReason::kBacklog, absl::ResourceExhaustedError("..."));
//   ...
//   metrics.RequestFinished(rpc, status, duration, 0);  // counts ReasonOf(status)
#ifndef BASEBAND_SERVER_METRICS_UNSERVED_H_
#define BASEBAND_SERVER_METRICS_UNSERVED_H_

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace baseband::server {

// Label values in the order of the enum.
enum class UnservedReason {
  kInvalidRequest,       // wrong, or larger than this server takes, whatever its state
  kReplyRange,           // of a ring: its range for the answer is too small; it is told how large
  kNoCredentials,        // the caller proves nothing,
  kBadToken,             // has a token that nobody has,
  kNotAllowed,           // or is known and has no such role
  kClientRequests,       // a quota of its client
  kClientBytes,          //
  kClientStreams,        //
  kStreamLimit,          // as many streams or searches are open as may
  kQueueRequests,        // as many requests wait as may
  kQueueBytes,           // their payload, likewise
  kStagingPool,          // no memory for its payload,
  kReplyPool,            // for its answer,
  kSearchMemory,         // or for its search
  kMemory,               // memory is scarce in the process as a whole
  kPreparation,          // too much waits for what takes long to prepare, or it took too long
  kDeadlineUnreachable,  // its deadline is too early for any server,
  kBacklog,              // or for this one, with what goes before it
  kDeadlinePassed,       // the deadline passed before the work was done
  kCancelled,            // the client gave up, or is gone
  kDraining,             // the server is about to end
  kNoDevice,             // no device is healthy
  kDeviceLost,           // the device was lost that worked on it
  kQuarantine,           // its like ran on a device when that faulted
  kFailed                // an error of the server's own
};
inline constexpr std::array<const char*, 25> kUnservedReasonNames = {
    "invalid_request",
    "reply_range",
    "no_credentials",
    "bad_token",
    "not_allowed",
    "client_requests",
    "client_bytes",
    "client_streams",
    "stream_limit",
    "queue_requests",
    "queue_bytes",
    "staging_pool",
    "reply_pool",
    "search_memory",
    "memory",
    "preparation",
    "deadline_unreachable",
    "backlog",
    "deadline_passed",
    "cancelled",
    "draining",
    "no_device",
    "device_lost",
    "quarantine",
    "failed",
};

// `status`, which is not OK, with its reason; the last one given counts.
absl::Status Because(UnservedReason reason, absl::Status status);
// The same for what is there or not.
template <typename T>
absl::StatusOr<T> Because(UnservedReason reason, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return Because(reason, std::move(result).status());
}

// The reason of `status`, which is not OK; where none was given, what its code says.
UnservedReason ReasonOf(const absl::Status& status);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_UNSERVED_H_
