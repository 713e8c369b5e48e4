#include "tests/bench/overload_bytes.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
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
constexpr int kRowEndDescriptor = 3;

// One line of the table, measured by a process of its own: what tens of thousands of calls leave
// behind in a client, which were late or refused, is none of the next line's.
struct Calls {
  std::string name;
  int blocks = 150;  // an uplink slot of 100 MHz
  int parity_rows = 4;
  int in_flight = 0;  // a closed loop; 0: cells
  int cells = 0;
  absl::Duration slot;
  bool stream = false;
  int connections = kConnections;
  absl::Duration deadline = absl::InfiniteDuration();
  double closed_loop = 0;  // what it answers a second; 0: this is it

  v1::DecodeRequest request() const { return DecodeOfZeros(NrCode(1, 384, parity_rows), blocks); }
  Pace pace() const {
    Pace pace;
    if (in_flight > 0) {
      pace.in_flight = in_flight;
    } else {
      pace.kind = Pace::Kind::kSlots;
      pace.cells = cells;
      pace.slot = slot;
    }
    return pace;
  }
};

constexpr char kRole[] = "--be-a-row";

std::vector<std::string> ToArguments(const Calls& calls) {
  return {calls.name,
          absl::StrCat(calls.blocks),
          absl::StrCat(calls.parity_rows),
          absl::StrCat(calls.in_flight),
          absl::StrCat(calls.cells),
          absl::FormatDuration(calls.slot),
          absl::StrCat(calls.stream ? 1 : 0),
          absl::StrCat(calls.connections),
          absl::FormatDuration(calls.deadline),
          absl::StrCat(calls.closed_loop)};
}

bool FromArguments(char** from, Calls* calls) {
  int stream = 0;
  calls->name = from[0];
  const bool is_right =
      absl::SimpleAtoi(from[1], &calls->blocks) && absl::SimpleAtoi(from[2], &calls->parity_rows) &&
      absl::SimpleAtoi(from[3], &calls->in_flight) && absl::SimpleAtoi(from[4], &calls->cells) &&
      absl::ParseDuration(from[5], &calls->slot) && absl::SimpleAtoi(from[6], &stream) &&
      absl::SimpleAtoi(from[7], &calls->connections) &&
      absl::ParseDuration(from[8], &calls->deadline) &&
      absl::SimpleAtod(from[9], &calls->closed_loop);
  calls->stream = stream != 0;
  return is_right;
}

Pace InFlight(int calls) {
  Pace pace;
  pace.in_flight = calls;
  return pace;
}

