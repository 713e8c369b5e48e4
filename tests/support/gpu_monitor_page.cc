// A metrics page of a server with a GPU where there is none: the real page, metrics and GPU monitor
// over a driver that says what it is told to. For trying alerts and dashboards.
//
//   gpu_monitor_page [--listen=HOST:PORT] [--library=PATH] [--follow=FILE] [--NAME=VALUE ...]
//
// Writes "serving at http://127.0.0.1:PORT/metrics" once it does, and serves until a signal ends
// it. --listen is 127.0.0.1:0 unless said, a free port; --library the driver's library, the fake
// one of this build. FILE has a NAME=VALUE a line, # begins a comment; it is read again each
// second, and what it no longer says stays as it was. The page shows a change within two seconds.
//
//   NAME            VALUE (unless said)
//   temperature     degrees Celsius (45)
//   utilization     0 to 1 (0.5)
//   memory_used     bytes (20e9); memory_total bytes (150e9)
//   power           watts (350); power_limit watts (700)
//   sm_clock        hertz (1.98e9); memory_clock hertz (2.6e9)
//   throttled       none, or of thermal,power,hardware those that hold (none)
//   ecc_corrected   errors since the driver was loaded (0); ecc_uncorrected likewise
//   pcie_in         bytes per second (20e9); pcie_out likewise
//   pcie_replays    packets since the driver was loaded (0)
//   xids            XIDs so far (0): as many more as it grows by come, each XID 79
//   lost            1: the GPU fell off the bus (0)
//   stuck           1: the driver does not answer any more (0)
// A value of "none" is one that the driver does not support.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "server/device/gpu_monitor.h"
#include "server/device/nvml.h"
#include "server/metrics/metrics.h"
#include "server/metrics/metrics_server.h"
#include "tests/support/fake_nvml.h"

namespace baseband::server {
namespace {

constexpr char kBusId[] = "0000:17:00.0";

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "gpu_monitor_page: %s\n", why.c_str());
  std::exit(2);
}

// What a name is to NVML: its own name, and how many of its units there are in one of ours.
struct Raw {
  const char* name;
  double scale;
};
const std::map<std::string, Raw>& RawValues() {
  static const auto& values = *new std::map<std::string, Raw>{
      {"temperature", {"temperature", 1}},
      {"utilization", {"utilization", 100}},
      {"memory_used", {"memory_used", 1}},
      {"memory_total", {"memory_total", 1}},
      {"power", {"power", 1e3}},
      {"power_limit", {"power_limit", 1e3}},
      {"sm_clock", {"sm_clock", 1e-6}},
      {"memory_clock", {"memory_clock", 1e-6}},
      {"ecc_corrected", {"ecc_corrected", 1}},
      {"ecc_uncorrected", {"ecc_uncorrected", 1}},
      {"pcie_in", {"pcie_received", 1e-3}},
      {"pcie_out", {"pcie_sent", 1e-3}},
      {"pcie_replays", {"pcie_replays", 1}},
  };
  return values;
}

class Gpu {
 public:
  // Takes up NAME=VALUE.
  void Set(const std::string& name, const std::string& value) {
    if (name == "throttled") {
      fake_.Set(kBusId, "throttle_reasons", Reasons(value));
      return;
    }
    const auto raw = RawValues().find(name);
    if (raw != RawValues().end() && value == "none") {
      fake_.Unset(kBusId, raw->second.name);
      return;
    }
    double number = 0;
    if (!absl::SimpleAtod(value, &number)) Fail(name + " " + value + " is not a number");
    if (raw != RawValues().end()) {
      fake_.Set(kBusId, raw->second.name, std::round(number * raw->second.scale));
    } else if (name == "xids") {
      for (; xids_ < number; ++xids_) fake_.Xid(kBusId, 79);
    } else if (name == "lost") {
      fake_.Fail(number != 0 ? nvml::kGpuIsLost : nvml::kSuccess);
    } else if (name == "stuck") {
      fake_.Stick(number != 0);
    } else {
      Fail(name + " is none of the names that this program knows");
    }
  }

  const std::string& library() const { return fake_.path(); }

 private:
  static double Reasons(const std::string& words) {
    unsigned long long reasons = 0;
    for (const absl::string_view word : absl::StrSplit(words, ',')) {
      if (word == "thermal") {
        reasons |= nvml::kSwThermalSlowdown;
      } else if (word == "power") {
        reasons |= nvml::kSwPowerCap;
      } else if (word == "hardware") {
        reasons |= nvml::kHwSlowdown;
      } else if (word != "none") {
        Fail("throttled " + words + " is not of thermal,power,hardware");
      }
    }
    return static_cast<double>(reasons);
  }

  testing::FakeNvml fake_;
  double xids_ = 0;
};

void SetLine(absl::string_view line, Gpu* gpu) {
  line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
  if (line.empty()) return;
  const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
  gpu->Set(parts.first, parts.second);
}

int Main(int argc, char** argv) {
  Gpu gpu;
  for (const char* const usual :
       {"temperature=45", "utilization=0.5", "memory_used=20e9", "memory_total=150e9", "power=350",
        "power_limit=700", "sm_clock=1.98e9", "memory_clock=2.6e9", "throttled=none",
        "ecc_corrected=0", "ecc_uncorrected=0", "pcie_in=20e9", "pcie_out=20e9",
        "pcie_replays=0"}) {
    SetLine(usual, &gpu);
  }
  std::string listen = "127.0.0.1:0";
  std::string follow;
  GpuMonitorOptions options;
  options.gpus = {{"cuda:0", kBusId}};
  options.library = gpu.library();
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (!absl::ConsumePrefix(&argument, "--")) Fail(std::string(argument) + " is not --NAME=VALUE");
    if (absl::ConsumePrefix(&argument, "listen=")) {
      listen = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "library=")) {
      options.library = std::string(argument);
    } else if (absl::ConsumePrefix(&argument, "follow=")) {
      follow = std::string(argument);
    } else {
      SetLine(argument, &gpu);
    }
  }

  Metrics metrics("test");
  metrics.SetDeviceHealthy(metrics.AddDevice("cuda:0", "cuda", "NVIDIA H200", 4), true);
  options.info = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  options.warn = options.info;
  const GpuMonitor monitor(options, metrics.gpu_readings());
  const auto server = MetricsServer::Start(listen, metrics);
  if (!server.ok()) Fail(std::string(server.status().message()));
  std::printf("serving at http://127.0.0.1:%d/metrics\n", (*server)->port());
  std::fflush(stdout);
  for (;; absl::SleepFor(absl::Seconds(1))) {
    std::ifstream file(follow);
    for (std::string line; std::getline(file, line);) SetLine(line, &gpu);
  }
}

}  // namespace
}  // namespace baseband::server

int main(int argc, char** argv) { return baseband::server::Main(argc, argv); }
