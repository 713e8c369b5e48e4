#include "client/ctl/carrier/carrier_flags.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/carrier/known_symbols.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/taps_file.h"

namespace baseband::ctl {
namespace {

constexpr NamedValue<v1::CoarseMethod> kCoarse[] = {
    {"none", v1::COARSE_METHOD_NONE},
    {"power", v1::COARSE_METHOD_POWER},
    {"known_symbols", v1::COARSE_METHOD_KNOWN_SYMBOLS},
    {"known", v1::COARSE_METHOD_KNOWN_SYMBOLS}};
constexpr NamedValue<v1::AmplitudeWeight> kAmplitudes[] = {
    {"optimal", v1::AMPLITUDE_WEIGHT_OPTIMAL},
    {"plain", v1::AMPLITUDE_WEIGHT_PLAIN},
    {"unit", v1::AMPLITUDE_WEIGHT_UNIT}};
constexpr NamedValue<v1::FineMethod> kFine[] = {{"remodulate", v1::FINE_METHOD_REMODULATE},
                                                {"interpolate", v1::FINE_METHOD_INTERPOLATE},
                                                {"sweep", v1::FINE_METHOD_SWEEP},
                                                {"pll", v1::FINE_METHOD_PLL},
                                                {"none", v1::FINE_METHOD_NONE}};
constexpr NamedValue<v1::PhaseReference> kReferences[] = {{"first", v1::PHASE_REFERENCE_FIRST},
                                                          {"centre", v1::PHASE_REFERENCE_CENTRE},
                                                          {"last", v1::PHASE_REFERENCE_LAST},
                                                          {"center", v1::PHASE_REFERENCE_CENTRE}};

absl::Status SetConstellation(const CarrierFlags& flags, v1::Constellation* constellation) {
  if (flags.constellation.empty() == flags.points_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.constellation.empty() ? "no constellation is given" : "two constellations are given",
        ": use one of --constellation, --points"));
  }
  if (!flags.constellation.empty()) {
    constellation->set_name(flags.constellation);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = ReadText(flags.points_file);
  if (!text.ok()) {
    return text.status();
  }
  const absl::StatusOr<std::vector<Complex>> points = ParsePoints(*text);
  if (!points.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.points_file, ": ", points.status().message()));
  }
  for (const Complex& point : *points) {
    constellation->add_points(point.real());
    constellation->add_points(point.imag());
  }
  return absl::OkStatus();
}

// A flag that only one method knows must come with it.
absl::Status RefuseFlag(bool given, absl::string_view flag, absl::string_view wants) {
  return given ? absl::InvalidArgumentError(absl::StrCat(flag, " needs ", wants))
               : absl::OkStatus();
}

absl::Status SetMethods(const CarrierFlags& flags, v1::CarrierGroup* group) {
  absl::Status status;
  if (!flags.coarse.empty()) {
    const auto coarse = ParseCoarse(flags.coarse);
    status.Update(coarse.status());
    group->set_coarse(coarse.value_or(v1::COARSE_METHOD_UNSPECIFIED));
  }
  if (!flags.amplitude.empty()) {
    const auto amplitude = ParseAmplitude(flags.amplitude);
    status.Update(amplitude.status());
    group->set_amplitude(amplitude.value_or(v1::AMPLITUDE_WEIGHT_UNSPECIFIED));
  }
  if (!flags.fine.empty()) {
    const auto fine = ParseFine(flags.fine);
    status.Update(fine.status());
    group->set_fine(fine.value_or(v1::FINE_METHOD_UNSPECIFIED));
  }
  const auto reference = FindValue(kReferences, "--reference", flags.reference);
  status.Update(reference.status());
  group->set_reference(reference.value_or(v1::PHASE_REFERENCE_UNSPECIFIED));

  const bool blind = group->coarse() == v1::COARSE_METHOD_UNSPECIFIED ||
                     group->coarse() == v1::COARSE_METHOD_POWER;
  status.Update(RefuseFlag(flags.power != 0 && !blind, "--power", "--coarse=power"));
  status.Update(RefuseFlag(!flags.amplitude.empty() && !blind, "--amplitude", "--coarse=power"));
  const bool sweep = group->fine() == v1::FINE_METHOD_SWEEP;
  status.Update(RefuseFlag(flags.range != 0 && !sweep, "--range", "--fine=sweep"));
  status.Update(RefuseFlag(flags.step != 0 && !sweep, "--step", "--fine=sweep"));
  status.Update(RefuseFlag(flags.guard_bins != 0 && !sweep, "--guard-bins", "--fine=sweep"));
  status.Update(RefuseFlag(flags.interpolate && !sweep, "--interpolate", "--fine=sweep"));
  const bool pll = group->fine() == v1::FINE_METHOD_PLL;
  status.Update(RefuseFlag(flags.bandwidth != 0 && !pll, "--bandwidth", "--fine=pll"));
  status.Update(RefuseFlag(flags.damping != 0 && !pll, "--damping", "--fine=pll"));
  return status;
}

