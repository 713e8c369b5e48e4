// Constellations with their models as they come over the wire, and the pulses that are kept.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_MODELS_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_MODELS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/continue_check.h"
#include "kernels/carrier/model.h"
#include "server/converters/bounded_cache.h"
#include "server/operations/recover_carrier/request_pulses.h"

namespace baseband::server {

absl::StatusOr<carrier::Amplitude> AmplitudeFromProto(v1::AmplitudeWeight amplitude);

// Turns messages into models. Keeps those, and the pulses, that were used last, for to make one
// takes milliseconds. Each client has its share of what is kept (BoundedCache). Thread-safe.
class CarrierModels {
 public:
  // Null: it has to be made, and there is no `may_continue` to ask. InvalidArgument names field,
  // value and range, or is of a request that alone, with the models that it has already, `own`,
  // uses more than there may be; ResourceExhausted: all requests in flight do.
  absl::StatusOr<carrier::ModelPtr> FromProto(const v1::Constellation& constellation,
                                              v1::AmplitudeWeight amplitude, uint32_t power,
                                              const ContinueCheck* may_continue,
                                              absl::Span<const carrier::ModelPtr> own = {},
                                              absl::string_view client = "");

  // The points alone, which take a part of that time. Null and refusals: as of FromProto.
  absl::StatusOr<carrier::ConstellationPtr> PointsOf(const v1::Constellation& message,
                                                     const ContinueCheck* may_continue,
                                                     absl::string_view client = "");

  // Whose pulses are made for a request: request_pulses.h.
  PulseCache* pulses() { return &pulses_; }

  // Lets go of what no request uses.
  void DropUnused() {
    constellations_.DropUnused();
    models_.DropUnused();
    pulses_.DropUnused();
  }

 private:
  static constexpr int64_t kMaxConstellationBytes = 16 << 20;
  static constexpr int64_t kMaxModelBytes = 256 << 20;  // all that have a name take about half
  static constexpr int64_t kMaxPulseBytes = 64 << 20;   // the largest take 300 KB

  BoundedCache<carrier::Constellation> constellations_{"constellations", kMaxConstellationBytes};
  BoundedCache<carrier::Model> models_{"models of constellations", kMaxModelBytes};
  PulseCache pulses_{"pulses", kMaxPulseBytes};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_MODELS_H_
