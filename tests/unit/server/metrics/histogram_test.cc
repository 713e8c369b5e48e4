#include "server/metrics/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

namespace baseband::server {
namespace {

using ::testing::ElementsAre;

std::vector<uint64_t> Counts(const prometheus::ClientMetric::Histogram& read) {
  std::vector<uint64_t> counts;
  for (const auto& bucket : read.bucket) counts.push_back(bucket.cumulative_count);
  return counts;
}

TEST(HistogramTest, AValueOnAnEdgeIsBelowItAndWhatExceedsAllIsCounted) {
  Histogram histogram({1.0, 2.0});
  for (const double value : {0.0, 1.0, 1.5, 2.0, 2.5}) histogram.Observe(value);

  const prometheus::ClientMetric::Histogram read = histogram.Read();

  EXPECT_THAT(Counts(read), ElementsAre(2, 4, 5));
  EXPECT_EQ(read.bucket.back().upper_bound, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.sample_count, 5);
  EXPECT_EQ(read.sample_sum, 7.0);
}

TEST(HistogramTest, NothingThatThreadsObserveAtATimeIsLost) {
  constexpr int kThreads = 4;
  constexpr int kEach = 10000;
  Histogram histogram({0.5});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) histogram.Observe(1.0);
    });
  }
  for (std::thread& thread : threads) thread.join();

  const prometheus::ClientMetric::Histogram read = histogram.Read();

  EXPECT_THAT(Counts(read), ElementsAre(0, kThreads * kEach));
  EXPECT_EQ(read.sample_sum, kThreads * kEach);
}

TEST(HistogramTest, SeriesOfOneMetricAreOneFamily) {
  HistogramTable table;
  Histogram* const encode = table.Add(metric::kStage, {1.0}, {{"rpc", "Encode"}});
  table.Add(metric::kRequestDuration, {1.0}, {});
  table.Add(metric::kStage, {1.0}, {{"rpc", "Decode"}});
  encode->Observe(0.5);

  const std::vector<prometheus::MetricFamily> families = table.Collect();

  ASSERT_EQ(families.size(), 2);
  EXPECT_EQ(families[0].name, metric::kStage.name);
  EXPECT_EQ(families[0].type, prometheus::MetricType::Histogram);
  ASSERT_EQ(families[0].metric.size(), 2);
  EXPECT_THAT(families[0].metric[0].label,
              ElementsAre(prometheus::ClientMetric::Label{"rpc", "Encode"}));
  EXPECT_EQ(families[0].metric[0].histogram.sample_count, 1);
  EXPECT_EQ(families[0].metric[1].histogram.sample_count, 0);
}

}  // namespace
}  // namespace baseband::server
