// The service against a bare gRPC echo of the same message sizes, in one run.
//
//   service_bench --target=127.0.0.1:50151 [--mode=latency|throughput|contention|all] [--seconds=3]
//                 [--connections=8] [--in-flight=4] [--blocks=40] [--frames=8]
//                 [--samples=1048576] [--points=1000000] [--queues=2] [--threads=4] [--only=NAME]
//
// The echo is a completion-queue server of this program, tuned as basebandd is, that reads a
// request and sends a ready-made reply: what gRPC itself costs. Latency: one call at a time, one
// code block, frame, 4096 samples or 1000 points, percentiles of the round trip beside the server's
// own stage times, and beside an echo that answers only after the kernel's time (threads that wait
// longer sleep deeper, on both sides). Throughput: many calls in flight with `blocks` code blocks,
// `frames` frames, `samples` samples or `points` points each, and the goodput of the service as a
// share of the echo's. Contention: small calls beside a long search, see contention.h. `only`: of
// latency and throughput, the workloads whose name begins so. Replies of the service are compared
// with the right one: every one where latency is measured, every 16th of a connection where
// throughput is, for client, echo and service share the cores, and the echo's client compares
// nothing.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/contention.h"
#include "tests/bench/echo_process.h"
#include "tests/bench/workloads.h"

