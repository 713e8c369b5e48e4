// RecoverOnCpu against known answers and the oracle, whatever the instruction set.
#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/timing/math/refine_math.h"
#include "kernels/timing/reference/reference.h"
#include "tests/support/every_target.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

struct Case {
  double rolloff;
  int samples;
  int symbols;
  double max_clock_error;
};

const std::vector<Case> kCases = {{0.05, 2, 1, 1e-4}, {0.2, 2, 1, 1e-4},  {0.2, 5, 2, 1e-3},
                                  {0.35, 4, 1, 1e-4}, {0.35, 16, 1, 0.0}, {0.5, 1027, 512, 1e-4},
                                  {1.0, 2, 1, 1e-4},  {0.25, 8, 3, 1e-3}};

Receiver ReceiverOf(const Case& c, const std::string& name) {
  Receiver receiver = ReceiverOf(name, PulseShape{c.rolloff, c.samples, c.symbols});
  receiver.parameters.max_clock_error = c.max_clock_error;
  return receiver;
}

// Without noise nothing but the frame's ends and the filter's length hides the clock.
TEST(TimingRecoverTest, OfANoiselessSignalOffsetAndClockAreToldOnEveryTarget) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.rolloff) + ", " + std::to_string(c.samples) + " / " +
                 std::to_string(c.symbols));
    const Receiver receiver = ReceiverOf(c, "QPSK");
    const TimingSpec spec = SpecOf(receiver, 2000, testing::kNoNoise, 3);
    const TimingSamples made = testing::MakeSamples(spec);
    testing::OnEveryTarget([&] {
      const Timed timed = Recover(receiver, made.samples);
      const Result& result = timed.recovered.timing;
      ASSERT_EQ(result.lock, Lock::kLocked);
      EXPECT_EQ(result.refined, 1);
      const Off off = OffOf(timed, spec);
      EXPECT_LT(std::fabs(off.centre), 5e-4);
      EXPECT_LT(std::fabs(off.clock) * 2000.0, 2e-3);
      EXPECT_EQ(result.clock_error == 0.0, c.max_clock_error == 0.0);
      EXPECT_NEAR(result.spectrum_centre, spec.frequency, 0.01 * c.rolloff + 5e-4);
      EXPECT_EQ(timed.recovered.carrier.lock, carrier::Lock::kLocked);
      EXPECT_NEAR(timed.recovered.carrier.gain, spec.gain, 2e-3);
    });
  }
}

// The filter's output, where the result says that it is, by direct sums over all samples.
TEST(TimingRecoverTest, CorrectedSymbolsAreTheOraclesAtTheResultsClock) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::to_string(c.rolloff) + ", " + std::to_string(c.samples) + " / " +
                 std::to_string(c.symbols));
    const Receiver receiver = ReceiverOf(c, "8PSK");
    const int num_symbols = 400;
    const TimingSpec spec = SpecOf(receiver, num_symbols, 16.0, 5);
    const TimingSamples made = testing::MakeSamples(spec);
    const Timed timed = Recover(receiver, made.samples);
    const Result& result = timed.recovered.timing;
    const carrier::Result& carrier = timed.recovered.carrier;
    ASSERT_EQ(timed.corrected.size(), static_cast<size_t>(num_symbols));
    const SymbolClock clock = {
        result.offset, result.clock_error,
        static_cast<double>(result.spectrum_centre) / (1.0 + result.clock_error)};
    const std::vector<Complex> expected =
        ReferenceSymbols(spec.shape, made.samples, clock, num_symbols);
    double error = 0.0;
    double power = 0.0;
    // The ends lack samples of the oracle's longer pulse, and so of the filter's.
    for (int k = 0; k < num_symbols; ++k) {
      const Complex turned = expected[static_cast<size_t>(k)] *
                             std::polar(1.0, -2.0 * M_PI * carrier.frequency * k - carrier.phase);
      const Iq& symbol = timed.corrected[static_cast<size_t>(k)];
      error += std::norm(Complex(symbol.i, symbol.q) - turned);
      power += std::norm(turned);
    }
    EXPECT_LT(10.0 * std::log10(error / power), -50.0);
  }
}

// All symbols known: the result is where their weighted likelihood is greatest.
TEST(TimingRecoverTest, WithKnownSymbolsTheClockIsTheLikeliest) {
  for (const double rolloff : {0.1, 0.35}) {
    Receiver receiver = ReceiverOf({rolloff, 2, 1, 1e-3}, "QPSK");
    const int num_symbols = 300;
    TimingSpec spec = SpecOf(receiver, num_symbols, 8.0, 7);
    spec.offset = 0.5;
    spec.frequency = 0.01;
    const TimingSamples made = testing::MakeSamples(spec);
    const std::vector<Iq> known(made.sent.begin(), made.sent.begin() + num_symbols);
    receiver.carrier.coarse = carrier::Coarse::kKnown;
    const Timed timed = Recover(receiver, made.samples, known);
    const Result& result = timed.recovered.timing;
    ASSERT_EQ(timed.recovered.carrier.lock, carrier::Lock::kLocked);
    ASSERT_EQ(result.refined, 1);
    const SymbolClock start = {spec.offset, spec.clock_error, spec.frequency};
    const SymbolClock best =
        ReferenceClock(spec.shape, made.samples, known, TaperOf(rolloff, num_symbols), start, 0.02);
    const double centre = 0.5 * (num_symbols - 1.0);
    EXPECT_NEAR(result.offset + result.clock_error * centre,
                best.offset + best.clock_error * centre, 0.2 * result.centre_stddev);
    // The step from the line, several deviations long, is off by 1 / sqrt(N) of it.
    EXPECT_NEAR(result.clock_error, best.clock_error, 0.6 * result.clock_error_stddev);
  }
}

}  // namespace
}  // namespace baseband::timing
