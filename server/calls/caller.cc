#include "server/calls/caller.h"

#include <grpc/support/time.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

// The number in [0, most] that the metadata have by this name; nothing: they have none.
absl::StatusOr<absl::optional<int64_t>> NumberOf(const grpc::ServerContext& context,
                                                 const char* name, int64_t most) {
  const auto [found, end] = context.client_metadata().equal_range(name);
  if (found == end) return absl::nullopt;
  if (std::next(found) != end) {
    return absl::InvalidArgumentError(absl::StrCat("metadata ", name, " is there more than once"));
  }
  const absl::string_view word(found->second.data(), found->second.size());
  int64_t number = 0;
  if (!absl::SimpleAtoi(word, &number) || number < 0 || number > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata ", name, " ", word.substr(0, 32), " is not in [0, ", most, "]"));
  }
  return number;
}

}  // namespace

absl::StatusOr<Priority> PriorityOf(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("baseband-priority");
  if (found == context.client_metadata().end()) return Priority::kNormal;
  const absl::string_view word(found->second.data(), found->second.size());
  const auto* const name = std::find(kPriorityNames.begin(), kPriorityNames.end(), word);
  if (name == kPriorityNames.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "metadata baseband-priority ", word.substr(0, 32), " is not one of high, normal, low"));
  }
  return static_cast<Priority>(name - kPriorityNames.begin());
}

absl::StatusOr<absl::optional<int64_t>> RequestBytesOf(const grpc::ServerContext& context,
                                                       int64_t most) {
  return NumberOf(context, "baseband-request-bytes", most);
}

absl::StatusOr<absl::Duration> TimeoutOf(const grpc::ServerContext& context) {
  constexpr int64_t kMostUs = int64_t{365} * 86'400 * 1'000'000;  // a year
  BASEBAND_ASSIGN_OR_RETURN(const absl::optional<int64_t> us,
                            NumberOf(context, "baseband-timeout-us", kMostUs));
  return us.has_value() ? absl::Microseconds(*us) : absl::InfiniteDuration();
}

absl::Time DeadlineOf(const grpc::ServerContext& context) {
  // gRPC keeps it by the monotonic clock; context.deadline() goes by way of the system's.
  const gpr_timespec deadline = context.raw_deadline();
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return absl::InfiniteFuture();
  }
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return SteadyNow() + absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

}  // namespace baseband::server
