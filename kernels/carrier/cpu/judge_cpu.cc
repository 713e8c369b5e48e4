// Stage S6 on the CPU device: from a frame's sums to its result.
#include <cmath>
#include <utility>

#include "kernels/carrier/math/kurtosis_math.h"
#include "kernels/carrier/recover_cpu.h"

namespace baseband::carrier {

Stray FrameRecovery::FindStray() const {
  const int num_symbols = plan_.num_symbols;
  const int count = NumStretches(num_symbols);
  StretchLine line;
  for (int i = 0; i < count; ++i) line.Add(stretches_[i], StretchCentre(i, num_symbols));
  double phase = 0.0;
  double slope = 0.0;
  if (!line.Find(&phase, &slope)) return LostStray();
  StrayModes sums;
  for (int i = 0; i < count; ++i) {
    sums.Add(stretches_[i], StretchCentre(i, num_symbols), phase, slope);
  }
  const double curvature = line.information[0];
  StrayMode modes[kModes];
  for (int i = 0; i < kModes; ++i) {
    modes[i] = StrayModeOf(i, sums.value[i], sums.noise[i], curvature);
  }
  double walk = 0.0;
  for (int round = 0; round < kWalkRounds; ++round) {
    WalkSums of_walk;
    for (const StrayMode& mode : modes) of_walk.Add(mode, walk);
    const double last = std::exchange(walk, of_walk.walk());
    if (walk == last) break;
  }
  StraySums of_modes;
  for (const StrayMode& mode : modes) of_modes.Add(mode, walk);
  return StrayOf(of_modes, walk, modes[0], curvature);
}

bool FrameRecovery::FindImbalance() const {
  const int power = BalancePower(view_.symmetry);
  if (power == 0) return false;
  const FrameCpu& frame = arrays_.frame;
  const auto inverse_gain = static_cast<float>(1.0 / estimate_.gain);
  Balance balance;
  for (int i = 0; i < kBalanceSymbols && i < plan_.num_symbols; ++i) {
    const int n = BalanceSymbol(i, plan_.num_symbols);
    if (frame.known.re != nullptr && (frame.known.re[n] != 0.0F || frame.known.im[n] != 0.0F)) {
      continue;
    }
    const Turned turn = Turn(estimate_.TurnsAt(n - frame.centre()));
    const Iq r = {frame.symbols.re[n] * inverse_gain, frame.symbols.im[n] * inverse_gain};
    balance.Add(Multiply(r, {turn.c, -turn.s}), n, power);
  }
  return IsUnbalanced(balance);
}

void FrameRecovery::Judge(absl::Span<uint8_t> corrected) {
  const int num_symbols = plan_.num_symbols;
  Findings found;
  found.num_symbols = num_symbols;
  found.points = plan_.points;
  found.symbols_known = symbols_known();
  found.known = known_moments_;
  found.first_snr_db = first_snr_db_;
  found.estimate = estimate_;
  found.sums = sums_;
  found.sums_table = sums_table_;
  found.information = InformationOf(sums_table_);
  found.line = line_covariance_;
  found.loop = loop_;
  found.stray = FindStray();
  found.coarse_frequency = coarse_frequency_;
  found.line_energy = line_energy_;
  found.peak = lines_[0].lambda;
  found.second_peak = second_peak_;
  found.weakest_peak = weakest_peak_;
  found.bins_miss_peaks = plan_.known_line && half_.misses();
  if (known_moments_.count <= kMaxKnownForMisfit * num_symbols) {
    const double rms = estimate_.gain * std::sqrt(1.0 + estimate_.noise);
    found.misfit = Misfit(view_, histogram_, num_symbols, -10.0 * std::log10(estimate_.noise),
                          rms / received_rms_);
    AmplitudeMoments moments;
    for (int bin = 0; bin < kAmplitudeBins; ++bin) moments.Add(bin, histogram_[bin]);
    found.too_even = IsTooEven(view_, moments, num_symbols, estimate_.noise);
  }
  found.unbalanced = FindImbalance();
  found.rival = rival_;
  found.blunt_table = blunt_table_;
  found.elsewhere = elsewhere_ > kElsewhere;
  found.close_branch = close_branch_;
  const DecisionSums distance = SumHardDistance(view_, arrays_.frame, estimate_);
  found.distance = distance.square / num_symbols;
  // A loop's are turned where it settles, which is where a header is: they are no witness.
  if (parameters_.fine != Fine::kPll) found.apart = distance.apart;
  Judgement judgement =
      JudgeFrame(view_, parameters_, plan_, found, ExpectedOf(view_, parameters_, plan_, found));
  result_ = judgement.result;
  if (corrected.empty()) return;
  judgement.turn_back.gain = 1.0;
  WriteCorrected(parameters_.format, parameters_.scale, arrays_.frame, judgement.turn_back,
                 corrected);
}

}  // namespace baseband::carrier
