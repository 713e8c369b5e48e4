#include "tests/support/quiescence.h"

#include <filesystem>
#include <iterator>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace baseband::testing {
namespace {

// gRPC starts and ends threads as it needs them, and opens descriptors to wake them.
constexpr int64_t kMoreThreads = 6;
constexpr int64_t kMoreDescriptors = 2;

int64_t CountEntries(const std::string& folder) {
  std::error_code error;
  return std::distance(std::filesystem::directory_iterator(folder, error),
                       std::filesystem::directory_iterator());
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
  compare("threads", now.threads, before.threads, kMoreThreads);
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
  holdings.threads = CountEntries(absl::StrCat("/proc/", pid, "/task"));
  return holdings;
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
