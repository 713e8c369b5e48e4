#include "server/batching/cost_model.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

constexpr int kOp = 1;  // of the operations in their table

// Seconds of a batch by a law with a fixed part.
double Truth(double units, double rate = 3e-9, double fixed = 50e-6) {
  return fixed + units * rate;
}

// Of a batch that had the device for itself.
void Learn(CostModel& model, absl::Span<const Work> jobs, double seconds) {
  model.Learn(false, kOp, jobs, {seconds, seconds}, kStart);
}

double Predicted(const CostModel& model, double units, int shape = 0) {
  return model.CostOf(false, kOp, {units, shape}).alone_s();
}

TEST(CostModelTest, TheFirstBatchOfAShapeSetsItsRateAndOthersStayGuesses) {
  CostModel model;
  const double guessed = Predicted(model, 1e6, 1);
  EXPECT_GT(guessed, 0);
  Learn(model, {{1e6, 0}}, 0.5);
  EXPECT_NEAR(Predicted(model, 1e6), 0.5, 1e-9);
  EXPECT_EQ(Predicted(model, 1e6, 1), guessed);
  EXPECT_NE(model.CostOf(true, kOp, {1e6, 0}).work_s, model.CostOf(false, kOp, {1e6, 0}).work_s);
}

TEST(CostModelTest, LearnsBothPartsFromBatchesOfManySizes) {
  CostModel model;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(3, 6);
  for (int i = 0; i < 500; ++i) {
    const double units = std::pow(10, exponent(random));
    Learn(model, {{units / 2, 0}, {units / 2, 0}}, Truth(units));
  }
  for (const double units : {1e3, 1e4, 1e5, 1e6}) {
    EXPECT_NEAR(Predicted(model, units) / Truth(units), 1, 0.05) << units;
  }
}

TEST(CostModelTest, TenBatchesForgetWhatWasBefore) {
  CostModel model;
  for (int i = 0; i < 50; ++i) Learn(model, {{1e6, 0}}, 1.0);
  for (int i = 0; i < 10; ++i) Learn(model, {{1e6, 0}}, 1.5);
  EXPECT_NEAR(Predicted(model, 1e6), 1.5, 0.1);
}

TEST(CostModelTest, OneBatchThatTookAThousandTimesAsLongIsHardlyNews) {
  CostModel model;
  for (int i = 0; i < 10; ++i) Learn(model, {{1e6, 0}}, 1e-3);
  Learn(model, {{1e6, 0}}, 1.0);
  EXPECT_LT(Predicted(model, 1e6), 1.2e-3);  // 2^0.2 = 1.15
  const double before = Predicted(model, 1e6);
  Learn(model, {{1e6, 0}}, 0.0);
  Learn(model, {{1e6, 0}}, -1.0);
  EXPECT_EQ(Predicted(model, 1e6), before);
}

TEST(CostModelTest, AShapeThatComesWhileSizesSeemToCostNothingIsNotThoughtToTakeMinutes) {
  CostModel model;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> exponent(3, 5);
  // The host is busy, and it so happens that what is small takes longer than what is large.
  Learn(model, {{1e5, 0}}, 5e-3);
  for (int i = 0; i < 200; ++i) {
    const double units = std::pow(10, exponent(random));
    Learn(model, {{units, 0}}, 5e-3 * std::pow(units / 1e4, -0.2));
  }
  Learn(model, {{1e5, 1}}, 10e-3);
  EXPECT_NEAR(Predicted(model, 1e5, 1), 10e-3, 1e-3);
  // Now it is not, and sizes tell again.
  for (int i = 0; i < 500; ++i) {
    const double units = std::pow(10, exponent(random));
    Learn(model, {{units, 0}}, Truth(units, 1e-7));
  }
  EXPECT_NEAR(Predicted(model, 1e5) / Truth(1e5, 1e-7), 1, 0.2);
  EXPECT_LT(Predicted(model, 1e5, 1), 0.1);
}

TEST(CostModelTest, BatchesOfMixedShapesTeachAllOfThem) {
  CostModel model;
  std::mt19937 random(2);
  std::uniform_real_distribution<double> part(0, 1);
  for (int i = 0; i < 2000; ++i) {
    const double a = 1e5 * part(random);
    const double b = 1e5 * part(random);
    Learn(model, {{a, 3}, {b, 4}}, 20e-6 + a * 1e-8 + b * 4e-8);
  }
  EXPECT_NEAR(Predicted(model, 1e5, 3) / 1.02e-3, 1, 0.1);
  EXPECT_NEAR(Predicted(model, 1e5, 4) / 4.02e-3, 1, 0.1);
}

// A device with room for `width` batches at once beyond which they take turns, `lanes` in flight.
void LearnOnAWideDevice(CostModel& model, double width, int lanes, int batches) {
  for (int i = 0; i < batches; ++i) {
    const double seconds = 1e-3 * std::max(1.0, lanes / width);
    model.Learn(false, kOp, {{1e6, 0}}, {seconds, seconds / lanes}, kStart);
  }
}

