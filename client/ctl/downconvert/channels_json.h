// Channels of Downconvert from a JSON file.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNELS_JSON_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNELS_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/ctl/downconvert/downconvert_flags.h"

namespace baseband::ctl {

// Of a list of objects, or of an object with such a list as "channels" and perhaps a
// "sample_rate". Keys of a channel, all optional but the first:
//   frequency, phase, gain, down, up, taps (numbers, or a file's name), pass, stop, ripple,
//   attenuation, design ("equiripple", "kaiser"), output, nco, segment
// with numbers, or texts such as "9.1M", and "@433.92M" of a frequency by radio; what is missing is
// as in `common`.
struct ChannelsFile {
  double sample_rate_hz = 0;  // 0: not said
  std::vector<ChannelSpec> channels;
};

// InvalidArgument names the place, "channels[3].down ..".
absl::StatusOr<ChannelsFile> ParseChannels(const std::string& text, const ChannelSpec& common);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_CHANNELS_JSON_H_
