// RingSession's part that refuses without a closer look.
#include <algorithm>
#include <utility>

#include "server/metrics/unserved.h"
#include "server/rings/ring_request.h"
#include "server/rings/ring_session.h"

namespace baseband::server {

bool RingSession::IsRefused(const BasebandSubmission& submission,
                            const std::shared_ptr<const RegisteredJob>& registered,
                            absl::Time arrival) {
  const absl::Duration left = DeadlineAt(submission.deadline_ns) - arrival;
  const absl::Duration since = arrival - refusal_.at;
  absl::Status status;
  if (left <= absl::ZeroDuration()) {
    status = LateOnArrival();
  } else if (refusal_.job == registered && refusal_.priority == submission.priority &&
             since < std::min(refusal_.retry, kRefusalStands) &&
             left <= refusal_.left + refusal_.retry - since) {
    status = refusal_.status;
  } else {
    return false;
  }
  RefuseLater(status, submission, registered, arrival);
  return true;
}

void RingSession::RefuseLater(const absl::Status& status, const BasebandSubmission& submission,
                              const std::shared_ptr<const RegisteredJob>& registered,
                              absl::Time arrival) {
  if (!refused_.submissions.empty() &&
      (refused_.job->operation != registered->operation || refused_.status != status)) {
    TellRefused();
  }
  if (refused_.submissions.empty()) {
    refused_.status = status;
    refused_.job = registered;
    refused_.arrival = arrival;
  }
  refused_.submissions.push_back(submission);
}

void RingSession::LetStand(const InFlight& request, const absl::Status& status) {
  if (request.registered == nullptr || ReasonOf(status) != UnservedReason::kBacklog) return;
  const absl::Time arrival = request.context.arrival();
  refusal_ = {request.registered,
              request.submission.priority,
              arrival,
              request.context.requester().deadline - arrival,
              environment_.dispatcher->RetryDelay(status),
              status};
}

void RingSession::TellRefused() {
  if (refused_.submissions.empty()) return;
  const BasebandSubmission& first = refused_.submissions.front();
  const auto request = std::make_shared<InFlight>(
      shared_from_this(), first, static_cast<int64_t>(refused_.submissions.size()),
      refused_.job->operation, refused_.arrival, DeadlineAt(first.deadline_ns));
  AddAskers(refused_.submissions, request.get());
  request->context.Start(0);
  Refuse(request, refused_.status);
  refused_.submissions.clear();
  refused_.job.reset();
}

}  // namespace baseband::server
