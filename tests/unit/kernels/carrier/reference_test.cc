// The oracle itself, against what is known on paper.
#include "kernels/carrier/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/reference/reference_recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/channel.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::FrameSpec;
using ::baseband::testing::MakeFrame;
using ::baseband::testing::WrappedDifference;

constexpr double kPi = 3.14159265358979323846;

ConstellationPtr Named(const std::string& name) { return *Constellation::FromName(name); }

double FromDb(double db) { return std::pow(10.0, db / 10.0); }

FrameSpec Spec(const std::string& name, int num_symbols, double frequency, double phase,
               double snr_db) {
  FrameSpec spec;
  spec.constellation = Named(name);
  spec.num_symbols = num_symbols;
  spec.frequency = frequency;
  spec.phase = phase;
  spec.snr_db = snr_db;
  return spec;
}

TEST(CarrierReferenceTest, Equation8IsThatOfFourSymbolsByHand) {
  const ConstellationPtr qpsk = Named("QPSK");
  const double a = std::sqrt(0.5);
  // Off by 0.1, 0, 0.5 (3-4-5) and, sent as (a, a), received nearer to (a, -a), by 0.2.
  const std::vector<Complex> z = {{a + 0.1, a}, {-a, a}, {-a - 0.3, -a + 0.4}, {a, -a + 0.2}};
  EXPECT_NEAR(ReferenceEvmSum(*qpsk, z), 0.8, 1e-6);
  EXPECT_NEAR(ReferenceEvmRms(*qpsk, z), std::sqrt((0.01 + 0.25 + 0.04) / 4), 1e-6);
  // The distance is divided by the radius of the point decided for.
  const ConstellationPtr two_rings =
      *Constellation::FromPoints(std::vector<Iq>{{1, 0}, {-1, 0}, {0, 3}, {0, -3}});
  const double unit = 1.0 / std::sqrt(5.0);
  EXPECT_NEAR(ReferenceEvmSum(*two_rings, std::vector<Complex>{{0, 3.3 * unit}}), 0.1, 1e-6);
  EXPECT_NEAR(ReferenceEvmSum(*two_rings, std::vector<Complex>{{1.3 * unit, 0}}), 0.3, 1e-6);
}

TEST(CarrierReferenceTest, CorrectingUndoesTheChannel) {
  const testing::CarrierFrame frame = MakeFrame([] {
    FrameSpec spec = Spec("16APSK 3/4", 500, 0.123, -1.0, baseband::testing::kNoNoise);
    spec.gain = 3.0;
    return spec;
  }());
  const std::vector<Complex> z =
      ReferenceCorrected(ToComplex(frame.symbols), Carrier{0.123, -1.0, 3.0});
  for (size_t n = 0; n < z.size(); ++n) {
    EXPECT_NEAR(std::abs(z[n] - Complex(frame.sent[n].i, frame.sent[n].q)), 0.0, 1e-6);
  }
}

TEST(CarrierReferenceTest, BesselFunctionIsTheMeanOverACircle) {
  for (const double x : {0.0, 0.3, 1.0, 5.0, 20.0, 39.99, 40.01, 300.0, 5000.0}) {
    constexpr int kPlaces = 4096;
    double mean = 0.0;
    for (int m = 0; m < kPlaces; ++m) {
      mean += std::exp(x * (std::cos(2.0 * kPi * m / kPlaces) - 1.0)) / kPlaces;
    }
    EXPECT_NEAR(LogBesselI0(x), x + std::log(mean), 1e-11 * (1.0 + x)) << x;
  }
}

