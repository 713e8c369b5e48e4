// Frequencies of channels as people name them: from the middle of the recording, or by radio.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FREQUENCY_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FREQUENCY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

struct ChannelFrequency {
  v1::OscillatorFrequency oscillator;
  bool is_radio = false;  // its hz is a radio frequency
};

// "9.1M" and "9123457/64000000" from the middle, "@433.92M" by radio.
absl::StatusOr<ChannelFrequency> ParseChannelFrequency(absl::string_view text);

// What a recording holds.
struct Band {
  double sample_rate_hz = 0;         // 0: not said
  absl::optional<double> centre_hz;  // the radio frequency that was mixed to zero
  bool has_several_centres = false;  // it changes on the way: then there is no centre_hz
  std::string path = {};             // of the file that would say so
};

// As the oscillator has it. InvalidArgument, from "frequency .." on, for a frequency beyond the
// band, half the sample rate either side of the middle, where there are aliases of something else,
// and for one by radio where nobody says the centre.
absl::StatusOr<v1::OscillatorFrequency> ToOscillator(const ChannelFrequency& frequency,
                                                     const Band& band);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNEL_FREQUENCY_H_
