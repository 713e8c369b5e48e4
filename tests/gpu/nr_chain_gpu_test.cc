// The whole chain on the GPU: from payload to what is sent, through a channel, and back; against
// known answers and the CPU's chain, bit for bit.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "kernels/base/bits.h"
#include "kernels/ldpc/decode_gpu.h"
#include "kernels/nr/block_chain.h"
#include "tests/gpu/nr_launch.h"
#include "tests/support/nr_vectors.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

class NrChainGpuTest : public NrGpuTest {};

// What a launch of every stage makes of transport blocks.
struct Decoded {
  Checked checked;
  std::vector<ldpc::DecodeResult> blocks;
  std::vector<Llrs> soft;  // [n_cb] of every block
};

ldpc::DecodeParameters Parameters() {
  ldpc::DecodeParameters parameters;
  parameters.max_iterations = 12;
  return parameters;
}

// The decoded bits stay on the device between the stages, as do the soft bits.
std::vector<Decoded> DecodeOnGpu(const std::vector<ReceiveJob>& jobs) {
  DematchLaunch dematch(jobs);
  std::vector<Received> received = dematch.Run();
  // Blocks of one code are decoded in one launch.
  struct Group {
    const ldpc::Code* code;
    std::vector<ldpc::DecodeBlock> blocks;
  };
  std::map<const ldpc::Code*, Group> groups;
  std::vector<CheckTb> check_tbs;
  std::vector<CheckBlock> check_blocks;
  std::vector<size_t> bits_offsets;
  std::vector<size_t> payload_offsets;
  size_t bits_bytes = 0;
  size_t payload_bytes = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Shape& shape = jobs[i].shape;
    Group& group = groups[shape.code.get()];
    group.code = shape.code.get();
    for (int r = 0; r < shape.plan.num_blocks; ++r) {
      ldpc::DecodeBlock block;
      block.llr = dematch.soft(i, r);
      block.llr_count = std::min(jobs[i].soft_counts[static_cast<size_t>(r)],
                                 static_cast<uint32_t>(shape.code->num_sent()));
      block.bits_offset = static_cast<uint32_t>(bits_bytes);
      block.num_filler = static_cast<uint32_t>(shape.plan.num_filler());
      block.soft_offset = ldpc::kNoSoft;
      block.result_index = static_cast<uint32_t>(check_blocks.size());
      group.blocks.push_back(block);
      bits_offsets.push_back(bits_bytes);
      bits_bytes += static_cast<size_t>((shape.plan.k_prime + 31) / 32 * 4);
      CheckBlock check;
      check.tb = static_cast<uint32_t>(i);
      check.r = static_cast<uint32_t>(r);
      check_blocks.push_back(check);
    }
    check_tbs.push_back(MakeCheckTb(shape.plan));
    check_tbs.back().soft = dematch.soft(i, 0);
    check_tbs.back().soft_count = jobs[i].soft_counts[0];
    check_tbs.back().soft_stride = dematch.soft_stride(i);
    payload_offsets.push_back(payload_bytes);
    payload_bytes += static_cast<size_t>((shape.plan.tb_bits + 31) / 32 * 4);
  }
  const auto bits = ToDevice(Bytes(bits_bytes, kGuard));
  const auto payload = ToDevice(Bytes(payload_bytes, kGuard));
  const auto decode_results = ToDevice(std::vector<ldpc::DecodeResult>(check_blocks.size()));
  const auto check_results = ToDevice(std::vector<CheckResult>(check_blocks.size()));
  for (size_t i = 0; i < check_tbs.size(); ++i) {
    check_tbs[i].payload = payload.data() + payload_offsets[i];
  }
  for (size_t i = 0; i < check_blocks.size(); ++i) {
    check_blocks[i].bits = bits.data() + bits_offsets[i];
  }
  const auto device_tbs = ToDevice(check_tbs);
  const auto device_blocks = ToDevice(check_blocks);
  std::vector<cuda::DeviceBuffer<ldpc::DecodeBlock>> kept;
  for (const auto& [code, group] : groups) {
    kept.push_back(ToDevice(group.blocks));
    ldpc::DecodeBatch batch;
    batch.code = code;
    batch.parameters = Parameters();
    batch.blocks = kept.back().data();
    batch.num_blocks = static_cast<int>(group.blocks.size());
    batch.bits = bits.data();
    batch.results = decode_results.data();
    EXPECT_THAT(LaunchDecode(batch, cudaStreamPerThread), IsOk());
  }
  CheckBatch check;
  check.tbs = device_tbs.data();
  check.blocks = device_blocks.data();
  check.num_blocks = static_cast<int>(check_blocks.size());
  check.decode_results = decode_results.data();
  check.results = check_results.data();
  EXPECT_THAT(LaunchCheckCrc(check, cudaStreamPerThread), IsOk());

  const Bytes payloads = ToHost(payload);
  const std::vector<ldpc::DecodeResult> decoded = ToHost(decode_results);
  const std::vector<CheckResult> checked = ToHost(check_results);
  std::vector<Decoded> out(jobs.size());
  size_t next = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto begin = payloads.begin() + static_cast<std::ptrdiff_t>(payload_offsets[i]);
    const int num_blocks = jobs[i].shape.plan.num_blocks;
    out[i].checked.payload.assign(begin, begin + jobs[i].shape.plan.tb_bits / 8);
    out[i].checked.tb_ok = TbCrcHolds(checked.data() + next, num_blocks);
    out[i].soft = std::move(received[i].soft);
    for (int r = 0; r < num_blocks; ++r, ++next) {
      out[i].checked.block_ok.push_back(checked[next].crc_ok == 1);
      out[i].blocks.push_back(decoded[next]);
      out[i].checked.tb_ok = out[i].checked.tb_ok && out[i].checked.block_ok.back();
    }
  }
  return out;
}

