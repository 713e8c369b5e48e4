#include "kernels/carrier/recover_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/base/work_steps.h"

namespace baseband::carrier {

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
      known_moments_.Add({frame.known.re[n], frame.known.im[n]},
                         (n - frame.centre()) / plan_.num_symbols);
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
  first_snr_db_ = SnrOfAmplitudes(view_, log_likelihood);
  SetSnr(view_, received_rms_ * received_rms_,
         parameters_.has_expected_snr ? static_cast<double>(parameters_.expected_snr_db)
                                      : first_snr_db_,
         &estimate_);
}

Information FrameRecovery::InformationOf(int table) const {
  return UsedInformation(
      sums_, ExpectedInformation(view_.facts[table], known_moments_, plan_.num_symbols));
}

double FrameRecovery::Step(const Information& information) {
  return TakeStep(sums_, information, plan_.step_limit(), plan_.num_symbols, &last_step_,
                  &estimate_);
}

void FrameRecovery::StepBluntly() {
  const int sharp = estimate_.table;
  int table = blunt_table_;
  for (int round = 0; round < kMaxBluntRounds && table < sharp; ++round) {
    estimate_.table = table;
    sums_ = SumFit(view_, arrays_.frame, estimate_, stretches_);
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
    sums_ = SumFit(view_, arrays_.frame, estimate_, stretches_);
    const Estimate from = estimate_;
    sums_table_ = from.table;
    const double step = steps ? Step(InformationOf(from.table)) : 0.0;
    UpdateNoise(view_, sums_, known_moments_, plan_.num_symbols, &estimate_);
    sums_.fit += GainOfStep(step);
    if (IsLastRound(step, from, estimate_) || !CountStep()) break;
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
  coarse_frequency_ = estimate_.frequency;
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
  const RecoverPlan plan =
      PlanRecovery(model, parameters, RangeOfFrequency(model.constellation(), parameters, known),
                   !known.empty(), num_symbols);
  RecoverWorkspace& workspace = RecoverWorkspace::OfThisThread();
  const ModelView view = model.view();
  FrameRecovery recovery(view, parameters, plan, workspace.Arrays(plan),
                         workspace.PlanOf(plan.points));
  return recovery.Recover(symbols, known, corrected, curve);
}

}  // namespace baseband::carrier
