#include "server/operations/recover_carrier/carrier_parameters.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

constexpr double kMaxScale = 1e15;
constexpr float kInt16Scale = 1.0F / 32768.0F;
constexpr double kMinSnrDb = -30.0;
constexpr double kMaxExpectedSnrDb = 60.0;
constexpr double kMaxFrequency = 0.5;  // cycles per symbol: half a turn from symbol to symbol

absl::StatusOr<carrier::Coarse> CoarseFromProto(v1::CoarseMethod coarse) {
  switch (coarse) {
    case v1::COARSE_METHOD_UNSPECIFIED:  // until the model is there, see carrier::CoarseFor
    case v1::COARSE_METHOD_POWER:
      return carrier::Coarse::kPower;
    case v1::COARSE_METHOD_NONE:
      return carrier::Coarse::kNone;
    case v1::COARSE_METHOD_KNOWN_SYMBOLS:
      return carrier::Coarse::kKnown;
    default:
      return CheckRange("coarse", coarse, 0, 3);
  }
}

absl::StatusOr<carrier::Fine> FineFromProto(v1::FineMethod fine) {
  switch (fine) {
    case v1::FINE_METHOD_NONE:
      return carrier::Fine::kNone;
    case v1::FINE_METHOD_INTERPOLATE:
      return carrier::Fine::kInterpolate;
    case v1::FINE_METHOD_SWEEP:
      return carrier::Fine::kSweep;
    case v1::FINE_METHOD_UNSPECIFIED:
    case v1::FINE_METHOD_REMODULATE:
      return carrier::Fine::kRemodulate;
    case v1::FINE_METHOD_PLL:
      return carrier::Fine::kPll;
    default:
      return CheckRange("fine", fine, 0, 5);
  }
}

absl::StatusOr<carrier::Reference> ReferenceFromProto(v1::PhaseReference reference) {
  switch (reference) {
    case v1::PHASE_REFERENCE_UNSPECIFIED:
    case v1::PHASE_REFERENCE_FIRST:
      return carrier::Reference::kFirst;
    case v1::PHASE_REFERENCE_CENTRE:
      return carrier::Reference::kCentre;
    case v1::PHASE_REFERENCE_LAST:
      return carrier::Reference::kLast;
    default:
      return CheckRange("reference", reference, 0, 3);
  }
}

absl::StatusOr<timing::PulseShape> PulseFromProto(const v1::SymbolTiming& message) {
  const int64_t samples = message.samples_per_symbol_numerator();
  const int64_t symbols = message.samples_per_symbol_denominator() == 0
                              ? 1
                              : int64_t{message.samples_per_symbol_denominator()};
  const std::string rate = absl::StrCat("timing.samples_per_symbol_numerator ", samples,
                                        " / timing.samples_per_symbol_denominator ", symbols);
  if (samples < timing::kMinSamplesPerSymbol * symbols ||
      samples > timing::kMaxSamplesPerSymbol * symbols) {
    return absl::InvalidArgumentError(absl::StrCat(rate, " is not in [",
                                                   timing::kMinSamplesPerSymbol, ", ",
                                                   timing::kMaxSamplesPerSymbol, "]"));
  }
  const int64_t divisor = std::gcd(samples, symbols);
  if (samples / divisor > timing::kMaxRateTerm) {  // the larger one
    return absl::InvalidArgumentError(
        absl::StrCat(rate, " is in lowest terms ", samples / divisor, "/", symbols / divisor,
                     ", whose numerator is not in [2, ", timing::kMaxRateTerm, "]"));
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckReal("timing.roll_off", message.roll_off(), timing::kMinRolloff, timing::kMaxRolloff));
  timing::PulseShape shape;
  shape.rolloff = message.roll_off();
  shape.samples = static_cast<int>(samples / divisor);
  shape.symbols = static_cast<int>(symbols / divisor);
  if (message.taps_size() > 0 || message.taps_per_symbol() != 0) {
    BASEBAND_RETURN_IF_ERROR(
        Within("timing.", timing::CheckTaps(message.taps_per_symbol(), message.taps())));
    const auto taps = std::make_shared<timing::PulseTaps>();
    taps->per_symbol = static_cast<int>(message.taps_per_symbol());
    taps->values.assign(message.taps().begin(), message.taps().end());
    shape.taps = taps;
  }
  return shape;
}

