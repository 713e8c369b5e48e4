// Frequencies as people write and read them.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FREQUENCY_H_
#define BASEBAND_CLIENT_CTL_COMMON_FREQUENCY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

// "9.1M", or "9123457/64000000": a fraction of the sample rate.
absl::StatusOr<v1::OscillatorFrequency> ParseFrequency(absl::string_view text);

// "9.123457 MHz", with no more digits than it needs, at most twelve.
std::string Hertz(double hz);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FREQUENCY_H_
