// RecoverOnCpu of pulses that come as taps.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/timing/math/pulse_math.h"
#include "kernels/timing/reference/reference.h"
#include "tests/support/every_target.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

using testing::StraightEdgeTaps;
using testing::WindowedTaps;

const std::vector<PulseShape>& Shapes() {
  static const std::vector<PulseShape> shapes = {
      {0.3, 2, 1, WindowedTaps(0.2, 4, 8)},           {0.3, 5, 2, WindowedTaps(0.2, 2, 16)},
      {0.4, 4, 1, WindowedTaps(0.35, 8, 8)},          {0.25, 2, 1, StraightEdgeTaps(0.25, 4, 24)},
      {0.6, 1027, 512, StraightEdgeTaps(0.6, 3, 10)},
  };
  return shapes;
}
std::string NameOf(const PulseShape& shape) {
  return std::to_string(shape.rolloff) + ", " + std::to_string(shape.samples) + " / " +
         std::to_string(shape.symbols);
}

// Power of other symbols behind the matched filter over the symbol's own, dB.
double InterferenceDb(const PulseShape& shape) {
  constexpr int kPerSymbol = 4;
  const ReferencePulse pulse(shape);
  const int reach = static_cast<int>(shape.taps->values.size()) / shape.taps->per_symbol / 2 + 8;
  double interference = 0.0;
  for (int d = 1; d <= 2 * reach; ++d) {
    double sum = 0.0;
    for (int n = -reach * kPerSymbol; n <= reach * kPerSymbol; ++n) {
      const double t = static_cast<double>(n) / kPerSymbol;
      sum += pulse.At(t) * pulse.At(t - d) / kPerSymbol;
    }
    interference += 2.0 * sum * sum;
  }
  return 10.0 * std::log10(interference);
}

// By its taps or by its roll-off: one pulse.
TEST(TimingRecoverTapsTest, ARootRaisedCosinePulseByItsTapsHasTheSameResults) {
  for (const double rolloff : {0.1, 0.2, 0.5}) {
    for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {4, 1}}) {
      SCOPED_TRACE(std::to_string(rolloff) + ", " + std::to_string(samples));
      Receiver receiver = ReceiverOf("QPSK", {rolloff, samples, symbols});
      receiver.carrier.want_corrected = true;
      const TimingSpec spec = SpecOf(receiver, 2000, 10.0, 11);
      const std::vector<Iq> sent = testing::MakeSamples(spec).samples;
      const Timed by_rolloff = Recover(receiver, sent);
      const auto taps = testing::TapsOf([&](double t) { return RootRaisedCosine(rolloff, t); }, 4,
                                        static_cast<int>(5.0 / rolloff));
      receiver.pulse = *Pulse::Create({rolloff, samples, symbols, taps});
      const Timed by_taps = Recover(receiver, sent);
      const Result& result = by_taps.recovered.timing;
      const Result& expected = by_rolloff.recovered.timing;
      ASSERT_EQ(result.lock, Lock::kLocked);
      ASSERT_EQ(result.refined, 1);
      // The ends of the taps are -50 dB: against noise of -10 dB a hundredth.
      EXPECT_NEAR(result.offset, expected.offset, 0.02 * expected.offset_stddev);
      EXPECT_NEAR(result.clock_error, expected.clock_error, 0.02 * expected.clock_error_stddev);
      EXPECT_NEAR(result.offset_stddev, expected.offset_stddev, 0.02 * expected.offset_stddev);
      EXPECT_NEAR(result.line, expected.line, 1e-3F * expected.line);
      EXPECT_NEAR(by_taps.recovered.carrier.frequency, by_rolloff.recovered.carrier.frequency,
                  0.02 * by_rolloff.recovered.carrier.frequency_stddev);
      double error = 0.0;
      double power = 0.0;
      for (size_t k = 20; k + 20 < by_taps.corrected.size(); ++k) {
        const Iq& a = by_taps.corrected[k];
        const Iq& b = by_rolloff.corrected[k];
        error += std::pow(a.i - b.i, 2) + std::pow(a.q - b.q, 2);
        power += std::pow(b.i, 2) + std::pow(b.q, 2);
      }
      EXPECT_LT(10.0 * std::log10(error / power), -45.0);
    }
  }
}

