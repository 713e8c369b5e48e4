// The GPU monitor over the real driver: that what NVML is taken for is what it is.
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "kernels/base/steady_time.h"
#include "server/device/cuda_device.h"
#include "server/device/gpu_monitor.h"
#include "server/metrics/metrics.h"
#include "tests/support/gpu_test.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;

using GpuMonitorGpuTest = baseband::testing::GpuTest;

TEST_F(GpuMonitorGpuTest, TheDriverTellsOfTheDeviceOfThatBusId) {
  CudaDeviceOptions device_options;
  device_options.num_lanes = 1;
  device_options.lane = {1 << 20, 1 << 20, 1 << 20};
  const auto device = CudaDevice::Create(device_options);
  ASSERT_THAT(device, IsOk());
  ASSERT_NE((*device)->pci_bus_id(), "");
  Metrics metrics("1");
  GpuMonitorOptions options;
  options.gpus = {{(*device)->id(), (*device)->pci_bus_id()}};
  std::string log;
  options.info = [&log](const std::string& line) { log = line; };
  GpuMonitor monitor(options, metrics.gpu_readings());
  const auto value = [&](const std::string& series) {
    const std::string page = metrics.Render();
    const size_t at = page.find("\n" + series + " ");
    return at == std::string::npos ? -1.0 : std::stod(page.substr(at + series.size() + 2));
  };

  const absl::Time deadline = SteadyNow() + absl::Minutes(1);
  while (value("baseband_gpu_monitor_up") != 1 && SteadyNow() < deadline) {
    absl::SleepFor(absl::Milliseconds(10));
  }

  EXPECT_EQ(value("baseband_gpu_monitor_up"), 1);
  // Ranges that no GPU of today leaves, and no wrong unit keeps to.
  const double temperature = value("baseband_gpu_temperature_celsius{device=\"cuda:0\"}");
  EXPECT_GT(temperature, 10);
  EXPECT_LT(temperature, 110);
  const double power = value("baseband_gpu_power_watts{device=\"cuda:0\"}");
  EXPECT_GT(power, 1);
  EXPECT_LT(power, 3000);
  const double clock = value("baseband_gpu_clock_hertz{device=\"cuda:0\",clock=\"sm\"}");
  EXPECT_GT(clock, 1e8);
  EXPECT_LT(clock, 1e10);
  const double utilization = value("baseband_gpu_utilization_ratio{device=\"cuda:0\"}");
  const double total = value("baseband_gpu_memory_capacity_bytes{device=\"cuda:0\"}");
  if (total > 0) {  // not in slices
    EXPECT_GE(utilization, 0);
    EXPECT_LE(utilization, 1);
    EXPECT_NEAR(total, static_cast<double>((*device)->memory_bytes()), 0.05 * total);
    EXPECT_GT(value("baseband_gpu_memory_used_bytes{device=\"cuda:0\"}"), 0);
  }
  EXPECT_TRUE(monitor.Stop(absl::Minutes(1)));
  EXPECT_EQ(log, "");
}

}  // namespace
}  // namespace baseband::server
