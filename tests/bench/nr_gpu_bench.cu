// Transport blocks on a GPU with everything in device memory: checks its results first, then prints
// what every stage takes, beside the bare LDPC encoder and decoder on the same code blocks.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/encode_gpu.h"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/scrambling.h"
#include "kernels/nr/transmit_gpu.h"
#include "tests/bench/nr_gpu_ends.h"
#include "tests/bench/nr_gpu_rig.h"

namespace baseband::nr {
namespace {

// The LDPC encoder alone, on as many blocks of the same code.
double TimeBareEncode(const Slot& slot, cudaStream_t stream) {
  const ldpc::Code& code = slot.code();
  const auto table = (*code.encode_plan())->table();
  const auto tables = Upload(std::vector<uint32_t>(table.begin(), table.end()));
  const auto count = static_cast<size_t>(slot.num_blocks());
  const size_t info_bytes = static_cast<size_t>(code.k()) / 8;
  const size_t parity_bytes = RoundUp(static_cast<size_t>(code.parity_bits()) / 8, 4);
  const auto info = Upload(Bytes(count * info_bytes, 0x5a), 16);
  const auto parity = Value(cuda::CreateDeviceBuffer<uint8_t>(count * parity_bytes));
  std::vector<ldpc::EncodeBlock> blocks(count);
  for (size_t i = 0; i < count; ++i) {
    blocks[i].info = info.data() + i * info_bytes;
    blocks[i].parity_offset = static_cast<uint32_t>(i * parity_bytes);
    blocks[i].info_bits = static_cast<uint32_t>(code.k());
  }
  const auto device_blocks = Upload(blocks);
  ldpc::EncodeBatch batch;
  batch.blocks = device_blocks.data();
  batch.num_blocks = slot.num_blocks();
  batch.tables = reinterpret_cast<const uint8_t*>(tables.data());
  batch.parity = parity.data();
  batch.shared_bytes = EncodeSharedBytes(code);
  return Time(stream, [&] { Check(LaunchEncode(batch, stream)); });
}

// For the report. `bytes`: of memory, all that is timed; 0: not counted.
void EmitRow(const char* slot_name, const std::string& stage, const Slot& slot,
             const bench::Times& times, double bytes) {
  bench::Row row = bench::RateRow("shared channel", "gpu", {{"slot", slot_name}, {"stage", stage}},
                                  slot.info_bits(), "bit", times.best, times.spread);
  row.bytes = bytes / slot.info_bits();
  row.Emit();
}

void BenchTransmit(const char* name, const Slot& slot, cudaStream_t stream) {
  const double bare_us = TimeBareEncode(slot, stream);
  std::printf("  bare LDPC encoder            %9.1f us  %6.0f Gb/s information\n", bare_us,
              slot.info_bits() / bare_us * 1e-3);
  constexpr Output kOutputs[] = {{"packed bits", false, SymbolFormat::kFloat16, false},
                                 {"packed bits, scrambled", false, SymbolFormat::kFloat16, true},
                                 {"float16 symbols", true, SymbolFormat::kFloat16, false},
                                 {"int8 symbols, scrambled", true, SymbolFormat::kInt8, true}};
  for (const Output& output : kOutputs) {
    const Sender sender(slot, output);
    sender.Launch(stream);
    if (!output.as_symbols) {
      Bytes sent = Download(sender.out());
      sent.resize(slot.coded().size());
      Bytes expected = slot.coded();
      for (size_t i = 0; output.is_scrambled && i < slot.plans().size(); ++i) {
        ScrambleBits(kCInit, 0, absl::MakeSpan(expected).subspan(slot.coded_at(i)), 0,
                     slot.plans()[i].g());
      }
      Check(sent == expected, "the GPU sends what the CPU does");
    }
    const bench::Times times = TimesOf(stream, [&] { sender.Launch(stream); });
    const double us = 1e6 * times.best;
    const double bytes = slot.info_bits() / 8 + static_cast<double>(sender.out_bytes());
    std::printf(
        "  %-28s %9.1f us  %6.0f Gb/s information, %5.0f GB/s; over the bare encoder "
        "%+4.0f %%\n",
        output.name, us, slot.info_bits() / us * 1e-3, bytes / us * 1e-3, 100 * (us / bare_us - 1));
    EmitRow(name, std::string("send ") + output.name, slot, times, bytes);
  }
}

void BenchReceive(const char* name, const Slot& slot, int max_iterations, cudaStream_t stream) {
  using S = SymbolFormat;
  using L = LlrFormat;
  constexpr Input kInputs[] = {
      {"int8 LLRs", false, L::kInt8, S::kInt8, NoiseFormat::kOne, false},
      {"int8 LLRs, combined", false, L::kInt8, S::kInt8, NoiseFormat::kOne, true},
      {"int16 LLRs, scale chosen", false, L::kInt16, S::kInt8, NoiseFormat::kOne, false},
      {"float16 LLRs", false, L::kFloat16, S::kInt8, NoiseFormat::kOne, false},
      {"6-bit LLRs", false, L::kPacked6, S::kInt8, NoiseFormat::kOne, false},
      {"4-bit LLRs", false, L::kPacked4, S::kInt8, NoiseFormat::kOne, false},
      {"int8 symbols, scrambled", true, L::kInt8, S::kInt8, NoiseFormat::kOne, false},
      {"float16 symbols, scrambled, N0 of each", true, L::kInt8, S::kFloat16, NoiseFormat::kFloat32,
       false}};
  for (const Input& input : kInputs) {
    const Receiver receiver(slot, input, max_iterations, stream);
    const auto all = [&] {
      receiver.Dematch(stream);
      receiver.Decode(stream);
      receiver.CheckCrc(stream);
    };
    all();
    receiver.CheckResults();
    const double dematch_us = Time(stream, [&] { receiver.Dematch(stream); });
    const double decode_us = Time(stream, [&] { receiver.Decode(stream); });
    const double check_us = Time(stream, [&] { receiver.CheckCrc(stream); });
    const bench::Times times = TimesOf(stream, all);
    const double all_us = 1e6 * times.best;
    std::printf(
        "  %-40s dematch %7.1f us %5.0f GB/s (%4.1f %%)  decode %7.1f us  check %6.1f us (%4.1f %%)"
        "  all %7.1f us, %+5.1f %% over the bare decoder, %6.1f Gb/s information\n",
        input.name, dematch_us, receiver.dematch_bytes() / dematch_us * 1e-3,
        100 * dematch_us / decode_us, decode_us, check_us, 100 * check_us / decode_us, all_us,
        100 * (all_us / decode_us - 1), slot.info_bits() / all_us * 1e-3);
    EmitRow(name, std::string("receive ") + input.name, slot, times, 0.0);
  }
}

void Run(const char* name, const std::vector<int>& blocks_of_tb, int e, int qm, bool receives,
         cudaStream_t stream) {
  const Slot slot(blocks_of_tb, e, qm);
  std::printf("%s: %d transport blocks, %d code blocks of BG1 Zc=384, %d rows, E=%d, qm %d\n", name,
              static_cast<int>(slot.plans().size()), slot.num_blocks(), slot.code().rows(), e, qm);
  BenchTransmit(name, slot, stream);
  if (receives) BenchReceive(name, slot, 10, stream);
}

void RunAll() {
  Check(PrepareTransmitKernels());
  Check(PrepareReceiveKernels());
  Check(ldpc::PrepareEncodeKernels());
  Check(ldpc::PrepareDecodeKernels());
  cudaDeviceProp device;
  Check(cudaGetDeviceProperties(&device, 0) == cudaSuccess, "cudaGetDeviceProperties");
  std::printf("%s; best of %d x %d launches\n", device.name, kRepeats, kLaunches);
  const auto stream = Value(cuda::Stream::Create());
  cudaStream_t s = stream.get();
  const std::vector<int> many(165, 32);
  Run("R=1/3, 256QAM", many, 25344, 8, true, s);
  Run("R=0.92, 256QAM", many, 9216, 8, true, s);
  Run("R=1/3, QPSK", many, 25344, 2, false, s);
  Run("R=1/3, 16QAM", many, 25344, 4, false, s);
  Run("R=1/3, 64QAM", many, 25344, 6, false, s);
  Run("R=1/3, blocks that share words", many, 25336, 8, false, s);
  Run("R=1/3, more of them", std::vector<int>(2048, 32), 25344, 8, false, s);
  std::vector<int> slot(14, 11);
  std::fill(slot.begin(), slot.begin() + 4, 10);
  Run("a slot, R=0.92, 256QAM", slot, 9216, 8, true, s);
  Run("one transport block, R=0.92, 256QAM", {50}, 9216, 8, true, s);
}

}  // namespace
}  // namespace baseband::nr

int main() {
  baseband::nr::RunAll();
  return 0;
}
