// That the GPU finds the same carrier as the CPU device where a line leaves several open, trusts it
// no more and no less, and refuses the same frames.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/carrier_gpu_fixture.h"
#include "tests/support/channel.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::MakeFrame;
using ::baseband::testing::Pilots;
using ::baseband::testing::Random;
using ::baseband::testing::WithRandomOffset;
using ::baseband::testing::WrappedDifference;

// Without a coarse stage no peaks are looked for: there once was an illegal memory access, whatever
// was sent.
TEST_F(CarrierGpuTest, WithoutACoarseStageEveryConstellationAndMethodEqualsTheCpu) {
  for (const std::string& name : ConstellationNames()) {
    const ModelPtr model = MakeModel(name);
    for (const Fine fine : kFines) {
      SCOPED_TRACE(name + ", fine " + std::to_string(static_cast<int>(fine)));
      Parameters parameters;
      parameters.coarse = Coarse::kNone;
      parameters.fine = fine;
      parameters.sweep_step = 1e-4;
      parameters.sweep_range = 1e-3;
      parameters.want_corrected = true;
      parameters.want_curve = fine == Fine::kSweep;
      std::vector<Frame> frames;
      for (const int num_symbols : {16, 17, 21, 33, 99, 1001, 4097}) {
        frames.push_back(
            FrameOf(*model, parameters, num_symbols, frames.size() + 1, Pilots::kNone, 12.0));
      }
      CompareAll(*model, parameters, frames);
    }
  }
}

// Every constellation at offsets up to all that its symmetry can tell. Well above the operating
// point: near it one device may find one nat less than is asked for, the other one more.
TEST_F(CarrierGpuTest, TheCarrierIsTheSameAmongAllAliases) {
  for (const std::string& name : ConstellationNames()) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    const ConstellationPtr constellation = *Constellation::FromName(name);
    const double period = 1.0 / constellation->symmetry();
    std::vector<Frame> frames;
    std::vector<FrameSpec> specs;
    for (const int num_symbols : {3001, 8100, 16200}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        specs.push_back(
            WithRandomOffset(SpecAbove(constellation, num_symbols, 8.0, seed), 0.5 * period));
        frames.push_back(ToFrame({}, MakeFrame(specs.back())));
      }
    }
    const std::vector<Recovered> gpu = CompareAll(*model, {}, frames);
    for (size_t i = 0; i < gpu.size(); ++i) {
      if (gpu[i].result.lock != Lock::kLocked) continue;
      const double off = WrappedDifference(gpu[i].result.frequency, specs[i].frequency, period);
      EXPECT_LT(std::fabs(off) * specs[i].num_symbols, 0.3) << "frame " << i;
    }
  }
}

std::vector<Iq> Rings(int inner, float radius, int outer) {
  std::vector<Iq> points;
  for (int k = 0; k < inner + outer; ++k) {
    const bool is_inner = k < inner;
    const double angle = 2.0 * M_PI * k / (is_inner ? inner : outer);
    const float r = is_inner ? radius : 1.0F;
    points.push_back(
        {r * static_cast<float>(std::cos(angle)), r * static_cast<float>(std::sin(angle))});
  }
  return points;
}

// Own points: as many aliases as there may be, on either side of what fits the slots.
TEST_F(CarrierGpuTest, AnyOrderAndPowerEqualTheCpu) {
  struct Case {
    std::vector<Iq> points;
    int power;
  };
  const std::vector<Case> cases = {{Rings(1, 0.4F, 7), 7},   {Rings(5, 0.5F, 20), 20},
                                   {Rings(1, 0.5F, 31), 31}, {Rings(1, 0.5F, 32), 32},
                                   {Rings(1, 0.5F, 33), 33}, {Rings(1, 0.5F, 64), 64},
                                   {Rings(0, 0.0F, 20), 20}};
  for (const Case& test : cases) {
    SCOPED_TRACE(test.power);
    const ConstellationPtr constellation = *Constellation::FromPoints(test.points);
    const ModelPtr model = MakeModel(constellation, test.power);
    std::vector<Frame> frames;
    for (const int num_symbols : {1501, 2500, 9000}) {
      const FrameSpec spec =
          WithRandomOffset(SpecAbove(constellation, num_symbols, 10.0, frames.size() + 1),
                           0.5 / constellation->symmetry());
      frames.push_back(ToFrame({}, MakeFrame(spec)));
    }
    for (const Recovered& recovered : CompareAll(*model, {}, frames)) {
      EXPECT_EQ(recovered.result.lock, Lock::kLocked);
      EXPECT_LE(std::fabs(recovered.result.phase), M_PI / recovered.result.ambiguity * 1.0000001);
    }
  }
}

