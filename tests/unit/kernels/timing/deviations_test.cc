// What frames say of how sure their timing is, against their errors.
#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

// Root mean squares of errors over what was told of them.
struct Ratios {
  double centre = 0.0;
  double clock = 0.0;
  double first = 0.0;
};

// Of frames that are refined, or of those that are not; nearly all have to be.
Ratios RatiosOf(const Receiver& sender, const Receiver& receiver, double snr_db, int num_symbols,
                bool refined) {
  constexpr int kFrames = 60;
  Ratios sums;
  int frames = 0;
  for (uint64_t seed = 1; seed <= kFrames; ++seed) {
    const TimingSpec spec = SpecOf(sender, num_symbols, snr_db, seed);
    const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
    const Result& result = timed.recovered.timing;
    EXPECT_EQ(result.lock, Lock::kLocked);
    if ((result.refined != 0) != refined) continue;
    const Off off = OffOf(timed, spec);
    sums.centre += std::pow(off.centre / static_cast<double>(result.centre_stddev), 2);
    sums.clock += std::pow(off.clock / static_cast<double>(result.clock_error_stddev), 2);
    sums.first += std::pow(off.first / static_cast<double>(result.offset_stddev), 2);
    ++frames;
  }
  EXPECT_GE(frames, kFrames - 5);
  return {std::sqrt(sums.centre / frames), std::sqrt(sums.clock / frames),
          std::sqrt(sums.first / frames)};
}

void ExpectOne(const Ratios& ratios) {
  EXPECT_NEAR(ratios.centre, 1.0, 0.3);
  EXPECT_NEAR(ratios.clock, 1.0, 0.3);
  EXPECT_NEAR(ratios.first, 1.0, 0.3);
}

// By the line alone: no lock of the carrier, whose constellation is another.
TEST(TimingDeviationsTest, OfTheLineAreThoseOfTheErrors) {
  const Receiver sender = ReceiverOf("QPSK", {0.25, 2, 1});
  ExpectOne(RatiosOf(sender, ReceiverOf("64QAM", {0.25, 2, 1}), 9.0, 3000, false));
}

// From noise to none: there it is symbols beyond the frame's ends that err.
TEST(TimingDeviationsTest, OfTheDecisionsAreThoseOfTheErrors) {
  for (const std::string name : {"BPSK", "QPSK"}) {
    for (const double rolloff : {0.05, 0.25, 1.0}) {
      const Receiver receiver = ReceiverOf(name, {rolloff, 2, 1});
      for (const double snr_db : {9.0, 25.0, 40.0, 60.0}) {
        SCOPED_TRACE(name + ", roll-off " + std::to_string(rolloff) + " at " +
                     std::to_string(snr_db) + " dB");
        ExpectOne(RatiosOf(receiver, receiver, snr_db, rolloff < 0.1 ? 3000 : 1000, true));
      }
    }
  }
}

TEST(TimingDeviationsTest, OfAPulseByItsTapsAreThoseOfTheErrors) {
  const Receiver receiver =
      ReceiverOf("QPSK", {0.35, 2, 1, testing::StraightEdgeTaps(0.35, 4, 20)});
  for (const double snr_db : {12.0, 45.0}) {
    SCOPED_TRACE(snr_db);
    ExpectOne(RatiosOf(receiver, receiver, snr_db, 1000, true));
  }
}

// Frequency and phase by symbols as they are: their errors are those of the timing, too, which
// without noise is all.
TEST(TimingDeviationsTest, OfTheCarrierHoldThoseOfTheTiming) {
  for (const std::string name : {"BPSK", "QPSK"}) {
    for (const carrier::Reference reference :
         {carrier::Reference::kFirst, carrier::Reference::kCentre, carrier::Reference::kLast}) {
      for (const double snr_db : {20.0, 60.0}) {
        Receiver receiver = ReceiverOf(name, {0.05, 2, 1});
        receiver.carrier.reference = reference;
        double frequency = 0.0;
        double phase = 0.0;
        constexpr int kFrames = 40;
        for (uint64_t seed = 1; seed <= kFrames; ++seed) {
          TimingSpec spec = SpecOf(receiver, 1000, snr_db, seed);
          spec.frequency = std::copysign(0.1, spec.frequency);
          const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
          const carrier::Result& found = timed.recovered.carrier;
          ASSERT_EQ(found.lock, carrier::Lock::kLocked);
          const auto last = static_cast<double>(timed.corrected.size()) - 1.0;
          double at = reference == carrier::Reference::kFirst    ? 0.0
                      : reference == carrier::Reference::kCentre ? 0.5 * last
                                                                 : last;
          // The first symbol may be the one before or behind.
          at += std::rint(timed.recovered.timing.offset - spec.offset);
          const double sent = spec.phase + 2.0 * M_PI * spec.frequency * at;
          const double off =
              testing::WrappedDifference(found.phase, sent, 2.0 * M_PI / found.ambiguity);
          frequency += std::pow(
              (found.frequency - spec.frequency) / static_cast<double>(found.frequency_stddev), 2);
          phase += std::pow(off / static_cast<double>(found.phase_stddev), 2);
        }
        SCOPED_TRACE(name + " at " + std::to_string(snr_db) + " dB, reference " +
                     std::to_string(static_cast<int>(reference)));
        EXPECT_NEAR(std::sqrt(frequency / kFrames), 1.0, 0.45);
        EXPECT_NEAR(std::sqrt(phase / kFrames), 1.0, 0.45);
      }
    }
  }
}

