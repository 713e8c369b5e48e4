#include "tests/bench/overload_bytes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/load/run.h"
#include "common/metric_names.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/must.h"
#include "tests/bench/zeros_load.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::DecodeOfZeros;
using ::baseband::testing::NrCode;
using ::baseband::testing::ServerProcess;
using load::Outcome;
using load::Pace;

constexpr absl::Duration kWarmUp = absl::Milliseconds(500);
constexpr absl::Duration kWindow = absl::Seconds(3);
constexpr absl::Duration kSlot = absl::Microseconds(500);  // of 30 kHz subcarrier spacing
constexpr int kConnections = 16;
constexpr int kCellConnections = 4;  // of each cell, where the deadline is the short one
constexpr int kMostConnections = 64;

// One line of the table.
struct Calls {
  std::string name;
  v1::DecodeRequest request;
  Pace pace;
  bool stream = false;
  int connections = kConnections;
  absl::Duration deadline = absl::InfiniteDuration();
  double closed_loop = 0;  // what it answers a second; 0: this is it
};

Pace InFlight(int calls) {
  Pace pace;
  pace.in_flight = calls;
  return pace;
}

// So many calls a second by a whole number of cells: each has a call at every slot's begin. Slots
// are as long as makes it so, about kSlot where a cell's calls are a part of the rate.
Pace Cells(double rate) {
  Pace pace;
  pace.kind = Pace::Kind::kSlots;
  pace.cells = std::max(1, static_cast<int>(std::lround(rate * absl::ToDoubleSeconds(kSlot))));
  pace.slot = absl::Seconds(pace.cells / rate);
  return pace;
}

load::LoadSpec Spec(const std::string& target, const Pace& pace, int connections) {
  load::LoadSpec spec;
  spec.client.target = target;
  spec.client.connections = connections;
  // Tens of thousands of calls come at once: a thread that sends them all would be late itself.
  spec.workers = std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, 8);
  spec.pace = pace;
  spec.duration = kWindow;
  spec.max_in_flight = 1 << 20;  // whatever is late, what is due is sent
  return spec;
}

std::string Text(absl::Duration deadline) {
  return deadline == absl::InfiniteDuration()
             ? "-"
             : absl::StrFormat("%.0f ms", absl::ToDoubleMilliseconds(deadline));
}

void PrintRow(const std::string& name, int connections, const std::string& deadline,
              const load::LoadResult& result, double share, double bytes_per_s, double cpu_per_gb) {
  const load::Outcomes outcomes = result.totals.Window().outcomes;
  absl::PrintF("%-34s %5d %8s %9.0f %8.0f %9.2f %8d %7d %8d %8d %9.2f %9.2f %8.2f\n", name,
               connections, deadline, result.Offered(), result.Goodput(), share,
               outcomes[Outcome::kRefused], outcomes[Outcome::kLate], outcomes[Outcome::kExpired],
               outcomes[Outcome::kSkipped], 1e-9 * bytes_per_s, cpu_per_gb,
               1e-6 * static_cast<double>(result.totals.send_lag.Quantile(0.99)));
}

class Table {
 public:
  Table(const std::vector<std::string>& flags, int in_flight)
      : server_(Must(ServerProcess::Start(flags))), in_flight_(in_flight) {}

  // The limit: a server that reads the requests and sends answers as large, and nothing else.
  void AddEcho(const v1::DecodeRequest& request, int64_t reply_bytes, int connections) const {
    const EchoProcess echo(reply_bytes, /*num_queues=*/2, /*threads_per_queue=*/4);
    std::vector<load::Workload> workloads = ZerosLoad(request);
    workloads[0].requests[0].check = [=](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
      if (static_cast<int64_t>(reply.Length()) == reply_bytes) return 0;
      return absl::DataLossError("not what an echo answers");
    };
    load::LoadSpec spec = Spec(echo.address(), InFlight(in_flight_), connections);
    spec.warm_up = absl::ZeroDuration();  // so that all that it takes is counted
    const load::LoadResult result = Must(load::RunLoad(spec, workloads));
    const auto bytes = static_cast<double>(request.ByteSizeLong());
    const auto answered = static_cast<double>(result.totals.All().outcomes.right());
    PrintRow("bare echo", connections, "-", result, 1, result.Goodput() * bytes,
             1e9 * CpuSecondsOf(echo.pid()) / (answered * bytes));
  }