// A phase that walks, bends or jumps widens the deviations on both devices alike: on short frames,
// on those whose stretches are tiles, and on long ones.
TEST_F(CarrierGpuTest, WhatDisturbsAFrameWidensItsDeviations) {
  const ModelPtr model = MakeModel("QPSK");
  const ConstellationPtr constellation = *Constellation::FromName("QPSK");
  std::vector<Frame> frames;
  std::vector<bool> disturbed;
  for (const int num_symbols : {99, 1000, 2048, 2049, 4097, 20000, 70001}) {
    for (int kind = 0; kind < 4; ++kind) {
      CarrierFrame made = MakeFrame(WithRandomOffset(
          SpecAbove(constellation, num_symbols, 12.0, static_cast<uint64_t>(kind + 1)), 0.1));
      Random random(static_cast<uint64_t>(num_symbols));
      double walk = 0.0;
      for (int n = 0; n < num_symbols; ++n) {
        const double t = 2.0 * n / num_symbols - 1.0;
        walk += 0.6 / std::sqrt(num_symbols) * random.Normal();
        const double theta = kind == 0   ? 0.0
                             : kind == 1 ? walk
                             : kind == 2 ? 0.5 * t * t
                                         : (n < num_symbols / 3 ? 0.0 : 0.4);
        const auto c = static_cast<float>(std::cos(theta));
        const auto s = static_cast<float>(std::sin(theta));
        Iq& r = made.symbols[static_cast<size_t>(n)];
        r = {r.i * c - r.q * s, r.i * s + r.q * c};
      }
      frames.push_back(ToFrame({}, made));
      disturbed.push_back(kind > 0);
    }
  }
  const std::vector<Recovered> gpu = CompareAll(*model, {}, frames);
  for (size_t i = 0; i < gpu.size(); ++i) {
    const Recovered& quiet = gpu[i / 4 * 4];
    ASSERT_EQ(quiet.result.lock, Lock::kLocked);
    if (!disturbed[i] || frames[i].num_symbols < 1000) continue;
    EXPECT_TRUE(gpu[i].result.lock != Lock::kLocked ||
                gpu[i].result.frequency_stddev > 3.0F * quiet.result.frequency_stddev)
        << frames[i].num_symbols << " symbols, kind " << i % 4;
  }
}

// Tones and real signals lie at some of the points only.
TEST_F(CarrierGpuTest, WhatIsNoSuchSignalIsNotLocked) {
  for (const char* const name : {"QPSK", "8PSK", "16QAM"}) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    std::vector<Frame> frames;
    for (const int num_symbols : {64, 999, 5000}) {
      for (int kind = 0; kind < 3; ++kind) {
        Random random(static_cast<uint64_t>(10 * num_symbols + kind));
        CarrierFrame made;
        for (int n = 0; n < num_symbols; ++n) {
          const double angle = 0.2 * n;
          const double amplitude = kind == 0   ? 1.0
                                   : kind == 1 ? 1.0 - 2.0 * random.Below(2)
                                               : random.Normal();
          const double i = amplitude * (kind == 2 ? 1.0 : std::cos(angle)) + 0.05 * random.Normal();
          const double q = amplitude * (kind == 2 ? 0.0 : std::sin(angle)) + 0.05 * random.Normal();
          made.symbols.push_back({static_cast<float>(i), static_cast<float>(q)});
        }
        frames.push_back(ToFrame({}, made));
      }
    }
    for (const Recovered& recovered : CompareAll(*model, {}, frames)) {
      EXPECT_NE(recovered.result.lock, Lock::kLocked);
    }
  }
}

// QPSK lies on one ring of others, beyond their tables and, where soft decisions end with one for
// more noise than there is, below; PSK that is right lies on one, too.
TEST_F(CarrierGpuTest, OneRingOfManyIsNotLocked) {
  for (const char* const name : {"QPSK", "16QAM", "256QAM", "32APSK 3/4"}) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    std::vector<Frame> frames;
    for (const int num_symbols : {200, 1000, 8000}) {
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        FrameSpec spec = SpecAbove(*Constellation::FromName("QPSK"), num_symbols, 0.0, seed);
        spec.snr_db = seed % 2 == 0 ? 30.0 : 40.0;
        frames.push_back(ToFrame({}, MakeFrame(WithRandomOffset(spec, 0.05))));
      }
    }
    for (const Recovered& recovered : CompareAll(*model, {}, frames)) {
      EXPECT_EQ(recovered.result.lock == Lock::kLocked, std::string(name) == "QPSK");
    }
  }
}

