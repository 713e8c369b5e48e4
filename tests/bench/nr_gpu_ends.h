// Both ends of the benchmark of transport blocks on a GPU: launches with all that they need.
#ifndef BASEBAND_TESTS_BENCH_NR_GPU_ENDS_H_
#define BASEBAND_TESTS_BENCH_NR_GPU_ENDS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/encode.h"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/transmit_gpu.h"
#include "tests/bench/nr_gpu_rig.h"

namespace baseband::nr {

inline constexpr uint32_t kCInit = 0x12345;

struct Output {
  const char* name;
  bool as_symbols;
  SymbolFormat format;
  bool is_scrambled;
};

class Sender {
 public:
  Sender(const Slot& slot, const Output& output) : tables_(Upload(Tables(slot))) {
    const size_t symbol_bytes =
        output.as_symbols ? static_cast<size_t>(BytesPerSymbol(output.format)) : 0;
    std::vector<TransmitTb> tbs;
    std::vector<TransmitBlock> blocks;
    std::vector<size_t> offsets;
    size_t bytes = 0;
    for (size_t i = 0; i < slot.plans().size(); ++i) {
      const TransportBlockPlan& plan = slot.plans()[i];
      TransmitTb tb = MakeTransmitTb(plan);
      tb.payload = slot.device_payload(i);
      tb.c_init = output.is_scrambled ? kCInit : kNoScrambling;
      tb.as_symbols = output.as_symbols ? 1 : 0;
      tb.layout.format = output.format;
      for (uint32_t r = 0; r < tb.num_blocks; r += kTransmitBlocks) {
        blocks.push_back({static_cast<uint32_t>(i), r});
      }
      tbs.push_back(tb);
      offsets.push_back(output.as_symbols ? bytes : slot.coded_at(i));
      bytes += RoundUp(static_cast<size_t>(plan.g()) / plan.of_short.qm * symbol_bytes, 16);
    }
    if (!output.as_symbols) bytes = slot.coded().size();
    out_bytes_ = bytes;
    out_ = Value(cuda::CreateDeviceBuffer<uint8_t>(bytes + 16));
    Check(cudaMemset(out_.data(), 0, out_.size()) == cudaSuccess, "cudaMemset");
    for (size_t i = 0; i < tbs.size(); ++i) tbs[i].out = out_.data() + offsets[i];
    tbs_ = Upload(tbs);
    blocks_ = Upload(blocks);
    workspace_ = Upload(
        Bytes(static_cast<size_t>(TransmitWorkspaceBytes(static_cast<int>(blocks.size()))), 0));
    batch_.tbs = tbs_.data();
    batch_.blocks = blocks_.data();
    batch_.num_blocks = static_cast<int>(blocks.size());
    batch_.tables = reinterpret_cast<const uint8_t*>(tables_.data());
    batch_.shared_bytes = TransmitSharedBytes(slot.code());
    batch_.workspace = workspace_.data();
  }

  const TransmitBatch& batch() const { return batch_; }
  const DeviceBuffer<uint8_t>& out() const { return out_; }
  size_t out_bytes() const { return out_bytes_; }
  void Launch(cudaStream_t stream) const { Check(LaunchTransmit(batch_, stream)); }

 private:
  static std::vector<uint32_t> Tables(const Slot& slot) {
    const auto table = (*slot.code().encode_plan())->table();
    return {table.begin(), table.end()};
  }

