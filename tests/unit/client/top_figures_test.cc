// The arithmetic of `basebandctl top`: from pages to figures.
#include "client/ctl/operate/top_figures.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using load::MetricsPage;
using load::ParseMetrics;
using ::testing::DoubleNear;
using ::testing::Eq;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

constexpr absl::Duration kTwoSeconds = absl::Seconds(2);

MetricsPage Page(const std::string& text, int start = 100) {
  return ParseMetrics(absl::StrCat("process_start_time_seconds ", start, "\n", text));
}

// The rates of a page all of whose counters were 0 two seconds ago.
PageRates Rates(const std::string& text) {
  MetricsPage before = Page(text);
  for (auto& [series, value] : before) value = load::Counts(series) ? 0 : value;
  return RatesBetween(&before, Page(text), kTwoSeconds);
}

TEST(TopRatesTest, CountersBecomeRatesAndGaugesStay) {
  const MetricsPage before = Page("a_total{x=\"1\"} 10\nbaseband_queue_requests 7\n");
  const PageRates rates = RatesBetween(
      &before, Page("a_total{x=\"1\"} 30\na_total{x=\"2\"} 4\nbaseband_queue_requests 3\n"),
      kTwoSeconds);
  EXPECT_TRUE(rates.has_rates);
  EXPECT_THAT(rates.page, UnorderedElementsAre(Pair("a_total{x=\"1\"}", 10),
                                               Pair("a_total{x=\"2\"}", 2),  // new, so it was 0
                                               Pair("baseband_queue_requests", 3),
                                               Pair("process_start_time_seconds", 100)));
}

TEST(TopRatesTest, AServerThatWasStartedAgainHasNoRatesUntilItsSecondPage) {
  const std::string text = "baseband_requests_total{rpc=\"Decode\",code=\"OK\"} ";
  const MetricsPage before = Page(text + "50\nbaseband_queue_requests 1\n", 100);
  const MetricsPage restarted = Page(text + "60\nbaseband_queue_requests 2\n", 200);
  const PageRates first = RatesBetween(&before, restarted, kTwoSeconds);
  EXPECT_FALSE(first.has_rates);
  EXPECT_THAT(ToServerFigures(first).requests, Eq(absl::nullopt));
  EXPECT_THAT(ToServerFigures(first).queue_requests, Optional(2));
  const PageRates second =
      RatesBetween(&restarted, Page(text + "64\nbaseband_queue_requests 0\n", 200), kTwoSeconds);
  EXPECT_THAT(ToServerFigures(second).requests, Optional(2));
}

TEST(TopRatesTest, ACounterNeverHasANegativeRate) {
  const MetricsPage before = Page("a_total 10\n");
  EXPECT_EQ(RatesBetween(&before, Page("a_total 3\n"), kTwoSeconds).page["a_total"], 0);
}

TEST(TopRatesTest, TogetherIsTheSumButOfAgesTheGreatest) {
  const PageRates a = Rates("a_total 4\nbaseband_queue_oldest_age_seconds{priority=\"low\"} 3\n");
  PageRates b = RatesBetween(
      nullptr, Page("a_total 8\nbaseband_queue_oldest_age_seconds{priority=\"low\"} 2\n"),
      kTwoSeconds);
  PageRates both = Together({&a, &b});
  EXPECT_TRUE(both.has_rates);
  EXPECT_EQ(both.page["a_total"], 2) << "of the second nothing is known yet";
  EXPECT_EQ(both.page["baseband_queue_oldest_age_seconds{priority=\"low\"}"], 3);
  EXPECT_FALSE(Together({&b}).has_rates);
}

