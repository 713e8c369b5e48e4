#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

extern "C" {
#include "client/oai/llr_scale.h"
}

namespace baseband::testing {
namespace {

float ScaleOf(const std::vector<int16_t>& llrs, uint32_t qm, double code_rate) {
  bo_magnitudes magnitudes{};
  bo_add_magnitudes(llrs.data(), llrs.size(), llrs.size(), &magnitudes);
  return bo_llr_scale(&magnitudes, qm, code_rate);
}

TEST(OaiLlrScaleTest, AllUnitsComeToTheSameLlrs) {
  for (const int16_t strength : std::vector<int16_t>{1, 10, 100, 1000, 10000}) {
    const std::vector<int16_t> llrs(3, strength);
    // A mean of 15 for QPSK of rate 1/2, within half a step of half an octave.
    EXPECT_NEAR(std::log2(ScaleOf(llrs, 2, 0.5) * static_cast<float>(strength)), std::log2(15),
                0.251);
  }
}

TEST(OaiLlrScaleTest, StrengthsThatDifferALittleHaveOneScale) {
  EXPECT_EQ(ScaleOf({110, -110}, 2, 0.5), ScaleOf({114, -114}, 2, 0.5));
  EXPECT_EQ(2 * ScaleOf({200, -200}, 2, 0.5), ScaleOf({100, -100}, 2, 0.5));
}

TEST(OaiLlrScaleTest, ZerosSayNothing) {
  EXPECT_EQ(ScaleOf({100, 0, 0, 0, -100}, 4, 0.7), ScaleOf({100, -100}, 4, 0.7));
  EXPECT_EQ(ScaleOf({0, 0, 0}, 4, 0.7), 1);
}

TEST(OaiLlrScaleTest, TheSmallestNumberIsAMagnitude) {
  EXPECT_GT(ScaleOf({INT16_MIN, INT16_MIN}, 2, 0.1), 0);
}

TEST(OaiLlrScaleTest, AnyModulationAndRateHasOne) {
  for (const uint32_t qm : {1, 2, 4, 6, 8, 10}) {
    float last = 0;
    for (const double rate : {0.01, 0.2, 0.5, 0.9, 0.95, 1.0, 3.0}) {
      const float scale = ScaleOf({50, -50}, qm, rate);
      EXPECT_GE(scale, last) << qm << " " << rate;  // what is decoded was received better
      last = scale;
    }
  }
}

TEST(OaiLlrScaleTest, AFewLlrsOfManyAreLookedAt) {
  std::vector<int16_t> llrs(100000, 64);
  bo_magnitudes magnitudes{};
  bo_add_magnitudes(llrs.data(), llrs.size(), 1000, &magnitudes);
  EXPECT_NEAR(magnitudes.count, 1000, 100);
  EXPECT_EQ(magnitudes.sum, 64U * magnitudes.count);
}

}  // namespace
}  // namespace baseband::testing