TEST(CarrierReferenceTest, SoftDecisionOfBpskIsAHyperbolicTangent) {
  const ConstellationPtr bpsk = Named("BPSK");
  const Complex point(bpsk->points()[0].i, bpsk->points()[0].q);
  const double snr = 2.0;
  for (const Complex& z : {Complex(0.3, 0.1), Complex(-0.8, 0.4), Complex(0.0, 0.0)}) {
    const SymbolFacts facts = ReferenceSymbol(*bpsk, z, snr);
    const double along = std::real(z * std::conj(point));
    const Complex expected = point * std::tanh(2.0 * snr * along);
    EXPECT_NEAR(std::abs(facts.soft - expected), 0.0, 1e-6);
    EXPECT_NEAR(facts.energy, 1.0, 1e-6);
    // cosh(2 snr along) over its mean over the turn, I0(2 snr |z|).
    EXPECT_NEAR(facts.fit,
                std::log(std::cosh(2.0 * snr * along)) - LogBesselI0(2.0 * snr * std::abs(z)),
                1e-6);
  }
}

TEST(CarrierReferenceTest, FitIsTheDensityOverItsMeanOverATurn) {
  const ConstellationPtr constellation = Named("32APSK 3/4");
  const double snr = FromDb(13.0);
  constexpr int kPlaces = 4096;
  for (const Complex& z : {Complex(0.3, 0.1), Complex(-1.1, 0.7), Complex(0.05, -0.6)}) {
    double mean = 0.0;
    for (int m = 0; m < kPlaces; ++m) {
      const Complex turned = z * std::polar(1.0, 2.0 * kPi * m / kPlaces);
      mean += std::exp(ReferenceSymbol(*constellation, turned, snr).log_density) / kPlaces;
    }
    const SymbolFacts facts = ReferenceSymbol(*constellation, z, snr);
    EXPECT_NEAR(facts.fit, facts.log_density - std::log(mean), 1e-9);
  }
}

TEST(CarrierReferenceTest, LikelihoodRatioOfRandomPhasesHasMeanOne) {
  // What the lock decision rests on: E[exp(fit)] = 1, whatever the amplitudes are.
  const ConstellationPtr constellation = Named("16QAM");
  testing::Random random(11);
  for (const double amplitude : {0.4, 1.0, 1.7}) {
    double mean = 0.0;
    constexpr int kSymbols = 20'000;
    for (int n = 0; n < kSymbols; ++n) {
      const Complex z = std::polar(amplitude, 2.0 * kPi * random.Uniform());
      mean += std::exp(ReferenceSymbol(*constellation, z, FromDb(8.0)).fit) / kSymbols;
    }
    EXPECT_NEAR(mean, 1.0, 0.05);
  }
}

TEST(CarrierReferenceTest, ScoreIsTheDerivativeOfTheLogarithmOfTheDensity) {
  const ConstellationPtr constellation = Named("64APSK 132/180");
  const double snr = FromDb(14.0);
  for (const Complex& z : {Complex(0.3, 0.1), Complex(-1.1, 0.7), Complex(0.05, -0.6)}) {
    const auto log_density = [&](double phi) {
      return ReferenceSymbol(*constellation, z * std::polar(1.0, -phi), snr).log_density;
    };
    const double derivative = (log_density(1e-5) - log_density(-1e-5)) / 2e-5;
    EXPECT_NEAR(ReferenceScore(ReferenceSymbol(*constellation, z, snr), z, snr), derivative, 1e-5);
  }
}

TEST(CarrierReferenceTest, BlindInformationBecomesThatOfAKnownSymbolAtHighSnr) {
  for (const std::string name : {"BPSK", "QPSK", "16QAM", "16APSK 3/4"}) {
    const double snr = FromDb(Named(name)->operating_snr_db() + 15.0);
    EXPECT_NEAR(ReferenceInformation(*Named(name), snr) / (2.0 * snr), 1.0, 0.002) << name;
  }
}