TEST(TopQuantileTest, LiesStraightBetweenTheEdges) {
  const MetricsPage page = ParseMetrics(
      "h_bucket{rpc=\"Decode\",le=\"0.001\"} 30\nh_bucket{rpc=\"Decode\",le=\"0.002\"} 80\n"
      "h_bucket{rpc=\"Decode\",le=\"+Inf\"} 80\n"
      "h_bucket{rpc=\"Encode\",le=\"0.001\"} 20\nh_bucket{rpc=\"Encode\",le=\"0.002\"} 20\n"
      "h_bucket{rpc=\"Encode\",le=\"+Inf\"} 20\nh_bucket{rpc=\"Submit\",le=\"+Inf\"} 1000\n");
  const std::vector<std::string> both = {"Decode", "Encode"};
  EXPECT_THAT(Quantile(page, "h", both, 0.25), Optional(DoubleNear(0.0005, 1e-12)));
  EXPECT_THAT(Quantile(page, "h", both, 0.5), Optional(DoubleNear(0.001, 1e-12)));
  EXPECT_THAT(Quantile(page, "h", both, 0.99), Optional(DoubleNear(0.00198, 1e-12)));
  EXPECT_THAT(Quantile(page, "h", {"Decode"}, 0.55), Optional(DoubleNear(0.00128, 1e-12)));
}

TEST(TopQuantileTest, IsTheHighestEdgeAboveItAndNothingWithoutObservations) {
  const MetricsPage page = ParseMetrics(
      "h_bucket{rpc=\"A\",le=\"1\"} 1\nh_bucket{rpc=\"A\",le=\"5\"} 1\n"
      "h_bucket{rpc=\"A\",le=\"+Inf\"} 10\nh_bucket{rpc=\"B\",le=\"1\"} 0\n"
      "h_bucket{rpc=\"B\",le=\"+Inf\"} 0\n");
  EXPECT_THAT(Quantile(page, "h", {"A"}, 0.99), Optional(5));
  EXPECT_THAT(Quantile(page, "h", {"B"}, 0.5), Eq(absl::nullopt));
  EXPECT_THAT(Quantile(page, "h", {"C"}, 0.5), Eq(absl::nullopt));
}

TEST(TopQuantileTest, OfAnIntervalCountsWhatCameInIt) {
  const std::string name = "baseband_request_duration_seconds_bucket{rpc=\"Decode\",le=";
  const MetricsPage before =
      Page(name + "\"0.001\"} 1000\n" + name + "\"0.002\"} 1000\n" + name + "\"+Inf\"} 1000\n");
  const MetricsPage now =
      Page(name + "\"0.001\"} 1000\n" + name + "\"0.002\"} 1010\n" + name + "\"+Inf\"} 1010\n");
  EXPECT_THAT(ToServerFigures(RatesBetween(&before, now, kTwoSeconds)).p50,
              Optional(DoubleNear(0.0015, 1e-12)));
}

TEST(TopFiguresTest, WhatAPageDoesNotHaveIsUnknown) {
  const ServerFigures figures = ToServerFigures(Rates(""));
  for (const Figure& figure :
       {figures.requests, figures.information_bits, figures.bler, figures.p50, figures.p99,
        figures.deadlines_missed, figures.unserved, figures.queue_requests, figures.oldest_age,
        figures.batch_requests, figures.lanes_busy, figures.lanes, figures.connections,
        figures.rings, figures.shared_regions, figures.shared_in, figures.shared_out,
        figures.memory_bytes}) {
    EXPECT_THAT(figure, Eq(absl::nullopt));
  }
  EXPECT_THAT(figures.pools, IsEmpty());
  EXPECT_THAT(ToRpcFigures(Rates("")), IsEmpty());
  EXPECT_THAT(ToDeviceFigures(Rates("")), IsEmpty());
  EXPECT_THAT(ToClientFigures(Rates("")), IsEmpty());
}

