// What the server still does when it is asked for more than it can do. Starts servers of its own
// and prints what a refused call costs, goodput at 1x, 2x and 10x of the capacity, where clients
// send all and where they leave unsent what would be refused, refusals by cause, how many
// predictions were right, high-priority calls beside low-priority load, and one greedy client of
// ten; or, by `bytes`, goodput where calls are so large that their way in is what is too narrow, in
// the rhythm of slots. Every answer is checked.
//
//   overload_bench [bytes] [FLAG OF basebandd]..     default: --device=cpu --cpu-threads=1
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/process_tuning.h"
#include "client/load/run.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/must.h"
#include "tests/bench/overload_bytes.h"
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

constexpr absl::Duration kWindow = absl::Seconds(6);

struct Calls {
  v1::DecodeRequest request;  // of words without noise that are all zero
  client::Priority priority = client::Priority::kNormal;
  absl::Duration deadline = absl::InfiniteDuration();
};

// What is measured, and with what.
struct Bench {
  std::vector<std::string> flags;
  bool gpu = false;

  std::unique_ptr<ServerProcess> StartServer(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), flags.begin(), flags.end());
    return Must(ServerProcess::Start(more));
  }
  int in_flight() const { return gpu ? 64 : 16; }  // fills the device

  // The same time each time, some milliseconds of a core, and as few bytes as Decode lets that be:
  // at ten times the capacity the client must not be what is slow. A GPU decodes by sum-product
  // under flooding, its slowest way.
  v1::DecodeRequest Work(int blocks) const {
    v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), blocks);
    v1::DecodeGroup& group = *request.mutable_groups(0);
    group.set_max_iterations(100);
    group.set_fixed_iterations(true);
    if (gpu) {
      group.set_algorithm(v1::DECODE_ALGORITHM_SUM_PRODUCT);
      group.set_schedule(v1::DECODE_SCHEDULE_FLOODING);
    }
    return request;
  }
  load::LoadSpec Load(const ServerProcess& server, Pace::Kind kind, int connections = 1) const {
    load::LoadSpec spec;
    spec.client.target = server.target();
    spec.client.connections = connections;
    spec.warm_up = absl::ZeroDuration();
    spec.duration = kWindow;
    spec.max_in_flight = 1 << 16;
    spec.pace.kind = kind;
    return spec;
  }
};

// Ends the program when an answer is wrong, or a call fails otherwise than by a refusal.
load::LoadResult Run(const load::LoadSpec& spec, const Calls& calls) {
  std::vector<load::Workload> workloads = ZerosLoad(calls.request, "Decode");
  workloads[0].priority = calls.priority;
  workloads[0].deadline = calls.deadline;
  load::LoadResult result = Must(load::RunLoad(spec, workloads));
  if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
  for (const auto& [cause, count] : result.totals.refusals) {
    const bool is_refusal = absl::StartsWith(cause, "RESOURCE_EXHAUSTED") ||
                            absl::StartsWith(cause, "DEADLINE_EXCEEDED");
    if (!is_refusal) Fail(cause);
  }
  return result;
}

double Us(const load::LoadResult& result, double quantile) {
  return static_cast<double>(result.totals.All().latency.Quantile(quantile)) / 1e3;
}

