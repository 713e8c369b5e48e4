#include "server/operations/recover_carrier/carrier_models.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

// Tells messages apart: names by their letters, points by their bits.
std::string KeyOf(const v1::Constellation& message) {
  if (message.points().empty()) {
    return absl::AsciiStrToUpper(message.name());
  }
  return {reinterpret_cast<const char*>(message.points().data()),
          static_cast<size_t>(message.points_size()) * sizeof(float)};
}

}  // namespace

absl::StatusOr<carrier::Amplitude> AmplitudeFromProto(v1::AmplitudeWeight amplitude) {
  switch (amplitude) {
    case v1::AMPLITUDE_WEIGHT_UNSPECIFIED:
    case v1::AMPLITUDE_WEIGHT_OPTIMAL:
      return carrier::Amplitude::kWeighted;
    case v1::AMPLITUDE_WEIGHT_PLAIN:
      return carrier::Amplitude::kPlain;
    case v1::AMPLITUDE_WEIGHT_UNIT:
      return carrier::Amplitude::kUnit;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("amplitude ", static_cast<int>(amplitude), " is not in [0, 3]"));
  }
}

absl::StatusOr<carrier::ConstellationPtr> CarrierModels::PointsOf(const v1::Constellation& message,
                                                                  const ContinueCheck* may_continue,
                                                                  absl::string_view client) {
  if (message.name().empty() == message.points().empty()) {
    return absl::InvalidArgumentError(
        message.name().empty()
            ? "constellation is not set: it needs a name or points"
            : "constellation has a name and points: only one of them can be meant");
  }
  if (message.points_size() % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("constellation.points has ",
                                                   message.points_size(),
                                                   " numbers: I and Q of each point make it even"));
  }
  const std::string key = KeyOf(message);
  if (carrier::ConstellationPtr known = constellations_.Find(key, client)) {
    return known;
  }
  if (may_continue == nullptr && !message.points().empty()) {
    return carrier::ConstellationPtr();  // all pairs of points have to be looked at
  }
  absl::StatusOr<carrier::ConstellationPtr> made;
  if (message.points().empty()) {
    made = carrier::Constellation::FromName(message.name());
  } else {
    std::vector<carrier::Iq> points;
    for (int i = 0; i < message.points_size(); i += 2) {
      points.push_back({message.points(i), message.points(i + 1)});
    }
    made = carrier::Constellation::FromPoints(points);
  }
  if (!made.ok() && !message.points().empty()) {
    return absl::Status(made.status().code(),
                        absl::StrCat("constellation.", made.status().message()));
  }
  BASEBAND_RETURN_IF_ERROR(made.status());
  // Its points, and twice as much that follows from them.
  const auto bytes = static_cast<int64_t>(3 * (*made)->points().size() * sizeof(carrier::Iq));
  return Within("constellation: ",
                constellations_.Insert(key, *std::move(made), bytes, {}, client));
}

absl::StatusOr<carrier::ModelPtr> CarrierModels::FromProto(const v1::Constellation& constellation,
                                                           v1::AmplitudeWeight amplitude,
                                                           uint32_t power,
                                                           const ContinueCheck* may_continue,
                                                           absl::Span<const carrier::ModelPtr> own,
                                                           absl::string_view client) {
  BASEBAND_ASSIGN_OR_RETURN(const carrier::Amplitude weight, AmplitudeFromProto(amplitude));
  BASEBAND_ASSIGN_OR_RETURN(carrier::ConstellationPtr points,
                            PointsOf(constellation, may_continue, client));
  if (points == nullptr) {
    return carrier::ModelPtr();
  }
  const std::string key =
      absl::StrCat(static_cast<int>(weight), "/", power, "/", KeyOf(constellation));
  if (carrier::ModelPtr known = models_.Find(key, client)) {
    return known;
  }
  if (may_continue == nullptr) {
    return carrier::ModelPtr();
  }
  BASEBAND_ASSIGN_OR_RETURN(
      carrier::ModelPtr model,
      carrier::Model::Create(std::move(points), weight,
                             static_cast<int>(std::min<uint32_t>(power, INT32_MAX)),
                             *may_continue));
  const int64_t bytes = model->bytes();
  return Within("constellation: ", models_.Insert(key, std::move(model), bytes, own, client));
}

}  // namespace baseband::server