TEST(CostModelTest, WhatHasRoomTakesAsLongAsAloneAndLessOfTheDevice) {
  CostModel model;
  LearnOnAWideDevice(model, 4, 1, 100);
  EXPECT_NEAR(model.CostOf(false, kOp, {1e6, 0}).work_s, 1e-3, 0.03e-3);
  LearnOnAWideDevice(model, 4, 2, 100);
  EXPECT_FALSE(model.IsCrowded(false, kOp));
  EXPECT_NEAR(model.CostOf(false, kOp, {1e6, 0}).work_s, 0.5e-3, 0.02e-3);
  LearnOnAWideDevice(model, 4, 8, 100);
  EXPECT_TRUE(model.IsCrowded(false, kOp));
  const BatchCost cost = model.CostOf(false, kOp, {1e6, 0});
  EXPECT_NEAR(cost.alone_s(), 1e-3, 0.02e-3);
  EXPECT_NEAR(cost.work_s, 0.25e-3, 0.01e-3);
  EXPECT_NEAR(cost.beside_s(8), 2e-3, 0.08e-3);
  // There is room again, and what was learned stays, but for a window that saw both.
  LearnOnAWideDevice(model, 4, 2, 100);
  EXPECT_FALSE(model.IsCrowded(false, kOp));
  EXPECT_NEAR(model.CostOf(false, kOp, {1e6, 0}).work_s, 0.25e-3, 0.07e-3);
}

TEST(CostModelTest, ADeviceThatBecomesSlowerUnderLoadIsBelieved) {
  CostModel model;
  LearnOnAWideDevice(model, 4, 1, 100);
  LearnOnAWideDevice(model, 4, 8, 100);
  LearnOnAWideDevice(model, 2, 8, 100);
  EXPECT_NEAR(model.CostOf(false, kOp, {1e6, 0}).work_s, 0.5e-3, 0.02e-3);
}

TEST(CostModelTest, WhatSeemsToHaveNoRoomIsTriedInLargerBatches) {
  CostModel model;
  // One alone was seen to take little; then four are in flight, and each takes 10 ms whatever is in
  // it: that is no lack of room, but nothing else shows it than larger ones. Every eighth is one.
  Learn(model, {{1, 0}}, 0.1e-3);
  double largest = 1.0;
  for (int i = 0; i < 1000; ++i) {
    const double growth = model.Growth(false, kOp);
    const double units = i % 8 == 0 ? 2 * growth : growth;
    model.Learn(false, kOp, {{units, 0}}, {10e-3, 2.5e-3}, kStart);
    largest = std::max(largest, growth);
  }
  EXPECT_GE(largest, 4.0);
  EXPECT_FALSE(model.IsCrowded(false, kOp));
  EXPECT_NEAR(Predicted(model, 1), 10e-3, 1e-3);
}

TEST(CostModelTest, WhatHasNoRoomIsTriedInLargerBatchesInVainNowAndThen) {
  CostModel model;
  LearnOnAWideDevice(model, 4, 1, 100);
  int doubled = 0;
  for (int i = 0; i < 1600; ++i) {
    const double growth = model.Growth(false, kOp);
    const double seconds = 2e-3 * growth;
    model.Learn(false, kOp, {{growth * 1e6, 0}}, {seconds, seconds / 8}, kStart);
    doubled += growth > 1.0;
    EXPECT_LE(growth, 2.0);
  }
  EXPECT_TRUE(model.IsCrowded(false, kOp));
  EXPECT_GT(doubled, 0);
  EXPECT_LT(doubled, 1600 / 5);
}

TEST(CostModelTest, SmallJobsThatTookLongSayLittleOfLargeOnes) {
  CostModel model;
  for (int i = 0; i < 5; ++i) Learn(model, {{1e6, 0}}, 10e-3);
  // The host holds up a tiny one of a new shape, then many, alone and contended.
  Learn(model, {{10, 1}}, 1.0);
  for (int i = 0; i < 100; ++i) {
    model.Learn(false, kOp, {{10, 1}}, {2e-3, 1e-3}, kStart);
    model.Learn(false, kOp, {{10, 1}}, {0.1e-3, 0.1e-3}, kStart);
  }
  const BatchCost guess = model.CostOf(false, kOp, {1e6, 1});
  EXPECT_LT(guess.alone_s(), 5.0);
  EXPECT_LT(guess.work_s, 5.0);
  EXPECT_TRUE(model.IsKnown(false, kOp, {40, 1}, kStart));
  EXPECT_FALSE(model.IsKnown(false, kOp, {41, 1}, kStart));
  Learn(model, {{1e6, 1}}, 10e-3);
  EXPECT_NEAR(Predicted(model, 1e6, 1), 10e-3, 5e-3);
}

TEST(CostModelTest, AShapeIsFreshForASecondAfterItsLastBatch) {
  CostModel model;
  EXPECT_FALSE(model.IsKnown(false, kOp, {1e6, 0}, kStart));
  Learn(model, {{1e6, 0}}, 1.0);
  EXPECT_TRUE(model.IsKnown(false, kOp, {1e6, 0}, kStart + CostModel::kFresh));
  EXPECT_FALSE(
      model.IsKnown(false, kOp, {1e6, 0}, kStart + CostModel::kFresh + absl::Nanoseconds(1)));
  EXPECT_FALSE(model.IsKnown(false, kOp, {1e6, 1}, kStart));
  EXPECT_FALSE(model.IsKnown(true, kOp, {1e6, 0}, kStart));
}

}  // namespace
}  // namespace baseband::server
