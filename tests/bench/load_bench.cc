// What `basebandctl load` costs its own machine for each call, beyond what gRPC does.
//
//   load_bench [SECONDS]
//
// Against an echo in another process, in turns: a bare loop over a completion queue, and a closed
// loop of the load tester, with as many calls in flight on as many connections. CPU time of this
// process for each call, medians over the turns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/cpp/channel_pool.h"
#include "client/load/histogram.h"
#include "client/load/run.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/echo_process.h"

namespace baseband::bench {
namespace {

constexpr int kInFlight = 16;
constexpr int kTurns = 5;
constexpr int64_t kReplyBytes = 1000;
constexpr char kMethod[] = "/baseband.v1.Baseband/Encode";

std::vector<load::Workload> Workloads() {
  std::vector<load::Workload> workloads(1);
  workloads[0].method = kMethod;
  const grpc::Slice slice(std::string(1000, 'm'));
  load::Request request;
  request.message = grpc::ByteBuffer(&slice, 1);
  request.check = [](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
    if (static_cast<int64_t>(reply.Length()) == kReplyBytes) return 0;
    return absl::DataLossError("too short");
  };
  workloads[0].requests.push_back(std::move(request));
  return workloads;
}

// Microseconds of CPU a call.
double BareLoop(const std::string& address, double seconds) {
  client::ClientOptions options;
  options.target = address;
  options.connections = 1;
  options.max_attempts = 1;
  client::ChannelPool channels(options);
  const std::vector<load::Workload> workloads = Workloads();
  const double cpu = CpuSeconds();
  int64_t calls = 0;
  RunClosedLoop(
      kInFlight, SteadyNow() + absl::Seconds(seconds),
      [&](grpc::ClientContext& context, grpc::CompletionQueue& queue) {
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
        return channels.Pick().stub->PrepareUnaryCall(&context, kMethod,
                                                      workloads[0].requests[0].message, &queue);
      },
      [&](const LoopCall&) { ++calls; });
  return 1e6 * (CpuSeconds() - cpu) / static_cast<double>(calls);
}

double LoadTester(const std::string& address, double seconds) {
  load::LoadSpec spec;
  spec.client.target = address;
  spec.client.connections = 1;
  spec.workers = 1;
  spec.pace.in_flight = kInFlight;
  spec.warm_up = absl::Milliseconds(200);
  spec.duration = absl::Seconds(seconds);
  const absl::StatusOr<load::LoadResult> result = load::RunLoad(spec, Workloads());
  if (!result.ok() || result->totals.All().outcomes.MissShare() > 0) {
    std::fprintf(stderr, "load_bench: the echo did not answer\n");
    std::exit(1);
  }
  return 1e6 * result->client_cpu_seconds /
         static_cast<double>(result->totals.Window().outcomes.due());
}

void RecordMany() {
  load::Histogram histogram;
  constexpr int kMany = 20000000;
  const double cpu = CpuSeconds();
  uint64_t state = 1;
  for (int i = 0; i < kMany; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    histogram.Record(static_cast<int64_t>(state >> 40));
  }
  std::printf("histogram: %.1f ns a value (median %lld)\n", 1e9 * (CpuSeconds() - cpu) / kMany,
              static_cast<long long>(histogram.Quantile(0.5)));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  using namespace baseband::bench;  // NOLINT
  if (RunAsEchoProcess(argc, argv)) return 0;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const EchoProcess echo(kReplyBytes, /*num_queues=*/1, /*threads_per_queue=*/1);
  std::vector<double> bare;
  std::vector<double> tester;
  for (int turn = 0; turn < kTurns; ++turn) {
    bare.push_back(BareLoop(echo.address(), seconds));
    tester.push_back(LoadTester(echo.address(), seconds));
  }
  std::printf("CPU a call: bare loop %.2f us, load tester %.2f us, its own part %.2f us\n",
              Median(bare), Median(tester), Median(tester) - Median(bare));
  RecordMany();
  return 0;
}