// The same by the CPU's chain, of int8 LLRs. `rows` is the code's.
Decoded DecodeOnCpu(const ReceiveJob& job) {
  const TransportBlockPlan& plan = job.shape.plan;
  Decoded out;
  out.checked.payload.resize(static_cast<size_t>(plan.tb_bits / 8));
  const Llrs llr(job.received.begin(), job.received.end());
  std::vector<BlockResult> results;
  for (int r = 0; r < plan.num_blocks; ++r) {
    const bool combines = !job.old_soft.empty();
    Llrs soft = combines ? job.old_soft[static_cast<size_t>(r)] : Llrs(plan.rate_match(r).n_cb);
    results.push_back(
        DecodeBlockOnCpu(plan, *job.shape.code, Parameters(), r,
                         absl::MakeConstSpan(llr).subspan(static_cast<size_t>(plan.e_begin(r)),
                                                          static_cast<size_t>(plan.e(r))),
                         combines, absl::MakeSpan(soft), absl::MakeSpan(out.checked.payload)));
    out.blocks.push_back(results.back().decode);
    out.checked.block_ok.push_back(results.back().crc_ok);
    out.soft.push_back(soft);
  }
  out.checked.tb_ok = JoinTransportBlock(plan, results, absl::MakeSpan(out.checked.payload));
  return out;
}

void ExpectEqual(const Decoded& gpu, const Decoded& cpu) {
  EXPECT_TRUE(gpu.checked.payload == cpu.checked.payload);
  EXPECT_EQ(gpu.checked.block_ok, cpu.checked.block_ok);
  EXPECT_EQ(gpu.checked.tb_ok, cpu.checked.tb_ok);
  EXPECT_TRUE(gpu.soft == cpu.soft);
  ASSERT_EQ(gpu.blocks.size(), cpu.blocks.size());
  for (size_t r = 0; r < gpu.blocks.size(); ++r) {
    EXPECT_EQ(gpu.blocks[r].iterations, cpu.blocks[r].iterations) << "block " << r;
    EXPECT_EQ(gpu.blocks[r].parity_ok, cpu.blocks[r].parity_ok) << "block " << r;
  }
}

// All soft bits of `shape`, and none from before.
ReceiveJob MakeReceiveJob(const Shape& shape, const Llrs& llr) {
  ReceiveJob job;
  job.shape = shape;
  job.received.assign(llr.begin(), llr.end());
  for (int r = 0; r < shape.plan.num_blocks; ++r)
    job.soft_counts.push_back(shape.plan.rate_match(r).n_cb);
  return job;
}

TEST_F(NrChainGpuTest, KnownTransmissionsDecodeWithHarq) {
  const std::vector<testing::NrDecodeVector> vectors = testing::ReadNrDecodeVectors();
  ASSERT_FALSE(vectors.empty());
  for (const testing::NrDecodeVector& vector : vectors) {
    SCOPED_TRACE("case " + std::to_string(vector.plan.number));
    std::vector<Llrs> soft;
    for (size_t t = 0; t < vector.transmissions.size(); ++t) {
      TransportBlock block = vector.plan.block;
      block.rv = vector.transmissions[t].rv;
      ReceiveJob job = MakeReceiveJob(MakeShape(block, block.base_graph == 1 ? 46 : 42),
                                      vector.transmissions[t].llr);
      job.old_soft = soft;

      const Decoded decoded = DecodeOnGpu({job})[0];

      ExpectEqual(decoded, DecodeOnCpu(job));
      soft = decoded.soft;
      const bool is_last = t + 1 == vector.transmissions.size();
      if (t == 0) {
        EXPECT_EQ(decoded.checked.tb_ok, is_last || vector.decodes_after_first);
      }
      if (is_last) {
        EXPECT_TRUE(decoded.checked.tb_ok);
        EXPECT_EQ(decoded.checked.payload, vector.plan.tb);
      }
    }
  }
}