// A carrier beyond what is looked for is told modulo 1 / symmetry; how unsure the symbols' length
// makes it is a matter of how often it turns, not of what its alias would.
TEST(TimingDeviationsTest, OfACarrierBeyondTheReachAreThoseOfTheErrors) {
  for (const std::string name : {"QPSK", "16QAM", "32APSK 3/4"}) {
    const Receiver receiver = ReceiverOf(name, {0.25, 2, 1});
    const carrier::Constellation& constellation = receiver.model->constellation();
    const double modulo = 2.0 * receiver.model->max_frequency();
    double squares = 0.0;
    double phases = 0.0;
    constexpr int kFrames = 40;
    for (uint64_t seed = 1; seed <= kFrames; ++seed) {
      TimingSpec spec = SpecOf(receiver, 2000, constellation.operating_snr_db() + 8.0, seed);
      spec.frequency =
          std::copysign(0.15 + 0.07 * static_cast<double>(seed) / kFrames, spec.frequency);
      const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
      const carrier::Result& found = timed.recovered.carrier;
      ASSERT_EQ(found.lock, carrier::Lock::kLocked);
      EXPECT_LE(std::fabs(found.frequency), receiver.model->max_frequency());
      squares += std::pow(testing::WrappedDifference(found.frequency, spec.frequency, modulo) /
                              static_cast<double>(found.frequency_stddev),
                          2);
      // The first symbol may be the one before or behind.
      const double at = std::rint(timed.recovered.timing.offset - spec.offset);
      const double sent = spec.phase + 2.0 * M_PI * spec.frequency * at;
      phases +=
          std::pow(testing::WrappedDifference(found.phase, sent, 2.0 * M_PI / found.ambiguity) /
                       static_cast<double>(found.phase_stddev),
                   2);
    }
    SCOPED_TRACE(name);
    // Of 40 squares: 1 give or take 0.11.
    EXPECT_NEAR(std::sqrt(squares / kFrames), 1.0, 0.35);
    EXPECT_NEAR(std::sqrt(phases / kFrames), 1.0, 0.35);
  }
}

// Clock errors up to the largest are told as surely as others.
TEST(TimingDeviationsTest, TheLargestClockErrorsLock) {
  for (const double clock_error : {1e-4, -1e-4, 1e-3, -1e-3}) {
    Receiver receiver = ReceiverOf("QPSK", {0.25, 2, 1});
    receiver.parameters.max_clock_error = std::fabs(clock_error);
    for (const int num_symbols : {300, 4000}) {
      for (uint64_t seed = 1; seed <= 20; ++seed) {
        TimingSpec spec = SpecOf(receiver, num_symbols, seed % 2 == 0 ? 8.0 : 30.0, seed);
        spec.clock_error = clock_error;
        const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
        const Result& result = timed.recovered.timing;
        EXPECT_EQ(result.lock, Lock::kLocked) << clock_error << ", " << num_symbols;
        EXPECT_LT(std::fabs(OffOf(timed, spec).clock), 5.0F * result.clock_error_stddev);
      }
    }
  }
}

// What was promised of the clock and is not so: no lock, or it is told.
TEST(TimingDeviationsTest, ClockErrorsBeyondTheLargestAreNoLockOrTold) {
  for (const double most : {0.0, 1e-5, 1e-4, 1e-3}) {
    Receiver receiver = ReceiverOf("QPSK", {0.25, 2, 1});
    receiver.parameters.max_clock_error = most;
    for (const int num_symbols : {1000, 4000, 16000}) {
      for (const double slip : {0.02, 0.05, 0.2, 0.4, 1.0, 2.0, 5.0}) {
        // Of the clock alone at either end.
        const double clock_error = most + 2.0 * slip / num_symbols;
        for (uint64_t seed = 1; seed <= 4; ++seed) {
          TimingSpec spec = SpecOf(receiver, num_symbols, 25.0, seed);
          spec.clock_error = seed % 2 == 0 ? clock_error : -clock_error;
          const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
          const Result& result = timed.recovered.timing;
          SCOPED_TRACE(std::to_string(1e6 * most) + " ppm, " + std::to_string(num_symbols) +
                       " symbols, slip " + std::to_string(slip));
          if (slip >= 0.2) {
            EXPECT_EQ(result.lock, Lock::kNoLine);
          }
          if (slip <= 0.05) {
            EXPECT_EQ(result.lock, Lock::kLocked);
          }
          if (result.lock != Lock::kLocked) continue;
          const Off off = OffOf(timed, spec);
          EXPECT_LT(std::fabs(off.first), 4.0F * result.offset_stddev);
          EXPECT_LT(std::fabs(off.centre), 4.0F * result.centre_stddev);
          if (most > 0.0) {
            EXPECT_LT(std::fabs(off.clock), 4.0F * result.clock_error_stddev);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::timing