  DeviceBuffer<uint32_t> tables_;
  DeviceBuffer<uint8_t> workspace_;
  DeviceBuffer<uint8_t> out_;
  size_t out_bytes_ = 0;
  DeviceBuffer<TransmitTb> tbs_;
  DeviceBuffer<TransmitBlock> blocks_;
  TransmitBatch batch_;
};

struct Input {
  const char* name;
  bool as_symbols;
  LlrFormat llr_format;
  SymbolFormat symbol_format;
  NoiseFormat noise_format;
  bool combines;
};

// LLRs of the right signs and of some strength.
inline Bytes LlrsOf(const Slot& slot, LlrFormat format, std::vector<size_t>* offsets) {
  Bytes out;
  std::mt19937 random(2);
  for (size_t i = 0; i < slot.plans().size(); ++i) {
    const int64_t g = slot.plans()[i].g();
    const size_t begin = RoundUp(out.size(), 16);
    offsets->push_back(begin);
    out.resize(begin + static_cast<size_t>(LlrBytes(format, g)), 0);
    uint8_t* const row = out.data() + begin;
    const uint8_t* const bits = slot.coded().data() + slot.coded_at(i);
    for (int64_t n = 0; n < g; ++n) {
      const bool is_one = (bits[n / 8] >> (7 - n % 8) & 1) != 0;
      const int strength = static_cast<int>(1 + random() % 7);
      const int value = is_one ? -strength : strength;
      switch (format) {
        case LlrFormat::kInt8:
          row[n] = static_cast<uint8_t>(4 * value);
          break;
        case LlrFormat::kInt16: {
          const auto wide = static_cast<int16_t>(300 * value);
          std::memcpy(row + 2 * n, &wide, 2);
          break;
        }
        case LlrFormat::kFloat16: {
          const uint16_t half = HalfOfFloat(static_cast<float>(value));
          std::memcpy(row + 2 * n, &half, 2);
          break;
        }
        case LlrFormat::kPacked6: {
          const auto six = static_cast<uint32_t>(value & 0x3f) << (18 - 6 * (n % 4));
          for (int b = 0; b < 3; ++b)
            row[n / 4 * 3 + b] |= static_cast<uint8_t>(six >> (16 - 8 * b));
          break;
        }
        case LlrFormat::kPacked4:
          row[n / 2] |= static_cast<uint8_t>((value & 0xf) << (n % 2 != 0 ? 0 : 4));
          break;
      }
    }
  }
  return out;
}

class Receiver {
 public:
  Receiver(const Slot& slot, const Input& input, int max_iterations, cudaStream_t stream)
      : slot_(slot) {
    std::vector<size_t> offsets;
    MakeReceived(input, stream, &offsets);
    const auto soft_count = static_cast<uint32_t>(
        std::min<int>(static_cast<int>(slot.plans()[0].of_short.n_cb), slot.code().num_sent()));
    soft_stride_ = RoundUp(soft_count, 16);
    const auto count = static_cast<size_t>(slot.num_blocks());
    soft_ = Upload(std::vector<int8_t>(count * soft_stride_, 0));
    old_soft_ = Upload(std::vector<int8_t>(input.combines ? count * soft_stride_ : 16, 0), 32);
    std::vector<ReceiveTb> tbs;
    std::vector<CheckTb> check_tbs;
    std::vector<DematchBlock> dematch_blocks;
    std::vector<ldpc::DecodeBlock> decode_blocks;
    std::vector<CheckBlock> check_blocks;
    const size_t bits_stride = RoundUp(static_cast<size_t>(slot.plans()[0].k_prime + 7) / 8, 4);
    bits_ = Value(cuda::CreateDeviceBuffer<uint8_t>(count * bits_stride));
    size_t payload_bytes = 0;
    for (size_t i = 0; i < slot.plans().size(); ++i) {
      const TransportBlockPlan& plan = slot.plans()[i];
      ReceiveTb tb = MakeReceiveTb(plan);
      tb.received = received_.data() + offsets[i];
      tb.noise = noise_.data();
      tb.as_symbols = input.as_symbols ? 1 : 0;
      tb.llr_format = input.llr_format;
      tb.llr_format_scale = input.llr_format == LlrFormat::kInt16 ? 0.0f : 4.0f;
      tb.mean_llr = 40.0f;
      tb.noise_format = input.noise_format;
      DemapParameters demap;
      demap.qm = static_cast<int>(plan.of_short.qm);
      demap.layout.format = input.symbol_format;
      demap.layout.scale = input.symbol_format == SymbolFormat::kInt8 ? kInt8Scale : 1.0f;
      tb.noise_variance = 0.01f;
      tb.demap = MakeDemapScale(demap);
      tb.layout = demap.layout;
      if (input.as_symbols) tb.c_init = kCInit;
      tbs.push_back(tb);
      CheckTb check = MakeCheckTb(plan);
      payload_at_.push_back(payload_bytes);
      payload_bytes += RoundUp(static_cast<size_t>(plan.tb_bits / 8), 4);
      check.soft = soft_.data() + dematch_blocks.size() * soft_stride_;
      check.soft_stride = static_cast<uint32_t>(soft_stride_);
      check.soft_count = soft_count;
      check_tbs.push_back(check);
      for (uint32_t r = 0; r < check.num_blocks; ++r) {
        const size_t index = dematch_blocks.size();
        DematchBlock dematch;
        dematch.soft = soft_.data() + index * soft_stride_;
        if (input.combines) dematch.old_soft = old_soft_.data() + index * soft_stride_;
        dematch.soft_count = soft_count;
        dematch.tb = static_cast<uint32_t>(i);
        dematch.r = r;
        dematch_blocks.push_back(dematch);
        ldpc::DecodeBlock decode;
        decode.llr = dematch.soft;
        decode.llr_count = soft_count;
        decode.bits_offset = static_cast<uint32_t>(index * bits_stride);
        decode.soft_offset = ldpc::kNoSoft;
        decode.result_index = static_cast<uint32_t>(index);
        decode_blocks.push_back(decode);
        CheckBlock block;
        block.bits = bits_.data() + decode.bits_offset;
        block.tb = static_cast<uint32_t>(i);
        block.r = r;
        check_blocks.push_back(block);
        dematch_.shared_bytes =
            std::max(dematch_.shared_bytes,
                     DematchSharedBytes(plan.rate_match(static_cast<int>(r)), soft_count));
      }
    }
    payload_ = Value(cuda::CreateDeviceBuffer<uint8_t>(payload_bytes));
    for (size_t i = 0; i < check_tbs.size(); ++i) {
      check_tbs[i].payload = payload_.data() + payload_at_[i];
    }
    tbs_ = Upload(tbs);
    check_tbs_ = Upload(check_tbs);
    dematch_blocks_ = Upload(dematch_blocks);
    decode_blocks_ = Upload(decode_blocks);
    check_blocks_ = Upload(check_blocks);
    decode_results_ = Upload(std::vector<ldpc::DecodeResult>(count));
    check_results_ = Upload(std::vector<CheckResult>(count));
    dematch_.tbs = tbs_.data();
    dematch_.blocks = dematch_blocks_.data();
    dematch_.num_blocks = slot.num_blocks();
    decode_.code = &slot.code();
    decode_.parameters.max_iterations = max_iterations;
    decode_.parameters.early_termination = false;
    decode_.blocks = decode_blocks_.data();
    decode_.num_blocks = slot.num_blocks();
    decode_.bits = bits_.data();
    decode_.results = decode_results_.data();
    check_.tbs = check_tbs_.data();
    check_.blocks = check_blocks_.data();
    check_.num_blocks = slot.num_blocks();
    check_.decode_results = decode_results_.data();
    check_.results = check_results_.data();
    dematch_bytes_ = static_cast<double>(received_.size() + noise_.size()) +
                     static_cast<double>(count * soft_stride_) * (input.combines ? 2 : 1);
  }