Shape RandomTransportBlock(Random& random, int64_t max_bytes) {
  for (;;) {
    Shape shape = RandomShape(random, max_bytes);
    if (shape.plan.tb_bits % 8 == 0) return shape;
  }
}

// int8 LLRs of packed bits through noise; the sign is right in most cases.
Llrs NoisyLlrs(const Bytes& sent, int64_t count, double variance, Random& random) {
  Llrs llr;
  for (int64_t i = 0; i < count; ++i) {
    const int bit = sent[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1;
    const double y = 1.0 - 2.0 * bit + std::sqrt(variance) * random.Normal();
    llr.push_back(static_cast<int8_t>(std::clamp(std::round(8.0 * y / variance), -127.0, 127.0)));
  }
  return llr;
}

TEST_F(NrChainGpuTest, NoisySlotsEqualTheCpuOverTwoTransmissions) {
  for (uint64_t seed = 60; seed < 64; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<SendJob> sends;
    while (sends.size() < 14) {
      SendJob job;
      job.shape = RandomTransportBlock(random, 8000);
      job.payload = RandomBytes(random, static_cast<size_t>(job.shape.plan.tb_bits / 8));
      sends.push_back(job);
    }
    const std::vector<Bytes> sent = TransmitOnGpu(sends);
    std::vector<ReceiveJob> jobs;
    for (size_t i = 0; i < sends.size(); ++i) {
      const double variance = 0.3 + 0.7 * random.Uniform();
      jobs.push_back(MakeReceiveJob(sends[i].shape,
                                    NoisyLlrs(sent[i], sends[i].shape.plan.g(), variance, random)));
    }
    for (int t = 0; t < 2; ++t) {
      const std::vector<Decoded> decoded = DecodeOnGpu(jobs);
      for (size_t i = 0; i < jobs.size(); ++i) {
        SCOPED_TRACE(jobs[i].shape.Describe());
        ExpectEqual(decoded[i], DecodeOnCpu(jobs[i]));
        jobs[i].old_soft = decoded[i].soft;
      }
    }
  }
}

// Through symbols of every modulation and format, with hardly any noise.
TEST_F(NrChainGpuTest, WhatIsSentAsSymbolsArrives) {
  Random random(70);
  std::vector<SendJob> sends;
  constexpr SymbolFormat kFormats[] = {SymbolFormat::kFloat32, SymbolFormat::kFloat16,
                                       SymbolFormat::kInt16, SymbolFormat::kInt8};
  for (int i = 0; i < 60; ++i) {
    SendJob job;
    for (;;) {  // of no more than a bit of code a bit that is sent
      job.shape = RandomTransportBlock(random, i == 0 ? 100000 : 5000);
      const TransportBlockPlan& plan = job.shape.plan;
      if (plan.of_short.k0 == 0 && plan.of_short.n_cb > 0.95 * 2 * plan.k_prime &&
          plan.e_short > 1.2 * plan.k_prime) {
        break;
      }
    }
    job.payload = RandomBytes(random, static_cast<size_t>(job.shape.plan.tb_bits / 8));
    job.c_init = static_cast<uint32_t>(random.Next()) & kMaxScramblingInit;
    job.as_symbols = true;
    job.layout = RandomLayout(random, kFormats[i % 4], job.shape.plan.g() / job.shape.qm());
    sends.push_back(job);
  }
  const std::vector<Bytes> sent = TransmitOnGpu(sends);
  std::vector<ReceiveJob> jobs;
  for (size_t i = 0; i < sends.size(); ++i) {
    ReceiveJob job = MakeReceiveJob(sends[i].shape, {});
    job.received = sent[i];
    job.as_symbols = true;
    job.demap.qm = sends[i].shape.qm();
    job.demap.layout = sends[i].layout;
    job.demap.noise_variance = 1e-3f;
    job.c_init = sends[i].c_init;
    jobs.push_back(job);
  }
  const std::vector<Decoded> decoded = DecodeOnGpu(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    SCOPED_TRACE(jobs[i].shape.Describe());
    EXPECT_TRUE(decoded[i].checked.tb_ok);
    EXPECT_THAT(decoded[i].checked.block_ok, Each(true));
    EXPECT_TRUE(decoded[i].checked.payload == sends[i].payload);
  }
}

}  // namespace
}  // namespace baseband::nr
