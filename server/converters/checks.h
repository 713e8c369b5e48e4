// What converters share: ranges, refusals by name, and what goes into every reply.
#ifndef BASEBAND_SERVER_CONVERTERS_CHECKS_H_
#define BASEBAND_SERVER_CONVERTERS_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"
#include "server/jobs/request.h"

namespace baseband::server {

// Groups of one request.
inline constexpr int kMaxGroupsPerRequest = 4096;

// The header of `request` as its message, which errors call `name`.
template <typename Message>
absl::StatusOr<Message> ParseHeader(const Request& request, absl::string_view name) {
  Message message;
  if (!message.ParseFromString(request.header)) {
    return absl::InvalidArgumentError(absl::StrCat("the request is not a well-formed ", name));
  }
  return message;
}

// InvalidArgument names the field, its value as it was sent, of whatever type, and its range. NaN
// is in no range.
absl::Status CheckRange(absl::string_view field, absl::int128 value, int64_t low, int64_t high);
absl::Status CheckReal(absl::string_view field, double value, double low, double high);
// `value` in (0, high], or 0 for `fallback`.
absl::StatusOr<double> PositiveOr(absl::string_view field, double value, double high,
                                  double fallback);

// `status` with `path`, "setup." say, before the field that its message begins with, if it says
// what is wrong with one, or that there is no room for it: InvalidArgument, ResourceExhausted. The
// latter may also be a sentence, which then follows the path. Others stay as they are.
absl::Status Within(absl::string_view path, const absl::Status& status);
template <typename T>
absl::StatusOr<T> Within(absl::string_view path, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return Within(path, result.status());
}
// The same with "groups[index].".
absl::Status InGroup(int index, const absl::Status& status);
absl::Status CheckNumGroups(int num_groups);
// The blocks of all groups against the limit, the payload against what the groups say.
absl::Status CheckTotals(absl::string_view blocks_name, int64_t blocks, int64_t expected_bytes,
                         const Request& request, const RequestLimits& limits);

// The work has met `what` in the payload, and who looks for it there finds none: the client has
// changed memory that it shares, or the device was wrong.
absl::Status NotFoundAgain(absl::string_view what, const Payload& payload);

void SetTiming(const JobTimes& times, v1::Timing* timing);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_CHECKS_H_
