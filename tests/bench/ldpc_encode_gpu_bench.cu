// Encoding on a GPU with everything in device memory: checks its results against the CPU first,
// then prints information bits per second beside what the memory of this device would allow, a
// plain copy of as many bytes being the measure.
//
//   ldpc_encode_gpu_bench [table|sizes|batches|all]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/resources.h"
#include "kernels/ldpc/encode_gpu.h"
#include "tests/bench/gpu_limits.h"
#include "tests/bench/ldpc_rows.h"
#include "tests/bench/rows.h"

namespace {

using baseband::cuda::DeviceBuffer;
using baseband::ldpc::Code;
using baseband::ldpc::CodePtr;
using baseband::ldpc::EncodeBatch;
using baseband::ldpc::EncodeBlock;
using baseband::ldpc::NrCode;

constexpr int kLaunches = 10;  // that one measurement is the mean of
constexpr int kRepeats = 15;

void Check(bool ok, const char* what) {
  if (!ok) {
    std::fprintf(stderr, "FAILED: %s\n", what);
    std::exit(1);
  }
}
template <typename T>
T Value(absl::StatusOr<T> result) {
  Check(result.ok(), result.status().ToString().c_str());
  return *std::move(result);
}

template <typename Enqueue>
baseband::bench::Times Time(cudaStream_t stream, const Enqueue& enqueue) {
  const auto begin = Value(baseband::cuda::Event::Create());
  const auto end = Value(baseband::cuda::Event::Create());
  enqueue();
  std::vector<double> seconds;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    cudaEventRecord(begin.get(), stream);
    for (int i = 0; i < kLaunches; ++i) {
      enqueue();
    }
    cudaEventRecord(end.get(), stream);
    Check(cudaEventSynchronize(end.get()) == cudaSuccess, "cudaEventSynchronize");
    float ms = 0;
    cudaEventElapsedTime(&ms, begin.get(), end.get());
    seconds.push_back(ms * 1e-3 / kLaunches);
  }
  return baseband::bench::Times::Of(seconds);
}

// Waits for the copy's end, which cudaMemcpy from pageable memory does not do, and which a
// non-blocking stream would not wait for.
template <typename T>
DeviceBuffer<T> Upload(const std::vector<T>& host, size_t slack = 0) {
  auto buffer = Value(baseband::cuda::CreateDeviceBuffer<T>(host.size() + slack));
  Check(cudaMemcpy(buffer.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice) ==
                cudaSuccess &&
            cudaDeviceSynchronize() == cudaSuccess,
        "cudaMemcpy");
  return buffer;
}

struct Case {
  std::string name;
  std::vector<CodePtr> codes;
  int num_blocks;
  std::string along = "";  // which parameter of the report's row is a figure's x axis
  bool by_code = true;     // the descriptors are: blocks of one code follow each other
};

// For the report, of one code.
void EmitRow(const Case& test, const baseband::bench::Times& times) {
  const Code& code = *test.codes.front();
  const auto blocks = static_cast<double>(test.num_blocks);
  baseband::bench::RowParameters parameters = {
      {"code", test.along == "zc" ? test.name : code.name()}};
  parameters.emplace_back(test.along == "zc" ? test.along : "blocks",
                          std::to_string(test.along == "zc" ? code.zc() : test.num_blocks));
  const baseband::bench::Row row =
      EncodeRow("gpu", parameters, code, blocks, times.best, times.spread);
  (test.along == "blocks" ? TimeRow(row, blocks * code.k(), "blocks") : row).Emit();
}

