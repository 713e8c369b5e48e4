#include "kernels/carrier/recover.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/math/recover_plan.h"

namespace baseband::carrier {
namespace {

bool IsKnown(const Iq& symbol) { return symbol.i != 0.0F || symbol.q != 0.0F; }

template <typename Value, typename Least, typename Greatest>
absl::Status NotIn(absl::string_view field, Value value, absl::string_view open, Least least,
                   Greatest greatest, absl::string_view close) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " ", value, " is not in ", open, least, ", ", greatest, close));
}

double SweepRange(const Parameters& parameters, int num_symbols) {
  return parameters.sweep_range > 0.0 ? parameters.sweep_range : 0.5 / num_symbols;
}

absl::Status CheckSweep(const Parameters& parameters, int num_symbols) {
  const double range = SweepRange(parameters, num_symbols);
  if (!(parameters.sweep_range >= 0.0 && parameters.sweep_range <= 0.5)) {
    return NotIn("sweep.range", parameters.sweep_range, "[", 0, 0.5, "]");
  }
  if (!(parameters.sweep_step > 0.0 && parameters.sweep_step <= range)) {
    return NotIn("sweep.step", parameters.sweep_step, "(", 0, range, "], the range");
  }
  if (parameters.sweep_guard_bins < 0 || parameters.sweep_guard_bins > kMaxGuardBins) {
    return NotIn("sweep.guard_bins", parameters.sweep_guard_bins, "[", 0, kMaxGuardBins, "]");
  }
  // Before they are known to be few enough for an int.
  const double candidates =
      2.0 * (std::floor(range / parameters.sweep_step * (1.0 + kPlanRounding)) +
             parameters.sweep_guard_bins) +
      1.0;
  if (candidates > kMaxSweepBins) {
    return absl::InvalidArgumentError(absl::StrCat("sweep.step ", parameters.sweep_step, " makes ",
                                                   candidates, " candidates of a sweep.range of ",
                                                   range, "; ", kMaxSweepBins, " is the most"));
  }
  return absl::OkStatus();
}

absl::Status CheckPll(const Parameters& parameters) {
  if (!(parameters.pll_bandwidth > 0.0F && parameters.pll_bandwidth < 0.5F)) {
    return NotIn("pll.bandwidth", parameters.pll_bandwidth, "(", 0, 0.5, ")");
  }
  if (!(parameters.pll_damping >= 0.1F && parameters.pll_damping <= 10.0F)) {
    return NotIn("pll.damping", parameters.pll_damping, "[", 0.1, 10, "]");
  }
  return absl::OkStatus();
}

absl::Status CheckKnown(absl::Span<const Iq> known, int num_symbols) {
  if (known.size() != static_cast<size_t>(num_symbols)) {
    return absl::InvalidArgumentError(
        absl::StrCat("known has ", known.size(), " symbols for a frame of ", num_symbols));
  }
  bool any = false;
  for (size_t n = 0; n < known.size(); ++n) {
    if (known[n].i == 0.0F && known[n].q == 0.0F) continue;
    if (!IsKnownMagnitude(known[n])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "known[", n, "] (", known[n].i, ", ", known[n].q, ") has a magnitude not in [",
          kMinKnownMagnitude, ", ", kMaxKnownMagnitude, "]"));
    }
    any = true;
  }
  if (!any) return absl::InvalidArgumentError("known.values are all (0, 0)");
  return absl::OkStatus();
}

// The number of IEEE 754 binary16.
float FromFloat16(int16_t bits) {
  const int exponent = bits >> 10 & 0x1F;
  const int fraction = bits & 0x3FF;
  float magnitude;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else {
    const int significand = exponent == 0 ? fraction : fraction | 0x400;
    magnitude = std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - 25);
  }
  return bits < 0 ? -magnitude : magnitude;
}

// The greatest common divisor of the known symbols' distances; 0: there are none.
int DivisorOfKnown(absl::Span<const Iq> known) {
  int64_t first = -1;
  int divisor = 0;
  for (size_t n = 0; n < known.size() && divisor != 1; ++n) {
    if (!IsKnown(known[n])) continue;
    if (first < 0) first = static_cast<int64_t>(n);
    divisor = GreatestCommonDivisor(static_cast<int>(static_cast<int64_t>(n) - first), divisor);
  }
  return divisor;
}

}  // namespace

