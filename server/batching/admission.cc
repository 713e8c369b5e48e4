#include "server/batching/admission.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
absl::Status Admission::CheckLocked(int64_t bytes, int64_t requests) const {
  if (usage_.requests > max_requests_ - requests) {
    return Because(
        UnservedReason::kQueueRequests,
        absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", usage_.requests, " of ",
                                                  max_requests_, " requests are waiting")));
  }
  // A request that is larger than the whole bound may still come alone.
  if (usage_.bytes > 0 && usage_.bytes + bytes > max_bytes_) {
    return Because(UnservedReason::kQueueBytes,
                   absl::ResourceExhaustedError(
                       absl::StrCat("the queue is full: ", usage_.bytes, " of ", max_bytes_,
                                    " bytes are waiting, no room for ", bytes, " more")));
  }
  return absl::OkStatus();
}

absl::Status Admission::Check(int64_t bytes) const {
  SpinningLock lock(&mutex_);
  return CheckLocked(bytes, 1);
}

absl::StatusOr<AdmissionTicket> Admission::Enter(int64_t bytes, int64_t requests) {
  SpinningLock lock(&mutex_);
  BASEBAND_RETURN_IF_ERROR(CheckLocked(bytes, requests));
  usage_.requests += requests;
  usage_.bytes += bytes;
  return AdmissionTicket(this, requests, bytes);
}

void Admission::Leave(int64_t requests, int64_t bytes) {
  SpinningLock lock(&mutex_);
  usage_.requests -= requests;
  usage_.bytes -= bytes;
}

Admission::Usage Admission::usage() const {
  SpinningLock lock(&mutex_);
  return usage_;
}

}  // namespace baseband::server
