// RecoverOnCpu against the oracle, its properties, and its refusals. What it is worth:
// carrier_statistics_test.cc.
#include "kernels/carrier/recover.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hwy/targets.h"
#include "kernels/carrier/reference/reference.h"
#include "kernels/carrier/reference/reference_recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::MakeFrame;

ModelPtr ModelOf(const std::string& name, int power = 0) {
  return *Model::Create(*Constellation::FromName(name), Amplitude::kWeighted, power);
}

FrameSpec SpecOf(const Model& model, int num_symbols, double snr_db, uint64_t seed = 1) {
  FrameSpec spec;
  spec.constellation = *Constellation::FromName(model.constellation().name());
  spec.num_symbols = num_symbols;
  spec.snr_db = snr_db;
  spec.seed = seed;
  spec.gain = 1.7;
  return WithRandomOffset(spec, 0.8 * model.max_frequency());
}

// What came of one frame, in all formats that there are.
struct Recovered {
  Result result;
  std::vector<uint8_t> corrected;
  std::vector<float> curve;
};
Recovered Recover(const Model& model, Parameters parameters, absl::Span<const Iq> symbols,
                  absl::Span<const Iq> known = {}) {
  parameters.want_corrected = true;
  parameters.want_curve = true;
  const auto num_symbols = static_cast<int>(symbols.size());
  EXPECT_THAT(CheckParameters(model, parameters, num_symbols, known), IsOk());
  const std::vector<uint8_t> samples =
      testing::ToSamples(symbols, parameters.format, static_cast<double>(parameters.scale));
  Recovered recovered;
  recovered.corrected.resize(samples.size());
  const Curve curve = CurveOf(model, parameters, num_symbols);
  recovered.curve.resize(static_cast<size_t>(curve.num_points));
  recovered.result =
      RecoverOnCpu(model, parameters, samples, known, absl::MakeSpan(recovered.corrected),
                   absl::MakeSpan(recovered.curve));
  return recovered;
}

std::vector<Iq> CorrectedSymbols(const Parameters& parameters, const Recovered& recovered) {
  std::vector<Iq> symbols;
  const auto bytes = static_cast<size_t>(BytesPerSymbol(parameters.format));
  for (size_t n = 0; n < recovered.corrected.size() / bytes; ++n) {
    symbols.push_back(ReadSymbol(parameters, recovered.corrected.data(), static_cast<int64_t>(n)));
  }
  return symbols;
}

double MeanSquare(absl::Span<const Iq> symbols) {
  double sum = 0.0;
  for (const Iq& r : symbols) sum += double{r.i} * r.i + double{r.q} * r.q;
  return sum / static_cast<double>(symbols.size());
}

double PhaseAtCentre(const FrameSpec& spec) {
  return spec.phase + M_PI * spec.frequency * (spec.num_symbols - 1);
}

double Period(const Model& model) { return 2.0 * M_PI / model.constellation().symmetry(); }

// ---- against the oracle ------------------------------------------------------------------------

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

// ---- properties --------------------------------------------------------------------------------

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

// ---- known symbols, coarse stages, curves ------------------------------------------------------

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

// ---- what is no frame, and what is refused -----------------------------------------------------

TEST(CarrierRecoverTest, ZerosHaveNoSignal) {
  const ModelPtr model = ModelOf("QPSK");
  const std::vector<Iq> zeros(100);
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 1e-4;
    const Recovered recovered = Recover(*model, parameters, zeros);
    EXPECT_EQ(recovered.result.lock, Lock::kNoSignal);
    EXPECT_EQ(recovered.result.bad_symbols, 0);
    EXPECT_EQ(recovered.result.frequency, 0.0);
  }
}

TEST(CarrierRecoverTest, SymbolsThatAreNoNumbersAreReported) {
  const ModelPtr model = ModelOf("QPSK");
  const CarrierFrame frame = MakeFrame(SpecOf(*model, 100, 10.0, 22));
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1.1e15F}) {
    for (const size_t at : {0U, 15U, 99U}) {
      for (const bool quadrature : {false, true}) {
        std::vector<Iq> symbols = frame.symbols;
        (quadrature ? symbols[at].q : symbols[at].i) = bad;
        EXPECT_EQ(Recover(*model, {}, symbols).result.bad_symbols, 1);
      }
    }
  }
  std::vector<Iq> large = frame.symbols;
  for (Iq& symbol : large) symbol = {symbol.i * 1e14F, symbol.q * 1e14F};
  EXPECT_EQ(Recover(*model, {}, large).result.bad_symbols, 0);
}

TEST(CarrierRecoverTest, OneImpulseIsNotLocked) {
  const ModelPtr model = ModelOf("64QAM");
  std::vector<Iq> symbols(200);
  symbols[100] = {1.0F, -2.0F};
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 1e-4;
    const Result result = Recover(*model, parameters, symbols).result;
    EXPECT_NE(result.lock, Lock::kLocked);
    EXPECT_TRUE(std::isfinite(result.frequency));
  }
}