FrequencyRange RangeOfFrequency(const Constellation& constellation, const Parameters& parameters,
                                absl::Span<const Iq> known) {
  const int divisor = DivisorOfKnown(known);
  FrequencyRange range;
  range.limit = LimitOfFrequency(parameters.coarse, constellation.symmetry(), divisor);
  range.known_limit = LimitOfKnown(divisor);
  range.most = parameters.max_frequency > 0.0 ? parameters.max_frequency : range.limit;
  return range;
}

absl::Status CheckMaxFrequency(const Constellation& constellation, const Parameters& parameters,
                               absl::Span<const Iq> known) {
  const double limit = RangeOfFrequency(constellation, parameters, known).limit;
  if (parameters.max_frequency >= 0.0 &&
      parameters.max_frequency <= limit * (1.0 + kPlanRounding)) {
    return absl::OkStatus();
  }
  const absl::Status status = NotIn("max_frequency", parameters.max_frequency, "[", 0, limit, "]");
  if (parameters.coarse != Coarse::kPower) return status;
  const auto period = static_cast<int>(std::lround(0.5 / limit));
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), ": ", constellation.name(), " turned by 1/", period,
                   " from symbol to symbol looks the same; send ", known.empty() ? "" : "other ",
                   "known symbols for more"));
}

absl::Status CheckParameters(const Parameters& parameters, int num_symbols,
                             absl::Span<const Iq> known) {
  if (num_symbols < kMinSymbols || num_symbols > kMaxSymbols) {
    return NotIn("frame_symbols", num_symbols, "[", kMinSymbols, kMaxSymbols, "]");
  }
  if (!(parameters.scale >= kLeastScale && std::isfinite(parameters.scale))) {
    return absl::InvalidArgumentError(
        absl::StrCat("scale ", parameters.scale, " is not finite and at least ", kLeastScale));
  }
  if (parameters.has_expected_snr && !(std::fabs(parameters.expected_snr_db) <= kMaxSnrDb)) {
    return NotIn("expected_snr_db", parameters.expected_snr_db, "[", -kMaxSnrDb, kMaxSnrDb, "]");
  }
  if (parameters.coarse == Coarse::kKnown && known.empty()) {
    return absl::InvalidArgumentError(
        "known.values are empty: a coarse stage of known symbols needs some");
  }
  if (!known.empty()) BASEBAND_RETURN_IF_ERROR(CheckKnown(known, num_symbols));
  if (parameters.fine == Fine::kSweep) return CheckSweep(parameters, num_symbols);
  if (parameters.fine == Fine::kPll) return CheckPll(parameters);
  return absl::OkStatus();
}

absl::Status CheckParameters(const Model& model, const Parameters& parameters, int num_symbols,
                             absl::Span<const Iq> known) {
  BASEBAND_RETURN_IF_ERROR(CheckParameters(parameters, num_symbols, known));
  BASEBAND_RETURN_IF_ERROR(CheckMaxFrequency(model.constellation(), parameters, known));
  if (parameters.coarse == Coarse::kPower && !model.has_line()) {
    return absl::InvalidArgumentError(absl::StrCat("power 0: ", model.constellation().name(),
                                                   " leaves no line at any; send pilots"));
  }
  return absl::OkStatus();
}

RecoverPlan PlanRecovery(const Model& model, const Parameters& parameters,
                         const FrequencyRange& range, bool symbols_known, int num_symbols) {
  RecoverPlan plan;
  plan.num_symbols = num_symbols;
  plan.points = FftPoints(num_symbols);
  static_cast<FramePlan&>(plan) =
      PlanFrame(model.view(), parameters, range, symbols_known, num_symbols, plan.points);
  plan.last_candidate = LastCandidate(parameters, num_symbols);
  if (parameters.fine == Fine::kSweep) {
    plan.sweep_block = SweepBlockLength(parameters, plan.line_power, num_symbols);
  }
  return plan;
}

