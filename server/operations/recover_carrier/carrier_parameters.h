// What a group of RecoverCarrier asks for, apart from its constellation. Refusals name the field,
// its value and its range.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_PARAMETERS_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_PARAMETERS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/carrier/recover.h"
#include "kernels/timing/timing.h"

namespace baseband::server {

absl::StatusOr<carrier::SampleFormat> FormatFromProto(v1::SampleFormat format);
v1::CoarseMethod CoarseToProto(carrier::Coarse coarse);

// How a frame comes.
struct FrameShape {
  bool has_timing = false;   // as samples of `pulse`, whose timing is looked for
  timing::PulseShape pulse;  // in lowest terms
  timing::Parameters timing;
  int received = 0;  // samples or symbols, as they lie in the payload
  int symbols = 0;   // carrier::kMinSymbols .. kMaxSymbols
};
// Cheap, whatever is claimed.
absl::StatusOr<FrameShape> FrameFromProto(const v1::CarrierGroup& message);

// A value for every symbol of the frame, (0, 0) where nothing is known.
absl::StatusOr<std::vector<carrier::Iq>> KnownFromProto(const v1::KnownSymbols& message,
                                                        int frame_symbols);

// Of frames of `frame_symbols`, by which the defaults of a sweep go.
absl::StatusOr<carrier::Parameters> ParametersFromProto(const v1::CarrierGroup& message,
                                                        int frame_symbols);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_CARRIER_PARAMETERS_H_