TEST(TopFiguresTest, OfAServer) {
  const ServerFigures figures = ToServerFigures(
      Rates("baseband_requests_total{code=\"OK\",rpc=\"Decode\"} 100\n"
            "baseband_requests_total{code=\"INTERNAL\",rpc=\"Encode\"} 20\n"
            "baseband_requests_total{code=\"OK\",rpc=\"GetCapabilities\"} 1000\n"
            "baseband_requests_total{code=\"OK\",rpc=\"Admin\"} 1000\n"
            "baseband_requests_total{code=\"OK\",rpc=\"Health\"} 1000\n"
            "baseband_information_bytes_total{rpc=\"Decode\"} 5e5\n"
            "baseband_deadlines_total{outcome=\"met\",rpc=\"Decode\"} 90\n"
            "baseband_deadlines_total{outcome=\"missed\",rpc=\"Decode\"} 6\n"
            "baseband_requests_unserved_total{reason=\"backlog\",rpc=\"Decode\"} 6\n"
            "baseband_requests_unserved_total{reason=\"backlog\",rpc=\"Encode\"} 6\n"
            "baseband_requests_unserved_total{reason=\"queue_bytes\",rpc=\"Decode\"} 10\n"
            "baseband_queue_requests{rpc=\"Decode\"} 2\nbaseband_queue_requests{rpc=\"Encode\"} 1\n"
            "baseband_queue_oldest_age_seconds{priority=\"high\"} 0.001\n"
            "baseband_queue_oldest_age_seconds{priority=\"low\"} 0.5\n"
            "baseband_batch_requests_sum{rpc=\"Decode\"} 100\n"
            "baseband_batch_requests_count{rpc=\"Decode\"} 40\n"
            "baseband_lane_busy_seconds_total{device=\"cpu\",lane=\"0\"} 2\n"
            "baseband_lane_busy_seconds_total{device=\"cpu\",lane=\"1\"} 1\n"
            "baseband_lane_busy_seconds_total{device=\"cpu\",lane=\"2\"} 0\n"
            "baseband_pool_used_bytes{pool=\"staging\"} 25\n"
            "baseband_pool_capacity_bytes{pool=\"staging\"} 100\nbaseband_open_connections "
            "5\nbaseband_rings 2\nbaseband_shared_memory_regions 3\n"
            "baseband_shared_memory_bytes_total{direction=\"in\"} 4000\n"
            "baseband_shared_memory_bytes_total{direction=\"out\"} 1000\n"));
  EXPECT_THAT(figures.requests, Optional(60)) << "who asks for these is not at work";
  EXPECT_THAT(figures.information_bits, Optional(2e6));
  EXPECT_THAT(figures.deadlines_missed, Optional(3));
  EXPECT_THAT(figures.unserved, Optional(11));
  EXPECT_EQ(figures.unserved_reason, "backlog");
  EXPECT_THAT(figures.queue_requests, Optional(3));
  EXPECT_THAT(figures.oldest_age, Optional(0.5));
  EXPECT_THAT(figures.batch_requests, Optional(2.5));
  EXPECT_THAT(figures.lanes_busy, Optional(1.5));
  EXPECT_THAT(figures.lanes, Optional(3));
  EXPECT_THAT(figures.connections, Optional(5));
  EXPECT_THAT(figures.rings, Optional(2));
  EXPECT_THAT(figures.shared_regions, Optional(3));
  EXPECT_THAT(figures.shared_in, Optional(2000));
  EXPECT_THAT(figures.shared_out, Optional(500));
  ASSERT_THAT(figures.pools, SizeIs(1));
  EXPECT_EQ(figures.pools[0].name, "staging");
  EXPECT_EQ(figures.pools[0].value, 0.25);
}

TEST(TopFiguresTest, TheBlockErrorRateIsOfWhatWasGivenToBeDecoded) {
  const PageRates rates = Rates(
      "baseband_code_blocks_total{rpc=\"Decode\",family=\"nr\"} 60\n"
      "baseband_code_blocks_total{rpc=\"Decode\",family=\"wifi\"} 40\n"
      "baseband_code_blocks_total{rpc=\"Encode\",family=\"nr\"} 1000\n"
      "baseband_decode_parity_failures_total 5\n"
      "baseband_requests_in_flight{rpc=\"Decode\"} 1\n"
      "baseband_requests_in_flight{rpc=\"Encode\"} 1\n");
  EXPECT_THAT(ToServerFigures(rates).bler, Optional(0.05));
  const std::vector<RpcFigures> rpcs = ToRpcFigures(rates);
  ASSERT_THAT(rpcs, SizeIs(2));
  EXPECT_THAT(rpcs[0].bler, Optional(0.05));
  EXPECT_THAT(rpcs[1].bler, Eq(absl::nullopt));
  EXPECT_THAT(ToServerFigures(Rates("baseband_decode_parity_failures_total 0\n"
                                    "baseband_code_blocks_total{rpc=\"Decode\"} 0\n"))
                  .bler,
              Eq(absl::nullopt))
      << "nothing was decoded";
}