TEST(CarrierReferenceTest, BlindInformationFallsWithTheFourthPowerOfALowSnrForQpsk) {
  // ln p of QPSK depends on the phase from the term in cos 4 phi on only, of order snr^4: its mean
  // square is of order snr^4 as well (squared amplitude over E|z|^8 = 24 / snr^4).
  const ConstellationPtr qpsk = Named("QPSK");
  const double at_12 = ReferenceInformation(*qpsk, FromDb(-12.0));
  const double at_15 = ReferenceInformation(*qpsk, FromDb(-15.0));
  EXPECT_NEAR(10.0 * std::log10(at_12 / at_15), 4.0 * 3.0, 1.0);
}

TEST(CarrierReferenceTest, BlindInformationIsTheMeanSquareOfScoresOfNoisySymbols) {
  for (const std::string name : {"8PSK", "32APSK 3/4", "256QAM"}) {
    const ConstellationPtr constellation = Named(name);
    const double snr = FromDb(constellation->operating_snr_db());
    const testing::CarrierFrame frame =
        MakeFrame(Spec(name, 20'000, 0.0, 0.0, constellation->operating_snr_db()));
    double sum = 0.0;
    double sum_of_squares = 0.0;
    for (const Complex& z : ToComplex(frame.symbols)) {
      const double score = ReferenceScore(ReferenceSymbol(*constellation, z, snr), z, snr);
      sum += score * score;
      sum_of_squares += std::pow(score, 4);
    }
    const auto count = static_cast<double>(frame.symbols.size());
    const double deviation = std::sqrt(sum_of_squares) / count;  // of the mean, at most
    EXPECT_NEAR(sum / count, ReferenceInformation(*constellation, snr), 4.0 * deviation) << name;
  }
}

TEST(CarrierReferenceTest, BoundsAreTheFormulasOfRifeAndBoorstyn) {
  constexpr int kSymbols = 1000;
  const double information = 2.0 * FromDb(10.0);
  const std::vector<double> each(kSymbols, information);
  const Bounds centre = ReferenceBounds(each, (kSymbols - 1) / 2.0);
  const double n = kSymbols;
  const double expected_frequency =
      std::sqrt(12.0 / (information * n * (n * n - 1.0))) / (2.0 * kPi);
  EXPECT_NEAR(centre.frequency_stddev / expected_frequency, 1.0, 1e-9);
  EXPECT_NEAR(centre.phase_stddev, std::sqrt(1.0 / (information * n)), 1e-12);
  // At the first symbol: var = 2 (2 n - 1) / (J n (n + 1)).
  EXPECT_NEAR(ReferenceBounds(each, 0.0).phase_stddev,
              std::sqrt(2.0 * (2.0 * n - 1.0) / (information * n * (n + 1.0))), 1e-12);
}

TEST(CarrierReferenceTest, WeightOfPskHasTheSignOfItsPowerAndGrowsWithAmplitude) {
  const ConstellationPtr qpsk = Named("QPSK");  // at odd multiples of 45 degrees: s^4 = -1
  const double snr = FromDb(3.0);
  double previous = 0.0;
  for (const double rho : {0.1, 0.5, 1.0, 1.5}) {
    const Complex weight = ReferenceWeight(*qpsk, 4, snr, rho);
    EXPECT_NEAR(weight.imag(), 0.0, 1e-9);
    EXPECT_LT(weight.real(), previous);
    previous = weight.real();
  }
  EXPECT_GT(previous, -1.0);
  // There is no line at a power that is no multiple of the symmetry.
  EXPECT_NEAR(std::abs(ReferenceWeight(*qpsk, 3, snr, 1.0)), 0.0, 1e-9);
}

TEST(CarrierReferenceTest, FftIsTheSumOfItsDefinition) {
  testing::Random random(12);
  std::vector<Complex> x;
  x.reserve(50);
  for (int n = 0; n < 50; ++n) {
    x.emplace_back(random.Normal(), random.Normal());
  }
  const std::vector<Complex> spectrum = ReferenceFft(x, 64);
  for (int k = 0; k < 64; ++k) {
    Complex sum;
    for (int n = 0; n < 50; ++n) {
      sum += x[static_cast<size_t>(n)] * std::polar(1.0, -2.0 * kPi * k * n / 64);
    }
    EXPECT_NEAR(std::abs(spectrum[static_cast<size_t>(k)] - sum), 0.0, 1e-12);
  }
  EXPECT_EQ(ReferenceFftSize(16), 64);
  EXPECT_EQ(ReferenceFftSize(1024), 1024);
  EXPECT_EQ(ReferenceFftSize(1025), 2048);
}

TEST(CarrierReferenceTest, SweepFindsANoiselessCarrierToWithinItsStep) {
  for (const std::string name : {"QPSK", "8PSK", "16QAM"}) {
    const ConstellationPtr constellation = Named(name);
    const FrameSpec spec = Spec(name, 600, 0.0123456, 0.3, baseband::testing::kNoNoise);
    SweepOptions options;
    options.power = constellation->symmetry();
    options.amplitude = Amplitude::kPlain;
    options.range = 1.0 / (2.0 * 600);
    options.step = 1e-5;
    const SweepResult result =
        ReferenceSweep(*constellation, ToComplex(MakeFrame(spec).symbols), options);
    EXPECT_EQ(result.evm.size(), 2U * 83 + 1);
    EXPECT_LT(std::fabs(result.coarse_frequency - spec.frequency), 0.5 / 1024 / options.power);
    // The fourth power of 16QAM is not free of modulation: it turns the phase that the EVM is
    // measured at, and a neighbour may win.
    const double steps = name == "16QAM" ? 1.51 : 0.51;
    EXPECT_LT(std::fabs(result.carrier.frequency - spec.frequency), steps * options.step) << name;
    // The phase belongs to the frame's centre; at n = 0 the frequency's error adds to it.
    const double turn = 2.0 * kPi / constellation->symmetry();
    EXPECT_LT(std::fabs(WrappedDifference(result.carrier.phase, spec.phase, turn)),
              2.0 * kPi * 300 * options.step);
  }
}

TEST(CarrierReferenceTest, SweepTakesTheBranchThatFitsWhenThePowerExceedsTheSymmetry) {
  const ConstellationPtr constellation = Named("16APSK 3/4");  // power 12, 4-fold symmetric
  for (const double phase : {0.1, 0.1 + kPi / 6, 0.1 + kPi / 3}) {
    const FrameSpec spec = Spec("16APSK 3/4", 600, 0.004, phase, 25.0);
    SweepOptions options;
    options.power = 12;
    options.range = 1e-4;
    options.step = 1e-5;
    const SweepResult result =
        ReferenceSweep(*constellation, ToComplex(MakeFrame(spec).symbols), options);
    EXPECT_LT(std::fabs(WrappedDifference(result.carrier.phase, phase, kPi / 2)), 0.05);
    EXPECT_LT(*std::min_element(result.evm.begin(), result.evm.end()), 0.1);
  }
}

TEST(CarrierReferenceTest, WeightedSweepNeedsNoPhaseOfTheConstellationsOwn) {
  const FrameSpec spec = Spec("16APSK 3/4", 128, 0.004, 0.2, 14.0);
  SweepOptions options;
  options.power = 12;
  options.amplitude = Amplitude::kWeighted;
  options.snr = FromDb(spec.snr_db);
  options.range = 4e-4;
  options.step = 4e-5;
  const SweepResult result =
      ReferenceSweep(*spec.constellation, ToComplex(MakeFrame(spec).symbols), options);
  EXPECT_LT(std::fabs(result.carrier.frequency - spec.frequency), 2e-4);
  const double at_centre =
      result.carrier.phase + 2.0 * kPi * 63.5 * (result.carrier.frequency - spec.frequency);
  EXPECT_LT(std::fabs(WrappedDifference(at_centre, spec.phase, kPi / 2)), 0.1);
}

TEST(CarrierReferenceTest, PllPullsInAndItsIntegratorHoldsTheFrequency) {
  const FrameSpec spec = Spec("QPSK", 8000, 3e-4, 0.2, 20.0);
  PllOptions options;
  options.bandwidth = 0.01;
  const PllResult result =
      ReferencePll(*spec.constellation, ToComplex(MakeFrame(spec).symbols), options);
  EXPECT_NEAR(result.frequency, spec.frequency, 2e-6);
  const std::vector<Complex> late(result.corrected.end() - 4000, result.corrected.end());
  // Noise of 20 dB, and a little of the loop's own.
  EXPECT_NEAR(ReferenceEvmRms(*spec.constellation, late), 0.1, 0.01);
}

TEST(CarrierReferenceTest, MaximumLikelihoodReachesTheBlindBound) {
  constexpr int kFrames = 40;
  constexpr int kSymbols = 200;
  const FrameSpec base = Spec("QPSK", kSymbols, 0.0, 0.0, 6.0);
  const double snr = FromDb(base.snr_db);
  const Bounds bounds =
      ReferenceBounds(std::vector<double>(kSymbols, ReferenceInformation(*base.constellation, snr)),
                      (kSymbols - 1) / 2.0);
  double squares_frequency = 0.0;
  double squares_phase = 0.0;
  for (uint64_t seed = 1; seed <= kFrames; ++seed) {
    FrameSpec spec = base;
    spec.seed = seed;
    spec = testing::WithRandomOffset(spec, 0.1);
    const Carrier estimate = ReferenceMaximumLikelihood(
        *spec.constellation, ToComplex(MakeFrame(spec).symbols), {},
        Carrier{spec.frequency + 0.3 / kSymbols, 0.0, 1.0}, snr, 0.5 / kSymbols);
    const double error = estimate.frequency - spec.frequency;
    const double phase_error = WrappedDifference(
        estimate.phase + 2.0 * kPi * error * (kSymbols - 1) / 2.0, spec.phase, kPi / 2);
    squares_frequency += error * error / kFrames;
    squares_phase += phase_error * phase_error / kFrames;
  }
  // The root of the mean of that many squares of normal variables deviates by 1 / sqrt(2 kFrames).
  const double tolerance = 4.0 / std::sqrt(2.0 * kFrames);
  EXPECT_NEAR(std::sqrt(squares_frequency) / bounds.frequency_stddev, 1.0, tolerance);
  EXPECT_NEAR(std::sqrt(squares_phase) / bounds.phase_stddev, 1.0, tolerance);
}

TEST(CarrierReferenceTest, KnownSymbolsLeaveNoAmbiguity) {
  FrameSpec spec = Spec("16QAM", 200, 0.01, 2.5, 12.0);
  spec.pilots = testing::Pilots::kDvbS2;  // 90 of the 200 are known
  const testing::CarrierFrame frame = MakeFrame(spec);
  const Carrier estimate = ReferenceMaximumLikelihood(
      *spec.constellation, ToComplex(frame.symbols), ToComplex(frame.known),
      Carrier{0.0105, 0.0, 1.0}, FromDb(spec.snr_db), 0.001);
  EXPECT_NEAR(estimate.frequency, spec.frequency, 2e-4);
  EXPECT_NEAR(WrappedDifference(estimate.phase, spec.phase, 2.0 * kPi), 0.0, 0.1);
  const double right = ReferenceFit(*spec.constellation, ToComplex(frame.symbols),
                                    ToComplex(frame.known), estimate, FromDb(spec.snr_db));
  const double turned =
      ReferenceFit(*spec.constellation, ToComplex(frame.symbols), ToComplex(frame.known),
                   Carrier{estimate.frequency, estimate.phase + kPi / 2, 1.0}, FromDb(spec.snr_db));
  EXPECT_GT(right, turned + 1000.0);
}

}  // namespace
}  // namespace baseband::carrier
