// What the metrics page shows after known events, and that names follow the Prometheus conventions.
#include "server/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/base/steady_time.h"
#include "server/metrics/gpu_readings.h"
#include "server/metrics/metrics_server.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

// Value of a series on the page, "name{labels}"; -1 if it is not there.
double Value(const Metrics& metrics, const std::string& series) {
  std::istringstream page(metrics.Render());
  for (std::string line; std::getline(page, line);) {
    if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size() + 1));
  }
  return -1;
}

TEST(MetricsTest, EverySeriesIsThereFromTheStart) {
  Metrics metrics("1.2.3");

  EXPECT_EQ(Value(metrics, R"(baseband_build_info{version="1.2.3"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_rejected_total{code="RESOURCE_EXHAUSTED",rpc="Encode"})"),
            0);
  EXPECT_EQ(Value(metrics, R"(baseband_dropped_total{cause="deadline",rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_stage_seconds_count{rpc="Encode",stage="h2d"})"), 0);
}

TEST(MetricsTest, ARequestMovesItsCountersOnce) {
  Metrics metrics("1");

  metrics.RequestStarted(Rpc::kDecode, 1000);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Decode"})"), 1);
  metrics.RequestFinished(Rpc::kDecode, absl::StatusCode::kOk, absl::Microseconds(125), 10);

  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Decode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Decode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Encode"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_request_bytes_total{rpc="Decode"})"), 1000);
  EXPECT_EQ(Value(metrics, R"(baseband_response_bytes_total{rpc="Decode"})"), 10);
  EXPECT_EQ(Value(metrics, R"(baseband_request_duration_seconds_count{rpc="Decode"})"), 1);
}

TEST(MetricsTest, TimesHaveBucketEdgesOnTheSlotsOfNr) {
  Metrics metrics("1");
  for (const int us : {125, 250, 500, 1000}) {
    metrics.ObserveStage(Rpc::kEncode, Stage::kKernel, absl::Microseconds(us));
  }

  const std::string bucket = R"(baseband_stage_seconds_bucket{rpc="Encode",stage="kernel",le=")";
  EXPECT_EQ(Value(metrics, bucket + "0.0001\"}"), 0);
  EXPECT_EQ(Value(metrics, bucket + "0.000125\"}"), 1);
  EXPECT_EQ(Value(metrics, bucket + "0.00025\"}"), 2);
  EXPECT_EQ(Value(metrics, bucket + "0.0005\"}"), 3);
  EXPECT_EQ(Value(metrics, bucket + "0.001\"}"), 4);
  EXPECT_EQ(Value(metrics, bucket + "+Inf\"}"), 4);
}

