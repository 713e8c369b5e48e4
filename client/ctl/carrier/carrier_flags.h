// Flags that say how a carrier is to be recovered, for all commands alike.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_CARRIER_FLAGS_H_
#define BASEBAND_CLIENT_CTL_CARRIER_CARRIER_FLAGS_H_

#include <cmath>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// Zero, NaN or empty: not given.
struct CarrierFlags {
  std::string constellation;
  std::string points_file;
  double symbol_rate_hz = 0;

  std::string coarse;
  int power = 0;
  std::string amplitude;
  double max_frequency = 0;
  double expected_snr_db = NAN;

  std::string fine;
  double range = 0;
  double step = 0;
  int guard_bins = 0;
  bool interpolate = false;
  double bandwidth = 0;
  double damping = 0;

  std::string reference = "first";

  std::string samples_per_symbol;
  double roll_off = NAN;
  double max_clock_error = NAN;
  std::string taps_file;
  int taps_per_symbol = 0;
};

// --constellation and --points.
void AddConstellationFlags(CLI::App* app, CarrierFlags* flags);
// --samples-per-symbol, --roll-off, --max-clock-error, --taps and --taps-per-symbol, for frames
// that come as samples.
void AddTimingFlags(CLI::App* app, CarrierFlags* flags);
// --taps, which is returned, and --taps-per-symbol, in `group` of the help.
CLI::Option* AddTapsFlags(CLI::App* app, const char* group, CLI::Option* samples,
                          std::string* taps_file, int* taps_per_symbol);
// All others.
void AddCarrierFlags(CLI::App* app, CarrierFlags* flags);

// The group that `flags` describe, but for its frames, their format and the known symbols.
// InvalidArgument when no constellation or two are named, for unknown names, and for flags of
// another method than the one chosen; NotFound for a missing file. Ranges are the server's to
// judge.
absl::StatusOr<v1::CarrierGroup> ToCarrierGroup(const CarrierFlags& flags);

// Points from text: "I Q" a line, separated by blanks or commas, # for comments.
absl::StatusOr<std::vector<Complex>> ParsePoints(absl::string_view text);

// As the flags name them: "remodulate", "power", "optimal".
absl::StatusOr<v1::FineMethod> ParseFine(absl::string_view name);
absl::StatusOr<v1::CoarseMethod> ParseCoarse(absl::string_view name);
absl::StatusOr<v1::AmplitudeWeight> ParseAmplitude(absl::string_view name);

// "64APSK 132/180", "own constellation of 12 points".
std::string Describe(const v1::Constellation& constellation);
// "first symbol", "centre", "last symbol".
std::string Describe(v1::PhaseReference reference);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_CARRIER_FLAGS_H_
