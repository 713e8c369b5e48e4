// Where RecoverOnCpu searches: known symbols, coarse stages, ranges, sweeps and their curves.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"
#include "tests/unit/kernels/carrier/recovered.h"

namespace baseband::carrier {
namespace {

TEST(CarrierRecoverTest, KnownSymbolsResolveThePhase) {
  for (const std::string name : {"QPSK", "16APSK 3/4", "64QAM"}) {
    const ModelPtr model = ModelOf(name);
    for (const Coarse coarse : {Coarse::kKnown, Coarse::kPower}) {
      for (const Fine fine :
           {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll}) {
        SCOPED_TRACE(name + std::to_string(int(coarse)) + std::to_string(int(fine)));
        FrameSpec spec = SpecOf(*model, 4000, model->constellation().operating_snr_db() + 8.0, 16);
        spec.pilots = testing::Pilots::kDvbS2;
        const CarrierFrame frame = MakeFrame(spec);
        Parameters parameters;
        parameters.coarse = coarse;
        parameters.fine = fine;
        parameters.reference = Reference::kCentre;
        parameters.sweep_step = 2e-6;
        const Result result = Recover(*model, parameters, frame.symbols, frame.known).result;
        EXPECT_EQ(result.ambiguity, 1);
        EXPECT_EQ(result.resolved, Resolved::kKnownSymbols);
        // Half a bin turns the frame's ends too far for dense constellations to fit.
        if (fine != Fine::kNone) {
          EXPECT_EQ(result.lock, Lock::kLocked);
        }
        EXPECT_LT(
            std::fabs(testing::WrappedDifference(result.phase, PhaseAtCentre(spec), 2.0 * M_PI)),
            0.1);
        const double bin = 1.0 / spec.num_symbols;
        EXPECT_NEAR(result.frequency, spec.frequency, fine == Fine::kNone ? 0.6 * bin : 0.1 * bin);
      }
    }
  }
}

// Beyond 1 / (2 p) with known symbols; up to half of 1 / 3 with every third known.
TEST(CarrierRecoverTest, KnownSymbolsWidenTheRange) {
  const ModelPtr model = ModelOf("8PSK");
  FrameSpec spec = SpecOf(*model, 600, 15.0, 17);
  spec.pilots = testing::Pilots::kAll;
  for (const double frequency : {0.4, -0.49, 0.2}) {
    spec.frequency = frequency;
    const CarrierFrame frame = MakeFrame(spec);
    Parameters parameters;
    parameters.coarse = Coarse::kKnown;
    const Result result = Recover(*model, parameters, frame.symbols, frame.known).result;
    EXPECT_EQ(result.lock, Lock::kLocked);
    EXPECT_NEAR(result.frequency, frequency, 5.0 * result.frequency_stddev);
  }
  spec.frequency = -0.15;
  CarrierFrame frame = MakeFrame(spec);
  for (size_t n = 0; n < frame.known.size(); ++n) {
    if (n % 3 != 2) frame.known[n] = {};
  }
  Parameters parameters;
  parameters.coarse = Coarse::kKnown;
  const Result result = Recover(*model, parameters, frame.symbols, frame.known).result;
  EXPECT_EQ(result.lock, Lock::kLocked);
  EXPECT_NEAR(result.frequency, -0.15, 5.0 * result.frequency_stddev);
  parameters.max_frequency = 0.17;
  EXPECT_THAT(CheckParameters(*model, parameters, spec.num_symbols, frame.known),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_frequency 0.17 is not in [0, 0.16666")));
}

TEST(CarrierRecoverTest, WithoutACoarseStageTheSearchStartsAtZero) {
  const ModelPtr model = ModelOf("QPSK");
  FrameSpec spec = SpecOf(*model, 2000, 15.0, 18);
  spec.frequency = 6e-5;
  const CarrierFrame frame = MakeFrame(spec);
  Parameters parameters;
  parameters.coarse = Coarse::kNone;
  parameters.fine = Fine::kNone;
  EXPECT_EQ(Recover(*model, parameters, frame.symbols).result.frequency, 0.0);
  parameters.fine = Fine::kRemodulate;
  const Result newton = Recover(*model, parameters, frame.symbols).result;
  EXPECT_EQ(newton.coarse_frequency, 0.0);
  EXPECT_NEAR(newton.frequency, spec.frequency, 5.0 * newton.frequency_stddev);
  parameters.fine = Fine::kSweep;
  parameters.sweep_range = 1e-3;
  parameters.sweep_step = 1e-6;
  EXPECT_NEAR(Recover(*model, parameters, frame.symbols).result.frequency, spec.frequency, 5e-6);
}

// Errors came out 8.6 deviations long beyond 3 / 4 of a bin of the line.
TEST(CarrierRecoverTest, WithoutACoarseStageTheWholeLobeIsInterpolated) {
  const ModelPtr model = ModelOf("QPSK");
  Parameters parameters;
  parameters.coarse = Coarse::kNone;
  parameters.fine = Fine::kInterpolate;
  for (const int num_symbols : {100, 4096}) {
    for (const double bins : {0.0, 0.1, 0.18, 0.2, 0.23, -0.23}) {
      double sum = 0.0;
      constexpr int kFrames = 16;
      for (uint64_t seed = 1; seed <= kFrames; ++seed) {
        FrameSpec spec = SpecOf(*model, num_symbols, 20.0, seed);
        spec.frequency = bins / num_symbols;
        spec.phase = 0.1 * static_cast<double>(seed);
        const Result result = Recover(*model, parameters, MakeFrame(spec).symbols).result;
        EXPECT_EQ(result.lock, Lock::kLocked) << num_symbols << " " << bins;
        const double off = (result.frequency - spec.frequency) / result.frequency_stddev;
        EXPECT_LE(std::fabs(off), 5.0) << num_symbols << " " << bins;
        sum += off;
      }
      EXPECT_LE(std::fabs(sum), 5.0 * std::sqrt(kFrames)) << num_symbols << " " << bins;
    }
  }
}

TEST(CarrierRecoverTest, OnlyTheRangeAskedForIsSearched) {
  const ModelPtr model = ModelOf("QPSK");
  FrameSpec spec = SpecOf(*model, 1000, 10.0, 19);
  spec.frequency = 0.05;
  const CarrierFrame frame = MakeFrame(spec);
  Parameters parameters;
  parameters.max_frequency = 0.01;
  const Result outside = Recover(*model, parameters, frame.symbols).result;
  EXPECT_LE(std::fabs(outside.coarse_frequency), 0.0102);
  EXPECT_NE(outside.lock, Lock::kLocked);
  parameters.max_frequency = 0.0501;
  EXPECT_EQ(Recover(*model, parameters, frame.symbols).result.lock, Lock::kLocked);
}

TEST(CarrierRecoverTest, ASweepIsFinerWithAParabola) {
  const ModelPtr model = ModelOf("QPSK");
  const FrameSpec spec = SpecOf(*model, 8000, 20.0, 20);
  const CarrierFrame frame = MakeFrame(spec);
  Parameters parameters;
  parameters.fine = Fine::kSweep;
  parameters.sweep_step = 4e-6;
  parameters.sweep_interpolate = true;
  const Result result = Recover(*model, parameters, frame.symbols).result;
  EXPECT_NEAR(result.frequency, spec.frequency, 4e-7);
}

TEST(CarrierRecoverTest, TheSpectrumsCurvePeaksAtTheFrequency) {
  const ModelPtr model = ModelOf("16APSK 3/4");
  const FrameSpec spec = SpecOf(*model, 5000, 20.0, 21);
  const Recovered recovered = Recover(*model, {}, MakeFrame(spec).symbols);
  Parameters parameters;
  parameters.want_curve = true;
  const Curve curve = CurveOf(*model, parameters, spec.num_symbols);
  EXPECT_LE(curve.num_points, kMaxCurvePoints);
  const auto best = static_cast<int>(
      std::max_element(recovered.curve.begin(), recovered.curve.end()) - recovered.curve.begin());
  EXPECT_NEAR(curve.begin + best * curve.step, spec.frequency, 0.51 * curve.step);
  EXPECT_NEAR(curve.begin, -model->max_frequency(), curve.step);
  EXPECT_GT(recovered.result.peak_ratio, 10.0F);
  // Its height is the line's, in terms of the mean.
  EXPECT_GT(recovered.curve[static_cast<size_t>(best)], 100.0F);
}

}  // namespace
}  // namespace baseband::carrier
