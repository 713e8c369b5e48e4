// That names on the metrics page follow the Prometheus conventions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "kernels/base/steady_time.h"
#include "server/metrics/gpu_readings.h"
#include "server/metrics/metrics.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::testing::MatchesRegex;

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
  Metrics metrics("1", TestOperations().counted());
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

TEST(MetricsConventionTest, PromtoolHasNothingToSay) {
  if (std::system("command -v promtool >/dev/null 2>&1") != 0) GTEST_SKIP() << "no promtool here";
  Metrics metrics("1", TestOperations().counted());
  FillPage(metrics);
  const std::string path = ::baseband::testing::PathOfTest("page");
  std::ofstream(path) << metrics.Render();

  FILE* const promtool = popen(("promtool check metrics <" + path + " 2>&1").c_str(), "r");
  ASSERT_NE(promtool, nullptr);
  std::string said;
  for (int c = std::fgetc(promtool); c != EOF; c = std::fgetc(promtool)) {
    said.push_back(static_cast<char>(c));
  }
  pclose(promtool);

  EXPECT_EQ(said, "");
}

}  // namespace
}  // namespace baseband::server
