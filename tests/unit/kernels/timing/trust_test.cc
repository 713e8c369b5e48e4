// What is no signal of symbols is not locked, and deviations are never better than known.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/channel.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

std::vector<Iq> Samples(size_t count, const std::function<Iq(size_t)>& at) {
  std::vector<Iq> samples;
  for (size_t n = 0; n < count; ++n) samples.push_back(at(n));
  return samples;
}

TEST(TimingTrustTest, TonesAndConstantsAreNotLocked) {
  for (const double rolloff : {0.05, 0.2, 1.0}) {
    for (const auto& [rate, symbols] : {std::pair{2, 1}, {5, 2}, {16, 1}}) {
      const Receiver receiver = ReceiverOf("QPSK", {rolloff, rate, symbols});
      for (const double frequency : {0.0, 0.05, 0.11, 0.25, 0.5}) {
        for (const size_t count : {size_t{500}, size_t{8192}}) {
          const auto samples = Samples(count, [&](size_t n) {
            const double turns = frequency * symbols / rate * static_cast<double>(n);
            return Iq{static_cast<float>(std::cos(2.0 * M_PI * turns)),
                      static_cast<float>(std::sin(2.0 * M_PI * turns))};
          });
          const Timed timed = Recover(receiver, samples);
          EXPECT_NE(timed.recovered.timing.lock, Lock::kLocked)
              << rolloff << " at " << rate << " / " << symbols << ", f " << frequency << ", "
              << count << " samples, line " << timed.recovered.timing.line;
        }
      }
    }
  }
}

TEST(TimingTrustTest, NoiseIsNotLocked) {
  for (const double rolloff : {0.05, 0.2, 0.5}) {
    const Receiver receiver = ReceiverOf("QPSK", {rolloff, 2, 1});
    double lines = 0.0;
    int frames = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      testing::Random random(seed);
      const auto samples = Samples(6000, [&](size_t) {
        const auto i = static_cast<float>(random.Normal());
        return Iq{i, static_cast<float>(random.Normal())};
      });
      const Timed timed = Recover(receiver, samples);
      EXPECT_EQ(timed.recovered.timing.lock, Lock::kNoLine);
      EXPECT_EQ(timed.recovered.timing.refined, 0);
      lines += timed.recovered.timing.line;
      ++frames;
    }
    // The greatest of two or three of mean 1.
    EXPECT_NEAR(lines / frames, 1.8, 0.9);
  }
}

// Another symbol rate, and the right one's half.
TEST(TimingTrustTest, AnotherSymbolRateIsNotLocked) {
  for (const auto& [samples, symbols] : {std::pair{11, 5}, {4, 1}}) {
    const Receiver sender = ReceiverOf("QPSK", {0.3, samples, symbols});
    const Receiver receiver = ReceiverOf("QPSK", {0.3, 2, 1});
    const TimingSpec spec = SpecOf(sender, 6000, 20.0, 1);
    const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
    EXPECT_EQ(timed.recovered.timing.lock, Lock::kNoLine)
        << samples << " / " << symbols << ": " << timed.recovered.timing.line;
    EXPECT_NE(timed.recovered.carrier.lock, carrier::Lock::kLocked) << samples << " / " << symbols;
  }
}

// Far below where a carrier locks a long frame's line stands out of the noise, piece by piece
// though it hardly does.
TEST(TimingTrustTest, LongFramesOfWeakSignalsAreLocked) {
  const Receiver receiver = ReceiverOf("QPSK", {0.35, 2, 1});
  for (const auto& [num_symbols, snr_db] :
       {std::pair{4000, -5.0}, {16000, -9.0}, {65000, -11.0}, {260000, -13.0}}) {
    const TimingSpec spec = SpecOf(receiver, num_symbols, snr_db, 1);
    const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
    const Result& result = timed.recovered.timing;
    EXPECT_EQ(result.lock, Lock::kLocked)
        << num_symbols << " at " << snr_db << " dB, line " << result.line;
    EXPECT_LT(std::fabs(OffOf(timed, spec).centre), 5.0F * result.centre_stddev);
  }
}

