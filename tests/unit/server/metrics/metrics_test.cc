// What the metrics page shows after known events.
#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/steady_time.h"
#include "server/metrics/gpu_readings.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Rpc kEncode = TestOperation("Encode").rpc();
const Rpc kDecode = TestOperation("Decode").rpc();

// Value of a series on the page, "name{labels}"; -1 if it is not there.
double Value(const Metrics& metrics, const std::string& series) {
  std::istringstream page(metrics.Render());
  for (std::string line; std::getline(page, line);) {
    if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size() + 1));
  }
  return -1;
}

TEST(MetricsTest, EverySeriesIsThereFromTheStart) {
  Metrics metrics("1.2.3", TestOperations().counted());

  EXPECT_EQ(Value(metrics, R"(baseband_build_info{version="1.2.3"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_unserved_total{reason="backlog",rpc="Encode"})"),
            0);
  EXPECT_EQ(Value(metrics, R"(baseband_stage_duration_seconds_count{rpc="Encode",stage="h2d"})"),
            0);
}

TEST(MetricsTest, ARequestMovesItsCountersOnce) {
  Metrics metrics("1", TestOperations().counted());

  metrics.RequestStarted(kDecode, 1000);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Decode"})"), 1);
  metrics.RequestFinished(kDecode, absl::OkStatus(), absl::Microseconds(125), 10);

  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Decode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Encode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_request_bytes_total{rpc="Decode"})"), 1000);
  EXPECT_EQ(Value(metrics, R"(baseband_response_bytes_total{rpc="Decode"})"), 10);
  EXPECT_EQ(Value(metrics, R"(baseband_request_duration_seconds_count{rpc="Decode"})"), 1);
}

TEST(MetricsTest, ARequestThatIsNotServedHasACodeAndAReason) {
  Metrics metrics("1", TestOperations().counted());
  for (const absl::Status& status :
       {Because(UnservedReason::kReplyPool, absl::ResourceExhaustedError("full")),
        absl::InvalidArgumentError("wrong"), absl::OkStatus()}) {
    metrics.RequestStarted(kSubmitRpc, 1);
    metrics.RequestFinished(kSubmitRpc, status, absl::Seconds(1), 1);
  }

  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="RESOURCE_EXHAUSTED",rpc="Submit"})"),
            1);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="INVALID_ARGUMENT",rpc="Submit"})"), 1);
  double unserved = 0;
  for (const char* reason : kUnservedReasonNames) {
    unserved += Value(metrics, std::string("baseband_requests_unserved_total{reason=\"") + reason +
                                   "\",rpc=\"Submit\"}");
  }
  EXPECT_EQ(unserved, 2);
  const std::string name = "baseband_requests_unserved_total{reason=";
  EXPECT_EQ(Value(metrics, name + R"("reply_pool",rpc="Submit"})"), 1);
  EXPECT_EQ(Value(metrics, name + R"("invalid_request",rpc="Submit"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_request_duration_seconds_count{rpc="Submit"})"), -1)
      << "how long a client keeps a stream says nothing of the server";
}

TEST(MetricsTest, TimesHaveBucketEdgesOnTheSlotsOfNr) {
  Metrics metrics("1", TestOperations().counted());
  for (const int us : {125, 250, 500, 1000}) {
    metrics.ObserveStage(kEncode, Stage::kKernel, absl::Microseconds(us));
  }

  const std::string bucket =
      R"(baseband_stage_duration_seconds_bucket{rpc="Encode",stage="kernel",le=")";
  EXPECT_EQ(Value(metrics, bucket + "5e-05\"}"), 0);
  EXPECT_EQ(Value(metrics, bucket + "0.000125\"}"), 1);
  EXPECT_EQ(Value(metrics, bucket + "0.00025\"}"), 2);
  EXPECT_EQ(Value(metrics, bucket + "0.0005\"}"), 3);
  EXPECT_EQ(Value(metrics, bucket + "0.001\"}"), 4);
  EXPECT_EQ(Value(metrics, bucket + "+Inf\"}"), 4);
}

