// Where symbols to the power p have the same line for f and f + k / p: what is locked is the
// carrier, for every constellation and up to the largest offset that its symmetry can tell.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/carrier/math/recover_plan.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"
#include "tests/unit/kernels/carrier/one_frame.h"

namespace baseband::carrier {
namespace {

// Bins of 1 / N that a result is off, modulo `period`.
double BinsOff(const Result& result, const FrameSpec& spec, double period) {
  return testing::WrappedDifference(result.frequency, spec.frequency, period) * spec.num_symbols;
}

// `basebandctl carrier-signal --constellation="16APSK 3/5" --frequency=0.0625 --snr=14` came out as
// -0.0208333 +- 0.00000005, locked.
TEST(CarrierAliasTest, AFrequencyBeyondThePowersOwnRangeIsFound) {
  const ModelPtr model = ModelOf("16APSK 3/5");
  ASSERT_EQ(model->power(), 12);
  FrameSpec spec = SpecOf(*Constellation::FromName("16APSK 3/5"), 14.0, 1, 16200);
  for (const double frequency : {0.0625, -0.0625, 0.1249, -0.1249, 1.0 / 12, 0.02, 0.0}) {
    spec.frequency = frequency;
    spec.phase = 0.7;
    const Result result = Recover(*model, {}, MakeFrame(spec));
    EXPECT_EQ(result.lock, Lock::kLocked) << frequency;
    EXPECT_NEAR(result.frequency, frequency, 5.0 * result.frequency_stddev);
    EXPECT_LE(std::fabs(testing::WrappedDifference(result.phase, spec.phase, 2.0 * M_PI / 4)),
              5.0 * result.phase_stddev);
    EXPECT_EQ(result.ambiguity, 4);
  }
}

class CarrierTableTest : public ::testing::TestWithParam<std::string> {};

// From 2 dB below the operating point on, a few offsets drawn from all that there are: what is
// locked is right, and 4 dB above it all of it is locked.
TEST_P(CarrierTableTest, NoFrameIsLockedABinAway) {
  const ConstellationPtr constellation = *Constellation::FromName(GetParam());
  const ModelPtr model = ModelOf(constellation);
  const int num_symbols = 64800 / static_cast<int>(std::lround(std::log2(constellation->size())));
  const double period = 1.0 / constellation->symmetry();
  const bool has_aliases = model->power() > constellation->symmetry();
  for (const double above_db : {-2.0, 0.0, 2.0, 4.0, 8.0}) {
    const int frames = has_aliases ? 5 : 2;
    int locked = 0;
    for (int k = 0; k < frames; ++k) {
      FrameSpec spec = SpecOf(constellation, constellation->operating_snr_db() + above_db,
                              static_cast<uint64_t>(100 + k), num_symbols);
      spec = WithRandomOffset(spec, 0.5 * period);
      const Result result = Recover(*model, {}, MakeFrame(spec));
      EXPECT_LE(std::fabs(result.frequency), 0.5 * period * (1.0 + 1e-12));
      if (result.lock != Lock::kLocked) continue;
      ++locked;
      EXPECT_LT(std::fabs(BinsOff(result, spec, period)), 0.3) << above_db << " dB, frame " << k;
    }
    if (above_db >= 4.0) {
      EXPECT_EQ(locked, frames) << above_db << " dB";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllOfThem, CarrierTableTest, ::testing::ValuesIn(ConstellationNames()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
                               '_');
                           return name;
                         });

// The fits tell one alias from another as long as they differ; where they do not, it is said.
TEST(CarrierAliasTest, WhatTheSymbolsCannotTellIsAmbiguous) {
  const ModelPtr model = ModelOf("64APSK 5/6");
  const double snr_db = model->constellation().operating_snr_db();
  Parameters narrow;
  narrow.max_frequency = 0.5 / model->power();
  int ambiguous = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    FrameSpec spec = SpecOf(*Constellation::FromName("64APSK 5/6"), snr_db, seed, 10800);
    spec = WithRandomOffset(spec, 0.9 * narrow.max_frequency);
    const CarrierFrame frame = MakeFrame(spec);
    ambiguous += Recover(*model, {}, frame).lock == Lock::kAmbiguous ? 1 : 0;
    // Who knows better says so.
    const Result result = Recover(*model, narrow, frame);
    EXPECT_EQ(result.lock, Lock::kLocked);
    EXPECT_LT(std::fabs(BinsOff(result, spec, 1.0)), 0.3);
  }
  EXPECT_GE(ambiguous, 6);
}

// Between 1 / (2 p) and 1 / (2 symmetry) the candidates are those in range; a carrier that is out
// of it is not taken for one of its aliases.
TEST(CarrierAliasTest, TheRangeAskedForLimitsTheCandidates) {
  const ModelPtr model = ModelOf("32APSK 3/4");  // p = 16, symmetry 4
  Parameters parameters;
  parameters.max_frequency = 0.07;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    FrameSpec spec = SpecOf(*Constellation::FromName("32APSK 3/4"), 18.0, seed, 3000);
    spec = WithRandomOffset(spec, 0.125);
    const Result result = Recover(*model, parameters, MakeFrame(spec));
    if (std::fabs(spec.frequency) < 0.0699) {
      EXPECT_EQ(result.lock, Lock::kLocked) << spec.frequency;
      EXPECT_LT(std::fabs(BinsOff(result, spec, 1.0)), 0.3);
    } else if (std::fabs(spec.frequency) > 0.0701) {
      EXPECT_EQ(result.lock, Lock::kNoPeak) << spec.frequency;
    }
    EXPECT_TRUE(result.lock != Lock::kLocked || std::fabs(result.frequency) <= 0.07);
  }
}

// With known symbols the power's aliases reach further: up to half a cycle if two of them are next
// to each other.
TEST(CarrierAliasTest, KnownSymbolsTellThePowersAliases) {
  for (const std::string name : {"QPSK", "16APSK 3/5", "64APSK 132/180"}) {
    const ModelPtr model = ModelOf(name);
    Parameters parameters;
    parameters.coarse = Coarse::kPower;
    for (const double frequency : {0.49, -0.37, 0.26, 0.01}) {
      SCOPED_TRACE(name + " " + std::to_string(frequency));
      FrameSpec spec = SpecOf(*Constellation::FromName(name),
                              model->constellation().operating_snr_db() + 6.0, 3, 4000);
      spec.pilots = testing::Pilots::kDvbS2;
      spec.frequency = frequency;
      spec.phase = 2.0;
      const Result result = Recover(*model, parameters, MakeFrame(spec));
      EXPECT_EQ(result.lock, Lock::kLocked);
      EXPECT_NEAR(result.frequency, frequency, 5.0 * result.frequency_stddev);
      EXPECT_NEAR(result.phase, spec.phase, 5.0 * result.phase_stddev);
    }
  }
}

// Every fourth symbol known: QPSK looks the same a quarter of a cycle further, and so do these.
TEST(CarrierAliasTest, KnownSymbolsThatCannotTellLimitTheRange) {
  const ModelPtr model = ModelOf("QPSK");
  FrameSpec spec = SpecOf(*Constellation::FromName("QPSK"), 10.0, 4, 1000);
  spec.pilots = testing::Pilots::kAll;
  spec.frequency = -0.11;
  CarrierFrame frame = MakeFrame(spec);
  for (size_t n = 0; n < frame.known.size(); ++n) {
    if (n % 4 != 1) frame.known[n] = {};
  }
  Parameters parameters;
  EXPECT_EQ(RangeOfFrequency(model->constellation(), parameters, frame.known).limit, 0.125);
  const Result result = Recover(*model, parameters, frame);
  EXPECT_EQ(result.lock, Lock::kLocked);
  EXPECT_NEAR(result.frequency, spec.frequency, 5.0 * result.frequency_stddev);
  parameters.max_frequency = 0.2;
  EXPECT_THAT(CheckParameters(*model, parameters, 1000, frame.known),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("max_frequency 0.2 is not in [0, 0.125]")));
}