void MeasureGoodput(const Bench& bench) {
  const auto server = bench.StartServer();
  Calls calls;
  calls.request = bench.Work(8);
  load::LoadSpec closed = bench.Load(*server, Pace::Kind::kClosed);
  closed.pace.in_flight = 1;
  closed.warm_up = absl::Seconds(2);
  const double alone_us = Us(Run(closed, calls), 0.5);
  closed.pace.in_flight = bench.in_flight();
  const double capacity = Run(closed, calls).Goodput();
  calls.deadline = absl::Microseconds(20 * alone_us);
  std::printf("Decode of 8 blocks: %.0f us alone, capacity %.0f calls/s (closed loop, %d)\n",
              alone_us, capacity, bench.in_flight());
  std::printf(
      "open loop, deadline %.1f ms\n"
      "  wanted  throttle  due/s  goodput/s  of capacity  refused  late  p99\n",
      absl::ToDoubleMilliseconds(calls.deadline));
  const auto measure = [&](double factor, bool throttle) {
    load::LoadSpec open = bench.Load(*server, Pace::Kind::kPoisson, bench.gpu ? 8 : 1);
    open.client.throttle = throttle;
    open.pace.rate = factor * capacity;
    const load::LoadResult result = Run(open, calls);
    const load::Outcomes outcomes = result.totals.All().outcomes;
    const int64_t late =
        outcomes[Outcome::kLate] + outcomes[Outcome::kExpired] + outcomes[Outcome::kSkipped];
    std::printf("  %5.0fx  %8s %6.0f %10.0f %12.2f %8ld %5ld %5.1f ms\n", factor,
                throttle ? "on" : "off", result.Offered(), result.Goodput(),
                result.Goodput() / capacity, static_cast<long>(outcomes[Outcome::kRefused]),
                static_cast<long>(late), Us(result, 0.99) / 1e3);
  };
  for (const bool throttle : {false, true}) {
    for (const double factor : {1.0, 2.0, 10.0}) measure(factor, throttle);
  }
  const double all = server->Metric("baseband_prediction_ratio_count");
  std::printf("predictions, of %.0f, of the time it took:", all);
  double below = 0.0;
  for (const char* bound : {"0.5", "0.75", "1.25", "2"}) {
    const double under =
        server->Metric("baseband_prediction_ratio_bucket", {absl::StrCat("le=\"", bound, "\"")});
    std::printf(" %.1f %% to %s,", 100 * (under - below) / all, bound);
    below = under;
  }
  std::printf(" %.1f %% above\n", 100 * (all - below) / all);
  for (const char* reason : {"queue_requests", "queue_bytes", "deadline_unreachable", "backlog"}) {
    std::printf("  refused for %s: %.0f\n", reason,
                server->Metric("baseband_requests_unserved_total",
                               {absl::StrCat("reason=\"", reason, "\"")}));
  }
}

void MeasurePriorities(const Bench& bench) {
  const auto server = bench.StartServer();
  const auto slots = [&] {  // a call every 20 ms
    Calls high;
    high.request = bench.Work(2);
    high.priority = client::Priority::kHigh;
    load::LoadSpec spec = bench.Load(*server, Pace::Kind::kConstant);
    spec.pace.rate = 50;
    spec.warm_up = absl::Seconds(2);
    return Run(spec, high);
  };
  const load::LoadResult idle = slots();
  double served = 0;
  std::thread low([&] {
    Calls calls;
    calls.request = bench.Work(8);
    calls.priority = client::Priority::kLow;
    load::LoadSpec spec = bench.Load(*server, Pace::Kind::kClosed);
    spec.pace.in_flight = bench.in_flight();
    spec.duration = absl::Seconds(3) + kWindow;
    served = Run(spec, calls).Goodput();
  });
  const load::LoadResult busy = slots();
  low.join();
  std::printf(
      "high: p50 %.0f, p99 %.0f us idle; p50 %.0f, p99 %.0f us beside low (%.0f calls/s): "
      "%.2fx\n",
      Us(idle, 0.5), Us(idle, 0.99), Us(busy, 0.5), Us(busy, 0.99), served,
      Us(busy, 0.99) / Us(idle, 0.99));
}

