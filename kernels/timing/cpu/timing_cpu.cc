#include "kernels/timing/timing_cpu.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/work_steps.h"
#include "kernels/carrier/cpu/stages_cpu.h"
#include "kernels/carrier/cpu/workspace_cpu.h"
#include "kernels/timing/cpu/stages_cpu.h"
#include "kernels/timing/cpu/workspace_cpu.h"

namespace baseband::timing {
namespace {

// One frame on its way.
class Frame {
 public:
  Frame(const carrier::Model& model, const carrier::Parameters& carrier, const Pulse& pulse,
        const Parameters& parameters, absl::Span<const uint8_t> samples, absl::Span<const Iq> known)
      : model_(model),
        carrier_(carrier),
        pulse_(pulse),
        parameters_(parameters),
        samples_{carrier.format, carrier.scale, samples},
        known_(known) {}

  Recovered Recover(absl::Span<uint8_t> corrected, absl::Span<float> curve) {
    const auto num_samples = static_cast<int64_t>(
        samples_.bytes.size() / static_cast<size_t>(carrier::BytesPerSymbol(carrier_.format)));
    const PulseShape& shape = pulse_.shape();
    num_symbols_ = static_cast<int>(SymbolsOf(shape, parameters_, num_samples));
    const carrier::Reach reach = carrier::ReachOf(model_, carrier_, known_);
    const LinePlan plan =
        PlanLine(shape.rolloff, shape.samples, shape.symbols, parameters_.max_clock_error,
                 reach.frequency, static_cast<int>(num_samples));
    const carrier::FftPlan& fft = carrier::RecoverWorkspace::OfThisThread().PlanOf(plan.points);
    arrays_ = TimingWorkspace::OfThisThread().Arrays(plan, pulse_.view(), fft, num_symbols_);
    const LineFound found = FindLine(plan, samples_, fft, arrays_);
    Recovered recovered;
    if (found.bad || found.silent) {
      recovered.timing = LostResult(found.bad, parameters_.max_clock_error);
      recovered.carrier.bad_symbols = found.bad ? 1 : 0;
      std::fill(corrected.begin(), corrected.end(), uint8_t{0});
      std::fill(curve.begin(), curve.end(), 0.0F);
      return recovered;
    }
    const LineVerdict verdict = JudgeFrame(plan, found.line, found.evidence, found.centre,
                                           pulse_.facts().line_strength, num_symbols_);
    MatchSymbols(plan, pulse_.view(), samples_, verdict.centre, pulse_.facts().bandwidth,
                 verdict.offset, verdict.clock_error, num_symbols_, arrays_);
    carrier::Parameters of_symbols = carrier_;
    of_symbols.format = carrier::SampleFormat::kFloat32;
    of_symbols.scale = 1.0F;
    recovered.carrier = carrier::RecoverOnCpu(model_, of_symbols,
                                              {reinterpret_cast<const uint8_t*>(arrays_.symbols),
                                               static_cast<size_t>(num_symbols_) * sizeof(Iq)},
                                              known_, {}, curve);
    Refined refined;
    refined.valid = recovered.carrier.lock == carrier::Lock::kLocked && verdict.possible;
    Refine(recovered.carrier, verdict, &refined);
    recovered.timing = ResultOf(verdict, refined, recovered.carrier.lock,
                                parameters_.max_clock_error, num_symbols_);
    recovered.carrier.lock = CarrierLock(verdict, recovered.carrier);
    WriteCorrected(recovered.carrier, refined, corrected);
    FollowTiming(verdict, refined, recovered.timing, carrier_.reference, reach.modulo, num_symbols_,
                 &recovered.carrier);
    return recovered;
  }

 private:
  RefineTask TaskFor(const carrier::Result& found) const {
    return TaskOf(model_.view(), found, carrier_.reference, pulse_.facts(), num_symbols_);
  }

  void Refine(const carrier::Result& found, const LineVerdict& verdict, Refined* refined) {
    if (!refined->valid) return;
    const carrier::ModelView view = model_.view();
    const RefineTask task = TaskFor(found);
    const WeightSums weights = SumWeights(num_symbols_, task.taper);
    for (int round = 0; round < kRefineRounds && refined->valid; ++round) {
      const RefineSums sums = SumSlopes(view, task, refined->step, known_, arrays_);
      StepTiming(task, sums, weights, verdict.clock_error, parameters_.max_clock_error, refined);
      if (!CountStep()) return;
    }
  }

  // Moves the symbols, and turns them back as the carrier's last stage does.
  void WriteCorrected(const carrier::Result& found, const Refined& refined,
                      absl::Span<uint8_t> corrected) {
    if (corrected.empty()) return;
    if (found.bad_symbols != 0) {
      std::fill(corrected.begin(), corrected.end(), uint8_t{0});
      return;
    }
    const RefineTask task = TaskFor(found);
    carrier::FrameCpu frame;
    frame.num_symbols = num_symbols_;
    // In blocks, to the planes that the samples were read to.
    const double centre = 0.5 * (num_symbols_ - 1);
    const size_t bytes = static_cast<size_t>(carrier::BytesPerSymbol(carrier_.format));
    for (int block = 0; block < num_symbols_; block += kMatchBlock) {
      const int count = std::min(kMatchBlock, num_symbols_ - block);
      for (int i = 0; i < count; ++i) {
        const int k = block + i;
        float move = 0.0F;
        if (refined.valid) {
          move = static_cast<float>(refined.step.middle) +
                 static_cast<float>(refined.step.slope) * task.PlaceOf(k);
        }
        arrays_.read.re[i] = arrays_.symbols[k].i + move * arrays_.slopes[k].i;
        arrays_.read.im[i] = arrays_.symbols[k].q + move * arrays_.slopes[k].q;
      }
      frame.num_symbols = count;
      frame.symbols = arrays_.read;
      carrier::Estimate estimate = task.carrier;
      // At the block's centre.
      estimate.phase = task.carrier.TurnsAt(block + 0.5 * (count - 1) - centre);
      carrier::WriteCorrected(carrier_.format, carrier_.scale, frame, estimate,
                              corrected.subspan(static_cast<size_t>(block) * bytes,
                                                static_cast<size_t>(count) * bytes));
    }
  }

  const carrier::Model& model_;
  const carrier::Parameters& carrier_;
  const Pulse& pulse_;
  const Parameters& parameters_;
  const SampleView samples_;
  const absl::Span<const Iq> known_;
  int num_symbols_ = 0;
  FrameArrays arrays_;
};

}  // namespace

Recovered RecoverOnCpu(const carrier::Model& model, const carrier::Parameters& carrier,
                       const Pulse& pulse, const Parameters& parameters,
                       absl::Span<const uint8_t> samples, absl::Span<const Iq> known,
                       absl::Span<uint8_t> corrected, absl::Span<float> curve) {
  return Frame(model, carrier, pulse, parameters, samples, known).Recover(corrected, curve);
}

}  // namespace baseband::timing
