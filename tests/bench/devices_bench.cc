// What a server does with one device and with several: the goodput of compute-bound calls, a closed
// loop that keeps all devices busy. Starts a server for each set of devices and prints the ratio to
// the first. Every answer is checked.
//
//   devices_bench [DEVICES ..]       default: cuda:0 cuda:1 cuda:0,1
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/process_tuning.h"
#include "client/load/run.h"
#include "tests/bench/must.h"
#include "tests/bench/zeros_load.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::bench {
namespace {

using ::baseband::testing::DecodeOfZeros;
using ::baseband::testing::NrCode;
using ::baseband::testing::ServerProcess;

// As much work for a byte as an algorithm has: flooding, and all iterations. Sum-product has most.
v1::DecodeRequest Work(v1::DecodeAlgorithm algorithm, int iterations) {
  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 32);
  v1::DecodeGroup& group = *request.mutable_groups(0);
  group.set_algorithm(algorithm);
  group.set_schedule(v1::DECODE_SCHEDULE_FLOODING);
  group.set_max_iterations(iterations);
  group.set_fixed_iterations(true);
  return request;
}

// Calls a second.
double Goodput(const std::string& devices, const v1::DecodeRequest& request, int in_flight) {
  const auto server = Must(ServerProcess::Start({"--device=" + devices}));
  load::LoadSpec spec;
  spec.client.target = server->target();
  spec.client.connections = 16;
  spec.pace.in_flight = in_flight;
  spec.warm_up = absl::Seconds(2);
  spec.duration = absl::Seconds(10);
  const load::LoadResult result = Must(load::RunLoad(spec, ZerosLoad(request)));
  if (!result.totals.wrong_example.empty()) Fail(result.totals.wrong_example);
  for (const auto& [cause, count] : result.totals.refusals) Fail(cause);
  std::printf("  %-12s %8.0f calls/s, p50 %.1f ms", devices.c_str(), result.Goodput(),
              static_cast<double>(result.totals.All().latency.Quantile(0.5)) / 1e6);
  return result.Goodput();
}

int Main(int argc, char** argv) {
  std::vector<std::string> sets(argv + 1, argv + argc);
  if (sets.empty()) sets = {"cuda:0", "cuda:1", "cuda:0,1"};
  const bool gpu = absl::StartsWith(sets[0], "cuda");
  for (const auto& [name, algorithm, iterations] :
       {std::tuple("min-sum", v1::DECODE_ALGORITHM_NORMALIZED_MIN_SUM, 100),
        std::tuple("sum-product", v1::DECODE_ALGORITHM_SUM_PRODUCT, 20)}) {
    std::printf("Decode of 32 blocks, %s, flooding, %d iterations\n", name, iterations);
    double first = 0;
    for (const std::string& set : sets) {
      const double goodput = Goodput(set, Work(algorithm, iterations), gpu ? 256 : 8);
      if (first == 0) first = goodput;
      std::printf(", %.2f of %s\n", goodput / first, sets[0].c_str());
    }
  }
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  baseband::client::LockWithoutChecks();
  return baseband::bench::Main(argc, argv);
}