// Ten clients, told from each other by their tokens; the first is the greedy one.
void MeasureFairness(const Bench& bench) {
  constexpr int kClients = 10;
  const auto token = [](int client) { return absl::StrCat("overload-bench-client-", client); };
  const std::string path = absl::StrCat("/tmp/overload_bench.", getpid());
  std::ofstream file(path);
  for (int i = 0; i < kClients; ++i) {
    const std::string secret = token(i);
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256(reinterpret_cast<const uint8_t*>(secret.data()), secret.size(),
           reinterpret_cast<uint8_t*>(digest.data()));
    file << "client-" << i << " user " << absl::BytesToHexString(digest) << "\n";
  }
  file.close();
  const auto server = bench.StartServer({"--tokens-file=" + path, "--open-health"});
  Calls calls;
  calls.request = bench.Work(2);
  const int modest = bench.gpu ? 64 : 4;
  for (const int greedy : {modest, 10 * modest}) {
    std::vector<load::Tally> tallies(kClients);
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        load::LoadSpec spec = bench.Load(*server, Pace::Kind::kClosed);
        spec.client.token = token(i);
        spec.pace.in_flight = i == 0 ? greedy : modest;
        tallies[static_cast<size_t>(i)] = Run(spec, calls).totals.All();
      });
    }
    for (std::thread& thread : threads) thread.join();
    load::Tally others;
    for (int i = 1; i < kClients; ++i) others.Merge(tallies[static_cast<size_t>(i)]);
    const auto own = static_cast<double>(tallies[0].outcomes.right());
    const double all = own + static_cast<double>(others.outcomes.right());
    std::printf(
        "ten clients, nine with %d calls in flight, one with %d: it has %.2f of a fair "
        "share; the others' p99 %.2f ms\n",
        modest, greedy, kClients * own / all,
        static_cast<double>(others.latency.Quantile(0.99)) / 1e6);
  }
  unlink(path.c_str());
}

// Small calls one after another for `time`, all of which end with `code`; returns how many.
int64_t CallUntil(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                  const std::string& priority, absl::Duration time, grpc::StatusCode code) {
  constexpr int kInFlight = 64;
  grpc::GenericStub stub(channel);
  const grpc::Slice slice(DecodeOfZeros(NrCode(2, 16), 1).SerializeAsString());
  const grpc::ByteBuffer request(&slice, 1);
  int64_t calls = 0;
  RunClosedLoop(
      kInFlight, SteadyNow() + time,
      [&](grpc::ClientContext& context, grpc::CompletionQueue& queue) {
        context.AddMetadata("baseband-priority", priority);
        return stub.PrepareUnaryCall(&context, "/baseband.v1.Baseband/" + method, request, &queue);
      },
      [&](const LoopCall& call) {
        if (call.status.error_code() != code) Fail(call.status.error_message());
        ++calls;
      });
  return calls;
}

// Calls that are refused when they arrive, unread, for a priority that there is not. Beside them
// those of a method that there is not: no more is done there than gRPC does for any refusal.
void MeasureRefusals(const Bench& bench) {
  for (const auto& [method, code] : {std::pair("Nothing", grpc::StatusCode::UNIMPLEMENTED),
                                     std::pair("Decode", grpc::StatusCode::INVALID_ARGUMENT)}) {
    for (int i = 0; i < 2; ++i) {
      const auto server = bench.StartServer();
      const auto channel =
          grpc::CreateChannel(server->target(), grpc::InsecureChannelCredentials());
      // Whoever only calls what there is not is a stranger.
      CallUntil(channel, "Decode", "normal", absl::ZeroDuration(), grpc::StatusCode::OK);
      const double before = server->Metric("process_cpu_seconds_total");
      const int64_t refused = CallUntil(channel, method, "none", kWindow, code);
      const double used = server->Metric("process_cpu_seconds_total") - before;
      std::printf("%s refused: %.1f us of server CPU each, of %ld\n", method,
                  1e6 * used / static_cast<double>(refused), static_cast<long>(refused));
    }
  }
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  baseband::client::ApplyMallocTuning();
  if (RunAsEchoProcess(argc, argv)) return 0;
  baseband::client::LockWithoutChecks();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (RunAsRow(argc, argv)) return 0;
  const bool bytes = argc > 1 && absl::string_view(argv[1]) == "bytes";
  Bench bench;
  bench.flags.assign(argv + (bytes ? 2 : 1), argv + argc);
  if (bench.flags.empty()) bench.flags = {"--device=cpu", "--cpu-threads=1"};
  bench.gpu = bench.StartServer()->Metric("baseband_device_info", {"kind=\"cuda\""}) > 0;
  if (bytes) return MeasureBytes(bench.flags, bench.gpu) ? 0 : 1;
  MeasureRefusals(bench);
  MeasureGoodput(bench);
  MeasurePriorities(bench);
  MeasureFairness(bench);
  return 0;
}