TEST(MetricsTest, BatchesCountBlocksAndRequests) {
  Metrics metrics("1", TestOperations().counted());

  metrics.ObserveBatch(kEncode, 48, 3);

  EXPECT_EQ(Value(metrics, R"(baseband_batches_total{rpc="Encode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_blocks_bucket{rpc="Encode",le="16"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_blocks_bucket{rpc="Encode",le="64"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_requests_sum{rpc="Encode"})"), 3);
}

TEST(MetricsTest, DevicesShowTheirLanesAndTheirHealth) {
  Metrics metrics("1", TestOperations().counted());
  const int first = metrics.AddDevice("cuda:0", "cuda", "NVIDIA H200", 2);
  const int second = metrics.AddDevice("cpu", "cpu", "CPU", 1);

  metrics.AddLaneBusy(first, 1, absl::Milliseconds(250));
  metrics.SetDeviceHealthy(second, true);
  metrics.CountDeviceLost(first, DeviceLoss::kStuck);

  EXPECT_EQ(
      Value(metrics, R"(baseband_device_info{device="cuda:0",kind="cuda",name="NVIDIA H200"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_device_healthy{device="cuda:0"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_device_healthy{device="cpu"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_devices_lost_total{device="cuda:0",reason="stuck"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_devices_lost_total{device="cuda:0",reason="error"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_devices_lost_total{device="cpu",reason="stuck"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_lane_busy_seconds_total{device="cuda:0",lane="0"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_lane_busy_seconds_total{device="cuda:0",lane="1"})"), 0.25);
}

TEST(MetricsTest, SamplersRunBeforeEachScrape) {
  Metrics metrics("1", TestOperations().counted());
  const int pool = metrics.AddPool("reply", 1 << 20);
  int scrapes = 0;
  metrics.BeforeScrape([&](Metrics& m) {
    m.SetPoolUsed(pool, 100 * ++scrapes);
    m.SetQueueRequests(kDecode, scrapes);
    m.SetQueueBytes(scrapes);
  });
  metrics.SetQueueCapacity(4096, 1 << 28);

  EXPECT_EQ(Value(metrics, R"(baseband_pool_used_bytes{pool="reply"})"), 100);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_requests{rpc="Decode"})"), 2);
  EXPECT_EQ(Value(metrics, "baseband_queue_bytes"), 3);
  EXPECT_EQ(Value(metrics, R"(baseband_pool_capacity_bytes{pool="reply"})"), 1 << 20);
  EXPECT_EQ(Value(metrics, "baseband_queue_capacity_requests"), 4096);
}

TEST(MetricsTest, WhatIsWatchedForIsThereBeforeItHappens) {
  Metrics metrics("1", TestOperations().counted());

  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="missed",rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="met",rpc="DownconvertStream"})"),
            0);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_oldest_age_seconds{priority="high"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_client_device_seconds_total{client="other"})"), 0);
  EXPECT_EQ(Value(metrics, "baseband_gpu_monitor_up"), 0);
  EXPECT_THAT(metrics.Render(), Not(HasSubstr(R"(deadlines_total{outcome="met",rpc="Submit")")))
      << "its requests count as those of the operations they bring";
}

TEST(MetricsTest, DeadlinesAndWaitsMoveTheirOwnSeries) {
  Metrics metrics("1", TestOperations().counted());

  metrics.CountDeadline(kEncode, DeadlineOutcome::kMet);
  metrics.CountDeadline(kEncode, DeadlineOutcome::kMissed);
  metrics.CountDeadline(kEncode, DeadlineOutcome::kMissed);
  metrics.SetQueueAge(Priority::kLow, absl::Milliseconds(1500));

  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="met",rpc="Encode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="missed",rpc="Encode"})"), 2);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_oldest_age_seconds{priority="low"})"), 1.5);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_oldest_age_seconds{priority="normal"})"), 0);
}

TEST(MetricsTest, TheFirstClientsKeepTheirNamesAndAllOthersShareOne) {
  Metrics metrics("1", TestOperations().counted());
  for (int round = 0; round < 2; ++round) {
    for (size_t client = 0; client < Metrics::kMaxClientNames + 9; ++client) {
      metrics.AddClientTime("c" + std::to_string(client), 0.25);
    }
  }

  const std::string name = "baseband_client_device_seconds_total";
  EXPECT_EQ(Value(metrics, name + R"({client="c0"})"), 0.5);
  EXPECT_EQ(Value(metrics, name + R"({client="c30"})"), 0.5);
  EXPECT_EQ(Value(metrics, name + R"({client="c31"})"), -1);
  EXPECT_EQ(Value(metrics, name + R"({client="other"})"), 9 * 0.5);
}

