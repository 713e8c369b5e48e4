#include "server/limits/read_refusals.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kSoonest = absl::Milliseconds(1);

std::string Text(absl::Duration time) {
  return absl::StrCat(std::max<int64_t>(1, absl::ToInt64Microseconds(time)), " us");
}

absl::Status ComeBack(UnservedReason reason, absl::Duration pause, const std::string& why) {
  absl::Status status = Because(reason, absl::ResourceExhaustedError(why));
  SetRetryAfter(&status, std::max(pause, kSoonest));
  return status;
}

absl::Status TooLate(const std::string& why) {
  return Because(UnservedReason::kDeadlineUnreachable, absl::DeadlineExceededError(why));
}

}  // namespace

absl::Status QueueFull(const std::string& how_many) {
  return ComeBack(
      UnservedReason::kQueueRequests, kSoonest,
      absl::StrCat("the queue is full: ", how_many, " requests are waiting to be read"));
}

absl::Status Backlog(absl::Duration time, absl::Duration left) {
  return ComeBack(UnservedReason::kBacklog, time - left,
                  absl::StrCat("the request would be read and done in ", Text(time),
                               ", with what goes before it; its deadline is in ", Text(left)));
}

absl::Status Unreachable(absl::Duration alone, absl::Duration left) {
  return TooLate(absl::StrCat("the request takes ", Text(alone),
                              " of an idle server, to be read and worked on; its deadline is in ",
                              Text(left)));
}

absl::Status LateInRow(int in_row, absl::Duration left) {
  return TooLate(absl::StrCat("the last ", in_row,
                              " such requests were late; the deadline of this one is in ",
                              Text(left)));
}

}  // namespace baseband::server
