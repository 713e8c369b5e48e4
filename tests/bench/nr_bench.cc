// The 5G transport-block chain on one CPU core: checks its results first, then prints rates.
//
//   nr_bench [repetitions]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/base/bits.h"
#include "kernels/crc/crc.h"
#include "kernels/ldpc/encode.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/reference.h"
#include "tests/bench/rows.h"

namespace {

using namespace baseband::nr;  // NOLINT: a program of one file
using baseband::BytesForBits;
using baseband::Crc;
using baseband::CrcOfBits;

int g_repeats = 25;   // main's argument
std::string g_chain;  // whose stages are measured
constexpr double kSecondsPerRepeat = 0.004;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Check(bool right, const std::string& what) {
  if (right) return;
  std::fprintf(stderr, "%s: WRONG RESULT\n", what.c_str());
  std::exit(1);
}

// Runs `work`, which handles `units`, and prints how long it takes and the rate.
void Measure(const std::string& name, double units, const char* unit,
             const std::function<void()>& work) {
  double once = 1;
  for (int i = 0; i < 3; ++i) {
    const double begin = Seconds();
    work();
    once = std::min(once, Seconds() - begin);
  }
  const int count = 1 + static_cast<int>(kSecondsPerRepeat / once);
  std::vector<double> seconds;
  for (int repeat = 0; repeat < g_repeats; ++repeat) {
    const double begin = Seconds();
    for (int i = 0; i < count; ++i) work();
    seconds.push_back((Seconds() - begin) / count);
  }
  const auto [best, median, spread] = baseband::bench::Times::Of(seconds);
  const std::string stage = g_chain + (name[0] == ' ' ? name.substr(1) : name);
  const std::string thing = std::string(unit) == "Gb/s" ? "bit" : "LLR";
  baseband::bench::RateRow("shared channel", "cpu", {{"stage", stage}}, units, thing, best, spread)
      .Emit();
  std::printf("%-52s best %9.3f us %7.2f %s   median %9.3f us %7.2f %s\n", name.c_str(), best * 1e6,
              units / best * 1e-9, unit, median * 1e6, units / median * 1e-9, unit);
}

std::vector<uint8_t> RandomBytes(int64_t count, std::mt19937* random) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((*random)());
  return bytes;
}

void RunCrc() {
  std::mt19937 random(1);
  const std::vector<uint8_t> bytes = RandomBytes(8448 / 8 + 1, &random);
  const Bits bits = baseband::ldpc::UnpackBits(bytes, 8424);
  Bits parity;
  for (int i = 23; i >= 0; --i) {
    const uint32_t crc = CrcOfBits(Crc::kCrc24B, bytes.data(), 0, 8424);
    parity.push_back(static_cast<uint8_t>(crc >> i & 1));
  }
  Check(parity == ReferenceCrc(Crc::kCrc24B, bits), "CRC24B");
  volatile uint32_t sink = 0;
  for (const int first : {0, 3}) {
    Measure("CRC24B of 8424 bits from bit " + std::to_string(first), 8424, "Gb/s",
            [&] { sink = CrcOfBits(Crc::kCrc24B, bytes.data(), first, 8424); });
  }
}

// Base graph 1, zc 384, 24 fillers; `e` about the given, rv 0 or 2.
CodeBlock BlockOf(int qm, int64_t e, int rv) {
  CodeBlock block;
  block.zc = 384;
  block.num_filler = 24;
  block.qm = qm;
  block.e = e / qm * qm;
  block.rv = rv;
  return block;
}

std::string NameOf(const char* what, const CodeBlock& block) {
  return std::string(what) + " qm " + std::to_string(block.qm) + " e " + std::to_string(block.e) +
         " rv " + std::to_string(block.rv);
}

void RunRateMatch(const CodeBlock& block, int64_t out_bit) {
  std::mt19937 random(2);
  const RateMatch rate_match = *MakeRateMatch(block);
  const std::vector<uint8_t> buffer = RandomBytes(66 * 384 / 8, &random);
  std::vector<uint8_t> out(static_cast<size_t>(BytesForBits(block.e + out_bit)));
  RateMatchOnCpu(rate_match, buffer, out.data(), 0);
  const std::string name = NameOf("rate match", block) + " at bit " + std::to_string(out_bit);
  Check(baseband::ldpc::UnpackBits(out, static_cast<int>(block.e)) ==
            ReferenceRateMatch(block, baseband::ldpc::UnpackBits(buffer, 66 * 384)),
        name);
  Measure(name, static_cast<double>(block.e), "Gb/s",
          [&] { RateMatchOnCpu(rate_match, buffer, out.data(), out_bit); });
}

void RunRateDematch(const CodeBlock& block, bool combine) {
  std::mt19937 random(3);
  const RateMatch rate_match = *MakeRateMatch(block);
  std::vector<int8_t> llr(static_cast<size_t>(block.e));
  for (int8_t& value : llr) value = static_cast<int8_t>(static_cast<int>(random() % 61) - 30);
  std::vector<int8_t> soft(rate_match.n_cb);
  for (int8_t& value : soft) value = static_cast<int8_t>(static_cast<int>(random() % 61) - 30);
  const std::vector<int8_t> old = soft;
  const std::string name = NameOf(combine ? "combine" : "dematch", block);
  RateDematchOnCpu(rate_match, llr, combine, absl::MakeSpan(soft));
  Check(soft == ReferenceRateDematch(block, llr, combine ? old : std::vector<int8_t>{}), name);
  Measure(name, static_cast<double>(block.e), "GLLR/s",
          [&] { RateDematchOnCpu(rate_match, llr, combine, absl::MakeSpan(soft)); });
}

