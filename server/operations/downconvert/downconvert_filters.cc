#include "server/operations/downconvert/downconvert_filters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr double kDefaultRippleDb = 0.1;
constexpr double kDefaultAttenuationDb = 80.0;
constexpr double kMinAttenuationDb = 20.0;
constexpr double kMaxAttenuationDb = 140.0;

// `value`, or the default where it is 0.
absl::StatusOr<double> WithinOr(absl::string_view field, double value, double low, double high,
                                double otherwise) {
  if (value == 0.0) return otherwise;
  if (value >= low && value <= high) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
}

// Edges as a mask has them, checked here because a client knows hertz, not fractions of its rate.
absl::Status CheckEdges(const v1::FilterMask& message, const downconvert::Mask& mask, int up,
                        int down, double sample_rate_hz) {
  const downconvert::MaskEdges most = downconvert::LargestEdges(mask.pass_edge, up, down);
  if (!(mask.pass_edge > 0.0 && mask.pass_edge < most.pass)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mask.pass_edge_hz ", message.pass_edge_hz(), " is not in (0, ", most.pass * sample_rate_hz,
        "), half of the lower of the sample rate and the output's"));
  }
  // A rounding of the client's own division is forgiven.
  if (message.stop_edge_hz() != 0.0 &&
      !(mask.stop_edge > mask.pass_edge && mask.stop_edge <= most.stop * (1.0 + 1e-9))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mask.stop_edge_hz ", message.stop_edge_hz(), " is not in (", message.pass_edge_hz(), ", ",
        most.stop * sample_rate_hz, "], from pass_edge_hz to what folds onto it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<downconvert::FilterDesign> DesignFromProto(const v1::FilterMask& message, int up,
                                                          int down, double sample_rate_hz) {
  downconvert::Mask mask;
  mask.pass_edge = message.pass_edge_hz() / sample_rate_hz;
  mask.stop_edge = message.stop_edge_hz() / sample_rate_hz;
  BASEBAND_RETURN_IF_ERROR(CheckEdges(message, mask, up, down, sample_rate_hz));
  BASEBAND_ASSIGN_OR_RETURN(
      mask.ripple_db, WithinOr("mask.ripple_db", message.ripple_db(), downconvert::kMinRippleDb,
                               downconvert::kMaxRippleDb, kDefaultRippleDb));
  BASEBAND_ASSIGN_OR_RETURN(mask.attenuation_db,
                            WithinOr("mask.attenuation_db", message.attenuation_db(),
                                     kMinAttenuationDb, kMaxAttenuationDb, kDefaultAttenuationDb));
  switch (message.design()) {
    case v1::FILTER_DESIGN_UNSPECIFIED:
    case v1::FILTER_DESIGN_EQUIRIPPLE:
      return downconvert::FilterDesign::Create(mask, downconvert::Design::kEquiripple, up, down);
    case v1::FILTER_DESIGN_KAISER:
      return downconvert::FilterDesign::Create(mask, downconvert::Design::kKaiser, up, down);
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

std::unique_ptr<downconvert::FilterDesign> UnfinishedDesigns::Take(const std::string& key) {
  absl::MutexLock lock(&mutex_);
  const auto found = std::find_if(left_.begin(), left_.end(),
                                  [&key](const Entry& entry) { return entry.key == key; });
  if (found == left_.end()) {
    return nullptr;
  }
  std::unique_ptr<downconvert::FilterDesign> design = std::move(found->design);
  bytes_ -= found->bytes;
  left_.erase(found);
  return design;
}

void UnfinishedDesigns::Leave(const std::string& key,
                              std::unique_ptr<downconvert::FilterDesign> design) {
  absl::MutexLock lock(&mutex_);
  const int64_t bytes = design->MaxBytes() + static_cast<int64_t>(key.size());
  left_.push_front({key, std::move(design), bytes});
  bytes_ += bytes;
  while (left_.size() > max_designs_ || bytes_ > max_bytes_) {
    bytes_ -= left_.back().bytes;
    left_.pop_back();
  }
}

absl::StatusOr<downconvert::FilterPtr> DownconvertFilters::Design(
    const v1::FilterMask& mask, int up, int down, double sample_rate_hz, const std::string& key,
    const ContinueCheck* may_continue) {
  BASEBAND_ASSIGN_OR_RETURN(downconvert::FilterDesign created,
                            DesignFromProto(mask, up, down, sample_rate_hz));
  if (may_continue == nullptr) {
    return downconvert::FilterPtr();
  }
  std::unique_ptr<downconvert::FilterDesign> design = unfinished_.Take(key);
  if (design == nullptr) {
    design = std::make_unique<downconvert::FilterDesign>(std::move(created));
  }
  do {
    if (absl::Status status = MayContinue(*may_continue); !status.ok()) {
      unfinished_.Leave(key, std::move(design));
      return status;
    }
  } while (!design->Step());
  return design->Result();
}

absl::StatusOr<downconvert::FilterPtr> DownconvertFilters::FromProto(
    const v1::ChannelFilter& message, double sample_rate_hz, const ContinueCheck* may_continue,
    absl::Span<const downconvert::FilterPtr> own, absl::string_view client) {
  BASEBAND_ASSIGN_OR_RETURN(const int up, RateFactor("up", message.up(), downconvert::kMaxUp));
  BASEBAND_ASSIGN_OR_RETURN(const int down,
                            RateFactor("down", message.down(), downconvert::kMaxDown));
  if (message.taps().empty() != message.has_mask()) {
    return absl::InvalidArgumentError(message.has_mask() ? "taps and mask are set: only one can be"
                                                         : "taps is empty, and mask is not set");
  }
  const std::string key =
      absl::StrCat(absl::bit_cast<uint64_t>(sample_rate_hz), "/", message.SerializeAsString());
  if (downconvert::FilterPtr known = recent_.Find(key, client)) {
    return known;
  }
  absl::StatusOr<downconvert::FilterPtr> made =
      message.has_mask()
          ? Design(message.mask(), up, down, sample_rate_hz, key, may_continue)
          : downconvert::Filter::FromTaps(
                {message.taps().data(), static_cast<size_t>(message.taps_size())}, up, down);
  BASEBAND_RETURN_IF_ERROR(made.status());
  if (*made == nullptr) {
    return *made;
  }
  int64_t bytes = 0;
  for (const downconvert::Stage& stage : (*made)->stages()) {
    bytes += static_cast<int64_t>(stage.taps.size() * sizeof(float));
  }
  return Within(message.has_mask() ? "mask: " : "taps: ",
                recent_.Insert(key, *std::move(made), bytes, own, client));
}

}  // namespace baseband::server