absl::Status SetTiming(const CarrierFlags& flags, v1::CarrierGroup* group) {
  if (flags.samples_per_symbol.empty()) {
    return absl::OkStatus();
  }
  const auto samples = ParseSamplesPerSymbol(flags.samples_per_symbol);
  if (!samples.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--samples-per-symbol ", samples.status().message()));
  }
  if (std::isnan(flags.roll_off)) {
    return absl::InvalidArgumentError("--samples-per-symbol needs --roll-off, that of the pulses");
  }
  v1::SymbolTiming& timing = *group->mutable_timing();
  timing.set_samples_per_symbol_numerator(static_cast<uint32_t>(samples->numerator));
  timing.set_samples_per_symbol_denominator(static_cast<uint32_t>(samples->denominator));
  timing.set_roll_off(flags.roll_off);
  if (!std::isnan(flags.max_clock_error)) {
    timing.set_max_clock_error(flags.max_clock_error);
  }
  if (!flags.taps_file.empty()) {
    const absl::StatusOr<std::vector<float>> taps = ReadTaps(flags.taps_file);
    if (!taps.ok()) {
      return taps.status();
    }
    timing.mutable_taps()->Add(taps->begin(), taps->end());
    timing.set_taps_per_symbol(static_cast<uint32_t>(flags.taps_per_symbol));
  }
  return absl::OkStatus();
}

}  // namespace

void AddConstellationFlags(CLI::App* app, CarrierFlags* flags) {
  app->add_option(
         "--constellation", flags->constellation,
         "a standard's by name: QPSK, 64QAM, \"32APSK 3/4\", \"64APSK 132/180\", ..; basebandctl"
         " info lists them")
      ->type_name("NAME");
  app->add_option("--points", flags->points_file,
                  "a constellation of your own instead: \"I Q\" a line, at any scale")
      ->type_name("FILE");
}

void AddTimingFlags(CLI::App* app, CarrierFlags* flags) {
  const char* timing = "Samples: matched filter and symbol timing, before the carrier";
  CLI::Option* const samples =
      app->add_option(
             "--samples-per-symbol", flags->samples_per_symbol,
             "the file holds so many, 2 to 16, perhaps a fraction: 4, 5/2; cycles per symbol"
             " then count symbols as they are, not nominal ones")
          ->type_name("P/Q")
          ->group(timing);
  AddNumber(app, "--roll-off", "A", &flags->roll_off, Between(0.05, 1),
            "of the root-raised-cosine pulse, or of the band of --taps; to be given")
      ->group(timing)
      ->needs(samples);
  AddTapsFlags(app, timing, samples, &flags->taps_file, &flags->taps_per_symbol);
  AddNumber(app, "--max-clock-error", "E", &flags->max_clock_error, Between(0, 1e-3),
            "look so far for symbols that are longer or shorter, of their length (1e-4)")
      ->group(timing)
      ->needs(samples);
}

CLI::Option* AddTapsFlags(CLI::App* app, const char* group, CLI::Option* samples,
                          std::string* taps_file, int* taps_per_symbol) {
  CLI::Option* const taps =
      app->add_option("--taps", *taps_file,
                      "another pulse, as it is sent: an odd number of taps, symmetric; numbers as"
                      " text, # for comments; .f32: float32")
          ->type_name("FILE")
          ->group(group)
          ->needs(samples);
  CLI::Option* const per_symbol =
      AddNumber(app, "--taps-per-symbol", "T", taps_per_symbol, Between(2, 16), "of --taps")
          ->group(group)
          ->needs(taps);
  taps->needs(per_symbol);
  return taps;
}