Coarse CoarseFor(const Model& model, const Parameters& parameters, absl::Span<const Iq> known) {
  // Longest run of symbols that are not known, of the frame; longest distance of blocks alike,
  // whose peaks are no closer than bins can show.
  constexpr double kLongestGap = 0.25;
  constexpr double kLongestDistance = 0.6;
  if (!model.has_line()) return Coarse::kKnown;
  Parameters by_known = parameters;
  by_known.coarse = Coarse::kKnown;
  if (!CheckMaxFrequency(model.constellation(), by_known, known).ok()) return Coarse::kPower;
  const auto num_symbols = static_cast<int>(known.size());
  KnownMoments moments;
  int begin = num_symbols;
  int end = 0;
  int gap = 0;
  int blocks = 0;
  int block_begin = 0;
  int shortest = num_symbols;
  int longest = 0;
  const auto end_block = [&] {
    shortest = std::min(shortest, end - block_begin);
    longest = std::max(longest, end - block_begin);
  };
  for (int n = 0; n < num_symbols; ++n) {
    const Iq& symbol = known[static_cast<size_t>(n)];
    if (!IsKnown(symbol)) continue;
    moments.Add(symbol, (n - 0.5 * (num_symbols - 1)) / num_symbols);
    gap = std::max(gap, n - end);
    if (n > end || blocks == 0) {
      if (blocks > 0) end_block();
      block_begin = n;
      ++blocks;
    }
    begin = std::min(begin, n);
    end = n + 1;
  }
  end_block();
  gap = std::max(gap, num_symbols - end);
  const double noise = std::pow(10.0, -0.1 * model.constellation().operating_snr_db());
  if (gap <= kLongestGap * num_symbols) {
    // Single ones have one peak in reach.
    const bool single = blocks == moments.count;
    return single || KnownPeaksAlike(moments, noise, num_symbols) <= 1.0 ? Coarse::kKnown
                                                                         : Coarse::kPower;
  }
  if (IsEndUnsure(model.view(), moments, noise)) return Coarse::kPower;
  const bool side_by_side = 2 * moments.count >= end - begin;
  const bool alike = blocks > 1 && longest <= 2 * shortest &&
                     PeaksAlike(1.0 + static_cast<double>(gap) / shortest, moments, noise) <= 1.0;
  return side_by_side || (alike && gap + shortest <= kLongestDistance * num_symbols)
             ? Coarse::kKnown
             : Coarse::kPower;
}

Reach ReachOf(const Model& model, const Parameters& parameters, absl::Span<const Iq> known) {
  return ReachOfDivisor(parameters, model.constellation().symmetry(), DivisorOfKnown(known));
}

Curve CurveOf(const Model& model, const Parameters& parameters, int num_symbols) {
  Curve curve;
  if (!parameters.want_curve) return curve;
  if (parameters.fine == Fine::kSweep) {
    const int last = LastCandidate(parameters, num_symbols);
    curve.num_points = 2 * last + 1;
    curve.begin = -last * parameters.sweep_step;
    curve.step = parameters.sweep_step;
    return curve;
  }
  const int points = FftPoints(num_symbols);
  const SpectrumCurve spectrum = SpectrumCurveOf(model.view(), parameters, points);
  curve.num_points = spectrum.num_points;
  const int line_power = parameters.coarse == Coarse::kKnown ? 1 : model.power();
  const double spacing = 0.5 / (static_cast<double>(points) * line_power);
  curve.begin = (0.5 * (spectrum.group - 1) - spectrum.last_half_bin) * spacing;
  curve.step = spectrum.group * spacing;
  return curve;
}

Iq ReadSymbol(const Parameters& parameters, const uint8_t* symbols, int64_t n) {
  float value[2];
  const uint8_t* const at = symbols + n * BytesPerSymbol(parameters.format);
  if (parameters.format == SampleFormat::kFloat32) {
    std::memcpy(value, at, sizeof(value));
  } else {
    int16_t bits[2];
    std::memcpy(bits, at, sizeof(bits));
    for (int k = 0; k < 2; ++k) {
      value[k] = parameters.format == SampleFormat::kInt16 ? static_cast<float>(bits[k])
                                                           : FromFloat16(bits[k]);
    }
  }
  return {value[0] * parameters.scale, value[1] * parameters.scale};
}

}  // namespace baseband::carrier
