// What must hold of any frame: how results move with the samples, formats and scales, lengths.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

TEST(TimingRecoverTest, AFrameThatBeginsASampleLaterHasItsSymbolsASampleEarlier) {
  for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {16, 1}}) {
    Receiver receiver = ReceiverOf("QPSK", {0.3, samples, symbols});
    receiver.parameters.max_clock_error = 0.0;
    const TimingSpec spec = SpecOf(receiver, 4000, 20.0, 1);
    const std::vector<Iq> all = testing::MakeSamples(spec).samples;
    const Timed whole = Recover(receiver, all);
    const std::vector<Iq> later(all.begin() + 1, all.end());
    const Timed moved = Recover(receiver, later);
    for (const Timed* timed : {&whole, &moved}) {
      ASSERT_EQ(timed->recovered.timing.lock, Lock::kLocked);
      ASSERT_EQ(timed->recovered.timing.refined, 1);
    }
    double difference = whole.recovered.timing.offset - moved.recovered.timing.offset -
                        static_cast<double>(symbols) / samples;
    difference -= std::rint(difference);
    EXPECT_LT(std::fabs(difference), 0.2 * whole.recovered.timing.offset_stddev);
  }
}

TEST(TimingRecoverTest, FormatsAndScalesAreThoseOfTheSamples) {
  Receiver receiver = ReceiverOf("16APSK 3/4", {0.25, 2, 1});
  const TimingSpec spec = SpecOf(receiver, 6000, 16.0, 2);
  const std::vector<Iq> samples = testing::MakeSamples(spec).samples;
  const Timed plain = Recover(receiver, samples);
  ASSERT_EQ(plain.recovered.timing.lock, Lock::kLocked);
  ASSERT_EQ(plain.recovered.timing.refined, 1);
  for (const auto& [format, scale] :
       {std::pair{carrier::SampleFormat::kFloat16, 1.0F}, {carrier::SampleFormat::kInt16, 1e-3F}}) {
    receiver.carrier.format = format;
    receiver.carrier.scale = scale;
    const Timed other = Recover(receiver, samples);
    EXPECT_EQ(other.recovered.timing.lock, Lock::kLocked);
    EXPECT_NEAR(other.recovered.timing.offset, plain.recovered.timing.offset,
                0.1 * plain.recovered.timing.offset_stddev);
    double error = 0.0;
    double power = 0.0;
    for (size_t k = 0; k < plain.corrected.size(); ++k) {
      error += std::hypot(other.corrected[k].i - plain.corrected[k].i,
                          other.corrected[k].q - plain.corrected[k].q);
      power += std::hypot(plain.corrected[k].i, plain.corrected[k].q);
    }
    EXPECT_LT(error / power, 2e-3);
  }
}

// Powers of two change no rounding, and the greatest magnitudes overflow nothing.
TEST(TimingRecoverTest, TheScaleChangesTheGainAlone) {
  Receiver receiver = ReceiverOf("QPSK", {0.25, 2, 1});
  const TimingSpec spec = SpecOf(receiver, 3000, 12.0, 9);
  const std::vector<Iq> samples = testing::MakeSamples(spec).samples;
  const Timed plain = Recover(receiver, samples);
  for (const float scale : {0x1p-40F, 0x1p45F}) {
    receiver.carrier.scale = scale;
    const auto num_samples = static_cast<int64_t>(samples.size());
    const std::vector<uint8_t> bytes = testing::ToSamples(samples, carrier::SampleFormat::kFloat32);
    ASSERT_THAT(CheckParameters(*receiver.model, receiver.carrier, receiver.pulse->shape(),
                                receiver.parameters, num_samples, {}),
                IsOk());
    const Recovered scaled = RecoverOnCpu(*receiver.model, receiver.carrier, *receiver.pulse,
                                          receiver.parameters, bytes, {}, {}, {});
    EXPECT_EQ(scaled.timing.lock, Lock::kLocked);
    EXPECT_NEAR(scaled.timing.offset, plain.recovered.timing.offset,
                0.02 * plain.recovered.timing.offset_stddev);
    EXPECT_NEAR(scaled.carrier.gain / scale, plain.recovered.carrier.gain, 1e-3);
  }
}

