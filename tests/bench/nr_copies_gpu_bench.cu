// Transport blocks from pinned host memory and back: what a receiver carries when what is received
// has to cross the bus, by input, beside the rate of the copies alone and of the kernels alone.
//
//   nr_copies_gpu_bench [streams]
//
// Each of `streams` (4) brings what is received of 1024 code blocks, decodes them, 10 fixed
// iterations, and fetches their payloads, again and again; results are checked first.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/cuda/resources.h"
#include "kernels/nr/receive_gpu.h"
#include "tests/bench/nr_gpu_ends.h"
#include "tests/bench/nr_gpu_rig.h"

namespace baseband::nr {
namespace {

constexpr int kRounds = 40;
constexpr int kTries = 5;

// One stream with all that it needs.
struct Lane {
  Lane(const Slot& slot, const Input& input)
      : stream(Value(cuda::Stream::Create())),
        receiver(slot, input, /*max_iterations=*/10, stream.get()),
        in(Value(cuda::CreatePinnedBuffer<uint8_t>(receiver.received().size()))),
        out(Value(cuda::CreatePinnedBuffer<uint8_t>(receiver.payload().size()))) {
    Check(cudaMemcpy(in.data(), receiver.received().data(), in.size(), cudaMemcpyDeviceToHost) ==
              cudaSuccess,
          "cudaMemcpy");
  }
  void CopyIn() const {
    Check(cudaMemcpyAsync(receiver.received().data(), in.data(), in.size(), cudaMemcpyHostToDevice,
                          stream.get()) == cudaSuccess,
          "cudaMemcpyAsync");
  }
  void Work() const {
    receiver.Dematch(stream.get());
    receiver.Decode(stream.get());
    receiver.CheckCrc(stream.get());
  }
  void CopyOut() {
    Check(cudaMemcpyAsync(out.data(), receiver.payload().data(), out.size(), cudaMemcpyDeviceToHost,
                          stream.get()) == cudaSuccess,
          "cudaMemcpyAsync");
  }

  cuda::Stream stream;
  Receiver receiver;
  cuda::PinnedBuffer<uint8_t> in;
  cuda::PinnedBuffer<uint8_t> out;
};

// Seconds that kRounds of `work` on each lane take, the best of kTries.
template <typename F>
double Seconds(const std::vector<std::unique_ptr<Lane>>& lanes, const F& work) {
  double best = 1e30;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) {
      for (const auto& lane : lanes) work(*lane);
    }
    Check(cudaDeviceSynchronize() == cudaSuccess, "all of it ran");
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    best = std::min(best, passed.count());
  }
  return best;
}

void Bench(const char* name, int e, const Input& input, int num_lanes) {
  const Slot slot(std::vector<int>(32, 32), e, /*qm=*/8);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < num_lanes; ++i) lanes.push_back(std::make_unique<Lane>(slot, input));
  const auto all = [](Lane& lane) {
    lane.CopyIn();
    lane.Work();
    lane.CopyOut();
  };
  for (const auto& lane : lanes) {
    // What comes is what is decoded.
    Check(cudaMemset(lane->receiver.received().data(), 0, lane->in.size()) == cudaSuccess &&
              cudaDeviceSynchronize() == cudaSuccess,
          "cudaMemset");
    all(*lane);
    lane->receiver.CheckResults();
  }
  const double bits = slot.info_bits() * kRounds * num_lanes;
  const double in_bytes = static_cast<double>(lanes[0]->in.size()) * kRounds * num_lanes;
  const double copies_s = Seconds(lanes, [](Lane& lane) {
    lane.CopyIn();
    lane.CopyOut();
  });
  const double work_s = Seconds(lanes, [](Lane& lane) { lane.Work(); });
  const double all_s = Seconds(lanes, all);
  std::printf(
      "%-8s %-12s %6.1f Gb/s information, %5.1f GB/s in; copies alone %6.1f Gb/s, %5.1f GB/s; "
      "kernels alone %6.1f Gb/s\n",
      name, input.name, bits / all_s * 1e-9, in_bytes / all_s * 1e-9, bits / copies_s * 1e-9,
      in_bytes / copies_s * 1e-9, bits / work_s * 1e-9);
  bench::Row row = bench::RateRow("shared channel over the bus", "gpu",
                                  {{"slot", name}, {"input", input.name}}, bits, "bit", all_s, 0.0);
  row.bytes = in_bytes / bits;
  row.over = bench::kLink;
  row.Emit();
}

void Run(int num_lanes) {
  Check(PrepareTransmitKernels());
  Check(PrepareReceiveKernels());
  Check(ldpc::PrepareDecodeKernels());
  cudaDeviceProp device;
  Check(cudaGetDeviceProperties(&device, 0) == cudaSuccess, "cudaGetDeviceProperties");
  std::printf("%s; %d streams, best of %d x %d rounds\n", device.name, num_lanes, kTries, kRounds);
  using S = SymbolFormat;
  using L = LlrFormat;
  constexpr Input kInputs[] = {
      {"int8 LLRs", false, L::kInt8, S::kInt8, NoiseFormat::kOne, false},
      {"6-bit LLRs", false, L::kPacked6, S::kInt8, NoiseFormat::kOne, false},
      {"4-bit LLRs", false, L::kPacked4, S::kInt8, NoiseFormat::kOne, false},
      {"int8 symbols", true, L::kInt8, S::kInt8, NoiseFormat::kOne, false}};
  for (const Input& input : kInputs) Bench("R=1/3", 25344, input, num_lanes);
  for (const Input& input : kInputs) Bench("R=0.92", 9216, input, num_lanes);
}

}  // namespace
}  // namespace baseband::nr

int main(int argc, char** argv) {
  baseband::nr::Run(argc > 1 ? std::atoi(argv[1]) : 4);
  return 0;
}
