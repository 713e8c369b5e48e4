// What idle connections cost a server: memory, and time of the calls of others. Starts the real
// server on the CPU device: connections_bench [CONNECTIONS]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "kernels/base/steady_time.h"
#include "tests/support/idle_connection.h"
#include "tests/support/server_process.h"

namespace baseband::testing {
namespace {

constexpr int kCalls = 2000;

// Times of kCalls calls, one after the other, sorted; every one must succeed.
std::vector<absl::Duration> CallTimes(client::Client& client) {
  std::vector<absl::Duration> times;
  for (int i = 0; i < kCalls; ++i) {
    const absl::Time start = SteadyNow();
    if (const absl::Status status = client.GetCapabilities().status(); !status.ok()) {
      std::fprintf(stderr, "a call failed: %s\n", status.ToString().c_str());
      std::exit(1);
    }
    times.push_back(SteadyNow() - start);
  }
  std::sort(times.begin(), times.end());
  return times;
}

void Report(const ServerProcess& server, client::Client& client) {
  const std::vector<absl::Duration> times = CallTimes(client);
  std::printf("%6.0f connections: resident %6.1f MiB, a call takes p50 %4.0f us, p99 %4.0f us\n",
              server.Metric("baseband_open_connections"),
              server.Metric("process_resident_memory_bytes") / (1 << 20),
              absl::ToDoubleMicroseconds(times[kCalls / 2]),
              absl::ToDoubleMicroseconds(times[kCalls * 99 / 100]));
}

int Run(int connections) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const auto server = ServerProcess::Start({absl::StrCat("--max-connections=", connections + 8)});
  if (!server.ok()) {
    std::fprintf(stderr, "%s\n", server.status().ToString().c_str());
    return 1;
  }
  client::ClientOptions options;
  options.target = (*server)->target();
  options.connections = 1;
  const auto client = client::Client::Create(options);
  CallTimes(**client);
  Report(**server, **client);
  std::vector<std::unique_ptr<IdleConnection>> crowd;
  const absl::Time start = SteadyNow();
  while (static_cast<int>(crowd.size()) < connections) {
    crowd.push_back(std::make_unique<IdleConnection>(options.target));
  }
  if (!(*server)->WaitForMetric("baseband_open_connections", {}, connections + 1)) return 1;
  std::printf(
      "%d came within %s\n", connections,
      absl::FormatDuration(absl::Trunc(SteadyNow() - start, absl::Milliseconds(1))).c_str());
  Report(**server, **client);
  return 0;
}

}  // namespace
}  // namespace baseband::testing

int main(int argc, char** argv) {
  return baseband::testing::Run(argc > 1 ? std::atoi(argv[1]) : 10000);
}