// What sweep.step 0 stands for. The paper's 5e-7 has thirty candidates to either side of the best
// bin in its frames of 32400 symbols; longer ones, whose bins are narrower, are to have as many,
// and short ones no more than there may be. A range that is wide for its frame is not made to fit:
// its candidates would pass the line by.
double DefaultSweepStep(double range, int guard_bins, int frame_symbols) {
  constexpr double kFewest = 30;
  const double most = (carrier::kMaxSweepBins - 1) / 2 - guard_bins;
  const double half_bin = 0.5 / frame_symbols;
  if (range == 0.0) range = half_bin;
  const double coarser = std::min(range / most, half_bin / kFewest);
  return std::min(std::max(carrier::Parameters().sweep_step, coarser), range / kFewest);
}

}  // namespace

absl::StatusOr<FrameShape> FrameFromProto(const v1::CarrierGroup& message) {
  FrameShape frame;
  frame.has_timing = message.has_timing();
  if (!frame.has_timing) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("frame_symbols", message.frame_symbols(),
                                        carrier::kMinSymbols, carrier::kMaxSymbols));
    if (message.frame_samples() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame_samples ", message.frame_samples(),
                       " is not 0: without timing a frame has frame_symbols"));
    }
    frame.received = frame.symbols = static_cast<int>(message.frame_symbols());
    return frame;
  }
  if (message.frame_symbols() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame_symbols ", message.frame_symbols(),
                     " is not 0: with timing a frame has frame_samples"));
  }
  BASEBAND_ASSIGN_OR_RETURN(frame.pulse, PulseFromProto(message.timing()));
  if (message.timing().has_max_clock_error()) {
    frame.timing.max_clock_error = message.timing().max_clock_error();
    BASEBAND_RETURN_IF_ERROR(CheckReal("timing.max_clock_error", frame.timing.max_clock_error, 0.0,
                                       timing::kMaxClockError));
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("frame_samples", message.frame_samples(),
                 timing::SamplesFor(frame.pulse, frame.timing, carrier::kMinSymbols),
                 timing::SamplesFor(frame.pulse, frame.timing, carrier::kMaxSymbols + 1) - 1));
  frame.received = static_cast<int>(message.frame_samples());
  frame.symbols = static_cast<int>(timing::SymbolsOf(frame.pulse, frame.timing, frame.received));
  return frame;
}

v1::CoarseMethod CoarseToProto(carrier::Coarse coarse) {
  switch (coarse) {
    case carrier::Coarse::kNone:
      return v1::COARSE_METHOD_NONE;
    case carrier::Coarse::kPower:
      return v1::COARSE_METHOD_POWER;
    case carrier::Coarse::kKnown:
      return v1::COARSE_METHOD_KNOWN_SYMBOLS;
  }
  return v1::COARSE_METHOD_UNSPECIFIED;
}

absl::StatusOr<carrier::SampleFormat> FormatFromProto(v1::SampleFormat format) {
  switch (format) {
    case v1::SAMPLE_FORMAT_UNSPECIFIED:
    case v1::SAMPLE_FORMAT_FLOAT32:
      return carrier::SampleFormat::kFloat32;
    case v1::SAMPLE_FORMAT_FLOAT16:
      return carrier::SampleFormat::kFloat16;
    case v1::SAMPLE_FORMAT_INT16:
      return carrier::SampleFormat::kInt16;
    default:
      return CheckRange("format", format, 0, 3);
  }
}

