// RecoverOnCpu against the oracle: the carrier, the sweep, the loop and the EVM are the slow,
// obvious version's, whatever the instruction set.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/carrier/recover.h"
#include "kernels/carrier/reference/reference.h"
#include "kernels/carrier/reference/reference_recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/unit/kernels/carrier/recovered.h"

namespace baseband::carrier {
namespace {

double MeanSquare(absl::Span<const Iq> symbols) {
  double sum = 0.0;
  for (const Iq& r : symbols) sum += double{r.i} * r.i + double{r.q} * r.q;
  return sum / static_cast<double>(symbols.size());
}

double Period(const Model& model) { return 2.0 * M_PI / model.constellation().symmetry(); }

// Every instruction set finds the maximum of the likelihood that the oracle finds.
TEST(CarrierRecoverTest, TheDefaultMethodFindsTheMaximumOfTheLikelihood) {
  for (const auto& [name, above_db] : std::vector<std::pair<std::string, double>>{
           // At an SNR of the tables, which are an even number of dB above the operating one.
           {"QPSK", 4.0},
           {"8PSK", 4.0},
           {"16APSK 3/4", 4.0},
           {"16QAM", 4.0}}) {
    const ModelPtr model = ModelOf(name);
    const double snr_db = model->constellation().operating_snr_db() + above_db;
    const FrameSpec spec = SpecOf(*model, 1024, snr_db);
    const CarrierFrame frame = MakeFrame(spec);
    Parameters parameters;
    parameters.reference = Reference::kCentre;
    Carrier start{spec.frequency, spec.phase, spec.gain};
    const Carrier best =
        ReferenceMaximumLikelihood(model->constellation(), ToComplex(frame.symbols), {}, start,
                                   std::pow(10.0, 0.1 * snr_db), 0.25 / spec.num_symbols);
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(name + " " + hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      const Result result = Recover(*model, parameters, frame.symbols).result;
      EXPECT_EQ(result.lock, Lock::kLocked);
      // Gain and noise are estimated here and given there, and the table is that of the nearest
      // SNR: a tenth of a standard deviation is none.
      EXPECT_NEAR(result.frequency, best.frequency, 0.15 * result.frequency_stddev);
      const double phase = best.phase + M_PI * best.frequency * (spec.num_symbols - 1);
      EXPECT_LT(std::fabs(testing::WrappedDifference(result.phase, phase, Period(*model))),
                0.15 * result.phase_stddev);
      const double fit = ReferenceFit(model->constellation(), ToComplex(frame.symbols), {}, best,
                                      std::pow(10.0, 0.1 * snr_db));
      EXPECT_NEAR(result.fit, fit, 0.05 * fit + 2.0);
      EXPECT_NEAR(result.gain, spec.gain, 0.03 * spec.gain);
      EXPECT_NEAR(result.snr_db, snr_db, 0.7);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(CarrierRecoverTest, TheSweepIsThePapers) {
  for (const std::string name : {"QPSK", "16APSK 3/4", "64APSK 7/9", "64QAM", "32QAM"}) {
    // Amplitudes as they come: the oracle's weights are slow.
    const ModelPtr model = *Model::Create(*Constellation::FromName(name), Amplitude::kUnit, 0);
    const double snr_db = model->constellation().operating_snr_db() + 10.0;
    const FrameSpec spec = SpecOf(*model, 1000, snr_db, 2);
    const CarrierFrame frame = MakeFrame(spec);
    SweepOptions options;
    options.power = model->power();
    options.amplitude = Amplitude::kUnit;
    options.max_frequency = model->max_frequency();
    // Of a bin of the line: what is beyond its main lobe has no phase to compare.
    options.step = 0.1 / (options.power * spec.num_symbols);
    options.range = 5.5 * options.step;
    options.guard_bins = 1;
    Parameters parameters;
    parameters.fine = Fine::kSweep;
    parameters.sweep_step = options.step;
    parameters.sweep_range = options.range;
    parameters.sweep_guard_bins = options.guard_bins;
    parameters.has_expected_snr = true;
    parameters.expected_snr_db = static_cast<float>(snr_db);
    // The sweep's own gain is that of the expected SNR and of the frame's mean square.
    options.gain = std::sqrt(MeanSquare(frame.symbols) / (1.0 + std::pow(10.0, -0.1 * snr_db)));
    const SweepResult expected =
        ReferenceSweep(model->constellation(), ToComplex(frame.symbols), options);
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(name + " " + hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      const Recovered recovered = Recover(*model, parameters, frame.symbols);
      ASSERT_EQ(recovered.curve.size(), expected.evm.size());
      ASSERT_EQ(recovered.curve.size(), 13U);
      // Both take the stronger bin; between two equal ones the line's own noise decides.
      if (std::fabs(recovered.result.coarse_frequency - expected.coarse_frequency) > 1e-9) continue;
      for (size_t k = 2; k < 11; ++k) {
        EXPECT_NEAR(recovered.curve[k], expected.evm[k], 0.01 * expected.evm[k]) << k;
      }
      EXPECT_NEAR(recovered.result.frequency, expected.carrier.frequency, options.step + 1e-12);
      const size_t least =
          static_cast<size_t>(std::min_element(recovered.curve.begin(), recovered.curve.end()) -
                              recovered.curve.begin());
      EXPECT_NEAR(
          recovered.result.frequency,
          recovered.result.coarse_frequency + (static_cast<double>(least) - 6.0) * options.step,
          1e-12);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(CarrierRecoverTest, TheLoopIsTheOracles) {
  for (const std::string name : {"QPSK", "16APSK 3/4", "64QAM", "32QAM"}) {
    SCOPED_TRACE(name);
    const ModelPtr model = ModelOf(name);
    const double snr_db = model->constellation().operating_snr_db() + 12.0;
    FrameSpec spec = SpecOf(*model, 3000, snr_db, 3);
    spec.frequency = 3e-5;
    spec.phase = 0.05;
    const CarrierFrame frame = MakeFrame(spec);
    Parameters parameters;
    parameters.coarse = Coarse::kNone;
    parameters.fine = Fine::kPll;
    parameters.has_expected_snr = true;
    parameters.expected_snr_db = static_cast<float>(snr_db);
    const Recovered recovered = Recover(*model, parameters, frame.symbols);
    PllOptions options;
    options.bandwidth = static_cast<double>(parameters.pll_bandwidth);
    options.damping = static_cast<double>(parameters.pll_damping);
    options.start.gain =
        std::sqrt(MeanSquare(frame.symbols) / (1.0 + std::pow(10.0, -0.1 * snr_db)));
    const PllResult expected =
        ReferencePll(model->constellation(), ToComplex(frame.symbols), options);
    EXPECT_NEAR(recovered.result.frequency, expected.frequency, 1e-8);
    // The loop's output, but for a symmetry of the constellation.
    const std::vector<Iq> corrected = CorrectedSymbols(parameters, recovered);
    const Complex turn =
        Complex(corrected[0].i, corrected[0].q) / (expected.corrected[0] * options.start.gain);
    EXPECT_NEAR(std::abs(turn), 1.0, 1e-5);
    EXPECT_NEAR(testing::WrappedDifference(std::arg(turn), 0.0, Period(*model)), 0.0, 1e-5);
    double worst = 0.0;
    for (size_t n = 0; n < corrected.size(); ++n) {
      const Complex z = Complex(corrected[n].i, corrected[n].q) / options.start.gain;
      worst = std::max(worst, std::abs(z - turn * expected.corrected[n]));
    }
    EXPECT_LT(worst, 1e-3);
  }
}

TEST(CarrierRecoverTest, EvmIsTheReferences) {
  for (const std::string name : {"QPSK", "16APSK 3/4", "64APSK 7/9", "64QAM", "32QAM", "BPSK"}) {
    const ModelPtr model = ModelOf(name);
    const FrameSpec spec = SpecOf(*model, 999, model->constellation().operating_snr_db() + 6.0, 4);
    const CarrierFrame frame = MakeFrame(spec);
    Parameters parameters;
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      SCOPED_TRACE(name + " " + hwy::TargetName(target));
      hwy::SetSupportedTargetsForTest(target);
      const Result result = Recover(*model, parameters, frame.symbols).result;
      const std::vector<Complex> corrected =
          ReferenceCorrected(ToComplex(frame.symbols),
                             {result.frequency, result.phase, static_cast<double>(result.gain)});
      const double evm = ReferenceEvmRms(model->constellation(), corrected);
      EXPECT_NEAR(result.evm, evm, 1e-4 * evm);
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace
}  // namespace baseband::carrier
