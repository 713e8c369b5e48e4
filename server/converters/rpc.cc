#include "server/converters/rpc.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
  }
  return absl::OkStatus();
}

absl::Span<const MethodDescriptor* const> AllMethods() {
  static constexpr std::array<const MethodDescriptor*, 4> kPages = {
      &kEncodeRpc, &kDecodeRpc, &kRecoverCarrierRpc, &kDownconvertRpc};
  return kPages;
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

CodeFamily ToCodeFamily(ldpc::Family family) { return static_cast<CodeFamily>(family); }
static_assert(static_cast<int>(ldpc::Family::kCustom) == static_cast<int>(CodeFamily::kCustom));

absl::Status InGroup(int index, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("groups[", index, "].", status.message()));
}

absl::Status CheckNumGroups(int num_groups) {
  if (num_groups == 0) {
    return absl::InvalidArgumentError("groups is empty: a request needs at least one");
  }
  return CheckRange("the number of groups", num_groups, 1, kMaxGroupsPerRequest);
}

absl::Status CheckTotals(absl::string_view blocks_name, int64_t blocks, int64_t expected_bytes,
                         const RequestView& request, const RequestLimits& limits) {
  BASEBAND_RETURN_IF_ERROR(CheckRange(absl::StrCat("the number of ", blocks_name), blocks, 1,
                                      limits.max_blocks_per_request));
  if (request.payload_bytes() != expected_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("payload has ", request.payload_bytes(),
                                                   " bytes, the groups describe ", expected_bytes));
  }
  return absl::OkStatus();
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