absl::StatusOr<std::vector<carrier::Iq>> KnownFromProto(const v1::KnownSymbols& message,
                                                        int frame_symbols) {
  const int count = message.values_size() / 2;
  if (message.values_size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("known.values has ", message.values_size(),
                     " numbers: I and Q of each symbol make it even"));
  }
  if (message.positions_size() != 0 && message.positions_size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("known.positions has ", message.positions_size(),
                                                   " places for ", count, " values"));
  }
  if (count == 0) {
    return std::vector<carrier::Iq>();
  }
  if (count > frame_symbols) {
    return absl::InvalidArgumentError(absl::StrCat(
        "known.values has ", count, " symbols, more than the frame's ", frame_symbols));
  }
  std::vector<carrier::Iq> known(static_cast<size_t>(frame_symbols));
  int64_t previous = -1;
  for (int i = 0; i < count; ++i) {
    const int64_t position = message.positions().empty() ? i : message.positions(i);
    if (position <= previous || position >= frame_symbols) {
      return absl::InvalidArgumentError(
          absl::StrCat("known.positions[", i, "] ", position, " is not in [", previous + 1, ", ",
                       frame_symbols - 1, "]: places ascend within the frame"));
    }
    previous = position;
    const carrier::Iq value = {message.values(2 * i), message.values(2 * i + 1)};
    if (!carrier::IsKnownMagnitude(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("known.values[", 2 * i, "], [", 2 * i + 1, "] (", value.i, ", ", value.q,
                       ") have a magnitude not in [", carrier::kMinKnownMagnitude, ", ",
                       carrier::kMaxKnownMagnitude, "], the rms of the points being 1"));
    }
    known[static_cast<size_t>(position)] = value;
  }
  return known;
}

absl::StatusOr<carrier::Parameters> ParametersFromProto(const v1::CarrierGroup& message,
                                                        int frame_symbols) {
  carrier::Parameters parameters;
  BASEBAND_ASSIGN_OR_RETURN(parameters.format, FormatFromProto(message.format()));
  const bool is_int16 = parameters.format == carrier::SampleFormat::kInt16;
  parameters.scale = is_int16 ? kInt16Scale : 1.0F;
  if (message.scale() != 0.0F) {
    BASEBAND_RETURN_IF_ERROR(CheckReal("scale", message.scale(), carrier::kLeastScale, kMaxScale));
    parameters.scale = message.scale();
  }
  BASEBAND_ASSIGN_OR_RETURN(parameters.coarse, CoarseFromProto(message.coarse()));
  BASEBAND_ASSIGN_OR_RETURN(parameters.fine, FineFromProto(message.fine()));
  BASEBAND_ASSIGN_OR_RETURN(parameters.reference, ReferenceFromProto(message.reference()));
  BASEBAND_RETURN_IF_ERROR(CheckReal("max_frequency", message.max_frequency(), 0.0, kMaxFrequency));
  parameters.max_frequency = message.max_frequency();
  parameters.has_expected_snr = message.has_expected_snr_db();
  if (parameters.has_expected_snr) {
    BASEBAND_RETURN_IF_ERROR(
        CheckReal("expected_snr_db", message.expected_snr_db(), kMinSnrDb, kMaxExpectedSnrDb));
    parameters.expected_snr_db = message.expected_snr_db();
  }
  const v1::SweepOptions& sweep = message.sweep();
  parameters.sweep_range = sweep.range();
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("sweep.guard_bins", sweep.guard_bins(), 0, carrier::kMaxGuardBins));
  parameters.sweep_guard_bins = static_cast<int>(sweep.guard_bins());
  if (sweep.step() != 0.0) {
    parameters.sweep_step = sweep.step();
  } else if (parameters.fine == carrier::Fine::kSweep) {
    parameters.sweep_step =
        DefaultSweepStep(sweep.range(), parameters.sweep_guard_bins, frame_symbols);
  }
  parameters.sweep_interpolate = sweep.interpolate();
  if (message.pll().bandwidth() != 0.0F) {
    parameters.pll_bandwidth = message.pll().bandwidth();
  }
  if (message.pll().damping() != 0.0F) {
    parameters.pll_damping = message.pll().damping();
  }
  parameters.want_corrected = message.corrected();
  parameters.want_curve = message.curve();
  if (parameters.want_curve && parameters.coarse == carrier::Coarse::kNone &&
      parameters.fine != carrier::Fine::kSweep) {
    return absl::InvalidArgumentError(
        "curve true, coarse COARSE_METHOD_NONE: without a coarse stage only FINE_METHOD_SWEEP has a"
        " curve");
  }
  return parameters;
}

}  // namespace baseband::server