TEST(MetricsTest, BatchesCountBlocksAndRequests) {
  Metrics metrics("1");

  metrics.ObserveBatch(Rpc::kEncode, 48, 3);
  metrics.CountBlocks(Rpc::kEncode, CodeFamily::kWifi, 48, 48 * 324);

  EXPECT_EQ(Value(metrics, R"(baseband_batches_total{rpc="Encode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_blocks_bucket{rpc="Encode",le="32"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_blocks_bucket{rpc="Encode",le="64"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_batch_requests_sum{rpc="Encode"})"), 3);
  EXPECT_EQ(Value(metrics, R"(baseband_code_blocks_total{family="wifi",rpc="Encode"})"), 48);
  EXPECT_EQ(Value(metrics, R"(baseband_information_bits_total{rpc="Encode"})"), 48 * 324);
}

TEST(MetricsTest, ATallyOfDecodesLandsInTheSameBucketsAsSingleObservations) {
  Metrics metrics("1");
  DecodeTally tally;
  for (const int iterations : {1, 1, 2, 9, 10, 100, 1000}) tally.Add(iterations, iterations < 100);

  metrics.ObserveDecode(tally);

  EXPECT_EQ(Value(metrics, R"(baseband_decode_iterations_bucket{le="1"})"), 2);
  EXPECT_EQ(Value(metrics, R"(baseband_decode_iterations_bucket{le="2"})"), 3);
  EXPECT_EQ(Value(metrics, R"(baseband_decode_iterations_bucket{le="8"})"), 3);
  EXPECT_EQ(Value(metrics, R"(baseband_decode_iterations_bucket{le="10"})"), 5);
  EXPECT_EQ(Value(metrics, R"(baseband_decode_iterations_bucket{le="100"})"), 7);
  EXPECT_EQ(Value(metrics, "baseband_decode_iterations_count"), 7);
  EXPECT_EQ(Value(metrics, "baseband_decode_iterations_sum"), 1 + 1 + 2 + 9 + 10 + 100 + 100);
  EXPECT_EQ(Value(metrics, "baseband_decode_parity_failures_total"), 2);
}

TEST(MetricsTest, DevicesShowTheirLanesAndTheirHealth) {
  Metrics metrics("1");
  const int first = metrics.AddDevice("cuda:0", "cuda", "NVIDIA H200", 2);
  const int second = metrics.AddDevice("cpu", "cpu", "CPU", 1);

  metrics.AddLaneBusy(first, 1, absl::Milliseconds(250));
  metrics.SetDeviceHealthy(second, true);
  metrics.CountDeviceLost(first, DeviceLoss::kStuck);

  EXPECT_EQ(
      Value(metrics, R"(baseband_device_info{device="cuda:0",kind="cuda",name="NVIDIA H200"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_device_healthy{device="cuda:0"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_device_healthy{device="cpu"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_device_lost_total{cause="stuck",device="cuda:0"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_device_lost_total{cause="error",device="cuda:0"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_device_lost_total{cause="stuck",device="cpu"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_lane_busy_seconds_total{device="cuda:0",lane="0"})"), 0);
  EXPECT_EQ(Value(metrics, R"(baseband_lane_busy_seconds_total{device="cuda:0",lane="1"})"), 0.25);
}

TEST(MetricsTest, SamplersRunBeforeEachScrape) {
  Metrics metrics("1");
  const int pool = metrics.AddPool("reply", 1 << 20);
  int scrapes = 0;
  metrics.BeforeScrape([&](Metrics& m) {
    m.SetPoolUsed(pool, 100 * ++scrapes);
    m.SetQueueDepth(Rpc::kDecode, scrapes);
    m.SetQueueBytes(scrapes);
  });
  metrics.SetQueueCapacity(4096, 1 << 28);

  EXPECT_EQ(Value(metrics, R"(baseband_pool_used_bytes{pool="reply"})"), 100);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_depth{rpc="Decode"})"), 2);
  EXPECT_EQ(Value(metrics, "baseband_queue_bytes"), 3);
  EXPECT_EQ(Value(metrics, R"(baseband_pool_capacity_bytes{pool="reply"})"), 1 << 20);
  EXPECT_EQ(Value(metrics, "baseband_queue_capacity_requests"), 4096);
}

TEST(MetricsTest, WhatIsWatchedForIsThereBeforeItHappens) {
  Metrics metrics("1");

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
  Metrics metrics("1");

  metrics.CountDeadline(Rpc::kEncode, DeadlineOutcome::kMet);
  metrics.CountDeadline(Rpc::kEncode, DeadlineOutcome::kMissed);
  metrics.CountDeadline(Rpc::kEncode, DeadlineOutcome::kMissed);
  metrics.SetQueueAge(Priority::kLow, absl::Milliseconds(1500));

  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="met",rpc="Encode"})"), 1);
  EXPECT_EQ(Value(metrics, R"(baseband_deadlines_total{outcome="missed",rpc="Encode"})"), 2);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_oldest_age_seconds{priority="low"})"), 1.5);
  EXPECT_EQ(Value(metrics, R"(baseband_queue_oldest_age_seconds{priority="normal"})"), 0);
}

TEST(MetricsTest, TheFirstClientsKeepTheirNamesAndAllOthersShareOne) {
  Metrics metrics("1");
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
  Metrics metrics("1");

  metrics.AddClientTime(std::string("a\xff\n\0b", 5) + std::string(1000, 'x'), 2);

  EXPECT_EQ(Value(metrics, R"(baseband_client_device_seconds_total{client="a???b)" +
                               std::string(128 - 5, 'x') + "\"}"),
            2);
}

TEST(MetricsTest, OfAGpuIsShownWhatTheDriverSays) {
  Metrics metrics("1");
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
  Metrics metrics("1");
  GpuReading gpu;
  gpu.device = "cuda:0";
  gpu.temperature = 71;

  metrics.gpu_readings()->Set({gpu}, SteadyNow() - GpuReadings::kFresh - absl::Seconds(1));

  EXPECT_EQ(Value(metrics, "baseband_gpu_monitor_up"), 0);
  EXPECT_THAT(metrics.Render(), Not(HasSubstr("baseband_gpu_temperature_celsius")));
}

