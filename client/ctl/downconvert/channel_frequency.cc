#include "client/ctl/downconvert/channel_frequency.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/ctl/common/frequency.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

double CyclesPerSample(const v1::OscillatorFrequency& frequency, double sample_rate_hz) {
  return frequency.has_fraction() ? static_cast<double>(frequency.fraction().num()) /
                                        static_cast<double>(frequency.fraction().den())
                                  : frequency.hz() / sample_rate_hz;
}

}  // namespace

absl::StatusOr<ChannelFrequency> ParseChannelFrequency(absl::string_view text) {
  ChannelFrequency frequency;
  absl::string_view number = text;
  frequency.is_radio = absl::ConsumePrefix(&number, "@");
  BASEBAND_ASSIGN_OR_RETURN(frequency.oscillator, ParseFrequency(number));
  if (frequency.is_radio && frequency.oscillator.has_fraction()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text, "' is a fraction of the sample rate and no radio frequency, such as @433.92M"));
  }
  return frequency;
}

absl::StatusOr<v1::OscillatorFrequency> ToOscillator(const ChannelFrequency& frequency,
                                                     const Band& band) {
  const double half = band.sample_rate_hz / 2;
  v1::OscillatorFrequency oscillator = frequency.oscillator;
  const std::string radio = absl::StrCat("frequency @", Hertz(oscillator.hz()));
  if (frequency.is_radio && !band.centre_hz.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(radio, " is a radio frequency, but the recording ",
                     band.has_several_centres ? "has several centres: name it from its middle"
                                              : "does not say its centre: say it by --centre"));
  }
  if (frequency.is_radio) {
    oscillator.set_hz(oscillator.hz() - *band.centre_hz);
  }
  const double cycles = CyclesPerSample(oscillator, band.sample_rate_hz);
  if (std::abs(cycles) <= 0.5) {
    return oscillator;
  }
  return absl::InvalidArgumentError(
      frequency.is_radio
          ? absl::StrCat(radio, " is beyond the band, which is from ",
                         Hertz(*band.centre_hz - half), " to ", Hertz(*band.centre_hz + half))
          : absl::StrCat("frequency ", Hertz(cycles * band.sample_rate_hz),
                         " is beyond the band, which ends at ", Hertz(half),
                         ", half the sample rate, either side"));
}

}  // namespace baseband::ctl
