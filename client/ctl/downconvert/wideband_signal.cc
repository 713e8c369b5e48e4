#include "client/ctl/downconvert/wideband_signal.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/common/angles.h"
#include "common/numbers/numbers.h"

namespace baseband::ctl {
namespace {

double Turns(double cycles) { return cycles - std::floor(cycles); }

// Numbers after the first one replace what `values` point to, as far as they are given.
absl::Status ParseList(absl::string_view text, const std::vector<double*>& values,
                       const char* form) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > values.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not ", form));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const absl::StatusOr<double> number = ParseNumber(parts[i]);
    if (!number.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(number.status().message(), ": it is ", form));
    }
    *values[i] = *number;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Station> ExampleStations(double sample_rate_hz) {
  const double unit = sample_rate_hz / 64e6;
  Station tone{9.1e6 * unit, -20};
  Station neighbour{14.5e6 * unit, -6};
  Station fm{-20e6 * unit, -14, 75e3 * unit, 10e3 * unit};
  Station weak{-20.35e6 * unit, -65};
  return {tone, neighbour, fm, weak};
}

absl::StatusOr<Station> ParseTone(absl::string_view text) {
  Station station;
  const absl::Status status =
      ParseList(text, {&station.frequency_hz, &station.level_db}, "FREQ[:DB], such as 9.1M:-12");
  if (!status.ok()) {
    return status;
  }
  return station;
}

absl::StatusOr<Station> ParseFmStation(absl::string_view text) {
  Station station;
  station.deviation_hz = 75e3;
  station.audio_hz = 1e3;
  const absl::Status status = ParseList(
      text, {&station.frequency_hz, &station.level_db, &station.deviation_hz, &station.audio_hz},
      "FREQ[:DB[:DEVIATION[:AUDIO]]], such as -20M:-12:75k:1k");
  if (!status.ok()) {
    return status;
  }
  if (!(station.audio_hz > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "': AUDIO is not above 0"));
  }
  return station;
}

WidebandSignal::WidebandSignal(const WidebandSpec& spec) : spec_(spec), random_(spec.seed) {}

std::vector<Complex> WidebandSignal::Next(int64_t count) {
  std::vector<Complex> samples;
  samples.reserve(count);
  // Of I and of Q.
  const auto deviation = static_cast<float>(std::sqrt(0.5) * std::pow(10, spec_.noise_db / 20));
  for (int64_t i = 0; i < count; ++i) {
    samples.push_back(deviation * Normal(&random_));
  }
  for (const Station& station : spec_.stations) {
    const auto level = std::pow(10, station.level_db / 20);
    const double step = station.frequency_hz / spec_.sample_rate_hz;
    const double audio_step = station.audio_hz / spec_.sample_rate_hz;
    const double index = station.audio_hz > 0 ? station.deviation_hz / station.audio_hz : 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto n = static_cast<double>(next_ + i);
      double angle = kTwoPi * Turns(step * n);
      if (index != 0) {
        angle += index * std::sin(kTwoPi * Turns(audio_step * n));
      }
      samples[i] += Complex(static_cast<float>(level * std::cos(angle)),
                            static_cast<float>(level * std::sin(angle)));
    }
  }
  next_ += count;
  return samples;
}

}  // namespace baseband::ctl
