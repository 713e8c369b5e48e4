// Taps as integers: how far off they are, which stages have them, and what becomes of stop bands.
#include "kernels/downconvert/fixed_taps.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/downconvert/nco_math.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::downconvert {
namespace {

constexpr double kPi = 3.14159265358979323846;

Stage StageOf(std::vector<float> taps, int down = 8) {
  Stage stage;
  stage.taps = std::move(taps);
  stage.down = down;
  return stage;
}

std::vector<float> Uniform(size_t count, float value) { return std::vector<float>(count, value); }

// One tap of 1, all others of `rest`.
Stage Spread(size_t count, float rest) {
  std::vector<float> taps = Uniform(count, rest);
  taps[count / 2] = 1.0F;
  return StageOf(std::move(taps));
}

double SumOf(const Stage& stage) {
  double sum = 0.0;
  for (const float tap : stage.taps) sum += std::abs(static_cast<double>(tap));
  return sum;
}

// Beyond kDeepEdge as far down as masks go, by 140 dB.
constexpr double kDeepEdge = 0.09;
Stage DeepStage() {
  Mask mask;
  mask.pass_edge = 0.03;
  mask.stop_edge = kDeepEdge;
  mask.attenuation_db = 140.0;
  return (*Filter::FromMask(mask, Design::kKaiser, 1, 1))->stages().front();
}

// Stages of many kinds, own and designed.
std::vector<Stage> Stages() {
  std::vector<Stage> stages;
  for (const int taps : {1, 7, 64, 300, 512, 4096}) {
    for (const int down : {1, 8, 64}) {
      stages.push_back(StageOf(testing::SomeTaps(taps, 1, down, 3), down));
    }
  }
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const size_t count : {3, 64, 1000}) {
    std::vector<float> taps(count);
    for (float& tap : taps) tap = normal(random) * std::exp(2.0F * normal(random));
    stages.push_back(StageOf(taps));
    for (float& tap : taps) tap *= 0x1p-40F;
    stages.push_back(StageOf(taps));
  }
  stages.push_back(StageOf(Uniform(4096, 0.999F)));
  stages.push_back(StageOf(Uniform(1, 0x1.fffffep59F)));
  stages.push_back(Spread(64, 0x1p-2F));
  stages.push_back(DeepStage());
  return stages;
}

// The worst signal of full scale has each tap's errors add up.
TEST(FixedTapsTest, NoSumIsFurtherOffThanTheError) {
  std::mt19937_64 random(1);
  int usable = 0;
  for (const Stage& stage : Stages()) {
    const FixedTaps fixed = FixedTapsOf(stage);
    if (!fixed.is_usable) continue;
    ++usable;
    EXPECT_LE(fixed.error, kMaxFixedError);
    for (int frequency = 0; frequency < 5; ++frequency) {
      const uint64_t step = frequency == 0 ? 0 : random();
      double off = 0.0;
      double sum = 0.0;
      for (size_t k = 0; k < stage.taps.size(); ++k) {
        const Phasor turn = PhasorOf(step * k);
        for (const float part : {turn.i, turn.q}) {
          const int32_t tap = FixedTap(stage.taps[k], part, fixed.exponent);
          ASSERT_LE(std::abs(static_cast<int64_t>(tap)), kMaxFixedTap);
          const double exact = static_cast<double>(stage.taps[k]) * part;
          off += std::abs(std::ldexp(tap, -fixed.exponent) - exact);
          sum += std::abs(static_cast<double>(tap));
        }
      }
      EXPECT_LE(off, fixed.error * SumOf(stage)) << stage.taps.size() << " taps";
      EXPECT_LE(sum, std::sqrt(2.0) * 0x1p39 + 2.0 * static_cast<double>(stage.taps.size()));
    }
  }
  EXPECT_GE(usable, 15);
}

TEST(FixedTapsTest, TheErrorIsAsSmallAsTheRangeAllows) {
  for (const Stage& stage : Stages()) {
    const FixedTaps fixed = FixedTapsOf(stage);
    if (!fixed.is_usable) continue;
    float most = 0.0F;
    for (const float tap : stage.taps) most = std::max(most, std::abs(tap));
    EXPECT_TRUE(std::ldexp(most, fixed.exponent + 1) > kMaxFixedTap * (1.0 - 0x1p-21) ||
                std::ldexp(SumOf(stage), fixed.exponent) > 0x1p37);
  }
}

