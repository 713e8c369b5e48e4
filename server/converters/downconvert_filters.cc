// What a channel's filter is on the wire, and how it is made.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/downconvert_setup.h"
#include "server/converters/rpc.h"

namespace baseband::server {
namespace {

constexpr double kDefaultRippleDb = 0.1;
constexpr double kMaxRippleDb = 3.0;
constexpr double kDefaultAttenuationDb = 80.0;
constexpr double kMinAttenuationDb = 20.0;
constexpr double kMaxAttenuationDb = 140.0;

absl::StatusOr<downconvert::FilterPtr> DesignFromProto(const v1::FilterMask& message, int up,
                                                       int down, double sample_rate_hz) {
  downconvert::Mask mask;
  mask.pass_edge = message.pass_edge_hz() / sample_rate_hz;
  mask.stop_edge = message.stop_edge_hz() / sample_rate_hz;
  BASEBAND_ASSIGN_OR_RETURN(mask.ripple_db, PositiveOr("mask.ripple_db", message.ripple_db(),
                                                       kMaxRippleDb, kDefaultRippleDb));
  mask.attenuation_db =
      message.attenuation_db() != 0.0 ? message.attenuation_db() : kDefaultAttenuationDb;
  if (!(mask.attenuation_db >= kMinAttenuationDb && mask.attenuation_db <= kMaxAttenuationDb)) {
    return absl::InvalidArgumentError(absl::StrCat("mask.attenuation_db ", mask.attenuation_db,
                                                   " is not in [", kMinAttenuationDb, ", ",
                                                   kMaxAttenuationDb, "]"));
  }
  switch (message.design()) {
    case v1::FILTER_DESIGN_UNSPECIFIED:
    case v1::FILTER_DESIGN_EQUIRIPPLE:
      return downconvert::Filter::FromMask(mask, downconvert::Design::kEquiripple, up, down);
    case v1::FILTER_DESIGN_KAISER:
      return downconvert::Filter::FromMask(mask, downconvert::Design::kKaiser, up, down);
    default:
      return CheckRange("mask.design", message.design(), 0, 2);
  }
}

// Factors of a rate: 0 stands for 1.
absl::StatusOr<int> RateFactor(absl::string_view field, uint32_t value, int most) {
  BASEBAND_RETURN_IF_ERROR(CheckRange(field, value, 0, most));
  return std::max(1, static_cast<int>(value));
}

}  // namespace

absl::StatusOr<downconvert::FilterPtr> DownconvertFilters::FromProto(
    const v1::ChannelFilter& message, double sample_rate_hz, const ContinueCheck& may_continue) {
  BASEBAND_ASSIGN_OR_RETURN(const int up, RateFactor("up", message.up(), downconvert::kMaxUp));
  BASEBAND_ASSIGN_OR_RETURN(const int down,
                            RateFactor("down", message.down(), downconvert::kMaxDown));
  if (message.taps().empty() != message.has_mask()) {
    return absl::InvalidArgumentError(message.has_mask() ? "taps and mask are set: only one can be"
                                                         : "taps is empty, and mask is not set");
  }
  const std::string key =
      absl::StrCat(absl::bit_cast<uint64_t>(sample_rate_hz), "/", message.SerializeAsString());
  if (std::optional<downconvert::FilterPtr> known = recent_.Find(key)) {
    return *std::move(known);
  }
  if (message.has_mask()) {
    BASEBAND_RETURN_IF_ERROR(may_continue ? may_continue()
                                          : absl::AbortedError("mask: a filter is to be designed"));
  }
  absl::StatusOr<downconvert::FilterPtr> made =
      message.has_mask()
          ? DesignFromProto(message.mask(), up, down, sample_rate_hz)
          : downconvert::Filter::FromTaps(
                {message.taps().data(), static_cast<size_t>(message.taps_size())}, up, down);
  BASEBAND_RETURN_IF_ERROR(made.status());
  auto bytes = static_cast<int64_t>(2 * key.size());  // it is kept twice
  for (const downconvert::Stage& stage : (*made)->stages()) {
    bytes += static_cast<int64_t>(stage.taps.size() * sizeof(float));
  }
  return recent_.Insert(key, *std::move(made), bytes);
}

}  // namespace baseband::server