TEST(TimingRecoverTest, ADriftOfManySymbolsOverALongFrameIsFollowed) {
  Receiver receiver = ReceiverOf("QPSK", {0.35, 2, 1});
  receiver.parameters.max_clock_error = kMaxClockError;
  for (const double clock_error : {-1e-3, -9.7e-4, 1e-3}) {
    TimingSpec spec = SpecOf(receiver, 1 << 17, 10.0, 4);
    spec.clock_error = clock_error;
    const TimingSamples made = testing::MakeSamples(spec);
    const Timed timed = Recover(receiver, made.samples);
    const Result& result = timed.recovered.timing;
    ASSERT_EQ(result.lock, Lock::kLocked);
    ASSERT_EQ(result.refined, 1);
    const Off off = OffOf(timed, spec);
    EXPECT_LT(std::fabs(off.clock), 4.5 * result.clock_error_stddev);
    EXPECT_LT(std::fabs(off.first), 4.5 * result.offset_stddev);
    EXPECT_LE(std::fabs(result.clock_error), kMaxClockError * (1.0 + 1e-12));
    EXPECT_NEAR(timed.recovered.carrier.snr_db, 10.0, 0.1);
  }
}

// The line of an alternating preamble stands in two bins: its sum over the pieces is far beyond
// float32, and its drift must be found all the same.
TEST(TimingRecoverTest, TheDriftOfTheGreatestMagnitudesIsFound) {
  Receiver receiver = ReceiverOf("BPSK", {0.35, 2, 1});
  receiver.parameters.max_clock_error = kMaxClockError;
  const double clock_error = 4e-4;
  std::vector<Iq> samples;
  for (int m = 0; m < 20000; ++m) {
    const double turns = 0.5 * (0.5 * m - 0.3) / (1.0 + clock_error);
    samples.push_back({static_cast<float>(1e15 * std::cos(2.0 * M_PI * turns)), 0.0F});
  }
  const Result result = Recover(receiver, samples).recovered.timing;
  EXPECT_EQ(result.bad_samples, 0);
  EXPECT_NEAR(result.clock_error, clock_error, 2e-5);
  EXPECT_NEAR(result.offset, 0.3, 0.1);
}

// Symbols are the same ones, in order, but for a turn: from them all that follows is right.
TEST(TimingRecoverTest, CorrectedSymbolsAreThoseSent) {
  for (const double rolloff : {0.05, 0.2, 0.7}) {
    const Receiver receiver = ReceiverOf("QPSK", {rolloff, 5, 2});
    TimingSpec spec = SpecOf(receiver, 8000, 25.0, 6);
    spec.offset = 0.4;
    const TimingSamples made = testing::MakeSamples(spec);
    const Timed timed = Recover(receiver, made.samples);
    ASSERT_EQ(timed.recovered.timing.lock, Lock::kLocked);
    double turn_i = 0.0;
    double turn_q = 0.0;
    double power = 0.0;
    for (size_t k = 0; k < timed.corrected.size(); ++k) {
      const Iq& s = made.sent[k];
      const Iq& z = timed.corrected[k];
      turn_i += z.i * s.i + z.q * s.q;
      turn_q += z.q * s.i - z.i * s.q;
      power += z.i * z.i + z.q * z.q;
    }
    const double along = std::hypot(turn_i, turn_q);
    const auto n = static_cast<double>(timed.corrected.size());
    // What is not along the sent symbols is noise: -25 dB, and the ends'.
    EXPECT_NEAR(10.0 * std::log10(n * power / (along * along) - 1.0), -25.0, 0.3);
  }
}

// Whatever the carrier is asked for, timing and symbols are those of the samples.
TEST(TimingRecoverTest, EveryMethodOfTheCarrierFollows) {
  Receiver receiver = ReceiverOf("QPSK", {0.25, 2, 1});
  const int num_symbols = 3000;
  TimingSpec spec = SpecOf(receiver, num_symbols, 20.0, 8);
  spec.offset = 0.5;
  spec.frequency = 2e-5;
  spec.phase = 0.1;
  const TimingSamples made = testing::MakeSamples(spec);
  const std::vector<Iq> known(made.sent.begin(), made.sent.begin() + num_symbols);
  for (const carrier::Coarse coarse :
       {carrier::Coarse::kNone, carrier::Coarse::kPower, carrier::Coarse::kKnown}) {
    for (const carrier::Fine fine :
         {carrier::Fine::kNone, carrier::Fine::kInterpolate, carrier::Fine::kSweep,
          carrier::Fine::kRemodulate, carrier::Fine::kPll}) {
      for (const carrier::Reference reference :
           {carrier::Reference::kFirst, carrier::Reference::kCentre, carrier::Reference::kLast}) {
        receiver.carrier.coarse = coarse;
        receiver.carrier.fine = fine;
        receiver.carrier.reference = reference;
        receiver.carrier.sweep_range = 1e-4;
        receiver.carrier.sweep_step = 5e-6;
        const Timed timed = Recover(receiver, made.samples,
                                    coarse == carrier::Coarse::kKnown ? known : std::vector<Iq>());
        SCOPED_TRACE(std::to_string(static_cast<int>(coarse)) + ", " +
                     std::to_string(static_cast<int>(fine)));
        ASSERT_EQ(timed.recovered.timing.lock, Lock::kLocked);
        ASSERT_EQ(timed.recovered.carrier.lock, carrier::Lock::kLocked);
        EXPECT_EQ(timed.recovered.timing.refined, 1);
        const Off off = OffOf(timed, spec);
        EXPECT_LT(std::fabs(off.centre), 5.0 * timed.recovered.timing.centre_stddev);
        // Corrected, symbols are gain times what was sent, all turned by the same multiple of a
        // quarter; the whole bins and the loop's mean frequency leave a part of a turn.
        double along = 0.0;
        double power = 0.0;
        for (int k = 0; k < num_symbols; ++k) {
          const Iq& z = timed.corrected[static_cast<size_t>(k)];
          along += std::max(std::fabs(z.i), std::fabs(z.q));
          power += z.i * z.i + z.q * z.q;
        }
        EXPECT_NEAR(along / std::sqrt(num_symbols * power), std::sqrt(0.5), 0.1);
      }
    }
  }
}

