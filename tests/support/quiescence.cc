#include "tests/support/quiescence.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace baseband::testing {
namespace {

// gRPC starts and ends threads as it needs them, and opens descriptors to wake them. Its pools grow
// up to the number of cores, and stay so for a while. Among them are those of the slow path, which
// starts one when it has more to do than threads.
constexpr int64_t kMoreThreadsOfGrpc = 16;
constexpr int64_t kMoreDescriptors = 2;

int64_t CountEntries(const std::string& folder) {
  std::error_code error;
  return std::distance(std::filesystem::directory_iterator(folder, error),
                       std::filesystem::directory_iterator());
}

// Those of the program's own but the slow path's: only it and gRPC give their threads names.
int64_t CountOwnThreads(pid_t pid) {
  std::error_code error;
  int64_t count = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"), error)) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name == "basebandd") ++count;
  }
  return count;
}

std::string WhatIsLeft(ServerProcess& server, const Holdings& before) {
  std::string left;
  for (const char* gauge : {"baseband_requests_in_flight", "baseband_queue_requests",
                            "baseband_queue_bytes", "baseband_pool_used_bytes"}) {
    if (const double value = server.Metric(gauge); value != 0) {
      absl::StrAppend(&left, gauge, " is ", value, "\n");
    }
  }
  const Holdings now = HoldingsOf(server);
  const auto compare = [&](const char* what, int64_t is, int64_t was, int64_t more) {
    if (is > was + more) absl::StrAppend(&left, is, " ", what, " instead of ", was, "\n");
  };
  compare("connections", now.connections, before.connections, 0);
  compare("descriptors", now.descriptors, before.descriptors, kMoreDescriptors);
  compare("threads of its own", now.own_threads, before.own_threads, 0);
  compare("threads of gRPC's", now.grpc_threads, before.grpc_threads, kMoreThreadsOfGrpc);
  return left;
}

}  // namespace

int64_t CountDescriptors(pid_t pid) { return CountEntries(absl::StrCat("/proc/", pid, "/fd")); }

Holdings HoldingsOf(ServerProcess& server) {
  const pid_t pid = server.process().pid();
  Holdings holdings;
  holdings.connections = static_cast<int64_t>(server.Metric("baseband_open_connections"));
  holdings.resident_bytes = static_cast<int64_t>(server.Metric("process_resident_memory_bytes"));
  holdings.descriptors = CountDescriptors(pid);
  holdings.own_threads = CountOwnThreads(pid);
  holdings.grpc_threads = CountEntries(absl::StrCat("/proc/", pid, "/task")) - holdings.own_threads;
  return holdings;
}

Holdings NoMoreConnectionsThan(int64_t connections) {
  constexpr int64_t kAny = 1'000'000;
  return {connections, kAny, kAny, kAny, kAny};
}

std::string AwaitQuiescence(ServerProcess& server, const Holdings& before,
                            absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  for (;;) {
    if (server.MetricsPage().empty()) return "there is no metrics page";
    std::string left = WhatIsLeft(server, before);
    if (left.empty() || absl::Now() > deadline) return left;
    absl::SleepFor(absl::Milliseconds(50));
  }
}

std::vector<std::string> SmallPools() {
  return {"--max-request-mib=8", "--lane-input-mib=8", "--lane-output-mib=8", "--staging-mib=32",
          "--reply-mib=32"};
}

int64_t MaxGrowthBytes() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return std::numeric_limits<int64_t>::max();
#else
  return 96'000'000;
#endif
}

}  // namespace baseband::testing