  void Dematch(cudaStream_t stream) const { Check(LaunchRateDematch(dematch_, stream)); }
  void Decode(cudaStream_t stream) const { Check(LaunchDecode(decode_, stream)); }
  void CheckCrc(cudaStream_t stream) const { Check(LaunchCheckCrc(check_, stream)); }
  double dematch_bytes() const { return dematch_bytes_; }
  // What is received, and what becomes of it; on the device.
  const DeviceBuffer<uint8_t>& received() const { return received_; }
  const DeviceBuffer<uint8_t>& payload() const { return payload_; }

  // That all payloads came.
  void CheckResults() const {
    const Bytes payload = Download(payload_);
    const std::vector<CheckResult> results = Download(check_results_);
    size_t next = 0;
    for (size_t i = 0; i < slot_.plans().size(); ++i) {
      const TransportBlockPlan& plan = slot_.plans()[i];
      Check(TbCrcHolds(results.data() + next, plan.num_blocks), "the transport block's CRC holds");
      for (int r = 0; r < plan.num_blocks; ++r, ++next) {
        Check(results[next].crc_ok == 1, "the code block's CRC holds");
      }
      Check(std::equal(
                payload.begin() + static_cast<std::ptrdiff_t>(payload_at_[i]),
                payload.begin() + static_cast<std::ptrdiff_t>(payload_at_[i]) + plan.tb_bits / 8,
                slot_.payload().begin() + static_cast<std::ptrdiff_t>(slot_.payload_at(i))),
            "the payload came");
    }
  }

