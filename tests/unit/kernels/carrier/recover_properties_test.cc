// How the answer of RecoverOnCpu moves with a frame that is longer, larger, turned or of another
// format, and what the corrected symbols have to do with it.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/carrier/recover.h"
#include "kernels/carrier/reference/reference.h"
#include "tests/support/carrier_frames.h"
#include "tests/unit/kernels/carrier/recovered.h"

namespace baseband::carrier {
namespace {

// Lengths around the sizes of vectors, blocks and FFTs, without noise.
TEST(CarrierRecoverTest, EveryLengthRecoversToRounding) {
  const ModelPtr model = ModelOf("QPSK");
  std::vector<int> lengths = {127, 128, 129, 255, 256, 257, 509, 1021, 4093, 16384, 32400};
  for (int n = kMinSymbols; n <= 65; ++n) lengths.push_back(n);
  for (const int length : lengths) {
    SCOPED_TRACE(length);
    const FrameSpec spec = SpecOf(*model, length, testing::kNoNoise, 5);
    Parameters parameters;
    parameters.reference = Reference::kCentre;
    const Result result = Recover(*model, parameters, MakeFrame(spec).symbols).result;
    EXPECT_EQ(result.lock, Lock::kLocked);
    // float32 samples: 6e-8 of noise, averaged.
    EXPECT_NEAR(result.frequency, spec.frequency, 1e-6 / length);
    EXPECT_LT(std::fabs(testing::WrappedDifference(result.phase, PhaseAtCentre(spec), M_PI / 2)),
              1e-5);
    EXPECT_NEAR(result.gain, spec.gain, 1e-4);
    EXPECT_EQ(result.ambiguity, 4);
    EXPECT_EQ(result.snr_db, kMaxSnrDb);
  }
}

TEST(CarrierRecoverTest, TheLongestFrame) {
  const ModelPtr model = ModelOf("QPSK");
  const FrameSpec spec = SpecOf(*model, kMaxSymbols, 10.0, 6);
  const Result result = Recover(*model, {}, MakeFrame(spec).symbols).result;
  EXPECT_EQ(result.lock, Lock::kLocked);
  EXPECT_NEAR(result.frequency, spec.frequency, 5.0 * result.frequency_stddev);
}

TEST(CarrierRecoverTest, ScalingAFrameScalesTheGainAlone) {
  const ModelPtr model = ModelOf("16APSK 3/4");
  FrameSpec spec = SpecOf(*model, 2000, 15.0, 7);
  const Result result = Recover(*model, {}, MakeFrame(spec).symbols).result;
  for (const double factor : {1e-12, 3.0, 1e12}) {
    FrameSpec scaled = spec;
    scaled.gain *= factor;
    const Result other = Recover(*model, {}, MakeFrame(scaled).symbols).result;
    EXPECT_NEAR(other.gain, factor * result.gain, 1e-4 * factor * result.gain);
    EXPECT_NEAR(other.frequency, result.frequency, 0.01 * result.frequency_stddev);
    EXPECT_NEAR(other.phase, result.phase, 0.01 * result.phase_stddev);
    EXPECT_NEAR(other.fit, result.fit, 1e-3 * result.fit);
    EXPECT_EQ(other.lock, result.lock);
  }
}

TEST(CarrierRecoverTest, TurningAFrameTurnsThePhaseAlone) {
  const ModelPtr model = ModelOf("16QAM");
  const CarrierFrame frame = MakeFrame(SpecOf(*model, 2000, 20.0, 8));
  const Result result = Recover(*model, {}, frame.symbols).result;
  for (const double angle : {0.3, 1.9, -2.8}) {
    std::vector<Iq> turned;
    for (const Complex r : ToComplex(frame.symbols)) {
      const Complex z = r * std::polar(1.0, angle);
      turned.push_back({static_cast<float>(z.real()), static_cast<float>(z.imag())});
    }
    const Result other = Recover(*model, {}, turned).result;
    EXPECT_NEAR(other.frequency, result.frequency, 0.02 * result.frequency_stddev);
    EXPECT_LT(std::fabs(testing::WrappedDifference(other.phase - angle, result.phase, M_PI / 2)),
              0.02 * result.phase_stddev);
    EXPECT_EQ(other.lock, result.lock);
  }
}

TEST(CarrierRecoverTest, TheReferenceSymbolMovesThePhaseAlongTheLine) {
  const ModelPtr model = ModelOf("QPSK");
  const FrameSpec spec = SpecOf(*model, 1500, 12.0, 9);
  const CarrierFrame frame = MakeFrame(spec);
  Parameters parameters;
  Result results[3];
  for (const Reference reference : {Reference::kFirst, Reference::kCentre, Reference::kLast}) {
    parameters.reference = reference;
    results[static_cast<int>(reference)] = Recover(*model, parameters, frame.symbols).result;
  }
  const double half = M_PI * results[0].frequency * (spec.num_symbols - 1);
  EXPECT_LT(
      std::fabs(testing::WrappedDifference(results[1].phase, results[0].phase + half, M_PI / 2)),
      1e-9);
  EXPECT_LT(
      std::fabs(testing::WrappedDifference(results[2].phase, results[1].phase + half, M_PI / 2)),
      1e-9);
  // At the ends the frequency's error adds to the phase's: twice the deviation.
  EXPECT_NEAR(results[0].phase_stddev / results[1].phase_stddev, 2.0F, 0.2F);
  EXPECT_NEAR(results[2].phase_stddev / results[1].phase_stddev, 2.0F, 0.2F);
}

TEST(CarrierRecoverTest, CorrectedSymbolsAreTheFrameTurnedBackByTheResult) {
  const ModelPtr model = ModelOf("64APSK 128/180");
  const FrameSpec spec = SpecOf(*model, 1111, 25.0, 10);
  const CarrierFrame frame = MakeFrame(spec);
  for (const Fine fine : {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 1e-5;
    const Recovered recovered = Recover(*model, parameters, frame.symbols);
    const std::vector<Complex> expected = ReferenceCorrected(
        ToComplex(frame.symbols), {recovered.result.frequency, recovered.result.phase, 1.0});
    const std::vector<Iq> corrected = CorrectedSymbols(parameters, recovered);
    for (size_t n = 0; n < corrected.size(); ++n) {
      ASSERT_NEAR(corrected[n].i, expected[n].real(), 5e-6) << n;
      ASSERT_NEAR(corrected[n].q, expected[n].imag(), 5e-6) << n;
    }
  }
}

// The narrow formats lose what they round off, no more.
TEST(CarrierRecoverTest, NarrowFormatsAgreeWithFloat32) {
  const ModelPtr model = ModelOf("16APSK 3/4");
  const FrameSpec spec = SpecOf(*model, 3001, 16.0, 11);
  const CarrierFrame frame = MakeFrame(spec);
  Parameters parameters;
  const Recovered wide = Recover(*model, parameters, frame.symbols);
  const std::vector<Iq> expected = CorrectedSymbols(parameters, wide);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const SampleFormat format : {SampleFormat::kFloat16, SampleFormat::kInt16}) {
      SCOPED_TRACE(std::string(hwy::TargetName(target)) + std::to_string(int(format)));
      Parameters narrow = parameters;
      narrow.format = format;
      narrow.scale = format == SampleFormat::kInt16 ? 1.0F / 4096.0F : 4.0F;
      const Recovered recovered = Recover(*model, narrow, frame.symbols);
      EXPECT_EQ(recovered.result.lock, Lock::kLocked);
      EXPECT_NEAR(recovered.result.frequency, wide.result.frequency,
                  0.05 * wide.result.frequency_stddev);
      EXPECT_NEAR(recovered.result.phase, wide.result.phase, 0.05 * wide.result.phase_stddev);
      EXPECT_NEAR(recovered.result.evm, wide.result.evm, 0.01 * wide.result.evm);
      // Rounded twice, on the way in and out: 2^-11 of a component, 1 / 4096 / 2 of int16.
      const std::vector<Iq> corrected = CorrectedSymbols(narrow, recovered);
      for (size_t n = 0; n < corrected.size(); ++n) {
        const double size = std::hypot(expected[n].i, expected[n].q);
        const double bound = format == SampleFormat::kInt16 ? 4e-4 : 2.0 * size / 2048.0 + 1e-4;
        ASSERT_NEAR(corrected[n].i, expected[n].i, bound + 2e-3 * size) << n;
        ASSERT_NEAR(corrected[n].q, expected[n].q, bound + 2e-3 * size) << n;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(CarrierRecoverTest, CorrectedInt16Saturates) {
  const ModelPtr model = ModelOf("QPSK");
  FrameSpec spec = SpecOf(*model, 64, testing::kNoNoise, 12);
  spec.frequency = 0.0;
  spec.phase = M_PI / 4;  // on the axes, at full scale; turned back it needs 0.7 of that
  spec.gain = 1.0;
  Parameters parameters;
  parameters.format = SampleFormat::kInt16;
  parameters.scale = 1.0F / 32767.0F;
  std::vector<Iq> symbols = MakeFrame(spec).symbols;
  symbols[7] = {1.0F, 1.0F};  // turned back: 1.41
  const Recovered recovered = Recover(*model, parameters, symbols);
  const std::vector<Iq> corrected = CorrectedSymbols(parameters, recovered);
  const float greatest = std::max(std::fabs(corrected[7].i), std::fabs(corrected[7].q));
  EXPECT_NEAR(greatest, 1.0F, 1e-4F);
}

// A frame's result depends on nothing that the thread did before.
TEST(CarrierRecoverTest, FramesAreIndependent) {
  const ModelPtr qpsk = ModelOf("QPSK");
  const ModelPtr apsk = ModelOf("16APSK 3/4");
  const CarrierFrame a = MakeFrame(SpecOf(*qpsk, 1000, 8.0, 13));
  const CarrierFrame b = MakeFrame(SpecOf(*apsk, 5000, 15.0, 14));
  const CarrierFrame c = MakeFrame(SpecOf(*qpsk, 33, 20.0, 15));
  const Recovered first = Recover(*qpsk, {}, a.symbols);
  for (const Fine fine : {Fine::kSweep, Fine::kPll, Fine::kRemodulate}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 1e-5;
    Recover(*apsk, parameters, b.symbols);
    Recover(*qpsk, {}, c.symbols);
    const Recovered again = Recover(*qpsk, {}, a.symbols);
    // Up to its last field: what lies behind it has no value.
    EXPECT_EQ(std::memcmp(&again.result, &first.result, offsetof(Result, bad_symbols) + 1), 0);
    EXPECT_EQ(again.corrected, first.corrected);
    EXPECT_EQ(again.curve, first.curve);
  }
}

}  // namespace
}  // namespace baseband::carrier
