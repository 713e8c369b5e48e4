// How soon a client of several servers goes on when one of them goes or comes. Starts three servers
// on hosts of their own (network namespaces, where it may make them), sends evenly through the
// client library's balancing, kills one, adds it back, drains one, adds it back, and exchanges all
// of them in turn. Prints, for each of these, the calls that failed and for how long less than 0.9
// of what was due was answered well; and the goodput as CSV, if asked. Every answer is checked.
//
//   many_servers_bench [CSV]
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/process_tuning.h"
#include "client/load/run.h"
#include "tests/bench/must.h"
#include "tests/bench/zeros_load.h"
#include "tests/support/fleet.h"
#include "tests/support/traffic.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::DecodeOfZeros;
using ::baseband::testing::Fleet;
using ::baseband::testing::NrCode;
using load::Outcome;
using load::Pace;

constexpr int kServers = 3;
constexpr absl::Duration kBetween = absl::Seconds(4);  // events
constexpr absl::Duration kDeadline = absl::Milliseconds(500);
// Of the capacity of all: what two of three carry with ease, while others start beside them.
constexpr double kShare = 0.4;
constexpr double kRecovered = 0.9;

std::vector<load::Workload> Work() {
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 2);
  decode.mutable_groups(0)->set_max_iterations(20);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  std::vector<load::Workload> workloads = ZerosLoad(decode);
  workloads[0].deadline = kDeadline;
  return workloads;
}

struct Event {
  std::string what;
  absl::Time time;
};

// Does everything that happens to a server; returns what happened when.
std::vector<Event> Disturb(Fleet& fleet) {
  std::vector<Event> events;
  const auto note = [&](const std::string& what) { events.push_back({what, absl::Now()}); };
  const auto drain = [&](int server) {
    note(absl::StrCat("server ", server, " is drained"));
    if (fleet[server]->Terminate() != 0) Fail("a server does not end well");
  };
  const auto start = [&](int server) {
    Must(fleet.Start(server));
    note(absl::StrCat("server ", server, " serves again"));
  };
  absl::SleepFor(kBetween);
  note("server 0 is killed");
  fleet[0]->process().Signal(SIGKILL);
  absl::SleepFor(kBetween);
  start(0);
  absl::SleepFor(kBetween);
  drain(1);
  absl::SleepFor(kBetween);
  start(1);
  for (int i = 0; i < kServers; ++i) {
    absl::SleepFor(kBetween);
    drain(i);
    start(i);
  }
  absl::SleepFor(kBetween);
  return events;
}

void Report(const load::LoadResult& result, const std::vector<Event>& events, const char* csv) {
  const auto& series = result.totals.series;
  const double interval_s = absl::ToDoubleSeconds(result.interval);
  std::printf("%-26s %8s %8s %12s\n", "", "at, s", "failed", "short of it");
  for (size_t i = 0; i < events.size(); ++i) {
    const absl::Duration at = events[i].time - result.begin;
    const auto begin = static_cast<size_t>(at / result.interval);
    const size_t end =
        i + 1 < events.size()
            ? static_cast<size_t>((events[i + 1].time - result.begin) / result.interval)
            : series.size();
    int64_t failed = 0;
    size_t shorter = begin;  // the end of the last interval with too little goodput
    for (size_t j = begin; j < end && j < series.size(); ++j) {
      const load::Interval& interval = series[j];
      failed += interval.outcomes.due() - interval.outcomes.right();
      const double due = static_cast<double>(interval.due);
      if (static_cast<double>(interval.outcomes[Outcome::kGood]) < kRecovered * due)
        shorter = j + 1;
    }
    std::printf("%-26s %8.1f %8ld %10.1f s\n", events[i].what.c_str(), absl::ToDoubleSeconds(at),
                static_cast<long>(failed), interval_s * static_cast<double>(shorter - begin));
  }
  const load::Tally all = result.totals.All();
  std::printf("%ld calls: %ld good, %ld late, %ld failed; p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
              static_cast<long>(all.outcomes.due()),
              static_cast<long>(all.outcomes[Outcome::kGood]),
              static_cast<long>(all.outcomes[Outcome::kLate]),
              static_cast<long>(all.outcomes.due() - all.outcomes.right()),
              static_cast<double>(all.latency.Quantile(0.5)) / 1e6,
              static_cast<double>(all.latency.Quantile(0.99)) / 1e6,
              static_cast<double>(all.latency.Quantile(1)) / 1e6);
  for (const auto& [cause, count] : result.totals.refusals) {
    std::printf("  %ld times %s\n", static_cast<long>(count), cause.c_str());
  }
  if (csv == nullptr) return;
  std::ofstream file(csv);
  file << "seconds,due_per_s,good_per_s\n";
  for (size_t j = 0; j < series.size(); ++j) {
    file << static_cast<double>(j) * interval_s << ','
         << static_cast<double>(series[j].due) / interval_s << ','
         << static_cast<double>(series[j].outcomes[Outcome::kGood]) / interval_s << '\n';
  }
}

int Main(int argc, char** argv) {
  Fleet fleet(kServers, {"--cpu-threads=1", "--log-level=warning"});
  Must(fleet.StartAll());
  const std::vector<load::Workload> workloads = Work();
  load::LoadSpec spec;
  spec.client.target = fleet.target();
  spec.client.connections = 2;
  spec.attempts = 4;
  spec.workers = 1;
  spec.warm_up = absl::Seconds(1);
  spec.duration = absl::Seconds(4);
  const double capacity = Must(load::RunLoad(spec, workloads)).Goodput();
  spec.pace.kind = Pace::Kind::kConstant;
  spec.pace.rate = kShare * capacity;
  spec.duration = absl::Seconds(60);
  std::printf("capacity of %d servers on this machine %.0f calls/s, offered %.0f; %s\n", kServers,
              capacity, spec.pace.rate,
              fleet.has_links() ? "network namespaces" : "loopback addresses");

  std::atomic<bool> over{false};
  load::LoadResult result;
  std::thread sender([&] {
    result = Must(load::RunLoad(spec, workloads, [&](const load::LoadProgress&) { return !over; }));
  });
  // On this thread: a server ends with the thread that started it.
  const std::vector<Event> events = Disturb(fleet);
  over = true;
  sender.join();
  if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
  Report(result, events, argc > 1 ? argv[1] : nullptr);
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  baseband::client::LockWithoutChecks();
  return baseband::bench::Main(argc, argv);
}