// Alone, and so much stronger than what is around them that all power is theirs.
TEST(TimingTrustTest, AnImpulseIsNotLocked) {
  const Receiver receiver = ReceiverOf("QPSK", {0.25, 2, 1});
  for (const double noise : {0.0, 1.0}) {
    for (const size_t at : {size_t{0}, size_t{700}, size_t{751}, size_t{2999}}) {
      testing::Random random(at + 1);
      const auto samples = Samples(3000, [&](size_t n) {
        const auto i = static_cast<float>(noise * random.Normal());
        const auto q = static_cast<float>(noise * random.Normal());
        return Iq{n == at ? 1000.0F : i, q};
      });
      const Timed timed = Recover(receiver, samples);
      EXPECT_NE(timed.recovered.timing.lock, Lock::kLocked) << noise << " at " << at;
      EXPECT_NE(timed.recovered.carrier.lock, carrier::Lock::kLocked) << noise << " at " << at;
    }
  }
}

TEST(TimingTrustTest, AFrameTooShortSaysSoAndIsNotSure) {
  for (const auto& [rolloff, num_symbols] : {std::pair{0.05, 100}, {0.2, 40}, {0.35, 16}}) {
    Receiver receiver = ReceiverOf("QPSK", {rolloff, 2, 1});
    int too_short = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const TimingSpec spec = SpecOf(receiver, num_symbols, 15.0, seed);
      const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
      const Result& result = timed.recovered.timing;
      too_short += result.lock == Lock::kTooShort ? 1 : 0;
      EXPECT_NE(result.lock, Lock::kNoLine);
      EXPECT_GT(result.offset_stddev, 5e-3F);
      EXPECT_LE(result.offset_stddev, 0.2887F);
      EXPECT_GT(result.clock_error_stddev, 1e-6F);
    }
    EXPECT_GE(too_short, 18) << rolloff;
  }
}

// Any rate, roll-off, length and format, of signals and of noise: results stay within their ranges.
TEST(TimingTrustTest, ResultsOfAnythingAreWithinTheirRanges) {
  testing::Random random(1);
  const std::vector<std::string> names = {"BPSK", "QPSK", "16APSK 3/4"};
  for (int round = 0; round < 120; ++round) {
    const int symbols = 1 + random.Below(round % 2 == 0 ? 12 : 256);
    const int samples = 2 * symbols + random.Below(14 * symbols + 1);
    const double rolloff = kMinRolloff + (kMaxRolloff - kMinRolloff) * random.Uniform();
    SCOPED_TRACE(std::to_string(round) + ": roll-off " + std::to_string(rolloff) + ", " +
                 std::to_string(samples) + " / " + std::to_string(symbols));
    Receiver receiver =
        ReceiverOf(names[static_cast<size_t>(round) % 3], {rolloff, samples, symbols});
    const double max_clock_error = std::vector<double>{0.0, 1e-12, 1e-4, 1e-3}[random.Below(4)];
    receiver.parameters.max_clock_error = max_clock_error;
    receiver.carrier.format = static_cast<carrier::SampleFormat>(random.Below(3));
    receiver.carrier.scale =
        receiver.carrier.format == carrier::SampleFormat::kInt16 ? 1e-3F : 1.0F;
    receiver.carrier.coarse =
        random.Below(2) == 0 ? carrier::Coarse::kPower : carrier::Coarse::kNone;
    const int num_symbols = carrier::kMinSymbols + random.Below(round % 5 == 0 ? 4 : 500);
    TimingSpec spec = SpecOf(receiver, num_symbols, round % 7 == 0 ? -20.0 : 12.0,
                             static_cast<uint64_t>(round) + 1);
    spec.num_samples += random.Below(4);
    const Timed timed = Recover(receiver, testing::MakeSamples(spec).samples);
    const Result& result = timed.recovered.timing;
    EXPECT_EQ(result.bad_samples, 0);
    EXPECT_GT(result.offset, -0.5);
    EXPECT_LT(result.offset, 1.5);
    EXPECT_LE(std::fabs(result.clock_error), max_clock_error * (1.0 + 1e-9));
    EXPECT_GT(result.offset_stddev, 1e-5F);
    EXPECT_LE(result.offset_stddev, 0.2887F);
    EXPECT_GT(result.centre_stddev, 1e-5F);
    EXPECT_LE(result.centre_stddev, result.offset_stddev);
    EXPECT_EQ(result.clock_error_stddev > 0.0F, max_clock_error > 0.0);
    EXPECT_LE(result.clock_error_stddev, 0.5774F * max_clock_error);
    EXPECT_GE(result.line, 0.0F);
    EXPECT_LE(std::fabs(result.spectrum_centre), receiver.model->max_frequency() + 0.5 * rolloff);
    for (const Iq& symbol : timed.corrected) {
      ASSERT_TRUE(std::isfinite(symbol.i) && std::isfinite(symbol.q));
    }
  }
}