TEST(TopFiguresTest, TransportBlocksHaveABlockErrorRateOfTheirOwn) {
  const std::string shared =
      "baseband_code_blocks_total{rpc=\"DecodeSharedChannel\",family=\"nr\"} 300\n"
      "baseband_transport_blocks_total{rpc=\"DecodeSharedChannel\"} 20\n"
      "baseband_transport_block_crc_failures_total 5\n"
      "baseband_decode_parity_failures_total 8\n"
      "baseband_information_bytes_total{rpc=\"DecodeSharedChannel\"} 1000\n"
      "baseband_requests_in_flight{rpc=\"DecodeSharedChannel\"} 1\n";
  const std::vector<RpcFigures> alone = ToRpcFigures(Rates(shared));
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_THAT(alone[0].bler, Optional(0.25));
  EXPECT_THAT(alone[0].work, Optional(4000));
  EXPECT_EQ(alone[0].unit, "b/s");

  // Whose code blocks failed, nobody knows.
  const PageRates both = Rates(shared +
                               "baseband_code_blocks_total{rpc=\"Decode\",family=\"nr\"} 100\n"
                               "baseband_requests_in_flight{rpc=\"Decode\"} 1\n");
  EXPECT_THAT(ToServerFigures(both).bler, Optional(0.02));
  const std::vector<RpcFigures> rpcs = ToRpcFigures(both);
  ASSERT_THAT(rpcs, SizeIs(2));
  EXPECT_EQ(rpcs[0].rpc, "Decode");
  EXPECT_THAT(rpcs[0].bler, Eq(absl::nullopt));
  EXPECT_THAT(rpcs[1].bler, Optional(0.25));
}

TEST(TopFiguresTest, SoftBitsThatWereNotThereAreAShareOfThoseToBeHeld) {
  const std::string decodes = "baseband_requests_in_flight{rpc=\"DecodeSharedChannel\"} 1\n";
  EXPECT_THAT(ToRpcFigures(Rates(decodes))[0].harq_lost, Eq(absl::nullopt)) << "nobody asked";
  const std::vector<RpcFigures> rpcs = ToRpcFigures(
      Rates(decodes + "baseband_requests_in_flight{rpc=\"Encode\"} 1\n"
                      "baseband_harq_transmissions_total{outcome=\"first\"} 60\n"
                      "baseband_harq_transmissions_total{outcome=\"combined\"} 33\n"
                      "baseband_harq_transmissions_total{outcome=\"lost\"} 4\n"
                      "baseband_harq_transmissions_total{outcome=\"not_held\"} 2\n"
                      "baseband_harq_transmissions_total{outcome=\"other_block\"} 1\n"));
  EXPECT_THAT(rpcs[0].harq_lost, Optional(0.07));
  EXPECT_THAT(rpcs[1].harq_lost, Eq(absl::nullopt));
}