  load::LoadResult Add(const Calls& calls) {
    load::LoadSpec spec = Spec(server_->target(), calls.pace, calls.connections);
    spec.metrics_url = absl::StrCat("http://", server_->metrics_address(), "/metrics");
    spec.stream = calls.stream;
    spec.warm_up = kWarmUp;
    std::vector<load::Workload> workloads = ZerosLoad(calls.request);
    workloads[0].deadline = calls.deadline;
    load::LoadResult result = Must(load::RunLoad(spec, workloads));
    if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
    const double bytes = load::Sum(result.server, metric::kRequestBytes.name);
    PrintRow(absl::StrCat(calls.stream ? "Submit, " : "unary, ", calls.name), calls.connections,
             Text(calls.deadline), result,
             calls.closed_loop > 0 ? result.Goodput() / calls.closed_loop : 1,
             bytes / absl::ToDoubleSeconds(result.server_measured),
             1e9 * load::Sum(result.server, metric::kProcessCpu.name) / bytes);
    for (const auto& [cause, count] : result.totals.refusals) {
      const bool is_refusal = absl::StartsWith(cause, "RESOURCE_EXHAUSTED") ||
                              absl::StartsWith(cause, "DEADLINE_EXCEEDED");
      absl::PrintF("    %d: %s\n", count, cause);
      is_expected_ = is_expected_ && is_refusal;
    }
    return result;
  }

  // At each of `factors` of what the closed loop of `request` answers, which is measured first.
  void AddOverload(const v1::DecodeRequest& request, bool stream, const std::string& name,
                   const std::vector<absl::Duration>& deadlines,
                   const std::vector<double>& factors) {
    Calls calls;
    calls.request = request;
    calls.stream = stream;
    calls.name = absl::StrCat(name, "closed loop");
    calls.pace = InFlight(in_flight_);
    calls.closed_loop = Add(calls).Goodput();
    for (const absl::Duration deadline : deadlines) {
      calls.deadline = deadline;
      for (const double factor : factors) {
        calls.name = absl::StrCat(name, factor, "x");
        calls.pace = Cells(factor * calls.closed_loop);
        calls.connections = deadline == deadlines.front()
                                ? std::min(kCellConnections * calls.pace.cells, kMostConnections)
                                : kConnections;
        Add(calls);
      }
    }
  }

  bool is_expected() const { return is_expected_; }

 private:
  const std::unique_ptr<ServerProcess> server_;
  const int in_flight_;
  bool is_expected_ = true;
};

}  // namespace

bool MeasureBytes(const std::vector<std::string>& flags, bool is_gpu) {
  constexpr int kBlocks = 150;  // an uplink slot of 100 MHz
  constexpr int64_t kReplyBytes = kBlocks * 8448 / 8;
  Table table(flags, is_gpu ? 64 : 16);
  Calls alone;
  alone.name = "alone";
  alone.request = DecodeOfZeros(NrCode(1, 384, /*parity_rows=*/4), kBlocks);
  alone.connections = 1;
  alone.pace = InFlight(1);
  absl::PrintF("Decode of %d blocks BG1 Zc=384 of 4 rows, %.3f MB; slots of about %s\n", kBlocks,
               1e-6 * static_cast<double>(alone.request.ByteSizeLong()),
               absl::FormatDuration(kSlot));
  absl::PrintF("%-34s %5s %8s %9s %8s %9s %8s %7s %8s %8s %9s %9s %8s\n", "", "conn.", "deadline",
               "offered/s", "good/s", "of closed", "refused", "late", "expired", "skipped",
               "read GB/s", "CPU s/GB", "lag ms");
  const auto alone_ns = static_cast<double>(table.Add(alone).totals.All().latency.Quantile(0.5));
  const absl::Duration soon = is_gpu ? absl::Milliseconds(2) : absl::Nanoseconds(20 * alone_ns);
  for (const int connections : {kCellConnections, kConnections}) {
    table.AddEcho(alone.request, kReplyBytes, connections);
  }
  for (const bool stream : {false, true}) {
    table.AddOverload(alone.request, stream, "", {soon, 10 * soon}, {0.8, 2, 10});
  }
  table.AddOverload(DecodeOfZeros(NrCode(1, 384, /*parity_rows=*/22), 14), /*stream=*/false,
                    "14 of 22 rows, ", {soon}, {0.73, 1.5});
  return table.is_expected();
}

}  // namespace baseband::bench
