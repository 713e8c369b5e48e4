#include "server/converters/checks.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::Status CheckRange(absl::string_view field, absl::int128 value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    std::ostringstream message;
    message << field << " " << value << " is not in [" << low << ", " << high << "]";
    return absl::InvalidArgumentError(message.str());
  }
  return absl::OkStatus();
}

absl::Status CheckReal(absl::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    // Six digits may round it into the range.
    std::string text = absl::StrCat(value);
    double read = 0;
    if (absl::SimpleAtod(text, &read) && read >= low && read <= high) {
      text = absl::StrFormat("%.17g", value);
    }
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", text, " is not in [", low, ", ", high, "]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> PositiveOr(absl::string_view field, double value, double high,
                                  double fallback) {
  if (value == 0.0) {
    return fallback;
  }
  if (!(value > 0.0 && value <= high)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", value, " is not in (0, ", high, "]"));
  }
  return value;
}

absl::Status Within(absl::string_view path, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status) && !absl::IsResourceExhausted(status)) return status;
  // "mask: no time" begins with a field, "the request took too long" does not.
  const absl::string_view message = status.message();
  const bool begins_with_field = absl::IsInvalidArgument(status) ||
                                 !absl::StrContains(message.substr(0, message.find(':')), ' ');
  const absl::string_view whole = path.substr(0, path.find_last_not_of(".: ") + 1);
  absl::Status told(status.code(), begins_with_field ? absl::StrCat(path, message)
                                                     : absl::StrCat(whole, ": ", message));
  status.ForEachPayload([&told](absl::string_view type, const absl::Cord& payload) {
    told.SetPayload(type, payload);
  });
  return told;
}

absl::Status InGroup(int index, const absl::Status& status) {
  return Within(absl::StrCat("groups[", index, "]."), status);
}

absl::Status CheckNumGroups(int num_groups) {
  if (num_groups == 0) {
    return absl::InvalidArgumentError("groups is empty: a request needs at least one");
  }
  if (num_groups > kMaxGroupsPerRequest) {
    return absl::InvalidArgumentError(
        absl::StrCat("groups has ", num_groups, " entries, not 1 to ", kMaxGroupsPerRequest));
  }
  return absl::OkStatus();
}

absl::Status CheckTotals(absl::string_view blocks_name, int64_t blocks, int64_t expected_bytes,
                         const Request& request, const RequestLimits& limits) {
  if (blocks < 1 || blocks > limits.max_blocks_per_request) {
    return absl::InvalidArgumentError(absl::StrCat("groups have ", blocks, " ", blocks_name,
                                                   " together, not 1 to ",
                                                   limits.max_blocks_per_request));
  }
  if (request.payload.bytes() != expected_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("payload has ", request.payload.bytes(),
                                                   " bytes, the groups describe ", expected_bytes));
  }
  return absl::OkStatus();
}

absl::Status NotFoundAgain(absl::string_view what, const Payload& payload) {
  return payload.is_shared()
             ? absl::InvalidArgumentError(absl::StrCat("payload_at: there was ", what,
                                                       ", and what lies there has changed since"))
             : absl::InternalError(absl::StrCat(what, " was met, and is not found"));
}

void SetTiming(const JobTimes& times, v1::Timing* timing) {
  const auto us = [](absl::Duration duration) {
    return static_cast<uint32_t>(
        std::clamp<int64_t>(absl::ToInt64Microseconds(duration), 0, UINT32_MAX));
  };
  timing->set_receive_us(us(times.submitted - times.arrived));
  timing->set_queue_us(us(times.started - times.submitted));
  timing->set_copy_in_us(us(times.stages.copy_in));
  timing->set_h2d_us(us(times.stages.h2d));
  timing->set_kernel_us(us(times.stages.kernel));
  timing->set_d2h_us(us(times.stages.d2h));
  timing->set_batch_blocks(static_cast<uint32_t>(times.batch_blocks));
  timing->set_batch_requests(static_cast<uint32_t>(times.batch_requests));
}

}  // namespace baseband::server
