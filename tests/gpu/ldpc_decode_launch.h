// Launches of the LDPC decoder with all that they need, random blocks for them, and what the CPU's
// version makes of these. For the tests of this folder.
#ifndef BASEBAND_TESTS_GPU_LDPC_DECODE_LAUNCH_H_
#define BASEBAND_TESTS_GPU_LDPC_DECODE_LAUNCH_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/ldpc/decode_gpu.h"
#include "tests/support/gpu_test.h"
#include "tests/support/ldpc_words.h"
#include "tests/support/status_matchers.h"

namespace baseband::ldpc {

using ::baseband::testing::IsOk;
using ::baseband::testing::Random;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

inline constexpr uint8_t kGuard = 0xa5;  // fills all output before a launch
inline constexpr size_t kGuardBytes = 4;

struct Job {
  std::vector<int8_t> llr;
  int num_filler = 0;
  bool wants_soft = true;
};

struct Decoded {
  std::vector<uint8_t> bits;
  std::vector<int8_t> soft;  // empty if not wanted
  int iterations = 0;
  int parity_ok = 0;

  friend bool operator==(const Decoded& a, const Decoded& b) {
    return a.bits == b.bits && a.soft == b.soft && a.iterations == b.iterations &&
           a.parity_ok == b.parity_ok;
  }
};

inline size_t RoundUp4(size_t n) { return (n + 3) / 4 * 4; }

// Decodes in one launch: LLRs without gaps from byte `first_byte` on, results in reverse order.
// Checks that nothing was written but what the header says.
class Launch {
 public:
  Launch(const Code& code, const DecodeParameters& parameters, const std::vector<Job>& jobs,
         size_t first_byte = 1)
      : code_(code), jobs_(jobs) {
    std::vector<int8_t> llr(first_byte, 77);
    std::vector<size_t> llr_offsets;
    size_t bits_bytes = 0;
    size_t soft_bytes = 0;
    for (const Job& job : jobs) {
      DecodeBlock block;
      llr_offsets.push_back(llr.size());
      block.llr_count = static_cast<uint32_t>(job.llr.size());
      block.num_filler = static_cast<uint32_t>(job.num_filler);
      block.bits_offset = static_cast<uint32_t>(bits_bytes);
      block.soft_offset = job.wants_soft ? static_cast<uint32_t>(soft_bytes) : kNoSoft;
      block.result_index = static_cast<uint32_t>(jobs.size() - 1 - blocks_.size());
      llr.insert(llr.end(), job.llr.begin(), job.llr.end());
      bits_bytes += BitsSize(job) + kGuardBytes;
      if (job.wants_soft) soft_bytes += SoftSize() + kGuardBytes;
      blocks_.push_back(block);
    }
    device_llr_ = ToDevice(llr, 16);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i].llr = device_llr_.data() + llr_offsets[i];
    }
    device_blocks_ = ToDevice(blocks_);
    device_bits_ = ToDevice(std::vector<uint8_t>(bits_bytes, kGuard));
    device_soft_ = ToDevice(std::vector<uint8_t>(soft_bytes + 1, kGuard));
    DecodeResult poison;
    poison.iterations = kGuard;
    poison.parity_ok = kGuard;
    device_results_ = ToDevice(std::vector<DecodeResult>(jobs.size() + 1, poison));
    device_workspace_ = ToDevice(
        std::vector<uint8_t>(static_cast<size_t>(DecodeWorkspaceBytes(code, parameters)), kGuard),
        1);
    batch_.code = &code;
    batch_.parameters = parameters;
    batch_.blocks = device_blocks_.data();
    batch_.num_blocks = static_cast<int>(jobs.size());
    batch_.bits = device_bits_.data();
    batch_.soft = soft_bytes > 0 ? reinterpret_cast<int8_t*>(device_soft_.data()) : nullptr;
    batch_.results = device_results_.data();
    batch_.workspace = device_workspace_.data();
  }

  DecodeBatch& batch() { return batch_; }

  std::vector<Decoded> Run() {
    EXPECT_THAT(LaunchDecode(batch_, cudaStreamPerThread), IsOk());
    return Read();
  }

  std::vector<Decoded> Read() {
    const std::vector<uint8_t> bits = ToHost(device_bits_);
    const std::vector<uint8_t> soft = ToHost(device_soft_);
    const std::vector<DecodeResult> results = ToHost(device_results_);
    std::vector<Decoded> decoded;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      Decoded out;
      const auto begin = bits.begin() + blocks_[i].bits_offset;
      const auto size = static_cast<std::ptrdiff_t>(BitsSize(jobs_[i]));
      out.bits.assign(begin, begin + size);
      ExpectGuard(begin + size);
      if (jobs_[i].wants_soft) {
        const auto first = soft.begin() + blocks_[i].soft_offset;
        out.soft.assign(first, first + code_.n());
        ExpectGuard(first + static_cast<std::ptrdiff_t>(SoftSize()));
      }
      const DecodeResult& result = results[blocks_[i].result_index];
      out.iterations = result.iterations;
      out.parity_ok = result.parity_ok;
      decoded.push_back(out);
    }
    return decoded;
  }

 private:
  size_t BitsSize(const Job& job) const {
    return RoundUp4(static_cast<size_t>(DecodedBytes(code_, job.num_filler)));
  }
  size_t SoftSize() const { return RoundUp4(static_cast<size_t>(code_.n())); }
  static void ExpectGuard(std::vector<uint8_t>::const_iterator at) {
    EXPECT_TRUE(std::all_of(at, at + kGuardBytes, [](uint8_t b) { return b == kGuard; }))
        << "written past a block's output";
  }

  const Code& code_;
  std::vector<Job> jobs_;
  std::vector<DecodeBlock> blocks_;
  cuda::DeviceBuffer<DecodeBlock> device_blocks_;
  cuda::DeviceBuffer<int8_t> device_llr_;
  cuda::DeviceBuffer<uint8_t> device_bits_;
  cuda::DeviceBuffer<uint8_t> device_soft_;
  cuda::DeviceBuffer<DecodeResult> device_results_;
  cuda::DeviceBuffer<uint8_t> device_workspace_;
  DecodeBatch batch_;
};