// Blocks of each code in turn lie in memory.
void Run(const Case& test, double copy_rate, cudaStream_t stream) {
  const auto& [name, codes, num_blocks, along, by_code] = test;
  std::mt19937 random(1);
  std::map<const Code*, uint32_t> table_of;
  std::vector<uint32_t> tables;
  std::vector<EncodeBlock> blocks;
  std::vector<size_t> info_offsets;
  size_t info_bytes = 0;
  size_t parity_bytes = 0;
  double info_bits = 0;
  EncodeBatch batch;
  for (int i = 0; i < num_blocks; ++i) {
    const Code& code = *codes[static_cast<size_t>(i) % codes.size()];
    if (table_of.emplace(&code, static_cast<uint32_t>(tables.size() * 4)).second) {
      const auto table = Value(code.encode_plan())->table();
      tables.insert(tables.end(), table.begin(), table.end());
      batch.shared_bytes = std::max(batch.shared_bytes, EncodeSharedBytes(code));
      if (by_code) batch.tile_bytes = std::max(batch.tile_bytes, EncodeTileBytes(code));
    }
    EncodeBlock block;
    block.table_offset = table_of[&code];
    info_offsets.push_back(info_bytes);
    block.info_bits = static_cast<uint32_t>(code.k());
    block.parity_offset = static_cast<uint32_t>(parity_bytes);
    blocks.push_back(block);
    info_bytes += static_cast<size_t>(code.k() + 7) / 8;
    parity_bytes += static_cast<size_t>(code.parity_bits() + 31) / 32 * 4;
    info_bits += code.k();
  }
  std::vector<uint8_t> info(info_bytes);
  for (uint8_t& byte : info) {
    byte = static_cast<uint8_t>(random());
  }
  const auto device_tables = Upload(tables);
  const auto device_info = Upload(info, 16);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].info = device_info.data() + info_offsets[i];
  std::vector<EncodeBlock> ordered = blocks;
  if (by_code) {
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const EncodeBlock& a, const EncodeBlock& b) {
                       return std::make_pair(a.info_bits, a.table_offset) >
                              std::make_pair(b.info_bits, b.table_offset);
                     });
  }
  const auto device_blocks = Upload(ordered);
  const auto device_parity = Value(baseband::cuda::CreateDeviceBuffer<uint8_t>(parity_bytes));
  batch.blocks = device_blocks.data();
  batch.num_blocks = num_blocks;
  batch.tables = reinterpret_cast<const uint8_t*>(device_tables.data());
  batch.parity = device_parity.data();
  const auto launch = [&] { Check(LaunchEncode(batch, stream).ok(), "LaunchEncode"); };

  launch();
  std::vector<uint8_t> parity(parity_bytes);
  Check(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
  cudaMemcpy(parity.data(), device_parity.data(), parity_bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < num_blocks; ++i) {
    const Code& code = *codes[static_cast<size_t>(i) % codes.size()];
    std::vector<uint8_t> expected(static_cast<size_t>(code.parity_bits() + 7) / 8);
    EncodeOnCpu(code, absl::MakeConstSpan(info).subspan(info_offsets[i]), code.k(),
                absl::MakeSpan(expected));
    Check(std::equal(expected.begin(), expected.end(), parity.begin() + blocks[i].parity_offset),
          "the GPU's parity equals the CPU's");
  }

  const baseband::bench::Times timing = Time(stream, launch);
  if (codes.size() == 1) EmitRow(test, timing);
  const double bytes = static_cast<double>(info_bytes + parity_bytes);
  const double roofline = info_bits * copy_rate / bytes;
  std::printf(
      "%-26s %6d blocks  best %8.1f us %7.0f Gb/s  median %8.1f us %7.0f Gb/s information"
      "  memory allows %6.0f (%.0f %%)\n",
      name.c_str(), num_blocks, timing.best * 1e6, info_bits / timing.best * 1e-9,
      timing.median * 1e6, info_bits / timing.median * 1e-9, roofline * 1e-9,
      100 * info_bits / timing.best / roofline);
}

void RunTable(double copy_rate, cudaStream_t stream) {
  const auto run = [&](const char* name, const std::vector<CodePtr>& codes, int num_blocks) {
    Run({name, codes, num_blocks}, copy_rate, stream);
  };
  for (const int num_blocks : {64, 8192, 65536}) {
    run("BG1 Zc=384 46 rows", {Value(NrCode(1, 384))}, num_blocks);
    run("BG1 Zc=384 4 rows", {Value(NrCode(1, 384, 4))}, num_blocks);
  }
  run("BG2 Zc=384 42 rows", {Value(NrCode(2, 384))}, 65536);
  run("BG1 Zc=208 46 rows", {Value(NrCode(1, 208))}, 65536);
  run("BG1 Zc=30 46 rows", {Value(NrCode(1, 30))}, 65536);
  run("802.16e 1/2 n=2304", {Value(baseband::ldpc::WimaxCode("1/2", 2304))}, 65536);
  std::vector<CodePtr> mixed;
  for (const int zc : baseband::ldpc::NrLiftingSizes()) {
    mixed.push_back(Value(NrCode(1, zc)));
    mixed.push_back(Value(NrCode(2, zc, 20)));
  }
  mixed.push_back(Value(baseband::ldpc::WimaxCode("5/6", 2304)));
  mixed.push_back(Value(baseband::ldpc::WifiCode("1/2", 648)));
  run("104 codes mixed", mixed, 65536);
  Run({"104 codes in turn", mixed, 65536, "", false}, copy_rate, stream);
}

// As much work for each size.
void RunSizes(double copy_rate, cudaStream_t stream) {
  for (const auto& [name, code] : baseband::ldpc::CodesOfEverySize()) {
    Run({name, {code}, std::min(8192 * 384 / code->zc(), 1 << 16), "zc"}, copy_rate, stream);
  }
}

void RunBatches(double copy_rate, cudaStream_t stream) {
  for (const CodePtr& code : baseband::ldpc::CodesOfBatches()) {
    for (int blocks = 1; blocks <= 65536; blocks *= 2) {
      Run({code->name(), {code}, blocks, "blocks"}, copy_rate, stream);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const baseband::ldpc::Parts parts(argc > 1 ? argv[1] : "table");
  Check(baseband::ldpc::PrepareEncodeKernels().ok(), "PrepareEncodeKernels");
  const auto stream = Value(baseband::cuda::Stream::Create());
  const double copy_rate = baseband::bench::DeviceCopy(stream.get()).rate();
  std::printf("a copy within the device moves %.0f GB/s, read and written\n", copy_rate * 1e-9);
  if (parts.Has("table")) RunTable(copy_rate, stream.get());
  if (parts.Has("sizes")) RunSizes(copy_rate, stream.get());
  if (parts.Has("batches")) RunBatches(copy_rate, stream.get());
  return 0;
}