class CarrierRefusalTest : public ::testing::Test {
 protected:
  absl::Status Check(int num_symbols = 1000, absl::Span<const Iq> known = {}) const {
    return CheckParameters(*model_, parameters_, num_symbols, known);
  }
  void ExpectRefused(const std::string& message) const {
    EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }

  ModelPtr model_ = ModelOf("64QAM");
  Parameters parameters_;
};

TEST_F(CarrierRefusalTest, Lengths) {
  for (const int num_symbols : {-1, 0, 15, kMaxSymbols + 1}) {
    EXPECT_THAT(Check(num_symbols),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("frame_symbols " + std::to_string(num_symbols)),
                               HasSubstr("[16, 1048576]"))));
  }
  EXPECT_THAT(Check(16), IsOk());
  EXPECT_THAT(Check(kMaxSymbols), IsOk());
}

TEST_F(CarrierRefusalTest, Scales) {
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    parameters_.scale = scale;
    ExpectRefused("scale ");
  }
}

TEST_F(CarrierRefusalTest, ARangeThatTheSymmetryCannotTell) {
  parameters_.max_frequency = 0.2;
  EXPECT_EQ(Check().message(),
            "max_frequency 0.2 is not in [0, 0.125]: 64QAM turned by 1/4 from symbol to symbol "
            "looks the same; send known symbols for more");
  parameters_.max_frequency = -0.1;
  ExpectRefused("max_frequency -0.1");
  parameters_.max_frequency = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused("max_frequency nan");
  parameters_.max_frequency = 0.125;
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(CarrierRefusalTest, Sweeps) {
  parameters_.fine = Fine::kSweep;
  EXPECT_THAT(Check(), IsOk());
  parameters_.sweep_step = 6e-4;  // the range is 1 / 2000
  ExpectRefused("sweep.step 0.0006 is not in (0, 0.0005], the range");
  parameters_.sweep_step = 0.0;
  ExpectRefused("sweep.step 0 ");
  parameters_.sweep_step = 5e-8;
  ExpectRefused("candidates of a sweep.range of 0.0005; 8192 is the most");
  parameters_.sweep_step = 5e-7;
  parameters_.sweep_range = -1.0;
  ExpectRefused("sweep.range -1 is not in [0, 0.5]");
  parameters_.sweep_range = 1e-4;
  parameters_.sweep_guard_bins = 17;
  ExpectRefused("sweep.guard_bins 17 is not in [0, 16]");
}

TEST_F(CarrierRefusalTest, Loops) {
  parameters_.fine = Fine::kPll;
  EXPECT_THAT(Check(), IsOk());
  for (const float bandwidth : {0.0F, 0.5F, -0.1F, std::numeric_limits<float>::quiet_NaN()}) {
    parameters_.pll_bandwidth = bandwidth;
    ExpectRefused("pll.bandwidth ");
  }
  parameters_.pll_bandwidth = 0.01F;
  for (const float damping : {0.0F, 10.5F}) {
    parameters_.pll_damping = damping;
    ExpectRefused("pll.damping ");
  }
}

TEST_F(CarrierRefusalTest, KnownSymbols) {
  parameters_.coarse = Coarse::kKnown;
  ExpectRefused("known.values are empty");
  std::vector<Iq> known(1000);
  EXPECT_THAT(Check(1000, known), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("known.values are all (0, 0)")));
  known[3] = {1.0F, 0.0F};
  EXPECT_THAT(Check(1000, known), IsOk());
  EXPECT_THAT(Check(999, known), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("known has 1000 symbols for a frame of 999")));
  for (const float value : {NAN, 1e-30F, 1001.0F}) {
    known[4] = {value, 0.0F};
    EXPECT_THAT(Check(1000, known),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("known[4] (")));
  }
}

// Its energy's inverse is no float32 number.
TEST(CarrierOriginTest, ALoopLearnsNothingFromAPointNextToTheOrigin) {
  const ModelPtr model = *Model::Create(
      *Constellation::FromPoints({{1.0F, 0.0F}, {-0.5F, 0.8F}, {-0.5F, -0.8F}, {1e-20F, 0.0F}}),
      Amplitude::kWeighted, 0);
  Parameters parameters;
  parameters.fine = Fine::kPll;
  FrameSpec spec;
  spec.constellation = *Constellation::FromName("QPSK");
  spec.num_symbols = 500;
  spec.snr_db = 20.0;
  const CarrierFrame frame = MakeFrame(spec);
  std::vector<Iq> symbols = frame.symbols;
  for (size_t n = 0; n < symbols.size(); n += 3) symbols[n] = {1e-3F, 1e-3F};
  const Result result = RecoverOnCpu(
      *model, parameters, testing::ToSamples(symbols, SampleFormat::kFloat32), {}, {}, {});
  EXPECT_TRUE(std::isfinite(result.frequency));
  EXPECT_TRUE(std::isfinite(result.phase));
}

}  // namespace
}  // namespace baseband::carrier
