// One frame on its way through the CPU device: what happens between the passes over its symbols
// (stages_cpu.h).
#ifndef BASEBAND_KERNELS_CARRIER_RECOVER_CPU_H_
#define BASEBAND_KERNELS_CARRIER_RECOVER_CPU_H_

#include <cstdint>

#include "absl/types/span.h"
#include "kernels/carrier/cpu/workspace_cpu.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/recover_plan.h"

namespace baseband::carrier {

// A line that may be the carrier's: at `nu` cycles per symbol, its phase at the frame's centre in
// turns.
struct Line {
  double nu = 0.0;
  double phase = 0.0;
  double lambda = 0.0;
};

class FrameRecovery {
 public:
  FrameRecovery(const ModelView& view, const Parameters& parameters, const RecoverPlan& plan,
                const FrameArrays& arrays, const FftPlan& fft)
      : view_(view), parameters_(parameters), plan_(plan), arrays_(arrays), fft_(fft) {}

  Result Recover(absl::Span<const uint8_t> symbols, absl::Span<const Iq> known,
                 absl::Span<uint8_t> corrected, absl::Span<float> curve);

 private:
  // S1. False if there is nothing to recover: the result says so already.
  bool Read(absl::Span<const uint8_t> symbols, absl::Span<const Iq> known);
  void StartSnr();
  // S2 and S3: lines_.
  PeakSearch SearchOf() const;
  void FindLines();
  Line RefineLine(double nu);
  LineAt SumBlocks(double delta, int num_blocks, int length) const;
  Line LineAtBlocks(double nu, double delta, int num_blocks, int length) const;
  // S4: estimate_ from the likeliest line and branch, line_.
  void ChooseHypothesis();
  Estimate Hypothesis(const Line& line, int branch) const;
  // S5.
  void SettleOnBin();
  Line LineOfCarrier(double frequency);  // with squares in the blocks
  void SpreadOfLine();
  void Sweep();       // sweep_cpu.cc
  void FollowLoop();  // pll_cpu.cc
  void Refine(bool steps);
  void StepBluntly();
  Information InformationOf(int table) const;
  double Step(const Information& information);
  // S6.
  void Judge(absl::Span<uint8_t> corrected);
  double LoopInformation() const;
  Covariance MethodCovariance() const;
  void DrawSpectrum(absl::Span<float> curve) const;

  bool symbols_known() const { return known_moments_.count > 0; }

  const ModelView& view_;
  const Parameters& parameters_;
  const RecoverPlan& plan_;
  FrameArrays arrays_;
  const FftPlan& fft_;

  KnownMoments known_moments_;
  HalfBin half_;
  double received_rms_ = 0.0;
  uint32_t histogram_[kAmplitudeBins];
  double line_energy_ = 0.0;
  Line lines_[kKnownPeaks];
  int num_lines_ = 0;
  double weakest_peak_ = 0.0;  // its half bin's lambda, if there may be more peaks; else 0
  Line line_;                  // the chosen one
  int branch_ = 0;
  int blunt_table_ = 0;
  NewtonStep last_step_;
  Evidence evidence_;
  Estimate estimate_;
  // Of Fine::kPll; estimate_ has zeros in their place once the loop has turned the symbols back.
  double loop_frequency_ = 0.0;
  double loop_phase_ = 0.0;
  FitSums<double> sums_;  // of the last round
  Covariance spread_;     // of the line
  Result result_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_RECOVER_CPU_H_