// A jump that the outer ring does not notice, in the frame's middle, or none.
TEST_F(CarrierGpuTest, AJumpThatOneRingDoesNotNoticeIsNoOtherCarrier) {
  for (const char* const name : {"32APSK 3/4", "16APSK 18/30"}) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    std::vector<Frame> frames;
    std::vector<FrameSpec> specs;
    for (const int num_symbols : {2048, 4096, 16000, 40000}) {
      for (uint64_t seed = 1; seed <= 10; ++seed) {
        specs.push_back(WithRandomOffset(
            SpecAbove(*Constellation::FromName(name), num_symbols, 8.0, seed), 0.12));
        CarrierFrame made = MakeFrame(specs.back());
        for (size_t n = made.symbols.size() / 2; n < made.symbols.size() && seed % 2 == 0; ++n) {
          const Iq r = made.symbols[n];
          constexpr float kHalf = 0.70710678F;
          made.symbols[n] = {kHalf * (r.i - r.q), kHalf * (r.i + r.q)};
        }
        frames.push_back(ToFrame({}, made));
      }
    }
    const std::vector<Recovered> gpu = CompareAll(*model, {}, frames);
    for (size_t i = 0; i < gpu.size(); ++i) {
      const bool locked = gpu[i].result.lock == Lock::kLocked;
      EXPECT_TRUE(locked || i % 2 == 1) << "frame " << i;
      if (!locked) continue;
      const double off = WrappedDifference(gpu[i].result.frequency, specs[i].frequency, 0.25);
      EXPECT_LT(std::fabs(off) * specs[i].num_symbols, 1.0) << "frame " << i;
    }
  }
}

// By soft decisions between the tables, by hard ones there and beyond.
TEST_F(CarrierGpuTest, TheSnrIsTrueAndEqualsTheCpus) {
  for (const char* const name : {"QPSK", "128QAM", "512QAM", "256APSK 20/30"}) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    const std::vector<double> above = {5.0, 8.0, 11.0, 13.0, 17.0};
    std::vector<Frame> frames;
    for (const double above_db : above) {
      frames.push_back(FrameOf(*model, {}, 16000, frames.size() + 1, Pilots::kNone, above_db));
    }
    const std::vector<Recovered> gpu = CompareAll(*model, {}, frames);
    for (size_t i = 0; i < gpu.size(); ++i) {
      EXPECT_EQ(gpu[i].result.lock, Lock::kLocked);
      // 0.3 dB, and four deviations of chance.
      EXPECT_NEAR(gpu[i].result.snr_db, model->constellation().operating_snr_db() + above[i], 0.5);
    }
  }
}

// Frames so short or so clean that there is next to nothing to tell a deviation from.
TEST_F(CarrierGpuTest, NoDeviationIsZero) {
  for (const char* const name : {"QPSK", "64QAM"}) {
    const ModelPtr model = MakeModel(name);
    for (const Fine fine : kFines) {
      for (const Pilots pilots : {Pilots::kNone, Pilots::kAll}) {
        SCOPED_TRACE(std::string(name) + ", fine " + std::to_string(static_cast<int>(fine)));
        Parameters parameters;
        parameters.fine = fine;
        parameters.coarse = pilots == Pilots::kNone ? Coarse::kPower : Coarse::kKnown;
        parameters.sweep_step = 1e-4;
        parameters.sweep_interpolate = true;
        std::vector<Frame> frames;
        for (const int num_symbols : {21, 23, 99}) {
          for (uint64_t seed = 1; seed <= 20; ++seed) {
            frames.push_back(
                FrameOf(*model, parameters, num_symbols, seed, pilots, static_cast<double>(seed)));
          }
        }
        for (const Recovered& recovered : RecoverOnGpu(*model, parameters, frames)) {
          if (recovered.result.lock != Lock::kLocked) continue;
          EXPECT_GT(recovered.result.frequency_stddev, 0.0F);
          EXPECT_GT(recovered.result.phase_stddev, 0.0F);
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::carrier
