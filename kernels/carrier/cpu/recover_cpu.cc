#include "kernels/carrier/recover_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "kernels/carrier/math/pll_math.h"

namespace baseband::carrier {
namespace {

double WrappedTurns(double turns) { return turns - std::floor(turns + 0.5); }

}  // namespace

bool FrameRecovery::Read(absl::Span<const uint8_t> symbols, absl::Span<const Iq> known) {
  FrameCpu& frame = arrays_.frame;
  half_ = HalfBinOf(plan_.num_symbols, plan_.points);
  double sum_of_squares = 0.0;
  if (!ReadSymbols(parameters_.format, parameters_.scale, symbols, &frame, &sum_of_squares)) {
    result_.bad_symbols = 1;
    return false;
  }
  if (known.empty()) {
    frame.known = Split();
  } else {
    ReadKnown(known, &frame);
    double half_re = 0.0;
    double half_im = 0.0;
    for (int n = 0; n < plan_.num_symbols; ++n) {
      const double re = frame.known.re[n];
      const double im = frame.known.im[n];
      const double energy = re * re + im * im;
      if (!(energy > 0.0)) continue;
      const double t = (n - frame.centre()) / plan_.num_symbols;
      known_moments_.energy[0] += energy;
      known_moments_.energy[1] += t * energy;
      known_moments_.energy[2] += t * t * energy;
      ++known_moments_.count;
      const Turned turned = Turn(0.5 * n / plan_.points);
      half_re += energy * turned.c;
      half_im += energy * turned.s;
    }
    if (plan_.known_line) half_ = HalfBinOfKnown(half_re, half_im, known_moments_.energy[0]);
  }
  if (!(sum_of_squares > 0.0)) {
    result_.lock = Lock::kNoSignal;
    return false;
  }
  received_rms_ = std::sqrt(sum_of_squares / plan_.num_symbols);
  StartSnr();
  return true;
}

void FrameRecovery::StartSnr() {
  CountAmplitudes(arrays_.frame, static_cast<float>(1.0 / received_rms_), histogram_);
  double log_likelihood[kMaxSnrs];
  for (int k = 0; k < view_.num_snrs; ++k) {
    const float* const amplitude = view_.amplitude + k * kAmplitudeBins;
    double sum = 0.0;
    for (int bin = 0; bin < kAmplitudeBins; ++bin) {
      sum += static_cast<double>(histogram_[bin]) * static_cast<double>(amplitude[bin]);
    }
    log_likelihood[k] = sum;
  }
  const double snr_db = parameters_.has_expected_snr
                            ? static_cast<double>(parameters_.expected_snr_db)
                            : SnrOfAmplitudes(view_, log_likelihood);
  SetSnr(view_, received_rms_ * received_rms_, snr_db, &estimate_);
}

LineAt FrameRecovery::SumBlocks(double delta, int num_blocks, int length) const {
  LineAt at;
  for (int b = 0; b < num_blocks; ++b) {
    const double tau = LineBlockCentre(b, length, plan_.num_symbols) / plan_.points;
    at.Add(arrays_.blocks[b].sum, Turn(delta * tau), tau);
  }
  return at;
}

Line FrameRecovery::LineAtBlocks(double nu, double delta, int num_blocks, int length) const {
  const LineAt at = SumBlocks(delta, num_blocks, length);
  return {nu + delta / plan_.points, at.phase_turns(), at.power() / line_energy_};
}

Line FrameRecovery::RefineLine(double nu) {
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks =
      SumLineBlocks(arrays_.frame, arrays_.line, nu, length, false, arrays_.blocks);
  double delta = 0.0;
  for (int step = 0; step < kLineSteps; ++step) {
    delta = LineStep(SumBlocks(delta, num_blocks, length), delta);
  }
  return LineAtBlocks(nu, delta, num_blocks, length);
}

PeakSearch FrameRecovery::SearchOf() const {
  PeakSearch search;
  search.points = plan_.points;
  search.last_half_bin = plan_.last_half_bin;
  search.reach = PeakReach(plan_.num_symbols, plan_.points, plan_.known_line);
  search.half = half_;
  search.scratch = arrays_.peak_scratch;
  return search;
}

void FrameRecovery::FindLines() {
  const FrameCpu& frame = arrays_.frame;
  const auto points = static_cast<size_t>(plan_.points);
  line_energy_ = plan_.known_line ? LineOfKnown(estimate_.gain, frame, points, arrays_.line)
                                  : LineOfPower(view_, estimate_.table, estimate_.gain, frame,
                                                points, arrays_.line);
  if (parameters_.coarse == Coarse::kNone) {
    lines_[0] = LineOfCarrier(0.0);
    num_lines_ = 1;
    evidence_.peak = -1.0;
    return;
  }
  Fft(fft_, arrays_.line.re, arrays_.line.im, arrays_.spectrum.re, arrays_.spectrum.im,
      arrays_.fft_scratch);
  const PeakSearch search = SearchOf();
  Peak peaks[kKnownPeaks] = {};
  const int found = FindPeaks(search, arrays_.spectrum, plan_.max_peaks, peaks);
  const double doubtful = (peaks[0].power - kDoubt * line_energy_) * kHalfBinShare;
  double second = 1.0;  // of lambda; the mean of the bins if there is no other peak
  for (int k = 0; k < found; ++k) {
    if (k > 0 && peaks[k].power < doubtful) {
      second = std::max(second, peaks[k].power / line_energy_);
      continue;
    }
    const Line line = RefineLine(0.5 * peaks[k].half_bin / plan_.points);
    const bool found_before = std::any_of(lines_, lines_ + num_lines_, [&](const Line& other) {
      return SamePeak(line.nu, other.nu, plan_.num_symbols);
    });
    if (!found_before) lines_[num_lines_++] = line;
  }
  if (plan_.known_line && found == plan_.max_peaks) {
    weakest_peak_ = peaks[found - 1].power / line_energy_;
  }
  num_lines_ = std::max(num_lines_, 1);  // a spectrum of zeros has a line of 0 at 0
  // Insertion: stable, and it allocates nothing.
  for (int k = 1; k < num_lines_; ++k) {
    for (int at = k; at > 0 && lines_[at].lambda > lines_[at - 1].lambda; --at) {
      std::swap(lines_[at], lines_[at - 1]);
    }
  }
  if (num_lines_ > 1) second = std::max(second, lines_[1].lambda);
  evidence_.peak = lines_[0].lambda;
  result_.peak_ratio = static_cast<float>(lines_[0].lambda / second);
}

Estimate FrameRecovery::Hypothesis(const Line& line, int branch) const {
  Estimate estimate = estimate_;
  estimate.table = blunt_table_;
  estimate.frequency = line.nu / plan_.line_power;
  estimate.phase = (line.phase + branch) / plan_.line_power;
  return estimate;
}

void FrameRecovery::ChooseHypothesis() {
  struct Tried {
    int line = 0;
    int branch = 0;
    double fit = 0.0;
  };
  Tried tried[kKnownPeaks * kMaxPower];
  int count = 0;
  blunt_table_ = BluntTable(view_, estimate_.table,
                            LineVariance(lines_[0].lambda, plan_.num_symbols, plan_.line_power));
  for (int k = 0; k < num_lines_; ++k) {
    if (lines_[0].lambda - lines_[k].lambda > kDoubt) continue;
    for (int branch = 0; branch < plan_.branches; ++branch) {
      tried[count].line = k;
      tried[count].branch = branch;
      ++count;
    }
  }
  for (int pass = 0; pass < kFitPasses && count > 1; ++pass) {
    double best = -1e300;
    for (int k = 0; k < count; ++k) {
      tried[k].fit += SumCoarseFit(view_, arrays_.frame,
                                   Hypothesis(lines_[tried[k].line], tried[k].branch), pass);
      best = std::max(best, tried[k].fit);
    }
    count =
        static_cast<int>(std::remove_if(tried, tried + count,
                                        [&](const Tried& t) { return best - t.fit >= kDropped; }) -
                         tried);
  }
  const Tried* const best = std::max_element(
      tried, tried + count, [](const Tried& a, const Tried& b) { return a.fit < b.fit; });
  for (int k = 0; k < count; ++k) {
    if (&tried[k] == best || best->fit - tried[k].fit > kClose) continue;
    (tried[k].line == best->line ? evidence_.close_branch : evidence_.close_peak) = true;
  }
  line_ = lines_[best->line];
  branch_ = best->branch;
  const int table = estimate_.table;
  estimate_ = Hypothesis(line_, branch_);
  estimate_.table = table;
}

Line FrameRecovery::LineOfCarrier(double frequency) {
  const double nu = frequency * plan_.line_power;
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks =
      SumLineBlocks(arrays_.frame, arrays_.line, nu, length, true, arrays_.blocks);
  return LineAtBlocks(nu, 0.0, num_blocks, length);
}

void FrameRecovery::SettleOnBin() {
  if (parameters_.coarse == Coarse::kNone) return;
  const PeakSearch search = SearchOf();
  const int below = static_cast<int>(std::floor(line_.nu * plan_.points));
  int bin = below;
  const auto power = [&](int k) {
    return 2 * std::abs(k) > plan_.last_half_bin ? -1.0F
                                                 : HalfBinPower(search, arrays_.spectrum, 2 * k);
  };
  if (power(below + 1) > power(below)) bin = below + 1;
  estimate_.frequency = static_cast<double>(bin) / plan_.points / plan_.line_power;
  const Line line = LineOfCarrier(estimate_.frequency);
  estimate_.phase += WrappedTurns(line.phase - line_.phase) / plan_.line_power;
}

// The variance of an estimate that is the line's, as it is at the estimate now.
void FrameRecovery::SpreadOfLine() {
  const Line line = LineOfCarrier(estimate_.frequency);
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks = NumLineBlocks(plan_.num_symbols, length);
  LineSpread spread;
  for (int b = 0; b < num_blocks; ++b) {
    spread.Add(arrays_.blocks[b], Turned(), Turn(line.phase),
               LineBlockCentre(b, length, plan_.num_symbols) / plan_.num_symbols);
  }
  spread_ = spread.OfCarrier(plan_.line_power);
}

Information FrameRecovery::InformationOf(int table) const {
  return UsedInformation(
      sums_, ExpectedInformation(view_.facts[table], known_moments_, plan_.num_symbols));
}

double FrameRecovery::Step(const Information& information) {
  return TakeStep(sums_, information, plan_.step_limit, plan_.num_symbols, &last_step_, &estimate_);
}

void FrameRecovery::StepBluntly() {
  const int sharp = estimate_.table;
  int table = blunt_table_;
  for (int round = 0; round < kMaxBluntRounds && table < sharp; ++round) {
    estimate_.table = table;
    sums_ = SumFit(view_, arrays_.frame, estimate_);
    const Information information =
        BluntInformation(sums_, view_.facts[table], InformationOf(table));
    const double step = Step(information);
    const int next = BluntTable(view_, sharp, StepVariance(information));
    if (step < 1.0) table = std::max(table + 1, next);
  }
  estimate_.table = sharp;
}

void FrameRecovery::Refine(bool steps) {
  if (steps) StepBluntly();
  for (int round = 0; round < kMaxRounds; ++round) {
    sums_ = SumFit(view_, arrays_.frame, estimate_);
    const Estimate from = estimate_;
    const double step = steps ? Step(InformationOf(from.table)) : 0.0;
    UpdateNoise(view_, sums_, known_moments_, plan_.num_symbols, &estimate_);
    sums_.fit += GainOfStep(step);
    if (IsLastRound(step, from, estimate_)) break;
  }
}

double FrameRecovery::LoopInformation() const {
  return sums_.curvature[0] * sums_.curvature[0] / (sums_.square[0] * plan_.num_symbols);
}

Covariance FrameRecovery::MethodCovariance() const {
  const Information measured = {sums_.curvature[0], sums_.curvature[1], sums_.curvature[2]};
  Covariance covariance = spread_;
  const double per_turn = kTurn * plan_.num_symbols;
  switch (parameters_.fine) {
    case Fine::kNone: {
      const double bin = per_turn / plan_.points / plan_.line_power;
      covariance.slope = bin * bin / 12.0;
      covariance.cross = 0.0;
      break;
    }
    case Fine::kInterpolate:
      break;
    case Fine::kSweep: {
      const double step = parameters_.sweep_interpolate ? 0.0 : per_turn * parameters_.sweep_step;
      covariance.slope = Sandwich(measured, sums_.square).slope + step * step / 12.0;
      covariance.cross = 0.0;
      break;
    }
    case Fine::kRemodulate:
      return Sandwich(measured, sums_.square);
    case Fine::kPll:
      return PllCovariance(static_cast<double>(parameters_.pll_bandwidth), LoopInformation(),
                           plan_.num_symbols);
  }
  return covariance;
}

void FrameRecovery::Judge(absl::Span<uint8_t> corrected) {
  const int num_symbols = plan_.num_symbols;
  const double snr_db = -10.0 * std::log10(estimate_.noise);
  evidence_.fit = sums_.fit;
  evidence_.ln_trials = plan_.ln_trials;
  evidence_.ln_bins = plan_.ln_bins;
  if (known_moments_.count <= kMaxKnownForMisfit * num_symbols) {
    const double rms = estimate_.gain * std::sqrt(1.0 + estimate_.noise);
    evidence_.misfit = Misfit(view_, histogram_, num_symbols, snr_db, rms / received_rms_);
  }
  evidence_.expected_fit = ExpectedFrameFit(view_, known_moments_, num_symbols, snr_db);
  if (weakest_peak_ > 0.0) {
    const double data_fit = (num_symbols - known_moments_.count) * ExpectedFit(view_, snr_db);
    evidence_.close_peak |= MayHaveMissedPeaks(weakest_peak_, evidence_.peak, data_fit);
  }
  if (parameters_.fine == Fine::kPll) {
    evidence_.slips =
        PllSlips(static_cast<double>(parameters_.pll_bandwidth), LoopInformation(), view_.symmetry);
  }
  result_.fit = static_cast<float>(evidence_.fit);
  result_.lock = DecideLock(evidence_, symbols_known());
  result_.resolved = symbols_known() ? Resolved::kKnownSymbols : Resolved::kNot;
  result_.ambiguity =
      static_cast<uint8_t>(AmbiguityOf(view_, symbols_known(), evidence_.close_branch));
  Estimate found = estimate_;
  if (parameters_.fine == Fine::kPll) {
    found.frequency = loop_frequency_;
    found.phase = loop_phase_;
  }
  SetEstimate(found, MethodCovariance(), parameters_.reference, num_symbols,
              symbols_known() ? 1 : view_.symmetry, &result_);
  result_.evm =
      static_cast<float>(std::sqrt(SumHardDistance(view_, arrays_.frame, estimate_) / num_symbols));
  if (corrected.empty()) return;
  // By the phase that is reported, which may be a symmetry away from that found.
  Estimate turn = estimate_;
  turn.phase += result_.phase / kTurn -
                found.TurnsAt(ReferenceFromCentre(parameters_.reference, num_symbols));
  turn.gain = 1.0;
  WriteCorrected(parameters_.format, parameters_.scale, arrays_.frame, turn, corrected);
}

void FrameRecovery::DrawSpectrum(absl::Span<float> curve) const {
  const PeakSearch search = SearchOf();
  const int count = static_cast<int>(curve.size());
  const int half_bins = 2 * plan_.last_half_bin + 1;
  const int group = (half_bins + kMaxCurvePoints - 1) / kMaxCurvePoints;
  for (int k = 0; k < count; ++k) {
    float most = 0.0F;
    const int end = std::min((k + 1) * group, half_bins);
    for (int h = k * group; h < end; ++h) {
      const int half_bin = h - plan_.last_half_bin;
      most = std::max(most, HalfBinPower(search, arrays_.spectrum, half_bin));
    }
    curve[static_cast<size_t>(k)] = static_cast<float>(most / line_energy_);
  }
}

Result FrameRecovery::Recover(absl::Span<const uint8_t> symbols, absl::Span<const Iq> known,
                              absl::Span<uint8_t> corrected, absl::Span<float> curve) {
  if (!Read(symbols, known)) {
    std::fill(corrected.begin(), corrected.end(), uint8_t{0});
    std::fill(curve.begin(), curve.end(), 0.0F);
    return result_;
  }
  FindLines();
  const bool sweep = parameters_.fine == Fine::kSweep;
  if (!sweep) ChooseHypothesis();
  result_.coarse_frequency = estimate_.frequency;
  switch (parameters_.fine) {
    case Fine::kRemodulate:
      break;
    case Fine::kInterpolate:
      SpreadOfLine();
      break;
    case Fine::kNone:
      SettleOnBin();
      SpreadOfLine();
      break;
    case Fine::kSweep:
      Sweep();
      SpreadOfLine();
      break;
    case Fine::kPll:
      SettleOnBin();
      FollowLoop();
      break;
  }
  Refine(parameters_.fine == Fine::kRemodulate);
  Judge(corrected);
  if (sweep) {
    std::copy(arrays_.evm, arrays_.evm + curve.size(), curve.begin());
  } else if (parameters_.coarse != Coarse::kNone) {
    DrawSpectrum(curve);
  }
  return result_;
}

Result RecoverOnCpu(const Model& model, const Parameters& parameters,
                    absl::Span<const uint8_t> symbols, absl::Span<const Iq> known,
                    absl::Span<uint8_t> corrected, absl::Span<float> curve) {
  const int num_symbols =
      static_cast<int>(symbols.size() / static_cast<size_t>(BytesPerSymbol(parameters.format)));
  const double max_frequency = parameters.max_frequency > 0.0
                                   ? parameters.max_frequency
                                   : FrequencyLimit(model, parameters, known);
  const RecoverPlan plan =
      PlanRecovery(model, parameters, max_frequency, !known.empty(), num_symbols);
  RecoverWorkspace& workspace = RecoverWorkspace::OfThisThread();
  const ModelView view = model.view();
  FrameRecovery recovery(view, parameters, plan, workspace.Arrays(plan),
                         workspace.PlanOf(plan.points));
  return recovery.Recover(symbols, known, corrected, curve);
}

}  // namespace baseband::carrier