TEST(CarrierAliasTest, TheReachIsWhatSymmetryKnownSymbolsAndTheClientLeave) {
  const ModelPtr model = ModelOf("16APSK 3/5");
  Parameters parameters;
  const auto expect = [&](absl::Span<const Iq> known, double frequency, double modulo) {
    const Reach reach = ReachOf(*model, parameters, known);
    EXPECT_EQ(reach.frequency, frequency);
    EXPECT_EQ(reach.modulo, modulo);
  };
  std::vector<Iq> known(32);
  known[3] = known[6] = known[21] = {1.0F, 0.0F};
  expect({}, 0.125, 0.25);
  expect(known, 0.5, 1.0);
  parameters.max_frequency = 0.03;
  expect({}, 0.03, 0.25);
  parameters.max_frequency = 0.0;
  parameters.coarse = Coarse::kKnown;
  expect(known, 1.0 / 6.0, 1.0);  // a third turns every other symbol into none that there is
  parameters.coarse = Coarse::kNone;
  expect({}, 0.0, 0.25);
  expect(known, 0.0, 1.0);
  parameters.fine = Fine::kSweep;
  parameters.sweep_range = 0.01;
  expect({}, 0.01, 0.25);
}

// Without a coarse stage a sweep may be as wide as it likes.
TEST(CarrierAliasTest, AWideSweepTellsAliasesToo) {
  const ModelPtr model = ModelOf("16APSK 3/5");
  Parameters parameters;
  parameters.coarse = Coarse::kNone;
  parameters.fine = Fine::kSweep;
  parameters.sweep_range = 0.12;
  parameters.sweep_step = 5e-5;
  for (const double frequency : {0.0625, -0.1, 0.03}) {
    FrameSpec spec = SpecOf(*Constellation::FromName("16APSK 3/5"), 18.0, 5, 400);
    spec.frequency = frequency;
    spec.phase = -0.4;
    const Result result = Recover(*model, parameters, MakeFrame(spec));
    EXPECT_EQ(result.lock, Lock::kLocked) << frequency;
    EXPECT_NEAR(result.frequency, frequency, 1e-4);
  }
}

