// Known symbols that are not what was received: no lock; those that are cost none.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/math/known_math.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/channel.h"
#include "tests/unit/kernels/carrier/one_frame.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::WrappedDifference;

// What known_math.h says of the moments of x (1 - cos theta), by the trapezoid rule over a turn,
// which of periodic functions is exact to rounding.
TEST(CarrierKnownTest, AnglesOfRightOnesAreNoLikelierThanAGammaVariable) {
  constexpr int kSteps = 1000;
  for (double x = 0.02; x < 2000.0; x *= 1.2) {
    for (double t = 0.01; t < 1.0; t += 0.02) {
      double mean = 0.0;
      double all = 0.0;
      for (int k = 0; k < kSteps; ++k) {
        const double apart = x * (1.0 - std::cos(2.0 * M_PI * k / kSteps));
        mean += std::exp((t - 1.0) * apart);
        all += std::exp(-apart);
      }
      ASSERT_LE(mean / all, std::pow(1.0 - t, -kKnownShape)) << "x " << x << ", t " << t;
    }
  }
}

TEST(CarrierKnownTest, ChanceExceedsItsBoundNoMoreOftenThanSaid) {
  constexpr double kChance = 3.0;
  constexpr int kTrials = 40000;
  testing::Random random(1);
  for (const int count : {1, 4, 16, 64}) {
    for (const double snr_db : {0.0, 6.0, 20.0}) {
      const double deviation = std::sqrt(0.5 * std::pow(10.0, -0.1 * snr_db));
      int above = 0;
      for (int trial = 0; trial < kTrials; ++trial) {
        double apart = 0.0;
        for (int k = 0; k < count; ++k) {
          const Iq z = {static_cast<float>(1.0 + deviation * random.Normal()),
                        static_cast<float>(deviation * random.Normal())};
          apart += static_cast<double>(TurnedApart(z, {1.0F, 0.0F}));
        }
        const double t = apart / (deviation * deviation);
        if (t > MostTurnedApart(kKnownShape * count, 0.0, kChance)) ++above;
      }
      EXPECT_LE(above, kTrials * std::exp(-kChance)) << count << " at " << snr_db << " dB";
    }
  }
}

// A frame of data with `count` known symbols, `step` apart.
enum class Told { kRight, kOthers, kShifted };
CarrierFrame FrameWith(const FrameSpec& spec, int count, int step, Told told) {
  CarrierFrame frame = MakeFrame(spec);
  frame.known.assign(frame.symbols.size(), Iq{});
  testing::Random random(spec.seed + 1000);
  for (int k = 0; k < count; ++k) {
    const auto at = static_cast<size_t>(k * step);
    const size_t other =
        frame.sent.size() / 2 + random.Below(static_cast<int>(frame.sent.size() / 2));
    frame.known[at] = frame.sent[told == Told::kRight     ? at
                                 : told == Told::kShifted ? at + 1
                                                          : other];
  }
  return frame;
}

// Of 16 wrong pilots in 1000 symbols 56 frames of 60 were locked, at the alias that suited them.
TEST(CarrierKnownTest, WrongPilotsAreNotLocked) {
  for (const std::string name : {"BPSK", "QPSK", "16QAM", "32APSK 3/4", "64APSK 132/180"}) {
    const ModelPtr model = ModelOf(name);
    for (const int count : {16, 36, 120}) {
      if (name == "BPSK" && count < 36) continue;  // half of them are right by chance
      for (const int step : {1, 8}) {
        for (const Told told : {Told::kOthers, Told::kShifted}) {
          for (uint64_t seed = 1; seed <= 20; ++seed) {
            const FrameSpec spec = SpecAbove(name, 1000, 5.0, seed, 0.45 / step);
            EXPECT_NE(Recover(*model, {}, FrameWith(spec, count, step, told)).lock, Lock::kLocked)
                << name << ", " << count << " of them " << step << " apart, seed " << seed;
          }
        }
      }
    }
  }
}

