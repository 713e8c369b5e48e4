// Constellations and their models as they come over the wire.
#ifndef BASEBAND_SERVER_CONVERTERS_CARRIER_MODELS_H_
#define BASEBAND_SERVER_CONVERTERS_CARRIER_MODELS_H_

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/carrier/model.h"
#include "server/converters/recent_cache.h"

namespace baseband::server {

// Turns messages into models. Keeps those that were used last, for to make one takes milliseconds.
// Thread-safe.
class CarrierModels {
 public:
  // For POWER, `max_frequency` is what the model's power has to tell apart; 0: whatever is best.
  // InvalidArgument names field, value and range.
  absl::StatusOr<carrier::ModelPtr> FromProto(const v1::Constellation& constellation,
                                              v1::AmplitudeWeight amplitude, uint32_t power,
                                              double max_frequency);

 private:
  static constexpr size_t kMaxConstellations = 256;
  static constexpr size_t kMaxModels = 256;
  static constexpr int64_t kMaxModelBytes = 256 << 20;  // all that have a name take about half

  absl::StatusOr<carrier::ConstellationPtr> FromProto(const v1::Constellation& message);

  RecentCache<carrier::ConstellationPtr> constellations_{kMaxConstellations};
  RecentCache<carrier::ModelPtr> models_{kMaxModels, kMaxModelBytes};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONVERTERS_CARRIER_MODELS_H_
