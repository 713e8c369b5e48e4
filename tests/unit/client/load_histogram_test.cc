#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "client/load/histogram.h"
#include "gtest/gtest.h"

namespace baseband::load {
namespace {

// Log-uniform over all that a histogram holds.
std::vector<int64_t> Values(int count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(0,
                                                  std::log(static_cast<double>(Histogram::kMax)));
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(std::llround(std::exp(exponent(random))));
  return values;
}

class HistogramDigitsTest : public ::testing::TestWithParam<int> {};

TEST_P(HistogramDigitsTest, EveryValueComesBackWithinItsDigits) {
  const double digits = std::pow(10, GetParam());
  for (const int64_t value : Values(2000)) {
    Histogram histogram(GetParam());
    histogram.Record(value);
    histogram.Record(Histogram::kMax);  // so that the value is not told from its extremes
    histogram.Record(0);
    const auto found = static_cast<double>(histogram.Quantile(0.5));
    EXPECT_LE(std::abs(found - static_cast<double>(value)), static_cast<double>(value) / digits)
        << value;
  }
}

TEST_P(HistogramDigitsTest, ValuesBelowTheDigitsAreExact) {
  Histogram histogram(GetParam());
  const auto below = std::lround(std::pow(10, GetParam()));
  for (int64_t value = 0; value < below; ++value) histogram.Record(value);
  for (int64_t value = 0; value < below; ++value) {
    EXPECT_EQ(histogram.CountUpTo(value), value + 1);
    const double share = static_cast<double>(value + 1) / static_cast<double>(below);
    EXPECT_EQ(histogram.Quantile(share), value);
  }
}

INSTANTIATE_TEST_SUITE_P(AllDigits, HistogramDigitsTest, ::testing::Values(1, 2, 3, 4));

TEST(HistogramTest, QuantilesAreThoseOfTheSortedValuesToThreeDigits) {
  std::vector<int64_t> values = Values(20000);
  Histogram histogram;
  for (const int64_t value : values) histogram.Record(value);
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<size_t>(std::ceil(q * 20000)) - 1;
    const auto expected = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(q)), expected, expected / 1000) << q;
  }
  EXPECT_EQ(histogram.Quantile(1), values.back());
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(HistogramTest, MergedIsAsIfRecordedTogether) {
  Histogram together;
  Histogram even;
  Histogram odd;
  int64_t index = 0;
  for (const int64_t value : Values(1000)) {
    together.Record(value);
    (index++ % 2 == 0 ? even : odd).Record(value);
  }
  even.Merge(odd);
  even.Merge(Histogram());
  EXPECT_EQ(even.count(), together.count());
  EXPECT_EQ(even.min(), together.min());
  EXPECT_EQ(even.max(), together.max());
  // Each of the 1000 additions rounds by at most 2^-53 of the sum so far, in either order.
  EXPECT_NEAR(even.mean(), together.mean(), together.mean() * 2 * 1000 * std::ldexp(1, -53));
  for (int i = 0; i <= 100; ++i) EXPECT_EQ(even.Quantile(i / 100.0), together.Quantile(i / 100.0));
}

TEST(HistogramTest, ValuesOutsideTheRangeCountAsItsEnds) {
  Histogram histogram;
  histogram.Record(-5);
  histogram.Record(INT64_MAX);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), Histogram::kMax);
  EXPECT_EQ(histogram.CountUpTo(-1), 0);
  EXPECT_EQ(histogram.CountUpTo(INT64_MAX), 2);
}

TEST(HistogramTest, AnEmptyOneIsZeroEverywhere) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Quantile(0.99), 0);
}

}  // namespace
}  // namespace baseband::load
