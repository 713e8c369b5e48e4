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
  Line RefineLine(double nu, bool has_peak);
  LineAt SumBlocks(double delta, int num_blocks, int length) const;
  Line LineAtBlocks(double nu, double delta, int num_blocks, int length) const;
  // S4: estimate_ from the likeliest line, alias and branch; line_.
  struct Hypothesis {
    int line = 0;
    int alias = 0;
    int branch = 0;
    double fit = 0.0;
    bool SameCarrier(const Hypothesis& other) const {
      return line == other.line && alias == other.alias;
    }
  };
  void ListHypotheses(int line);
  Hypothesis BestHypothesis() const;
  void DropHypotheses();
  void ChooseHypothesis();
  Estimate EstimateOf(const Hypothesis& hypothesis) const;
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
  Stray FindStray() const;
  bool FindImbalance() const;
  void Judge(absl::Span<uint8_t> corrected);
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
  double first_snr_db_ = 0.0;  // by the amplitudes alone
  uint32_t histogram_[kAmplitudeBins];
  double line_energy_ = 0.0;
  Line lines_[kKnownPeaks];
  int num_lines_ = 0;
  double weakest_peak_ = 0.0;  // its half bin's lambda, if there may be more peaks; else 0
  double second_peak_ = 1.0;   // lambda; the mean of the bins if there is no other peak
  Hypothesis hypotheses_[kMaxHypotheses];
  int num_hypotheses_ = 0;
  int passes_done_ = 0;  // that their fits are of
  double coarse_frequency_ = 0.0;
  Line line_;  // the chosen one, at the carrier's alias
  int alias_ = 0;
  double rival_ = kNoRival;
  double elsewhere_ = -kNoRival;  // how much likelier a line is out of range
  bool close_branch_ = false;
  int blunt_table_ = 0;
  NewtonStep last_step_;
  Estimate estimate_;
  PllFound
      loop_;  // of Fine::kPll; estimate_ then has zeros for it: the loop turned the symbols back
  FitSums<double> sums_;  // of the last round
  Stretch stretches_[kMaxStretches];
  int sums_table_ = 0;  // of the last round
  Covariance line_covariance_;
  Result result_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_RECOVER_CPU_H_