inline std::vector<Decoded> DecodeOnGpu(const Code& code, const DecodeParameters& parameters,
                                        const std::vector<Job>& jobs, size_t first_byte = 1,
                                        int sharers = 1) {
  Launch launch(code, parameters, jobs, first_byte);
  launch.batch().sharers = sharers;
  return launch.Run();
}

inline Decoded ExpectedOf(const Code& code, const DecodeParameters& parameters, const Job& job) {
  Decoded out;
  const auto size = static_cast<size_t>(DecodedBytes(code, job.num_filler));
  out.bits.assign(RoundUp4(size), 0);
  std::vector<int8_t> soft(static_cast<size_t>(code.n()));
  const DecodeResult result =
      DecodeOnCpu(code, parameters, job.num_filler, job.llr,
                  absl::MakeSpan(out.bits).subspan(0, size), absl::MakeSpan(soft));
  if (job.wants_soft) out.soft = soft;
  out.iterations = result.iterations;
  out.parity_ok = result.parity_ok;
  return out;
}

inline std::string Describe(const Code& code, const DecodeParameters& p) {
  return code.name() + ", algorithm " + std::to_string(int(p.algorithm)) + ", schedule " +
         std::to_string(int(p.schedule)) + ", " + std::to_string(p.max_iterations) +
         " iterations, early termination " + std::to_string(p.early_termination) + ", CRC " +
         std::to_string(p.stop_crc.has_value() ? int(*p.stop_crc) : -1);
}

// Alone on the device, and beside so many that few blocks are decoded as many are.
inline void ExpectEqualToCpu(const Code& code, const DecodeParameters& parameters,
                             const std::vector<Job>& jobs, size_t first_byte = 1) {
  SCOPED_TRACE(Describe(code, parameters) + ", " + std::to_string(jobs.size()) + " blocks");
  const std::vector<Decoded> decoded = DecodeOnGpu(code, parameters, jobs, first_byte);
  constexpr int kMany = 1000;
  EXPECT_TRUE(decoded == DecodeOnGpu(code, parameters, jobs, first_byte, kMany));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Decoded expected = ExpectedOf(code, parameters, jobs[i]);
    EXPECT_EQ(decoded[i].iterations, expected.iterations) << "block " << i;
    EXPECT_EQ(decoded[i].parity_ok, expected.parity_ok) << "block " << i;
    EXPECT_TRUE(decoded[i].bits == expected.bits) << "bits of block " << i;
    EXPECT_TRUE(decoded[i].soft == expected.soft) << "soft values of block " << i;
  }
}

// A word of the code through noise, some of it lost, or no word at all: blocks that converge after
// different numbers of iterations, or never.
inline Job RandomJob(const Code& code, Random& random, bool wants_soft) {
  Job job;
  job.wants_soft = wants_soft;
  if (random.Below(3) == 0) job.num_filler = random.Below(code.k());
  std::vector<uint8_t> word(static_cast<size_t>(code.n()), 0);
  if (code.encode_plan().ok()) word = testing::RandomWord(code, job.num_filler, random);
  const double ebn0_db = 1.0 + random.Below(6);
  const double variance = testing::NoiseVariance(ebn0_db, testing::SentRate(code));
  job.llr =
      testing::QuantiseLlr(testing::SendOverAwgn(testing::SentBits(code, word), variance, random));
  switch (random.Below(6)) {
    case 0:
      job.llr.resize(static_cast<size_t>(1 + random.Below(code.num_sent())));
      break;
    case 1:
      for (int8_t& llr : job.llr) llr = static_cast<int8_t>(random.Below(256) - 128);
      break;
    default:
      break;
  }
  return job;
}

inline std::vector<Job> RandomJobs(const Code& code, size_t count, Random& random,
                                   bool wants_soft = true) {
  std::vector<Job> jobs;
  while (jobs.size() < count) {
    jobs.push_back(RandomJob(code, random, wants_soft && random.Below(4) != 0));
  }
  return jobs;
}

inline DecodeParameters Iterations(int max_iterations, bool early_termination) {
  DecodeParameters parameters;
  parameters.max_iterations = max_iterations;
  parameters.early_termination = early_termination;
  return parameters;
}

class LdpcDecodeGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      ASSERT_THAT(PrepareDecodeKernels(), IsOk());
    }
  }
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_TESTS_GPU_LDPC_DECODE_LAUNCH_H_
