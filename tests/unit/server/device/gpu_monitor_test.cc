// What is shown of GPUs whose driver says this or that, or nothing.
#include "server/device/gpu_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "kernels/base/steady_time.h"
#include "server/device/nvml.h"
#include "server/metrics/metrics.h"
#include "tests/support/fake_nvml.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kFirst[] = "0000:17:00.0";
constexpr char kSecond[] = "0000:65:00.0";
constexpr double kNone = -1;  // the series is not shown

class GpuMonitorTest : public ::testing::Test {
 protected:
  void TearDown() override {
    fake_.Stick(false);
    EXPECT_TRUE(monitor_ == nullptr || monitor_->Stop(absl::Minutes(1)));
  }

  void Start(const std::vector<std::string>& bus_ids = {kFirst}) { Start(bus_ids, fake_.path()); }
  void Start(const std::vector<std::string>& bus_ids, const std::string& library) {
    GpuMonitorOptions options;
    for (const std::string& bus_id : bus_ids) {
      options.gpus.push_back({"cuda:" + std::to_string(options.gpus.size()), bus_id});
    }
    options.library = library;
    options.interval = absl::Milliseconds(10);
    const auto add = [log = log_](const std::string& line) {
      absl::MutexLock lock(&log->mutex);
      log->lines.push_back(line);
    };
    options.info = add;
    options.warn = add;
    monitor_ = std::make_unique<GpuMonitor>(options, metrics_.gpu_readings());
  }

