// Latency against load: starts a basebandd, finds what it carries of each operation, closed loop,
// and then calls at shares of that at random instants, open loop. Every answer is checked.
//
//   latency_bench [SECONDS [TURNS [FLAG OF basebandd]..]]     default: 0.4 3 --device=cpu
//   --cpu-threads=1
//
// Each share of the capacity is loaded TURNS times, for SECONDS each; the median counts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/process_tuning.h"
#include "client/load/run.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"
#include "tests/bench/workloads.h"
#include "tests/support/server_process.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::ServerProcess;
using load::Pace;

constexpr double kShares[] = {0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0};
constexpr std::pair<const char*, double> kQuantiles[] = {{"p50", 0.5}, {"p99", 0.99}};

// What a slot's worth of an operation is.
constexpr int kBlocks = 8;
constexpr int kFrames = 4;
constexpr int64_t kSamples = 1 << 17;
constexpr int64_t kPoints = 100000;

std::vector<load::Workload> LoadOf(const Workload& workload) {
  std::vector<load::Workload> load(1);
  load[0].name = workload.name;
  load[0].method = workload.method;
  // That `is_right` finds an answer right says all of it.
  load[0].essence = [](const grpc::ByteBuffer& /*reply*/) { return std::string(); };
  load::Request request;
  request.message = workload.request;
  request.check =
      [is_right = workload.is_right](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
    if (is_right(reply)) return 0;
    return absl::DataLossError("a wrong answer");
  };
  load[0].requests.push_back(std::move(request));
  return load;
}

load::LoadResult Run(const load::LoadSpec& spec, const Workload& workload) {
  load::LoadResult result = Must(load::RunLoad(spec, LoadOf(workload)));
  if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
  return result;
}

// What its units are.
const char* ThingOf(const Workload& workload) {
  if (workload.unit == "Gb/s") return "information bits";
  if (workload.unit == "Gsym/s") return "symbols";
  return workload.unit == "Gsps" ? "samples" : "points";
}

// That are due at each share of the load, so that some are answered for sure.
constexpr double kLeastCalls = 20.0;

// Turn by turn all loads, at shares of what that turn carries, so that what the machine does beside
// is in the spread.
void Measure(const std::string& target, const std::string& device, const Workload& workload,
             double seconds, int turns) {
  load::LoadSpec closed;
  closed.client.target = target;
  closed.client.connections = 4;
  closed.warm_up = absl::Seconds(seconds / 4);
  closed.duration = absl::Seconds(seconds);
  closed.pace.in_flight = device == "cpu server" ? 8 : 64;
  load::LoadSpec open = closed;
  open.pace.kind = Pace::Kind::kPoisson;
  // What is too much is to be late, not refused, for the figure is of latencies.
  open.client.throttle = false;
  std::vector<double> seconds_a_call;
  std::vector<double> latencies[std::size(kShares)][std::size(kQuantiles)];
  for (int turn = 0; turn < turns; ++turn) {
    const double capacity = Run(closed, workload).Goodput();
    seconds_a_call.push_back(1.0 / capacity);
    for (size_t share = 0; share < std::size(kShares); ++share) {
      open.pace.rate = kShares[share] * capacity;
      open.duration = absl::Seconds(std::max(seconds, kLeastCalls / open.pace.rate));
      open.seed = static_cast<uint64_t>(turn) + 1;
      const load::Tally all = Run(open, workload).totals.All();
      if (all.outcomes.right() == 0) Fail(absl::StrCat(workload.name, ": no answer"));
      for (size_t i = 0; i < std::size(kQuantiles); ++i) {
        latencies[share][i].push_back(
            1e-9 * static_cast<double>(all.latency.Quantile(kQuantiles[i].second)));
      }
    }
  }
  const Times call = Times::Of(seconds_a_call);
  const RowParameters parameters = {{"operation", workload.name}};
  RowParameters of_calls = parameters;
  of_calls.emplace_back("a call", absl::StrCat(workload.units, " ", ThingOf(workload)));
  of_calls.emplace_back("in flight", absl::StrCat(closed.pace.in_flight));
  RateRow("calls", device, of_calls, 1.0, "call", call.median, call.spread).Emit();
  std::printf("%-28s carries %.0f calls/s\n", workload.name.c_str(), 1.0 / call.median);
  for (size_t share = 0; share < std::size(kShares); ++share) {
    std::printf("  at %3.0f %%:", 100 * kShares[share]);
    for (size_t i = 0; i < std::size(kQuantiles); ++i) {
      const std::vector<double>& of = latencies[share][i];
      const Times times = Times::Of(of);
      Row row;
      row.what = "latency";
      row.device = device;
      row.parameters = parameters;
      row.parameters.emplace_back("quantile", kQuantiles[i].first);
      row.parameters.emplace_back("load", absl::StrCat(kShares[share]));
      row.along = "load";
      row.value = times.median;
      row.unit = "s";
      if (of.size() > 1) {
        row.spread = (*std::max_element(of.begin(), of.end()) - times.best) / times.median;
      }
      row.Emit();
      std::printf("  %s %.2f ms", kQuantiles[i].first, 1e3 * times.median);
    }
    std::printf("\n");
  }
}

int Main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.4;
  if (!(seconds > 0.0)) Fail("SECONDS are more than 0");
  const int turns = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
  std::vector<std::string> flags(argv + std::min(argc, 3), argv + argc);
  if (flags.empty()) flags = {"--device=cpu", "--cpu-threads=1"};
  const auto server = Must(ServerProcess::Start(flags));
  const bool gpu = server->Metric("baseband_device_info", {"kind=\"cuda\""}) > 0;
  for (const Workload& workload :
       MakeWorkloads(server->target(), kBlocks, kFrames, kSamples, kPoints)) {
    // One of an operation.
    if (absl::StrContains(workload.name, "corrected") || absl::StrContains(workload.name, "8 ")) {
      continue;
    }
    Measure(server->target(), gpu ? "gpu server" : "cpu server", workload, seconds, turns);
  }
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  baseband::client::ApplyMallocTuning();
  baseband::client::LockWithoutChecks();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  return baseband::bench::Main(argc, argv);
}