void AddCarrierFlags(CLI::App* app, CarrierFlags* flags) {
  AddNumber(app, "--symbol-rate", "HZ", &flags->symbol_rate_hz, UpTo(1e15),
            "tell frequencies in Hz too (SigMF: its sample rate)");
  app->add_option("--reference", flags->reference,
                  "where the phase is told: first, centre or last symbol (first)")
      ->type_name("WHERE");
  AddNumber(app, "--expected-snr", "DB", &flags->expected_snr_db, Between(-30, 60),
            "Es/N0, if you have an idea of it");

  const char* coarse = "Coarse stage: where the FFT shows the carrier";
  app->add_option(
         "--coarse", flags->coarse,
         "power (all symbols), known_symbols (these alone), none: near zero (power; known_symbols"
         " where they lie all over the frame or are very many)")
      ->type_name("METHOD")
      ->group(coarse);
  AddNumber(app, "--power", "P", &flags->power, Between(1, 64),
            "p, a multiple of the constellation's symmetry (the best)")
      ->group(coarse);
  app->add_option("--amplitude", flags->amplitude,
                  "what a symbol's amplitude counts: optimal, plain or unit (optimal)")
      ->type_name("WEIGHT")
      ->group(coarse);
  AddNumber(app, "--max-frequency", "F", &flags->max_frequency, UpTo(0.5),
            "look only this far from zero, cycles per symbol (all that can be told apart)")
      ->group(coarse);

  const char* fine = "Fine stage";
  app->add_option("--fine", flags->fine, "remodulate, interpolate, sweep, pll or none (remodulate)")
      ->type_name("METHOD")
      ->group(fine);
  AddNumber(app, "--range", "F", &flags->range, UpTo(0.5),
            "sweep: candidates within +-this, cycles per symbol (half an FFT bin)")
      ->group(fine);
  AddNumber(app, "--step", "F", &flags->step, UpTo(0.5),
            "sweep: between candidates (5e-7; at least 30 of them to the range, at most 4095)")
      ->group(fine);
  AddNumber(app, "--guard-bins", "N", &flags->guard_bins, Between(0, 16),
            "sweep: candidates beyond each end (0)")
      ->group(fine);
  app->add_flag("--interpolate", flags->interpolate, "sweep: a parabola through the best three")
      ->group(fine);
  AddNumber(app, "--bandwidth", "BNT", &flags->bandwidth, Inside(0, 0.5),
            "pll: noise bandwidth times symbol period (0.005)")
      ->group(fine);
  AddNumber(app, "--damping", "ZETA", &flags->damping, Between(0.1, 10), "pll: of the loop (0.707)")
      ->group(fine);
}

absl::StatusOr<v1::CarrierGroup> ToCarrierGroup(const CarrierFlags& flags) {
  v1::CarrierGroup group;
  absl::Status status = SetConstellation(flags, group.mutable_constellation());
  status.Update(SetMethods(flags, &group));
  status.Update(SetTiming(flags, &group));
  if (!status.ok()) {
    return status;
  }
  group.set_symbol_rate_hz(flags.symbol_rate_hz);
  group.set_power(flags.power);
  group.set_max_frequency(flags.max_frequency);
  if (!std::isnan(flags.expected_snr_db)) {
    group.set_expected_snr_db(static_cast<float>(flags.expected_snr_db));
  }
  if (group.fine() == v1::FINE_METHOD_SWEEP) {
    group.mutable_sweep()->set_range(flags.range);
    group.mutable_sweep()->set_step(flags.step);
    group.mutable_sweep()->set_guard_bins(flags.guard_bins);
    group.mutable_sweep()->set_interpolate(flags.interpolate);
  } else if (group.fine() == v1::FINE_METHOD_PLL) {
    group.mutable_pll()->set_bandwidth(static_cast<float>(flags.bandwidth));
    group.mutable_pll()->set_damping(static_cast<float>(flags.damping));
  }
  return group;
}

absl::StatusOr<std::vector<Complex>> ParsePoints(absl::string_view text) {
  // The same form as known symbols without positions.
  const absl::StatusOr<v1::KnownSymbols> values = ParseKnownSymbols(text);
  if (!values.ok()) {
    return values.status();
  }
  if (values->positions_size() > 0) {
    return absl::InvalidArgumentError("has three columns; a point is \"I Q\"");
  }
  std::vector<Complex> points;
  for (int i = 0; i < values->values_size(); i += 2) {
    points.emplace_back(values->values(i), values->values(i + 1));
  }
  return points;
}

absl::StatusOr<v1::FineMethod> ParseFine(absl::string_view name) {
  return FindValue(kFine, "--fine", name);
}
absl::StatusOr<v1::CoarseMethod> ParseCoarse(absl::string_view name) {
  return FindValue(kCoarse, "--coarse", name);
}
absl::StatusOr<v1::AmplitudeWeight> ParseAmplitude(absl::string_view name) {
  return FindValue(kAmplitudes, "--amplitude", name);
}

std::string Describe(const v1::Constellation& constellation) {
  return constellation.name().empty()
             ? absl::StrCat("an own constellation of ", constellation.points_size() / 2, " points")
             : constellation.name();
}

std::string Describe(v1::PhaseReference reference) {
  return reference == v1::PHASE_REFERENCE_CENTRE ? "the centre"
         : reference == v1::PHASE_REFERENCE_LAST ? "the last symbol"
                                                 : "the first symbol";
}

}  // namespace baseband::ctl