namespace baseband::bench {
namespace {

struct Flags {
  std::string target = "127.0.0.1:50151";
  std::string mode = "all";
  double seconds = 3;
  int connections = 8;
  int in_flight = 4;
  int blocks = 40;
  int frames = 8;
  int64_t samples = 1 << 20;
  int64_t points = 1000000;
  std::string only;
  int queues = 2;   // of the echo: as basebandd has on 16 cores
  int threads = 4;  // per queue
};

constexpr int64_t kCallsPerComparison = 16;

void MeasureLatency(const Flags& flags) {
  std::printf(
      "\nlatency, one call at a time, one code block, frame, 4096 samples or 1000 points, one "
      "connection\n");
  std::printf("%-26s %9s %9s %9s %9s\n", "", "p50 us", "p90 us", "p99 us", "calls");
  for (const Workload& workload : MakeWorkloads(flags.target, 1, 1, 4096, 1000)) {
    if (!absl::StartsWith(workload.name, flags.only)) continue;
    const EchoProcess echo(workload.reply_bytes, flags.queues, flags.threads);
    const EchoProcess late_echo(workload.reply_bytes, flags.queues, flags.threads);
    Caller echo_caller(echo.address());
    Caller late_caller(late_echo.address());
    Caller caller(flags.target);
    std::vector<double> echo_us;
    std::vector<double> late_us;
    std::vector<double> us;
    std::vector<double> kernel_us;
    std::vector<double> device_us;
    std::vector<double> host_us;
    grpc::ByteBuffer reply;
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(2 * flags.seconds);
    // In turns, so that whatever disturbs the machine disturbs both; each turn long enough that
    // both are called as often as they answer.
    constexpr int kTurn = 100;
    constexpr int kWarmUp = 10;
    for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
      const bool warm = i % kTurn >= kWarmUp;
      if (i % kTurn == 0 && !kernel_us.empty()) {
        late_echo.set_delay(
            std::chrono::microseconds(static_cast<int64_t>(Percentile(kernel_us, 0.5))));
      }
      const int turn = i / kTurn % 3;
      if (turn != 2) {
        const double time = (turn == 0 ? echo_caller : late_caller)
                                .Call(workload.echo_method, workload.request, &reply);
        if (warm) (turn == 0 ? echo_us : late_us).push_back(time);
        continue;
      }
      const double time = caller.Call(workload.method, workload.request, &reply);
      if (!workload.is_right(reply)) {
        Fail("a reply is wrong");
      }
      const v1::Timing timing = workload.timing(reply);
      if (warm) {
        us.push_back(time);
        kernel_us.push_back(timing.kernel_us());
        host_us.push_back(timing.receive_us() + timing.queue_us() + timing.copy_in_us());
        device_us.push_back(timing.h2d_us() + timing.kernel_us() + timing.d2h_us());
      }
    }
    const auto row = [](const std::string& name, std::vector<double>& values) {
      std::printf("%-26s %9.1f %9.1f %9.1f %9zu\n", name.c_str(), Percentile(values, 0.5),
                  Percentile(values, 0.9), Percentile(values, 0.99), values.size());
    };
    row("bare echo, same sizes", echo_us);
    row("echo after kernel's time", late_us);
    row(workload.name, us);
    row("  its kernels", kernel_us);
    row("  copies and kernels", device_us);
    row("  receive to launch", host_us);
    std::printf("  above echo + kernel, p50: %.1f us\n",
                Percentile(us, 0.5) - Percentile(echo_us, 0.5) - Percentile(kernel_us, 0.5));
    std::printf("  above the late echo, p50: %.1f us\n",
                Percentile(us, 0.5) - Percentile(late_us, 0.5));
  }
}

// Calls a second with all connections busy.
double CallsPerSecond(const std::string& target, const Workload& workload, const Flags& flags,
                      bool is_echo) {
  std::vector<std::thread> threads;
  std::vector<int64_t> ended(static_cast<size_t>(flags.connections));
  const absl::Time begin = SteadyNow() + absl::Milliseconds(500);  // warm by then
  const absl::Time end = begin + absl::Seconds(flags.seconds);
  for (int c = 0; c < flags.connections; ++c) {
    threads.emplace_back([&, c] {
      grpc::GenericStub stub(Connect(target));
      int64_t answers = 0;
      RunClosedLoop(
          flags.in_flight, end,
          [&](grpc::ClientContext& context, grpc::CompletionQueue& queue) {
            context.set_wait_for_ready(true);
            return stub.PrepareUnaryCall(&context, is_echo ? workload.echo_method : workload.method,
                                         workload.request, &queue);
          },
          [&](const LoopCall& call) {
            if (!call.status.ok()) Fail(call.status.error_message());
            const bool compared = !is_echo && answers++ % kCallsPerComparison == 0;
            if (compared && !workload.is_right(call.reply)) Fail("a reply is wrong");
            const absl::Time now = SteadyNow();
            ended[static_cast<size_t>(c)] += now >= begin && now < end;
          });
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t sum = 0;
  for (const int64_t calls : ended) sum += calls;
  return static_cast<double>(sum) / flags.seconds;
}

void MeasureThroughput(const Flags& flags) {
  std::printf(
      "\nthroughput, %d connections, %d calls in flight on each, %d code blocks, %d frames, %lld "
      "samples or %lld points a call\n",
      flags.connections, flags.in_flight, flags.blocks, flags.frames,
      static_cast<long long>(flags.samples), static_cast<long long>(flags.points));
  std::printf("%-26s %10s %10s %16s %8s\n", "", "calls/s", "in GB/s", "of what it holds",
              "of echo");
  for (const Workload& workload :
       MakeWorkloads(flags.target, flags.blocks, flags.frames, flags.samples, flags.points)) {
    if (!absl::StartsWith(workload.name, flags.only)) continue;
    const EchoProcess echo(workload.reply_bytes, flags.queues, flags.threads);
    const double bare = CallsPerSecond(echo.address(), workload, flags, true);
    const double served = CallsPerSecond(flags.target, workload, flags, false);
    const auto row = [&](const std::string& name, double calls, const std::string& share) {
      std::printf("%-26s %10.0f %10.2f %9.3f %-6s %8s\n", name.c_str(), calls,
                  calls * static_cast<double>(workload.request_bytes) * 1e-9,
                  calls * static_cast<double>(workload.units) * 1e-9, workload.unit.c_str(),
                  share.c_str());
    };
    row("bare echo, same sizes", bare, "");
    row(workload.name, served, absl::StrCat(static_cast<int>(100 * served / bare), " %"));
  }
}

bool ReadFlag(absl::string_view argument, Flags* flags) {
  const auto text = [&](absl::string_view name, std::string* value) {
    if (!absl::ConsumePrefix(&argument, name)) return false;
    *value = std::string(argument);
    return true;
  };
  std::string number;
  if (text("--target=", &flags->target) || text("--mode=", &flags->mode)) return true;
  if (text("--only=", &flags->only)) return true;
  if (text("--points=", &number)) return absl::SimpleAtoi(number, &flags->points);
  if (text("--seconds=", &number)) return absl::SimpleAtod(number, &flags->seconds);
  if (text("--connections=", &number)) return absl::SimpleAtoi(number, &flags->connections);
  if (text("--in-flight=", &number)) return absl::SimpleAtoi(number, &flags->in_flight);
  if (text("--blocks=", &number)) return absl::SimpleAtoi(number, &flags->blocks);
  if (text("--frames=", &number)) return absl::SimpleAtoi(number, &flags->frames);
  if (text("--samples=", &number)) return absl::SimpleAtoi(number, &flags->samples);
  if (text("--queues=", &number)) return absl::SimpleAtoi(number, &flags->queues);
  if (text("--threads=", &number)) return absl::SimpleAtoi(number, &flags->threads);
  return false;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  if (RunAsEchoProcess(argc, argv)) return 0;
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    if (!ReadFlag(argv[i], &flags)) {
      Fail(absl::StrCat("unknown argument ", argv[i], "; see the head of service_bench.cc"));
    }
  }
  const bool all = flags.mode == "all";
  if (all || flags.mode == "latency") MeasureLatency(flags);
  if (all || flags.mode == "throughput") MeasureThroughput(flags);
  if (all || flags.mode == "contention") MeasureContention(flags.target);
  return 0;
}