TEST(MetricsTest, AGpuOfWhichNothingIsSaidIsNotMonitored) {
  Metrics metrics("1");
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
  Metrics metrics("1");

  EXPECT_GT(Value(metrics, "process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(Value(metrics, "process_open_fds"), 2);
  EXPECT_GT(Value(metrics, "process_max_fds"), 2);
  EXPECT_GT(Value(metrics, "process_start_time_seconds"), 1.6e9);
  EXPECT_GE(Value(metrics, "process_cpu_seconds_total"), 0);
}

TEST(MetricsTest, CallsThatHaveNoJobsIgnoreTheirStages) {
  Metrics metrics("1");

  metrics.ObserveStage(Rpc::kGetCapabilities, Stage::kReply, absl::Microseconds(1));

  EXPECT_THAT(metrics.Render(), Not(HasSubstr(R"(stage_seconds_count{rpc="GetCapabilities")")));
}

TEST(MetricsTest, ThreadsDoNotLoseCounts) {
  Metrics metrics("1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&metrics] {
      for (int i = 0; i < 1000; ++i) {
        metrics.RequestStarted(Rpc::kEncode, 1);
        metrics.ObserveStage(Rpc::kEncode, Stage::kQueue, absl::Microseconds(1));
        metrics.RequestFinished(Rpc::kEncode, absl::StatusCode::kOk, absl::Microseconds(1), 1);
      }
    });
  }
  metrics.Render();
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(Value(metrics, R"(baseband_requests_total{code="OK",rpc="Encode"})"), 4000);
  EXPECT_EQ(Value(metrics, R"(baseband_stage_seconds_count{rpc="Encode",stage="queue"})"), 4000);
  EXPECT_EQ(Value(metrics, R"(baseband_requests_in_flight{rpc="Encode"})"), 0);
}

// All series a server can have.
void FillPage(Metrics& metrics) {
  metrics.AddDevice("cpu", "cpu", "CPU", 1);
  metrics.AddPool("reply", 1);
  GpuReading gpu;
  gpu.device = "cuda:0";
  for (auto* const value :
       {&gpu.utilization, &gpu.memory_used, &gpu.memory_total, &gpu.temperature, &gpu.power,
        &gpu.power_limit, &gpu.sm_clock, &gpu.memory_clock, &gpu.throttled_thermal,
        &gpu.throttled_power, &gpu.throttled_hardware, &gpu.ecc_corrected, &gpu.ecc_uncorrected,
        &gpu.pcie_in, &gpu.pcie_out, &gpu.pcie_replays, &gpu.xid_errors}) {
    *value = 1;
  }
  metrics.gpu_readings()->Set({gpu}, SteadyNow());
}

// Name, then type, of each family on the page.
std::map<std::string, std::string> Families(const std::string& page) {
  std::map<std::string, std::string> types;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, type, name, kind;
    words >> hash >> type >> name >> kind;
    if (hash == "#" && type == "TYPE") types[name] = kind;
  }
  return types;
}

TEST(MetricsConventionTest, NamesFollowTheRules) {
  Metrics metrics("1");
  FillPage(metrics);
  const std::string page = metrics.Render();

  for (const auto& [name, type] : Families(page)) {
    EXPECT_THAT(name, MatchesRegex("(baseband|process)_[a-z][a-z0-9_]*[a-z0-9]"));
    EXPECT_THAT(page, HasSubstr("# HELP " + name + " "));
    EXPECT_THAT(name, Not(MatchesRegex(".*_(ms|us|milliseconds|microseconds|mib|kb|mb)(_.*)?")));
    if (type == "counter") {
      EXPECT_THAT(name, EndsWith("_total"));
    } else {
      EXPECT_THAT(name, Not(EndsWith("_total")));
    }
    EXPECT_THAT(type, AnyOf("counter", "gauge", "histogram")) << name;
  }
}

TEST(MetricsConventionTest, PromtoolFindsNothingButBits) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool here";
  Metrics metrics("1");
  FillPage(metrics);
  const std::string path = ::testing::TempDir() + "metrics_test_page";
  std::ofstream(path) << metrics.Render();

  FILE* const promtool = popen(("promtool check metrics <" + path + " 2>&1").c_str(), "r");
  ASSERT_NE(promtool, nullptr);
  std::string said;
  for (int c = std::fgetc(promtool); c != EOF; c = std::fgetc(promtool)) {
    said.push_back(static_cast<char>(c));
  }
  pclose(promtool);
  std::remove(path.c_str());

  // The one exception: information is counted in bits, for that is what it is.
  EXPECT_EQ(said, "baseband_information_bits_total use base unit \"bytes\" instead of \"bits\"\n");
}