TEST(TimingRecoverTapsTest, OfANoiselessSignalOffsetAndClockAreToldOnEveryTarget) {
  for (const PulseShape& shape : Shapes()) {
    SCOPED_TRACE(NameOf(shape));
    const Receiver receiver = ReceiverOf("QPSK", shape);
    const TimingSpec spec = SpecOf(receiver, 2000, testing::kNoNoise, 3);
    const TimingSamples made = testing::MakeSamples(spec);
    // The ends of the frame leave 47 dB.
    const double snr_db = std::min(-InterferenceDb(shape), 47.0);
    testing::OnEveryTarget([&] {
      const Timed timed = Recover(receiver, made.samples);
      const Result& result = timed.recovered.timing;
      ASSERT_EQ(result.lock, Lock::kLocked);
      EXPECT_EQ(result.refined, 1);
      EXPECT_EQ(timed.recovered.carrier.lock, carrier::Lock::kLocked);
      const Off off = OffOf(timed, spec);
      EXPECT_LT(std::fabs(off.centre), 1e-3);
      EXPECT_LT(std::fabs(off.clock) * 2000.0, 4e-3);
      EXPECT_NEAR(timed.recovered.carrier.snr_db, snr_db, 1.0);
      // The symbols' interference is in the deviations, where it is more than what the ends do.
      if (snr_db < 40.0) {
        EXPECT_LT(std::fabs(off.centre), 4.0 * static_cast<double>(result.centre_stddev));
        EXPECT_LT(std::fabs(off.clock), 4.0 * static_cast<double>(result.clock_error_stddev));
      }
      EXPECT_NEAR(timed.recovered.carrier.gain, spec.gain, 1e-2 * spec.gain);
    });
  }
}

// The filter's output, where the result says that it is, by direct sums over all samples.
TEST(TimingRecoverTapsTest, CorrectedSymbolsAreTheOraclesAtTheResultsClock) {
  for (const PulseShape& shape : Shapes()) {
    SCOPED_TRACE(NameOf(shape));
    Receiver receiver = ReceiverOf("8PSK", shape);
    receiver.carrier.want_corrected = true;
    const int num_symbols = 200;
    const TimingSpec spec = SpecOf(receiver, num_symbols, 18.0, 5);
    const TimingSamples made = testing::MakeSamples(spec);
    const Timed timed = Recover(receiver, made.samples);
    const Result& result = timed.recovered.timing;
    const carrier::Result& carrier = timed.recovered.carrier;
    const SymbolClock clock = {
        result.offset, result.clock_error,
        static_cast<double>(result.spectrum_centre) / (1.0 + result.clock_error)};
    const std::vector<Complex> expected =
        ReferenceSymbols(spec.shape, made.samples, clock, num_symbols);
    double error = 0.0;
    double power = 0.0;
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

// Every frame's errors against what it says of itself, where the symbols' interference is less than
// the noise and where it is as much.
TEST(TimingRecoverTapsTest, DeviationsAreThoseOfTheErrors) {
  for (const PulseShape& shape : {Shapes()[0], Shapes()[3]}) {
    for (const double snr_db : {9.0, 24.0}) {
      SCOPED_TRACE(NameOf(shape) + " at " + std::to_string(snr_db) + " dB");
      const Receiver receiver = ReceiverOf("QPSK", shape);
      double centre = 0.0;
      double clock = 0.0;
      int frames = 0;
      for (uint64_t seed = 1; seed <= 60; ++seed) {
        const TimingSpec spec = SpecOf(receiver, 2000, snr_db, seed);
        const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
        const Result& result = timed.recovered.timing;
        ASSERT_EQ(result.lock, Lock::kLocked);
        ASSERT_EQ(result.refined, 1);
        const Off off = OffOf(timed, spec);
        centre += std::pow(off.centre / static_cast<double>(result.centre_stddev), 2);
        clock += std::pow(off.clock / static_cast<double>(result.clock_error_stddev), 2);
        ++frames;
      }
      for (const double sum : {centre, clock}) EXPECT_NEAR(std::sqrt(sum / frames), 1.0, 0.3);
    }
  }
}

}  // namespace
}  // namespace baseband::timing