 private:
  static constexpr float kInt8Scale = 70.0f;

  void MakeReceived(const Input& input, cudaStream_t stream, std::vector<size_t>* offsets) {
    if (!input.as_symbols) {
      received_ = Upload(LlrsOf(slot_, input.llr_format, offsets), 16);
      return;
    }
    // What is sent, scrambled, without noise. 256QAM in int8 has 70 for the mean.
    Sender sender(slot_, {"", true, input.symbol_format, true});
    std::vector<TransmitTb> tbs(slot_.plans().size());
    Check(cudaMemcpy(tbs.data(), sender.batch().tbs, tbs.size() * sizeof(TransmitTb),
                     cudaMemcpyDeviceToHost) == cudaSuccess,
          "cudaMemcpy");
    size_t symbols = 0;
    for (TransmitTb& tb : tbs) {
      offsets->push_back(static_cast<size_t>(tb.out - sender.out().data()));
      if (input.symbol_format == SymbolFormat::kInt8) tb.layout.scale = kInt8Scale;
      symbols = std::max(symbols, size_t{tb.num_blocks} * tb.of_long.columns);
    }
    const auto device_tbs = Upload(tbs);
    TransmitBatch batch = sender.batch();
    batch.tbs = device_tbs.data();
    Check(LaunchTransmit(batch, stream));
    received_ = Upload(Download(sender.out()), 16);
    if (input.noise_format == NoiseFormat::kFloat32) {
      // One row for all: the same bytes again and again cost no memory's time, others would.
      const std::vector<float> variances(symbols, 0.01f);
      Bytes bytes(4 * symbols);
      std::memcpy(bytes.data(), variances.data(), bytes.size());
      noise_ = Upload(bytes, 16);
    } else {
      noise_ = Upload(Bytes(16), 16);
    }
  }

  const Slot& slot_;
  size_t soft_stride_ = 0;
  std::vector<size_t> payload_at_;
  double dematch_bytes_ = 0;
  DeviceBuffer<uint8_t> received_;
  DeviceBuffer<uint8_t> noise_;
  DeviceBuffer<int8_t> soft_;
  DeviceBuffer<int8_t> old_soft_;
  DeviceBuffer<uint8_t> bits_;
  DeviceBuffer<uint8_t> payload_;
  DeviceBuffer<ReceiveTb> tbs_;
  DeviceBuffer<CheckTb> check_tbs_;
  DeviceBuffer<DematchBlock> dematch_blocks_;
  DeviceBuffer<ldpc::DecodeBlock> decode_blocks_;
  DeviceBuffer<CheckBlock> check_blocks_;
  DeviceBuffer<ldpc::DecodeResult> decode_results_;
  DeviceBuffer<CheckResult> check_results_;
  DematchBatch dematch_;
  ldpc::DecodeBatch decode_;
  CheckBatch check_;
};

}  // namespace baseband::nr

#endif  // BASEBAND_TESTS_BENCH_NR_GPU_ENDS_H_