// "Near zero" is what the client says who asks for no coarse stage; the line is also near zero for
// a carrier that is an alias away, but the symbols are not.
TEST(CarrierAliasTest, WithoutACoarseStageAnAliasOfZeroIsNotLocked) {
  const ModelPtr model = ModelOf("16APSK 3/5");
  FrameSpec spec = SpecOf(*Constellation::FromName("16APSK 3/5"), 14.0, 7, 4000);
  spec.frequency = 1.0 / 12 + 1e-6;
  Parameters parameters;
  parameters.coarse = Coarse::kNone;
  EXPECT_NE(Recover(*model, parameters, MakeFrame(spec)).lock, Lock::kLocked);
  spec.frequency = 1e-6;
  EXPECT_EQ(Recover(*model, parameters, MakeFrame(spec)).lock, Lock::kLocked);
}

// All methods take the carrier that was chosen.
TEST(CarrierAliasTest, EveryMethodGoesOnFromTheRightAlias) {
  const ModelPtr model = ModelOf("16APSK 3/5");
  FrameSpec spec = SpecOf(*Constellation::FromName("16APSK 3/5"), 22.0, 6, 2000);
  spec.frequency = 0.0912;
  spec.phase = 0.1;
  const CarrierFrame frame = MakeFrame(spec);
  for (const Fine fine :
       {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 2e-6;
    parameters.sweep_interpolate = true;
    const Result result = Recover(*model, parameters, frame);
    EXPECT_LT(std::fabs(BinsOff(result, spec, 0.25)), fine == Fine::kPll ? 0.5 : 0.1)
        << static_cast<int>(fine);
    EXPECT_NEAR(result.coarse_frequency, spec.frequency, 1.0 / spec.num_symbols);
  }
}

}  // namespace
}  // namespace baseband::carrier
