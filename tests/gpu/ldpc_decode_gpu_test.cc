// LaunchDecode against known answers, the CPU's version and the reference: bit for bit for the
// integer engine, within the bound of ldpc_sum_product_test for sum-product.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/custom_codes.h"
#include "tests/support/gpu_test.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/ldpc_words.h"
#include "tests/support/status_matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::Random;
using ::baseband::testing::StatusIs;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;
using ::testing::HasSubstr;

constexpr uint8_t kGuard = 0xa5;  // fills all output before a launch
constexpr size_t kGuardBytes = 4;

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

size_t RoundUp4(size_t n) { return (n + 3) / 4 * 4; }

// Decodes in one launch: LLRs without gaps from byte `first_byte` on, results in reverse order.
// Checks that nothing was written but what the header says.
class Launch {
 public:
  Launch(const Code& code, const DecodeParameters& parameters, const std::vector<Job>& jobs,
         size_t first_byte = 1)
      : code_(code), jobs_(jobs) {
    std::vector<int8_t> llr(first_byte, 77);
    size_t bits_bytes = 0;
    size_t soft_bytes = 0;
    for (const Job& job : jobs) {
      DecodeBlock block;
      block.llr_offset = static_cast<uint32_t>(llr.size());
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
    device_blocks_ = ToDevice(blocks_);
    device_llr_ = ToDevice(llr, 16);
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
    batch_.llr = device_llr_.data();
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

std::vector<Decoded> DecodeOnGpu(const Code& code, const DecodeParameters& parameters,
                                 const std::vector<Job>& jobs) {
  return Launch(code, parameters, jobs).Run();
}

Decoded ExpectedOf(const Code& code, const DecodeParameters& parameters, const Job& job) {
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

std::string Describe(const Code& code, const DecodeParameters& p) {
  return code.name() + ", algorithm " + std::to_string(int(p.algorithm)) + ", schedule " +
         std::to_string(int(p.schedule)) + ", " + std::to_string(p.max_iterations) +
         " iterations, early termination " + std::to_string(p.early_termination);
}

void ExpectEqualToCpu(const Code& code, const DecodeParameters& parameters,
                      const std::vector<Job>& jobs) {
  SCOPED_TRACE(Describe(code, parameters) + ", " + std::to_string(jobs.size()) + " blocks");
  const std::vector<Decoded> decoded = DecodeOnGpu(code, parameters, jobs);
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
Job RandomJob(const Code& code, Random& random, bool wants_soft) {
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

std::vector<Job> RandomJobs(const Code& code, size_t count, Random& random,
                            bool wants_soft = true) {
  std::vector<Job> jobs;
  while (jobs.size() < count) {
    jobs.push_back(RandomJob(code, random, wants_soft && random.Below(4) != 0));
  }
  return jobs;
}

DecodeParameters Iterations(int max_iterations, bool early_termination) {
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

TEST_F(LdpcDecodeGpuTest, NoisyWordsOfTheStandardsDecode) {
  const std::vector<nlohmann::json> cases = testing::ReadJsonLines("ldpc/noisy_decode.jsonl");
  ASSERT_FALSE(cases.empty());
  for (const nlohmann::json& test : cases) {
    SCOPED_TRACE(std::string(test.at("group")) + " " + test.at("case").dump());
    Job job;
    absl::StatusOr<CodePtr> code;
    if (test.at("standard") == "38.212") {
      code = NrCode(test.at("bg"), test.at("zc"));
      job.num_filler = test.at("filler");
    } else if (test.at("standard") == "802.16e") {
      code = WimaxCode(test.at("rate"), test.at("n"));
    } else {
      code = WifiCode(test.at("rate"), test.at("n"));
    }
    ASSERT_THAT(code, IsOk());
    const std::vector<uint8_t> bytes = testing::FromHex(test.at("llr"));
    job.llr.assign(bytes.begin(), bytes.end());

    Decoded decoded = DecodeOnGpu(**code, DecodeParameters(), {job})[0];

    decoded.bits.resize(static_cast<size_t>(DecodedBytes(**code, job.num_filler)));
    EXPECT_EQ(decoded.bits, testing::FromHex(test.at("info")));
    EXPECT_EQ(decoded.parity_ok, 1);
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsTheCpuForEveryLiftingSize) {
  Random random(1);
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const size_t count = zc < 64 ? 401 : 5;
        for (const bool soft : {false, true}) {
          ExpectEqualToCpu(*code, Iterations(4, soft), RandomJobs(*code, count, random, soft));
        }
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsTheCpuForEveryNumberOfRows) {
  Random random(2);
  for (const int base_graph : {1, 2}) {
    for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); ++rows) {
      for (const int zc : {384, 36}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        ExpectEqualToCpu(*code, Iterations(3, true), RandomJobs(*code, 3, random, false));
        ExpectEqualToCpu(*code, Iterations(2, false), RandomJobs(*code, 3, random, true));
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsTheCpuForEveryBatchSize) {
  Random random(3);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(1, 384, 4), *NrCode(2, 96), *NrCode(1, 2),
                              *WimaxCode("1/2", 2304), *WifiCode("5/6", 648)}) {
    for (const size_t count : {1, 2, 3, 31, 32, 33, 263, 264, 265, 700}) {
      ExpectEqualToCpu(*code, Iterations(5, true), RandomJobs(*code, count, random, false));
    }
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsTheCpuForEveryCodeOfTheIeee) {
  Random random(4);
  for (const CodePtr& code : testing::IeeeCodes()) {
    ExpectEqualToCpu(*code, Iterations(6, true), RandomJobs(*code, 33, random));
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsCpuAndReferenceForEveryOption) {
  Random random(5);
  for (const CodePtr& code :
       {*NrCode(1, 64, 46), *NrCode(2, 7, 10), *WimaxCode("2/3B", 672), *WifiCode("5/6", 648)}) {
    for (const Algorithm algorithm : {Algorithm::kNormalizedMinSum, Algorithm::kBitFlipping}) {
      for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
        for (const float scale_factor : {0.0f, 0.001f, 0.5f, 0.8f, 1.0f}) {
          for (const int iterations : {1, 2, 7, kMaxIterations}) {
            DecodeParameters parameters = Iterations(iterations, iterations != 2);
            parameters.algorithm = algorithm;
            parameters.schedule = schedule;
            parameters.scale_factor = scale_factor;
            const std::vector<Job> jobs = RandomJobs(*code, 3, random, true);
            ExpectEqualToCpu(*code, parameters, jobs);
            const reference::Decoded expected =
                reference::Decode(*code, parameters, jobs[0].num_filler, jobs[0].llr);
            Job job = jobs[0];
            job.wants_soft = true;
            Decoded decoded = DecodeOnGpu(*code, parameters, {job})[0];
            decoded.bits.resize(expected.bits.size());
            EXPECT_EQ(decoded.bits, expected.bits) << Describe(*code, parameters);
            EXPECT_EQ(decoded.soft, expected.soft) << Describe(*code, parameters);
            EXPECT_EQ(decoded.iterations, expected.result.iterations);
            EXPECT_EQ(decoded.parity_ok, expected.result.parity_ok);
          }
        }
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsTheReferenceForTheLargestCode) {
  Random random(6);
  for (const int base_graph : {1, 2}) {
    const CodePtr code = *NrCode(base_graph, 384);
    const Job job = RandomJob(*code, random, false);
    const reference::Decoded expected =
        reference::Decode(*code, Iterations(3, true), job.num_filler, job.llr);
    Decoded decoded = DecodeOnGpu(*code, Iterations(3, true), {job})[0];
    decoded.bits.resize(expected.bits.size());
    EXPECT_EQ(decoded.bits, expected.bits);
    EXPECT_EQ(decoded.iterations, expected.result.iterations);
    EXPECT_EQ(decoded.parity_ok, expected.result.parity_ok);
  }
}

TEST_F(LdpcDecodeGpuTest, FloodingOfTheLargestCodeEqualsTheCpu) {
  Random random(7);
  DecodeParameters parameters = Iterations(4, true);
  parameters.schedule = Schedule::kFlooding;
  const CodePtr code = *NrCode(1, 384);
  EXPECT_EQ(DecodeWorkspaceBytes(*code, parameters), 0);
  ExpectEqualToCpu(*code, parameters, RandomJobs(*code, 5, random));
}

TEST_F(LdpcDecodeGpuTest, CodesOfAClientEqualTheCpu) {
  Random random(8);
  std::mt19937 generator(9);
  for (const int zc : {1, 2, 3, 16, 31, 32, 33, 100, 127, 128, 129, 257, 511, 512}) {
    BaseMatrix matrix = testing::TriangularMatrix(6, 14, zc, &generator);
    matrix.punctured_columns = random.Below(3);
    for (const BaseMatrix& m : {matrix, testing::FullMatrix(9, 20, zc, false, &generator)}) {
      const auto code = Code::Create(m, Family::kCustom, "custom zc=" + std::to_string(zc));
      ASSERT_THAT(code, IsOk());
      ExpectEqualToCpu(**code, Iterations(4, true), RandomJobs(**code, 7, random));
    }
  }
}

// 64 rows and 128 columns of the largest lifting size: neither app nor messages fit on the chip.
CodePtr LargestCode(Random& random) {
  BaseMatrix matrix = testing::EmptyMatrix(kMaxRows, kMaxColumns, kMaxZc);
  for (int row = 0; row < kMaxRows; ++row) {
    for (int i = 0; i < 14; ++i) {
      testing::ShiftAt(&matrix, row, (row * 17 + i * 9) % kMaxColumns) = random.Below(kMaxZc);
    }
  }
  for (int i = 0; i < kMaxRowDegree; ++i) {
    testing::ShiftAt(&matrix, 0, (i * 9) % kMaxColumns) = random.Below(kMaxZc);
  }
  return *Code::Create(matrix, Family::kCustom, "largest");
}

TEST_F(LdpcDecodeGpuTest, CodesThatNeedTheWorkspaceEqualTheCpu) {
  Random random(10);
  const CodePtr code = LargestCode(random);
  for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
    DecodeParameters parameters = Iterations(2, true);
    parameters.schedule = schedule;
    EXPECT_GT(DecodeWorkspaceBytes(*code, parameters), 0);
    EXPECT_LE(DecodeWorkspaceBytes(*code, parameters), kMaxDecodeWorkspaceBytes);
    ExpectEqualToCpu(*code, parameters, RandomJobs(*code, 5, random));
    // More blocks than slots, so that slots are used again.
    ExpectEqualToCpu(*code, parameters, std::vector<Job>(270, RandomJob(*code, random, false)));
  }
}

TEST_F(LdpcDecodeGpuTest, APermutedBatchGivesThePermutedResult) {
  Random random(11);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(2, 30), *WimaxCode("3/4B", 1152)}) {
    std::vector<Job> jobs = RandomJobs(*code, 301, random);
    std::vector<Decoded> decoded = DecodeOnGpu(*code, Iterations(6, true), jobs);
    std::reverse(decoded.begin(), decoded.end());
    std::reverse(jobs.begin(), jobs.end());
    EXPECT_TRUE(DecodeOnGpu(*code, Iterations(6, true), jobs) == decoded) << code->name();
  }
}

// The bound and its reason stand at the top of tests/unit/ldpc_sum_product_test.cc; the fast
// exponential and logarithm of the GPU have relative errors below 2^-20 on their ranges here, which
// adds less than 0.001 to a message.
constexpr double kAppTolerance = 0.01;

TEST_F(LdpcDecodeGpuTest, SumProductAgreesWithTheReferenceWithinItsBound) {
  Random random(12);
  for (const CodePtr& code :
       {*NrCode(1, 32), *NrCode(2, 7, 10), *WimaxCode("1/2", 576), *WifiCode("5/6", 648)}) {
    for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      for (const int iterations : {1, 3}) {
        DecodeParameters parameters = Iterations(iterations, false);
        parameters.algorithm = Algorithm::kSumProduct;
        parameters.schedule = schedule;
        const std::vector<Job> jobs = RandomJobs(*code, 3, random);
        const std::vector<Decoded> decoded = DecodeOnGpu(*code, parameters, jobs);
        for (size_t j = 0; j < jobs.size(); ++j) {
          const reference::Decoded expected =
              reference::Decode(*code, parameters, jobs[j].num_filler, jobs[j].llr);
          int num_wrong = 0;
          for (int i = 0; i < code->n(); ++i) {
            const double app = expected.app[i];
            if (!decoded[j].soft.empty()) {
              const double low = std::round((app - kAppTolerance) * parameters.llr_scale);
              const double high = std::round((app + kAppTolerance) * parameters.llr_scale);
              const int soft = decoded[j].soft[i];
              num_wrong +=
                  soft < std::clamp(low, -127.0, 127.0) || soft > std::clamp(high, -127.0, 127.0);
            }
            if (i < code->k() - jobs[j].num_filler && std::fabs(app) > kAppTolerance) {
              num_wrong += testing::BitAt(decoded[j].bits, i) != (app < 0);
            }
          }
          EXPECT_EQ(num_wrong, 0) << Describe(*code, parameters) << ", block " << j;
          EXPECT_EQ(decoded[j].iterations, iterations);
        }
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, SumProductDecodesWhatTheCpuDecodes) {
  Random random(13);
  for (const CodePtr& code : {*NrCode(1, 384), *WimaxCode("1/2", 2304)}) {
    DecodeParameters parameters = Iterations(20, true);
    parameters.algorithm = Algorithm::kSumProduct;
    std::vector<Job> jobs(5);
    for (Job& job : jobs) {
      const double variance = testing::NoiseVariance(2.5, testing::SentRate(*code));
      const std::vector<uint8_t> word = testing::RandomWord(*code, 0, random);
      job.llr = testing::QuantiseLlr(
          testing::SendOverAwgn(testing::SentBits(*code, word), variance, random));
    }
    const std::vector<Decoded> decoded = DecodeOnGpu(*code, parameters, jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(decoded[i].parity_ok, 1);
      EXPECT_TRUE(decoded[i].bits == ExpectedOf(*code, parameters, jobs[i]).bits);
    }
  }
}

TEST_F(LdpcDecodeGpuTest, RefusesWhatTheHeaderSaysAndWritesNothing) {
  Random random(14);
  const CodePtr code = *NrCode(1, 32);
  const auto expect_refused = [&](const char* message, const auto& spoil) {
    Launch launch(*code, DecodeParameters(), RandomJobs(*code, 2, random));
    spoil(launch.batch());
    EXPECT_THAT(LaunchDecode(launch.batch(), cudaStreamPerThread),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    for (const Decoded& decoded : launch.Read()) {
      EXPECT_THAT(decoded.bits, ::testing::Each(kGuard)) << message;
    }
  };
  expect_refused("code", [](DecodeBatch& b) { b.code = nullptr; });
  expect_refused("num_blocks 0", [](DecodeBatch& b) { b.num_blocks = 0; });
  expect_refused("num_blocks 1048577", [](DecodeBatch& b) { b.num_blocks = (1 << 20) + 1; });
  expect_refused("max_iterations 0", [](DecodeBatch& b) { b.parameters.max_iterations = 0; });
  expect_refused("max_iterations 101", [](DecodeBatch& b) { b.parameters.max_iterations = 101; });
  expect_refused("scale_factor", [](DecodeBatch& b) { b.parameters.scale_factor = 1.5f; });
  expect_refused("scale_factor", [](DecodeBatch& b) { b.parameters.scale_factor = NAN; });
  expect_refused("llr_scale", [](DecodeBatch& b) {
    b.parameters.algorithm = Algorithm::kSumProduct;
    b.parameters.llr_scale = 0.0f;
  });
  expect_refused("blocks", [](DecodeBatch& b) { b.blocks = nullptr; });
  expect_refused("llr", [](DecodeBatch& b) { b.llr += 1; });
  expect_refused("bits", [](DecodeBatch& b) { b.bits = nullptr; });
  expect_refused("results", [](DecodeBatch& b) { b.results = nullptr; });
  expect_refused("workspace", [&](DecodeBatch& b) {
    static const CodePtr largest = LargestCode(random);
    b.code = largest.get();
    b.workspace = nullptr;
  });
}

}  // namespace
}  // namespace baseband::ldpc