// What a server on loopback answers to `request`, a first line without its version.
std::string Ask(int port, const std::string& request_line, const std::string& header = "") {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = request_line + " HTTP/1.0\r\n" + header + "\r\n";
  EXPECT_EQ(send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string reply;
  char buffer[4096];
  for (ssize_t n = 0; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) {
    reply.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return reply;
}

std::string StatusLine(int port, const std::string& header) {
  const std::string reply = Ask(port, "GET /metrics", header);
  return reply.substr(0, reply.find('\r'));
}

std::string BodyOf(const std::string& reply) {
  const size_t body = reply.find("\r\n\r\n");
  return body == std::string::npos ? "no end of headers" : reply.substr(body + 4);
}

TEST(MetricsServerTest, ProbesSayOkOrWhyNotToEverybody) {
  Metrics metrics("1");
  std::string why_not_ready = "starting";
  MetricsServer::Probes probes;
  probes.ready = [&] { return why_not_ready; };
  const auto server = MetricsServer::Start(
      "127.0.0.1:0", metrics, [](const std::string&) { return false; }, probes);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();

  const std::string live = Ask(port, "GET /livez");
  EXPECT_THAT(live, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(BodyOf(live), "ok\n");
  const std::string starting = Ask(port, "GET /readyz");
  EXPECT_THAT(starting, HasSubstr("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_EQ(BodyOf(starting), "starting\n");
  why_not_ready = "";
  EXPECT_EQ(BodyOf(Ask(port, "GET /readyz")), "ok\n");
  EXPECT_EQ(BodyOf(Ask(port, "HEAD /readyz")), "");
  EXPECT_THAT(Ask(port, "POST /readyz"), HasSubstr("405 Method Not Allowed"));
  EXPECT_THAT(Ask(port, "GET /nothing"), HasSubstr("404 Not Found"));
}

TEST(MetricsServerTest, ThePageIsGzippedForWhoTakesThat) {
  Metrics metrics("1");
  const auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();

  const std::string plain = Ask(port, "GET /metrics");
  EXPECT_THAT(BodyOf(plain), HasSubstr("baseband_build_info{version=\"1\"} 1\n"));
  const std::string packed = Ask(port, "GET /metrics", "Accept-Encoding: gzip\r\n");
  EXPECT_THAT(packed, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(BodyOf(packed), StartsWith("\x1f\x8b"));
  EXPECT_LT(packed.size(), plain.size() / 4);
}

TEST(MetricsServerTest, APasswordLetsInWhereOneIsAskedFor) {
  Metrics metrics("1");
  const auto open = MetricsServer::Start("127.0.0.1:0", metrics);
  const auto closed = MetricsServer::Start(
      "127.0.0.1:0", metrics, [](const std::string& password) { return password == "secret"; });
  ASSERT_TRUE(open.ok() && closed.ok());

  EXPECT_EQ(StatusLine((*open)->port(), ""), "HTTP/1.1 200 OK");
  EXPECT_EQ(StatusLine((*closed)->port(), ""), "HTTP/1.1 401 Unauthorized");
  // "anybody:guess", "anybody:secret"
  EXPECT_EQ(StatusLine((*closed)->port(), "Authorization: Basic YW55Ym9keTpndWVzcw==\r\n"),
            "HTTP/1.1 401 Unauthorized");
  EXPECT_EQ(StatusLine((*closed)->port(), "Authorization: Basic YW55Ym9keTpzZWNyZXQ=\r\n"),
            "HTTP/1.1 200 OK");
}

TEST(MetricsServerTest, APortThatIsTakenIsAnError) {
  Metrics metrics("1");
  const auto first = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_GT((*first)->port(), 0);

  const auto second =
      MetricsServer::Start("127.0.0.1:" + std::to_string((*first)->port()), metrics);

  EXPECT_THAT(second, baseband::testing::StatusIs(absl::StatusCode::kUnavailable,
                                                  HasSubstr("cannot be had")));
}

TEST(MetricsServerTest, AnAddressNobodyCanHaveIsAnError) {
  Metrics metrics("1");
  EXPECT_FALSE(MetricsServer::Start("192.0.2.1:9151", metrics).ok());
}

}  // namespace
}  // namespace baseband::server