  double Value(const std::string& series) const {
    std::istringstream page(metrics_.Render());
    for (std::string line; std::getline(page, line);) {
      if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size() + 1));
    }
    return kNone;
  }
  // Waits until the page shows it.
  ::testing::AssertionResult Shows(const std::string& series, double value) const {
    const absl::Time deadline = SteadyNow() + absl::Minutes(1);
    while (Value(series) != value) {
      if (SteadyNow() > deadline) {
        return ::testing::AssertionFailure()
               << series << " is " << Value(series) << "; log: " << Log();
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return ::testing::AssertionSuccess();
  }
  std::string Log() const {
    absl::MutexLock lock(&log_->mutex);
    return absl::StrJoin(log_->lines, "\n");
  }
  bool AwaitLog() const {
    const absl::Time deadline = SteadyNow() + absl::Minutes(1);
    while (Log().empty() && SteadyNow() < deadline) absl::SleepFor(absl::Milliseconds(5));
    return !Log().empty();
  }

  struct Lines {
    absl::Mutex mutex;
    std::vector<std::string> lines ABSL_GUARDED_BY(mutex);
  };
  const std::shared_ptr<Lines> log_ = std::make_shared<Lines>();
  baseband::testing::FakeNvml fake_;
  Metrics metrics_{"1"};
  std::unique_ptr<GpuMonitor> monitor_;
};

TEST_F(GpuMonitorTest, WhatTheDriverSaysIsShownInTheUnitsOfTheMetrics) {
  fake_.Set(kFirst, "utilization", 97);
  fake_.Set(kFirst, "memory_total", 150e9);
  fake_.Set(kFirst, "memory_used", 20e9);
  fake_.Set(kFirst, "temperature", 71);
  fake_.Set(kFirst, "power", 512'000);
  fake_.Set(kFirst, "power_limit", 700'000);
  fake_.Set(kFirst, "sm_clock", 1980);
  fake_.Set(kFirst, "memory_clock", 2619);
  fake_.Set(kFirst, "pcie_received", 20'000'000);
  fake_.Set(kFirst, "pcie_sent", 10'000'000);
  fake_.Set(kFirst, "ecc_corrected", 5);
  fake_.Set(kFirst, "ecc_uncorrected", 1);
  fake_.Set(kFirst, "pcie_replays", 2);
  Start();

  ASSERT_TRUE(Shows("baseband_gpu_monitor_up", 1));
  EXPECT_EQ(Value(R"(baseband_gpu_utilization_ratio{device="cuda:0"})"), 0.97);
  EXPECT_EQ(Value(R"(baseband_gpu_memory_capacity_bytes{device="cuda:0"})"), 150e9);
  EXPECT_EQ(Value(R"(baseband_gpu_memory_used_bytes{device="cuda:0"})"), 20e9);
  EXPECT_EQ(Value(R"(baseband_gpu_temperature_celsius{device="cuda:0"})"), 71);
  EXPECT_EQ(Value(R"(baseband_gpu_power_watts{device="cuda:0"})"), 512);
  EXPECT_EQ(Value(R"(baseband_gpu_power_limit_watts{device="cuda:0"})"), 700);
  EXPECT_EQ(Value(R"(baseband_gpu_clock_hertz{device="cuda:0",clock="sm"})"), 1980e6);
  EXPECT_EQ(Value(R"(baseband_gpu_clock_hertz{device="cuda:0",clock="memory"})"), 2619e6);
  EXPECT_EQ(Value(R"(baseband_gpu_pcie_bytes_per_second{device="cuda:0",direction="in"})"), 20e9);
  EXPECT_EQ(Value(R"(baseband_gpu_pcie_bytes_per_second{device="cuda:0",direction="out"})"), 10e9);
  EXPECT_EQ(Value(R"(baseband_gpu_ecc_errors_total{device="cuda:0",kind="corrected"})"), 5);
  EXPECT_EQ(Value(R"(baseband_gpu_ecc_errors_total{device="cuda:0",kind="uncorrected"})"), 1);
  EXPECT_EQ(Value(R"(baseband_gpu_pcie_replays_total{device="cuda:0"})"), 2);
  EXPECT_EQ(Value(R"(baseband_gpu_xid_errors_total{device="cuda:0"})"), 0);
  EXPECT_THAT(Log(), IsEmpty());
}

TEST_F(GpuMonitorTest, GpusAreToldApartByWhereTheySit) {
  fake_.Set(kFirst, "temperature", 71);
  fake_.Set(kSecond, "temperature", 44);
  Start({kSecond, kFirst});

  EXPECT_TRUE(Shows(R"(baseband_gpu_temperature_celsius{device="cuda:0"})", 44));
  EXPECT_TRUE(Shows(R"(baseband_gpu_temperature_celsius{device="cuda:1"})", 71));
}

TEST_F(GpuMonitorTest, ReasonsForLowClocksAreTheThreeThatMatter) {
  const std::string throttled = "baseband_gpu_throttled{device=\"cuda:0\",reason=";
  fake_.Set(kFirst, "throttle_reasons", 0x01 | 0x02 | 0x10 | 0x100);  // idle, or as somebody wants
  Start();
  EXPECT_TRUE(Shows(throttled + "\"thermal\"}", 0));
  EXPECT_EQ(Value(throttled + "\"power\"}"), 0);
  EXPECT_EQ(Value(throttled + "\"hardware\"}"), 0);

  for (const int thermal : {0x20, 0x40}) {
    fake_.Set(kFirst, "throttle_reasons", thermal);
    EXPECT_TRUE(Shows(throttled + "\"thermal\"}", 1));
    EXPECT_EQ(Value(throttled + "\"power\"}"), 0);
    fake_.Set(kFirst, "throttle_reasons", 0);
    EXPECT_TRUE(Shows(throttled + "\"thermal\"}", 0));
  }
  fake_.Set(kFirst, "throttle_reasons", 0x04);
  EXPECT_TRUE(Shows(throttled + "\"power\"}", 1));
  for (const int hardware : {0x08, 0x80}) {
    fake_.Set(kFirst, "throttle_reasons", hardware);
    EXPECT_TRUE(Shows(throttled + "\"hardware\"}", 1));
    EXPECT_EQ(Value(throttled + "\"power\"}"), 0);
    fake_.Set(kFirst, "throttle_reasons", 0);
    EXPECT_TRUE(Shows(throttled + "\"hardware\"}", 0));
  }
}

TEST_F(GpuMonitorTest, WhatIsNotSupportedIsNotShown) {
  fake_.Set(kFirst, "temperature", 71);
  fake_.Set(kFirst, "no_events", 1);
  Start();

  ASSERT_TRUE(Shows("baseband_gpu_monitor_up", 1));
  EXPECT_EQ(Value(R"(baseband_gpu_power_watts{device="cuda:0"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_ecc_errors_total{device="cuda:0",kind="corrected"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_throttled{device="cuda:0",reason="power"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_xid_errors_total{device="cuda:0"})"), kNone);

  fake_.Set(kFirst, "power", 1000);
  fake_.Unset(kFirst, "temperature");
  EXPECT_TRUE(Shows(R"(baseband_gpu_power_watts{device="cuda:0"})", 1));
  EXPECT_TRUE(Shows(R"(baseband_gpu_temperature_celsius{device="cuda:0"})", kNone));
}

TEST_F(GpuMonitorTest, CountsNeverFallAlsoWhereTheDriversBeginAnew) {
  const std::string series = R"(baseband_gpu_ecc_errors_total{device="cuda:0",kind="uncorrected"})";
  fake_.Set(kFirst, "ecc_uncorrected", 7);
  Start();
  ASSERT_TRUE(Shows(series, 7));
  fake_.Set(kFirst, "ecc_uncorrected", 9);
  ASSERT_TRUE(Shows(series, 9));
  fake_.Set(kFirst, "ecc_uncorrected", 3);  // it was reset
  EXPECT_TRUE(Shows(series, 12));
}

TEST_F(GpuMonitorTest, XidsAreCountedAndLogged) {
  fake_.Set(kFirst, "temperature", 71);
  fake_.Set(kSecond, "temperature", 71);
  Start({kFirst, kSecond});
  ASSERT_TRUE(Shows(R"(baseband_gpu_xid_errors_total{device="cuda:1"})", 0));

  fake_.Xid(kSecond, 31);
  fake_.Xid(kSecond, 79);

  EXPECT_TRUE(Shows(R"(baseband_gpu_xid_errors_total{device="cuda:1"})", 2));
  EXPECT_EQ(Value(R"(baseband_gpu_xid_errors_total{device="cuda:0"})"), 0);
  EXPECT_EQ(Log(), "cuda:1: the driver reports XID 31\ncuda:1: the driver reports XID 79");
}

TEST_F(GpuMonitorTest, OfALostGpuOnlyItsXidsAreLeft) {
  fake_.Set(kFirst, "temperature", 71);
  Start();
  ASSERT_TRUE(Shows("baseband_gpu_monitor_up", 1));
  fake_.Xid(kFirst, 79);
  ASSERT_TRUE(Shows(R"(baseband_gpu_xid_errors_total{device="cuda:0"})", 1));

  fake_.Fail(nvml::kGpuIsLost);

  EXPECT_TRUE(Shows("baseband_gpu_monitor_up", 0));
  EXPECT_EQ(Value(R"(baseband_gpu_temperature_celsius{device="cuda:0"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_xid_errors_total{device="cuda:0"})"), 1);
}

TEST_F(GpuMonitorTest, OfAGpuInSlicesNeitherMemoryNorUtilizationIsShown) {
  for (const char* const name : {"mig", "utilization", "memory_total", "memory_used"}) {
    fake_.Set(kFirst, name, 1);
  }
  fake_.Set(kFirst, "temperature", 71);
  Start();

  ASSERT_TRUE(Shows(R"(baseband_gpu_temperature_celsius{device="cuda:0"})", 71));
  EXPECT_EQ(Value(R"(baseband_gpu_utilization_ratio{device="cuda:0"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_memory_used_bytes{device="cuda:0"})"), kNone);
  EXPECT_EQ(Value(R"(baseband_gpu_memory_capacity_bytes{device="cuda:0"})"), kNone);
}

TEST_F(GpuMonitorTest, WithoutTheLibraryThereIsOneLineInTheLogAndNothingElse) {
  Start({kFirst}, "/nowhere/libnvidia-ml.so.1");
  ASSERT_TRUE(AwaitLog());
  EXPECT_THAT(Log(), HasSubstr("the GPUs are not monitored: NVML could not be loaded: /nowhere"));
  EXPECT_TRUE(monitor_->Stop(absl::Minutes(1)));
  EXPECT_EQ(Value("baseband_gpu_monitor_up"), 0);
}

TEST_F(GpuMonitorTest, ALibraryWithoutItsFunctionsIsNone) {
  Start({kFirst}, "libm.so.6");
  ASSERT_TRUE(AwaitLog());
  EXPECT_EQ(Log(), "the GPUs are not monitored: NVML has no function nvmlInit_v2");
}

TEST_F(GpuMonitorTest, WithoutTheRightToAskThereIsOneLineInTheLog) {
  fake_.Fail(nvml::kNoPermission);
  Start();
  ASSERT_TRUE(AwaitLog());
  EXPECT_EQ(Log(), "the GPUs are not monitored: NVML: Insufficient Permissions");
  EXPECT_EQ(Value("baseband_gpu_monitor_up"), 0);
}

TEST_F(GpuMonitorTest, AGpuTheDriverDoesNotKnowIsNamedAndTheOthersAreShown) {
  fake_.Set(kSecond, "temperature", 44);
  Start({kFirst, kSecond});
  ASSERT_TRUE(Shows(R"(baseband_gpu_temperature_celsius{device="cuda:1"})", 44));
  EXPECT_EQ(Log(), "cuda:0 at 0000:17:00.0 is not monitored: NVML: Not Found");
  EXPECT_EQ(Value("baseband_gpu_monitor_up"), 0);
}

TEST_F(GpuMonitorTest, NobodyWaitsForADriverThatIsStuck) {
  fake_.Set(kFirst, "temperature", 71);
  Start();
  ASSERT_TRUE(Shows("baseband_gpu_monitor_up", 1));
  fake_.Stick(true);
  while (!fake_.IsStuck()) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_FALSE(monitor_->Stop(absl::Milliseconds(50)));
  metrics_.Render();
  fake_.Stick(false);
  EXPECT_TRUE(monitor_->Stop(absl::Minutes(1)));
}

TEST_F(GpuMonitorTest, AThreadThatIsStuckOutlivesItsMonitorAndItsMetrics) {
  fake_.Set(kFirst, "temperature", 71);
  auto metrics = std::make_unique<Metrics>("1");
  GpuMonitorOptions options;
  options.gpus = {{"cuda:0", kFirst}};
  options.library = fake_.path();
  fake_.Stick(true);
  auto monitor = std::make_unique<GpuMonitor>(options, metrics->gpu_readings());
  while (!fake_.IsStuck()) absl::SleepFor(absl::Milliseconds(5));
  const std::weak_ptr<GpuReadings> readings = metrics->gpu_readings();
  monitor.reset();
  metrics.reset();
  EXPECT_FALSE(readings.expired()) << "the thread has it";

  fake_.Stick(false);

  const absl::Time deadline = SteadyNow() + absl::Minutes(1);
  while (!readings.expired() && SteadyNow() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(readings.expired()) << "the thread has ended";
}

}  // namespace
}  // namespace baseband::server