// Also of frames whose middle lies between two symbols.
TEST(TimingRecoverTest, WhereThePhaseIsToldChangesNothingElse) {
  for (const int num_symbols : {1000, 1001}) {
    Receiver receiver = ReceiverOf("QPSK", {0.3, 2, 1});
    TimingSpec spec = SpecOf(receiver, num_symbols, 30.0, 3);
    spec.frequency = -0.11;
    const std::vector<Iq> samples = testing::MakeSamples(spec).samples;
    const Timed first = Recover(receiver, samples);
    ASSERT_EQ(first.recovered.timing.refined, 1);
    for (const auto reference : {carrier::Reference::kCentre, carrier::Reference::kLast}) {
      receiver.carrier.reference = reference;
      const Timed timed = Recover(receiver, samples);
      EXPECT_NEAR(timed.recovered.timing.offset, first.recovered.timing.offset, 1e-6);
      EXPECT_NEAR(timed.recovered.timing.clock_error, first.recovered.timing.clock_error, 1e-9);
      for (size_t k = 0; k < first.corrected.size(); ++k) {
        const Iq& a = timed.corrected[k];
        const Iq& b = first.corrected[k];
        EXPECT_LT(std::hypot(a.i - b.i, a.q - b.q), 1e-4F) << num_symbols << ", symbol " << k;
      }
    }
  }
}

TEST(TimingRecoverTest, AnotherFrameInBetweenChangesNothing) {
  const Receiver receiver = ReceiverOf("8PSK", {0.2, 2, 1});
  const std::vector<Iq> samples = testing::MakeSamples(SpecOf(receiver, 3000, 14.0, 1)).samples;
  const Timed first = Recover(receiver, samples);
  const Receiver other = ReceiverOf("QPSK", {0.05, 16, 1});
  Recover(other, testing::MakeSamples(SpecOf(other, 500, 14.0, 2)).samples);
  const Timed again = Recover(receiver, samples);
  EXPECT_EQ(first.recovered.timing.offset, again.recovered.timing.offset);
  EXPECT_EQ(first.recovered.timing.clock_error, again.recovered.timing.clock_error);
  EXPECT_EQ(first.recovered.carrier.phase, again.recovered.carrier.phase);
}

TEST(TimingRecoverTest, SymbolsOfAndSamplesForBelongTogether) {
  for (const auto& [samples, symbols] : {std::pair{2, 1}, {5, 2}, {4096, 2047}, {16, 1}}) {
    const PulseShape shape = {0.2, samples, symbols};
    for (const double max_clock_error : {0.0, 1e-4, 1e-3}) {
      Parameters parameters;
      parameters.max_clock_error = max_clock_error;
      for (const int64_t n : {1, 2, 16, 17, 1000, 32400, 1 << 20}) {
        const int64_t least = SamplesFor(shape, parameters, n);
        EXPECT_EQ(SymbolsOf(shape, parameters, least), n);
        EXPECT_EQ(SymbolsOf(shape, parameters, least - 1), n - 1);
        // The last symbol of the latest, slowest clock is not behind the last sample.
        const double last = 1.0 + static_cast<double>(n - 1) * (1.0 + max_clock_error);
        EXPECT_LE(last, static_cast<double>(least - 1) / shape.samples_per_symbol() * (1 + 1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace baseband::timing
