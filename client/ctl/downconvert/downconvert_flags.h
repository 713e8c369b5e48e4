// Flags and files that say which channels are to be taken out of a wideband signal, and how.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_FLAGS_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/downconvert/channel_frequency.h"

namespace CLI {
class App;
}

namespace baseband::ctl {

// One channel; 0: not given, except in `frequency` and `phase_degrees`.
struct ChannelSpec {
  ChannelFrequency frequency;
  double phase_degrees = 0;
  double gain = 1;
  int up = 0;
  int down = 0;
  std::vector<float> taps;
  double pass_hz = 0;
  double stop_hz = 0;
  double ripple_db = 0;
  double attenuation_db = 0;
  bool kaiser = false;
  v1::SampleFormat output = v1::SAMPLE_FORMAT_FLOAT32;
  v1::NcoMethod nco = v1::NCO_METHOD_EXACT;
  int segment = 0;
};

struct DownconvertFlags {
  double sample_rate_hz = 0;
  absl::optional<double> centre_hz;
  std::vector<std::string> channels;   // "9.1M:8", "@433.92M:8"
  std::vector<std::string> fractions;  // "9123457/64000000:8"
  std::string channels_file;
  std::vector<std::string> retunes;  // "0@5000000=9.2M:coherent"
  std::string taps_file;
  std::string output = "cf32";
  std::string nco = "exact";
  ChannelSpec common;  // what the channels have that do not say otherwise
};

void AddDownconvertFlags(CLI::App* app, DownconvertFlags* flags);

// What is asked for, but for the format of the samples.
struct DownconvertPlan {
  v1::DownconvertSetup setup;
  std::vector<v1::Retune> retunes;   // in the order of their samples
  absl::optional<double> centre_hz;  // the radio frequency at zero of the input
  std::vector<std::string> notes;    // for the user: where flags contradict the input
};

// `band`: what the input says of itself; flags come before it. InvalidArgument: no rate; no
// channel; a frequency beyond the band, or by radio without a centre; what cannot be read, by its
// place. NotFound for a missing file. Other ranges are the server's to judge.
absl::StatusOr<DownconvertPlan> ToDownconvertPlan(DownconvertFlags flags, Band band);

// InvalidArgument for a retune at or behind `end`, the index behind the signal's last sample.
absl::Status CheckReached(const std::vector<v1::Retune>& retunes, int64_t end);

// "9.1M", "9.1M:8", "9123457/64000000:8", "@433.92M:8".
absl::Status ParseChannel(absl::string_view text, ChannelSpec* channel);
// "CHANNEL@SAMPLE=FREQUENCY[:continuous|:coherent]", and its frequency in `band`.
absl::StatusOr<v1::Retune> ParseRetune(absl::string_view text, const Band& band);

// "cf32", "cf16", "ci16"; "exact", "float", ..
absl::StatusOr<v1::SampleFormat> ParseOutputFormat(absl::string_view name);
absl::StatusOr<v1::NcoMethod> ParseNcoMethod(absl::string_view name);
std::string NameOfNcoMethod(v1::NcoMethod method);

// Samples that the filter's channel has for each of the input.
double OutputsPerInput(const v1::ChannelFilter& filter);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_FLAGS_H_