// Clock errors next to none, which quotients of numbers so small must not spoil, down to the fewest
// pieces that have a drift.
TEST(TimingTrustTest, TheLeastClockErrorsAreAsNone) {
  for (const double max_clock_error :
       {std::numeric_limits<double>::denorm_min(), 1e-310, 1e-300, 1e-12}) {
    for (const int num_samples : {65, 66, 130, 1000}) {
      SCOPED_TRACE(std::to_string(num_samples) + " samples");
      Receiver receiver = ReceiverOf("QPSK", {1.0, 4, 1});
      TimingSpec spec = SpecOf(receiver, 16, 20.0, 1);
      spec.num_samples = num_samples;
      spec.clock_error = 0.0;
      receiver.parameters.max_clock_error = 0.0;
      const std::vector<Iq> samples = testing::MakeSamples(spec).samples;
      const Result none = Recover(receiver, samples).recovered.timing;
      receiver.parameters.max_clock_error = max_clock_error;
      if (num_samples < SamplesFor(receiver.pulse->shape(), receiver.parameters, 16)) continue;
      const Result result = Recover(receiver, samples).recovered.timing;
      EXPECT_NEAR(result.offset, none.offset, 1e-6);
      EXPECT_LE(std::fabs(result.clock_error), max_clock_error);
      EXPECT_EQ(result.clock_error_stddev > 0.0F, max_clock_error > 1e-37);
      EXPECT_LE(result.clock_error_stddev, 0.5774F * max_clock_error);
      EXPECT_NEAR(result.line, none.line, 1e-3F * none.line);
    }
  }
}

// The first symbols' pulses are cut off where the frame begins, and a clock that is a little off
// is so most at the ends: neither is noise, nor a contradiction.
TEST(TimingTrustTest, RightHeadersAreNoContradiction) {
  for (const double rolloff : {0.1, 0.25, 0.5}) {
    for (const char* const name : {"QPSK", "16QAM"}) {
      const Receiver receiver = ReceiverOf(name, {rolloff, 2, 1});
      for (const int header : {16, 100}) {
        for (const int num_symbols : {400, 1500}) {
          for (const double snr_db : {20.0, 30.0, 40.0}) {
            for (uint64_t seed = 1; seed <= 10; ++seed) {
              TimingSpec spec = SpecOf(receiver, num_symbols, snr_db, seed);
              spec.offset = 0.5;
              const TimingSamples made = testing::MakeSamples(spec);
              std::vector<Iq> known(made.sent.begin(), made.sent.begin() + num_symbols);
              std::fill(known.begin() + header, known.end(), Iq{});
              const Timed timed = Recover(receiver, made.samples, known);
              EXPECT_EQ(timed.recovered.timing.lock, Lock::kLocked);
              EXPECT_NE(timed.recovered.carrier.lock, carrier::Lock::kBadFit)
                  << name << ", roll-off " << rolloff << ", " << header << " of " << num_symbols
                  << " at " << snr_db << " dB, seed " << seed;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::timing