// So many calls a second by a whole number of cells: each has a call at every slot's begin. Slots
// are as long as makes it so, about kSlot where a cell's calls are a part of the rate.
void OfferCells(double rate, Calls* calls) {
  calls->in_flight = 0;
  calls->cells = std::max(1, static_cast<int>(std::lround(rate * absl::ToDoubleSeconds(kSlot))));
  calls->slot = absl::Seconds(calls->cells / rate);
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

// What a process says of its row on its standard output, after the row.
struct RowEnd {
  double goodput = 0;
  double p50_ns = 0;
  bool is_expected = true;  // no call ended otherwise than by an answer, a refusal or its deadline
};

RowEnd MeasureRow(const std::string& target, const std::string& metrics, const Calls& calls) {
  load::LoadSpec spec = Spec(target, calls.pace(), calls.connections);
  spec.metrics_url = absl::StrCat("http://", metrics, "/metrics");
  spec.stream = calls.stream;
  spec.warm_up = kWarmUp;
  std::vector<load::Workload> workloads = ZerosLoad(calls.request());
  workloads[0].deadline = calls.deadline;
  const load::LoadResult result = Must(load::RunLoad(spec, workloads));
  if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
  const double bytes = load::Sum(result.server, metric::kRequestBytes.name);
  PrintRow(absl::StrCat(calls.stream ? "Submit, " : "unary, ", calls.name), calls.connections,
           Text(calls.deadline), result,
           calls.closed_loop > 0 ? result.Goodput() / calls.closed_loop : 1,
           bytes / absl::ToDoubleSeconds(result.server_measured),
           1e9 * load::Sum(result.server, metric::kProcessCpu.name) / bytes);
  RowEnd end;
  for (const auto& [cause, count] : result.totals.refusals) {
    absl::PrintF("    %d: %s\n", count, cause);
    end.is_expected = end.is_expected && (absl::StartsWith(cause, "RESOURCE_EXHAUSTED") ||
                                          absl::StartsWith(cause, "DEADLINE_EXCEEDED"));
  }
  end.goodput = result.Goodput();
  end.p50_ns = static_cast<double>(result.totals.All().latency.Quantile(0.5));
  return end;
}

class Table {
 public:
  Table(std::vector<std::string> flags, int in_flight)
      : flags_(std::move(flags)), in_flight_(in_flight) {
    StartServer();
  }

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

  RowEnd Add(const Calls& calls) {
    std::vector<std::string> words = {"overload_bench", kRole, server_->target(),
                                      server_->metrics_address()};
    for (std::string& word : ToArguments(calls)) words.push_back(std::move(word));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) Fail("no pipe to a row");
    std::fflush(stdout);
    const pid_t process = fork();
    if (process < 0) Fail("no process for a row");
    if (process == 0) {
      dup2(out[1], kRowEndDescriptor);
      execv("/proc/self/exe", arguments.data());
      _exit(127);
    }
    close(out[1]);
    RowEnd end;
    const bool has_ended = read(out[0], &end, sizeof(end)) == sizeof(end);
    close(out[0]);
    int status = 0;
    waitpid(process, &status, 0);
    if (!has_ended || status != 0) Fail(absl::StrCat("no row of ", calls.name));
    is_expected_ = is_expected_ && end.is_expected;
    return end;
  }

  // At each of `factors` of what the closed loop of `calls` answers, which is measured first. A
  // server remembers for a minute how short of time its clients were: each deadline has a new one.
  void AddOverload(Calls calls, const std::vector<absl::Duration>& deadlines,
                   const std::vector<double>& factors) {
    const std::string name = calls.name;
    calls.name = absl::StrCat(name, "closed loop");
    calls.in_flight = in_flight_;
    StartServer();
    calls.closed_loop = Add(calls).goodput;
    for (const absl::Duration deadline : deadlines) {
      calls.deadline = deadline;
      StartServer();
      for (const double factor : factors) {
        calls.name = absl::StrCat(name, factor, "x");
        OfferCells(factor * calls.closed_loop, &calls);
        calls.connections = deadline == deadlines.front()
                                ? std::min(kCellConnections * calls.cells, kMostConnections)
                                : kConnections;
        Add(calls);
      }
    }
  }

  bool is_expected() const { return is_expected_; }

 private:
  void StartServer() {
    server_.reset();
    server_ = Must(ServerProcess::Start(flags_));
  }

  const std::vector<std::string> flags_;
  const int in_flight_;
  std::unique_ptr<ServerProcess> server_;
  bool is_expected_ = true;
};

}  // namespace

bool RunAsRow(int argc, char** argv) {
  Calls calls;
  if (argc != 14 || absl::string_view(argv[1]) != kRole || !FromArguments(argv + 4, &calls)) {
    return false;
  }
  const RowEnd end = MeasureRow(argv[2], argv[3], calls);
  if (write(kRowEndDescriptor, &end, sizeof(end)) != sizeof(end)) Fail("nobody wants this row");
  return true;
}

bool MeasureBytes(const std::vector<std::string>& flags, bool is_gpu) {
  constexpr int64_t kReplyBytes = 150 * 8448 / 8;
  Table table(flags, is_gpu ? 64 : 16);
  Calls alone;
  alone.name = "alone";
  alone.connections = 1;
  alone.in_flight = 1;
  const v1::DecodeRequest request = alone.request();
  absl::PrintF("Decode of %d blocks BG1 Zc=384 of %d rows, %.3f MB; slots of about %s\n",
               alone.blocks, alone.parity_rows, 1e-6 * static_cast<double>(request.ByteSizeLong()),
               absl::FormatDuration(kSlot));
  absl::PrintF("%-34s %5s %8s %9s %8s %9s %8s %7s %8s %8s %9s %9s %8s\n", "", "conn.", "deadline",
               "offered/s", "good/s", "of closed", "refused", "late", "expired", "skipped",
               "read GB/s", "CPU s/GB", "lag ms");
  const double alone_ns = table.Add(alone).p50_ns;
  const absl::Duration soon = is_gpu ? absl::Milliseconds(2) : absl::Nanoseconds(20 * alone_ns);
  for (const int connections : {kCellConnections, kConnections}) {
    table.AddEcho(request, kReplyBytes, connections);
  }
  Calls calls;
  for (const bool stream : {false, true}) {
    calls.stream = stream;
    table.AddOverload(calls, {soon, 10 * soon}, {0.8, 2, 10});
  }
  calls.stream = false;
  calls.name = "14 of 22 rows, ";
  calls.blocks = 14;
  calls.parity_rows = 22;
  table.AddOverload(calls, {soon}, {0.73, 1.5});
  return table.is_expected();
}

}  // namespace baseband::bench