TEST(TopFiguresTest, AnRpcIsThereWhileItHasWork) {
  const std::vector<RpcFigures> rpcs =
      ToRpcFigures(Rates("baseband_requests_in_flight{rpc=\"Decode\"} 0\n"
                         "baseband_requests_in_flight{rpc=\"Downconvert\"} 0\n"
                         "baseband_requests_in_flight{rpc=\"Encode\"} 0\n"
                         "baseband_requests_in_flight{rpc=\"Submit\"} 2\n"
                         "baseband_requests_total{code=\"OK\",rpc=\"Decode\"} 10\n"
                         "baseband_requests_total{code=\"INTERNAL\",rpc=\"Decode\"} 4\n"
                         "baseband_requests_total{code=\"ABORTED\",rpc=\"Decode\"} 2\n"
                         "baseband_requests_unserved_total{reason=\"failed\",rpc=\"Decode\"} 4\n"
                         "baseband_requests_unserved_total{reason=\"backlog\",rpc=\"Decode\"} 2\n"
                         "baseband_requests_unserved_total{reason=\"backlog\",rpc=\"Encode\"} 9\n"
                         "baseband_requests_total{code=\"OK\",rpc=\"Encode\"} 0\n"
                         "baseband_downconvert_samples_total{direction=\"in\"} 1e6\n"
                         "baseband_downconvert_samples_total{direction=\"out\"} 3e6\n"));
  ASSERT_THAT(rpcs, SizeIs(3));
  EXPECT_EQ(rpcs[0].rpc, "Decode");
  EXPECT_THAT(rpcs[0].requests, Optional(8));
  EXPECT_THAT(rpcs[0].unserved, Optional(3));
  EXPECT_EQ(rpcs[0].unserved_reason, "failed");
  EXPECT_EQ(rpcs[1].rpc, "Downconvert");
  EXPECT_THAT(rpcs[1].work, Optional(5e5));
  EXPECT_EQ(rpcs[1].unit, "samples/s");
  EXPECT_EQ(rpcs[2].rpc, "Submit");
  EXPECT_THAT(rpcs[2].in_flight, Optional(2));
}

TEST(TopFiguresTest, ClientsAreInTheOrderOfTheirDeviceTime) {
  const std::vector<NamedFigure> clients =
      ToClientFigures(Rates("baseband_client_device_seconds_total{client=\"bbu-1\"} 0.2\n"
                            "baseband_client_device_seconds_total{client=\"bbu-2\"} 0.6\n"
                            "baseband_client_device_seconds_total{client=\"other\"} 0\n"));
  ASSERT_THAT(clients, SizeIs(2));
  EXPECT_EQ(clients[0].name, "bbu-2");
  EXPECT_DOUBLE_EQ(clients[0].value, 0.3);
  EXPECT_EQ(clients[1].name, "bbu-1");
}

TEST(TopFiguresTest, OfDevices) {
  const std::vector<DeviceFigures> devices = ToDeviceFigures(
      Rates("baseband_device_info{device=\"cuda:0\",kind=\"cuda\",name=\"NVIDIA H200\"} 1\n"
            "baseband_device_info{device=\"cuda:1\",kind=\"cuda\",name=\"NVIDIA H200\"} 1\n"
            "baseband_device_healthy{device=\"cuda:0\"} 1\n"
            "baseband_device_healthy{device=\"cuda:1\"} 0\n"
            "baseband_lane_busy_seconds_total{device=\"cuda:0\",lane=\"0\"} 2\n"
            "baseband_lane_busy_seconds_total{device=\"cuda:0\",lane=\"1\"} 0\n"
            "baseband_gpu_utilization_ratio{device=\"cuda:0\"} 0.75\n"
            "baseband_gpu_temperature_celsius{device=\"cuda:0\"} 61\n"
            "baseband_gpu_throttled{device=\"cuda:0\",reason=\"power\"} 1\n"
            "baseband_gpu_throttled{device=\"cuda:0\",reason=\"thermal\"} 0\n"
            "baseband_gpu_throttled{device=\"cuda:1\",reason=\"thermal\"} 1\n"));
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0].name, "NVIDIA H200");
  EXPECT_TRUE(devices[0].healthy);
  EXPECT_THAT(devices[0].lanes_busy, Optional(0.5));
  EXPECT_THAT(devices[0].utilization, Optional(0.75));
  EXPECT_THAT(devices[0].celsius, Optional(61));
  EXPECT_THAT(devices[0].watts, Eq(absl::nullopt));
  EXPECT_EQ(devices[0].throttled, "power");
  EXPECT_FALSE(devices[1].healthy);
  EXPECT_THAT(devices[1].lanes_busy, Eq(absl::nullopt));
}

}  // namespace
}  // namespace baseband::ctl