// A whole transport block, its blocks one after the other.
void RunChain(const char* name, const TransportBlock& tb) {
  std::mt19937 random(4);
  const TransportBlockPlan plan = *MakePlan(tb);
  const auto code = *baseband::ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
  const std::vector<uint8_t> payload = RandomBytes(tb.tb_bytes, &random);
  std::vector<uint8_t> coded(static_cast<size_t>(BytesForBits(tb.g)));
  std::vector<EdgeBits> edges(static_cast<size_t>(plan.num_blocks));
  const auto send = [&] {
    const uint32_t crc = TransportBlockCrcOnCpu(plan, payload);
    for (int r = 0; r < plan.num_blocks; ++r) {
      edges[static_cast<size_t>(r)] =
          EncodeBlockOnCpu(plan, *code, payload, crc, r, absl::MakeSpan(coded));
    }
    JoinCodedBits(plan, edges, absl::MakeSpan(coded));
  };
  send();
  const Bits bits = baseband::ldpc::UnpackBits(payload, static_cast<int>(plan.tb_bits));
  Check(coded == baseband::ldpc::PackBits(ReferenceSend(tb, bits)), name);

  // Noise that the decoder needs a few iterations for.
  std::normal_distribution<float> noise(0.0f, 6.0f);
  std::vector<int8_t> llr;
  for (const uint8_t bit : baseband::ldpc::UnpackBits(coded, static_cast<int>(tb.g))) {
    llr.push_back(static_cast<int8_t>(
        std::clamp((bit != 0 ? -16.0f : 16.0f) + noise(random), -127.0f, 127.0f)));
  }
  std::vector<int8_t> soft(plan.of_long.n_cb);
  std::vector<uint8_t> received(payload.size());
  std::vector<BlockResult> blocks(static_cast<size_t>(plan.num_blocks));
  const baseband::ldpc::DecodeParameters parameters;
  const auto part = [&](int r) {
    return absl::MakeConstSpan(llr).subspan(static_cast<size_t>(plan.e_begin(r)),
                                            static_cast<size_t>(plan.e(r)));
  };
  const auto receive = [&] {
    for (int r = 0; r < plan.num_blocks; ++r) {
      blocks[static_cast<size_t>(r)] =
          DecodeBlockOnCpu(plan, *code, parameters, r, part(r), false, absl::MakeSpan(soft),
                           absl::MakeSpan(received));
    }
    return JoinTransportBlock(plan, blocks, absl::MakeSpan(received));
  };
  Check(receive() && received == payload, name);
  double iterations = 0;
  for (const BlockResult& block : blocks) iterations += block.decode.iterations;
  std::printf("%s: %d bytes, %d blocks, zc %d, %d rows, %.1f iterations\n", name,
              static_cast<int>(tb.tb_bytes), plan.num_blocks, plan.zc, plan.num_rows,
              iterations / plan.num_blocks);

  const auto payload_bits = static_cast<double>(plan.tb_bits);
  g_chain = std::string(name) + ":";
  Measure("  send", payload_bits, "Gb/s", send);
  std::vector<uint8_t> parity(static_cast<size_t>(BytesForBits(code->parity_bits())));
  Measure("  of which LDPC encoder", payload_bits, "Gb/s", [&] {
    for (int r = 0; r < plan.num_blocks; ++r) {
      baseband::ldpc::EncodeOnCpu(*code, payload,
                                  static_cast<int>(std::min<int64_t>(plan.k_prime, plan.tb_bits)),
                                  absl::MakeSpan(parity));
    }
  });
  Measure("  receive", payload_bits, "Gb/s", receive);
  std::vector<uint8_t> decided(static_cast<size_t>(BytesForBits(plan.k_prime)));
  const auto used = std::min<size_t>(soft.size(), static_cast<size_t>(code->num_sent()));
  Measure("  of which LDPC decoder", payload_bits, "Gb/s", [&] {
    for (int r = 0; r < plan.num_blocks; ++r) {  // the last block's soft bits every time
      baseband::ldpc::DecodeOnCpu(*code, parameters, plan.num_filler(),
                                  absl::MakeConstSpan(soft).first(used), absl::MakeSpan(decided),
                                  {});
    }
  });
}

TransportBlock TbOf(int64_t bytes, int base_graph, int qm, int layers, int64_t g) {
  TransportBlock tb;
  tb.tb_bytes = bytes;
  tb.base_graph = base_graph;
  tb.qm = qm;
  tb.num_layers = layers;
  tb.g = g;
  return tb;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) g_repeats = std::max(1, std::atoi(argv[1]));
  RunCrc();
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    RunRateMatch(BlockOf(qm, 12000, 0), 0);
    RunRateMatch(BlockOf(qm, 12000, 2), 3);
  }
  RunRateMatch(BlockOf(2, 60000, 0), 0);
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    RunRateDematch(BlockOf(qm, 12000, 0), false);
    RunRateDematch(BlockOf(qm, 12000, 2), true);
  }
  RunRateDematch(BlockOf(2, 60000, 0), false);
  RunRateDematch(BlockOf(8, 60000, 0), true);
  RunChain("256QAM, R = 0.93, 4 layers", TbOf(1277992 / 8, 1, 8, 4, 1376256));
  RunChain("64QAM, R = 0.55", TbOf(15792, 1, 6, 2, 230400));
  RunChain("QPSK, R = 0.2", TbOf(1501, 2, 2, 1, 60042));
  RunChain("QPSK, 40 bytes", TbOf(40, 2, 2, 1, 960));
  return 0;
}