// Few wrong ones may suit an alias; where they nearly do, the frame is doubted. Without that doubt
// twice as many of these 1200 locked.
TEST(CarrierKnownTest, FewWrongPilotsSeldomLock) {
  int locked = 0;
  for (const char* const name : {"QPSK", "16QAM"}) {
    const ModelPtr model = ModelOf(name);
    for (const int count : {6, 8, 12}) {
      for (uint64_t seed = 1; seed <= 200; ++seed) {
        const FrameSpec spec = SpecAbove(name, 1000, 5.0, seed, 0.4);
        const Result result = Recover(*model, {}, FrameWith(spec, count, 1, Told::kOthers));
        if (result.lock == Lock::kLocked) ++locked;
      }
    }
  }
  EXPECT_LE(locked, 90);
}

// From where data alone locks, and with a phase that is all the noise there is.
TEST(CarrierKnownTest, RightPilotsAreLocked) {
  for (const char* const name : {"BPSK", "QPSK", "16QAM", "32APSK 3/4"}) {
    const ModelPtr model = ModelOf(name);
    for (const int count : {8, 36, 250}) {
      for (const double above_db : {2.0, 8.0, 40.0}) {
        for (uint64_t seed = 1; seed <= 20; ++seed) {
          const FrameSpec spec = SpecAbove(name, 2000, above_db, seed, 0.06);
          CarrierFrame frame = FrameWith(spec, count, 7, Told::kRight);
          testing::Random random(seed);
          for (size_t n = 0; n < frame.symbols.size(); ++n) {
            const double theta = above_db < 40.0 ? 0.0 : 0.04 * random.Normal();
            const Iq r = frame.symbols[n];
            const auto c = static_cast<float>(std::cos(theta));
            const auto s = static_cast<float>(std::sin(theta));
            frame.symbols[n] = {r.i * c - r.q * s, r.i * s + r.q * c};
          }
          const Result result = Recover(*model, {}, frame);
          EXPECT_EQ(result.lock, Lock::kLocked)
              << name << ", " << count << " at " << above_db << " dB, seed " << seed;
          EXPECT_LT(std::fabs(WrappedDifference(result.frequency, spec.frequency, 1.0)),
                    6.0 * static_cast<double>(result.frequency_stddev));
        }
      }
    }
  }
}

// A header lies where an estimate that is a little off turns symbols furthest, and the noise is
// that of all. Without it these frames are no worse.
TEST(CarrierKnownTest, RightHeadersAreNoContradiction) {
  int judged = 0;
  for (const char* const name : {"QPSK", "16QAM", "256QAM"}) {
    const ModelPtr model = ModelOf(name);
    for (const Fine fine : {Fine::kNone, Fine::kInterpolate, Fine::kRemodulate, Fine::kSweep}) {
      Parameters parameters;
      parameters.fine = fine;
      parameters.sweep_step = 5e-6;
      parameters.sweep_range = 2e-5;  // often ends before the carrier
      for (const int num_symbols : {1000, 4000}) {
        for (const double above_db : {6.0, 12.0, 20.0, 35.0}) {
          for (uint64_t seed = 1; seed <= 20; ++seed) {
            const FrameSpec spec = SpecAbove(name, num_symbols, above_db, seed, 0.1);
            CarrierFrame frame = FrameWith(spec, 40, 1, Told::kRight);
            const Lock lock = Recover(*model, parameters, frame).lock;
            frame.known.clear();
            if (Recover(*model, parameters, frame).lock == Lock::kBadFit) continue;
            ++judged;
            EXPECT_NE(lock, Lock::kBadFit)
                << name << ", fine " << static_cast<int>(fine) << ", " << num_symbols << " at "
                << above_db << " dB, seed " << seed;
          }
        }
      }
    }
  }
  EXPECT_GE(judged, 1000);
}

}  // namespace
}  // namespace baseband::carrier