// Four digits hold every tap and its negative.
TEST(FixedTapsTest, TheDigitsOfATapAddUpToIt) {
  std::mt19937 random(2);
  std::vector<int32_t> taps = {0, 1, -1, 127, 128, -128, -129, 0x7f7f, 0x8080, kMaxFixedTap};
  for (int i = 0; i < 100000; ++i) {
    taps.push_back(static_cast<int32_t>(random() % (uint32_t{kMaxFixedTap} + 1)));
  }
  for (const int32_t magnitude : taps) {
    for (const int32_t tap : {magnitude, -magnitude}) {
      const uint32_t digits = FixedDigits(tap);
      int64_t sum = 0;
      for (int d = 3; d >= 0; --d) sum = 256 * sum + static_cast<int8_t>(digits >> 8 * d & 0xff);
      ASSERT_EQ(sum, tap);
    }
  }
}

// The largest |response| beyond `edge` of taps turned by `step` and written by `write`, frequencies
// counted from where that leads.
template <typename Write>
double StopBand(const Stage& stage, uint64_t step, double edge, const Write& write) {
  std::vector<std::complex<double>> taps;
  for (size_t k = 0; k < stage.taps.size(); ++k) {
    const Phasor turn = PhasorOf(step * k);
    taps.emplace_back(write(stage.taps[k], turn.i), write(stage.taps[k], turn.q));
  }
  double most = 0.0;
  constexpr int kPoints = 500;
  for (int i = 0; i <= kPoints; ++i) {
    const double f = edge + (1.0 - 2.0 * edge) * i / kPoints + std::ldexp(step, -64);
    std::complex<double> sum = 0.0;
    for (size_t k = 0; k < taps.size(); ++k) {
      sum += taps[k] * std::polar(1.0, -2.0 * kPi * std::fmod(f * static_cast<double>(k), 1.0));
    }
    most = std::max(most, std::abs(sum));
  }
  return most;
}

TEST(FixedTapsTest, NoStopBandIsHigherThanThatOfFloat32) {
  const Stage stage = DeepStage();
  const FixedTaps fixed = FixedTapsOf(stage);
  ASSERT_TRUE(fixed.is_usable);
  for (const uint64_t step : {uint64_t{0}, uint64_t{0x123456789abcdef0}, ~uint64_t{0} / 3}) {
    const double exact =
        StopBand(stage, step, kDeepEdge, [](float tap, float turn) { return double{tap} * turn; });
    const double found = StopBand(stage, step, kDeepEdge, [&fixed](float tap, float turn) {
      return std::ldexp(FixedTap(tap, turn, fixed.exponent), -fixed.exponent);
    });
    const double in_float32 =
        StopBand(stage, step, kDeepEdge, [](float tap, float turn) { return double{tap * turn}; });
    EXPECT_LE(found, exact + fixed.error * SumOf(stage));
    EXPECT_LE(20.0 * std::log10(found / exact), 0.01) << 20.0 * std::log10(exact) << " dB";
    EXPECT_LE(found, std::max(in_float32, exact * 1.001));
  }
}

TEST(FixedTapsTest, TapsThatSpreadTooMuchAreLeftToFloat32) {
  EXPECT_TRUE(FixedTapsOf(Spread(64, 0.5F)).is_usable);
  EXPECT_TRUE(FixedTapsOf(Spread(16, 0x1p-30F)).is_usable);  // few: nothing adds up
  EXPECT_FALSE(FixedTapsOf(Spread(65, 0x1p-30F)).is_usable);
  EXPECT_FALSE(FixedTapsOf(Spread(1000, 0x1p-12F)).is_usable);
}

TEST(FixedTapsTest, WhatIntegersCannotHoldIsLeftToFloat32) {
  Stage rising = StageOf(testing::SomeTaps(64, 3, 8, 1));
  rising.up = 3;
  EXPECT_FALSE(FixedTapsOf(rising).is_usable);
  EXPECT_TRUE(FixedTapsOf(StageOf(Uniform(4096, 1.0F))).is_usable);
  EXPECT_FALSE(FixedTapsOf(StageOf(Uniform(4097, 1.0F))).is_usable);
  EXPECT_TRUE(FixedTapsOf(StageOf(Uniform(3, 0x1p-60F))).is_usable);
  EXPECT_FALSE(FixedTapsOf(StageOf(Uniform(3, 0x1p-61F))).is_usable);
  EXPECT_TRUE(FixedTapsOf(StageOf(Uniform(3, 0x1p60F))).is_usable);
  EXPECT_FALSE(FixedTapsOf(StageOf(Uniform(3, 0x1.1p60F))).is_usable);
}

}  // namespace
}  // namespace baseband::downconvert