TEST(MetricsTest, AClientsNameCannotSpoilThePage) {
  Metrics metrics("1", TestOperations().counted());

  metrics.AddClientTime(std::string("a\xff\n\0b", 5) + std::string(1000, 'x'), 2);

  EXPECT_EQ(Value(metrics, R"(baseband_client_device_seconds_total{client="a???b)" +
                               std::string(128 - 5, 'x') + "\"}"),
            2);
}

TEST(MetricsTest, OfAGpuIsShownWhatTheDriverSays) {
  Metrics metrics("1", TestOperations().counted());
  GpuReading first;
  first.device = "cuda:0";
  first.temperature = 71;
  first.throttled_thermal = 0;
  first.ecc_uncorrected = 3;
  GpuReading second;
  second.device = "cuda:1";
  second.temperature = 44;
  second.sm_clock = 1.98e9;
  second.memory_clock = 2.6e9;

  metrics.gpu_readings()->Set({first, second}, SteadyNow());

  EXPECT_EQ(Value(metrics, "baseband_gpu_monitor_up"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_temperature_celsius{device="cuda:0"})"), 71);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_temperature_celsius{device="cuda:1"})"), 44);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_throttled{device="cuda:0",reason="thermal"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_throttled{device="cuda:1",reason="thermal"})"), -1);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_ecc_errors_total{device="cuda:0",kind="uncorrected"})"),
            3);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_clock_hertz{device="cuda:1",clock="memory"})"), 2.6e9);
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("baseband_gpu_power_watts")));
}

TEST(MetricsTest, OldReadingsAreNotShown) {
  Metrics metrics("1", TestOperations().counted());
  GpuReading gpu;
  gpu.device = "cuda:0";
  gpu.temperature = 71;

  metrics.gpu_readings()->Set({gpu}, SteadyNow() - GpuReadings::kFresh - absl::Seconds(1));

  EXPECT_EQ(Value(metrics, "baseband_gpu_monitor_up"), 0);
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("baseband_gpu_temperature_celsius")));
}

TEST(MetricsTest, AGpuOfWhichNothingIsSaidIsNotMonitored) {
  Metrics metrics("1", TestOperations().counted());
  GpuReading first;
  first.device = "cuda:0";
  first.temperature = 71;
  GpuReading lost;
  lost.device = "cuda:1";

  metrics.gpu_readings()->Set({first, lost}, SteadyNow());

  EXPECT_EQ(Value(metrics, "baseband_gpu_monitor_up"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_gpu_temperature_celsius{device="cuda:0"})"), 71);
}

TEST(MetricsTest, TheProcessIsDescribed) {
  Metrics metrics("1", TestOperations().counted());

  EXPECT_GT(Value(metrics, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Value(metrics, "process_open_fds"), 2);
  EXPECT_GT(Value(metrics, "process_max_fds"), 2);
  EXPECT_GT(Value(metrics, "process_start_time_seconds"), 1.6e9);
  EXPECT_GE(Value(metrics, "process_cpu_seconds_total"), 0);
}

TEST(MetricsTest, CallsThatHaveNoJobsIgnoreTheirStages) {
  Metrics metrics("1", TestOperations().counted());

  metrics.ObserveStage(kGetCapabilitiesRpc, Stage::kReply, absl::Microseconds(1));

  EXPECT_THAT(metrics.Render(),
              Not(HasSubstr(R"(stage_duration_seconds_count{rpc="GetCapabilities")")));
}

TEST(MetricsTest, ThreadsDoNotLoseCounts) {
  Metrics metrics("1", TestOperations().counted());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics] {
      for (int i = 0; i < 1000; ++i) {
        metrics.RequestStarted(kEncode, 1);
        metrics.ObserveStage(kEncode, Stage::kQueue, absl::Microseconds(1));
        metrics.RequestFinished(kEncode, absl::OkStatus(), absl::Microseconds(1), 1);
      }
    });
  }
  metrics.Render();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Encode"})"), 4000);
  EXPECT_EQ(Value(metrics, R"(baseband_stage_duration_seconds_count{rpc="Encode",stage="queue"})"),
            4000);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Encode"})"), 0);
}

}  // namespace
}  // namespace baseband::server
