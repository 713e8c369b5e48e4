// LaunchDecode's integer engine against known answers, the CPU's version and the reference, bit for
// bit; and what it refuses.
#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/gpu/ldpc_decode_launch.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::IsInvalid;

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

// Few blocks without soft output have kernels of their own.
TEST_F(LdpcDecodeGpuTest, FewBlocksEqualTheCpuForEveryLiftingSize) {
  Random random(15);
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 5, 19, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        for (const size_t count : {1, 2, 3}) {
          const DecodeParameters parameters = Iterations(1 + random.Below(8), random.Below(2) == 0);
          ExpectEqualToCpu(*code, parameters, RandomJobs(*code, count, random, false),
                           static_cast<size_t>(random.Below(5)));
        }
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, FewBlocksEqualTheCpuForEveryNumberOfRows) {
  Random random(16);
  for (const int base_graph : {1, 2}) {
    for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); ++rows) {
      for (const int zc : {384, 352, 104, 64, 36, 18}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        ExpectEqualToCpu(*code, Iterations(10, true), RandomJobs(*code, 2, random, false));
        ExpectEqualToCpu(*code, Iterations(3, false), RandomJobs(*code, 2, random, false));
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, FewBlocksOfUnsoundLlrsEqualTheCpu) {
  Random random(17);
  for (const int base_graph : {1, 2}) {
    for (const int zc : {384, 176, 72, 16}) {
      for (const int rows : {4, 7, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        for (const int num_filler : {0, 1, code->k() / 2, code->k() - 1}) {
          for (const size_t count : {size_t{1}, size_t{2}, static_cast<size_t>(zc),
                                     static_cast<size_t>(code->num_sent())}) {
            std::vector<Job> jobs(3);
            for (Job& job : jobs) {
              job.num_filler = num_filler;
              job.wants_soft = false;
            }
            jobs[0].llr.assign(count, 0);
            jobs[1].llr.assign(count, static_cast<int8_t>(random.Below(2) == 0 ? -128 : 127));
            jobs[2].llr.resize(count);
            for (int8_t& llr : jobs[2].llr) {
              llr = static_cast<int8_t>(random.Below(2) == 0 ? -128 : 127);
            }
            for (const Algorithm algorithm :
                 {Algorithm::kNormalizedMinSum, Algorithm::kBitFlipping}) {
              for (const Scaling scaling : testing::kScalings) {
                DecodeParameters parameters = Iterations(4, random.Below(2) == 0);
                parameters.algorithm = algorithm;
                parameters.scaling = scaling;
                ExpectEqualToCpu(*code, parameters, jobs);
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, EqualsCpuAndReferenceForEveryOption) {
  Random random(5);
  for (const CodePtr& code :
       {*NrCode(1, 64, 46), *NrCode(2, 7, 10), *WimaxCode("2/3B", 672), *WifiCode("5/6", 648)}) {
    for (const Algorithm algorithm : {Algorithm::kNormalizedMinSum, Algorithm::kBitFlipping}) {
      for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
        for (const Scaling scaling : testing::kScalings) {
          for (const int iterations : {1, 2, 7, kMaxIterations}) {
            DecodeParameters parameters = Iterations(iterations, iterations != 2);
            parameters.algorithm = algorithm;
            parameters.schedule = schedule;
            parameters.scaling = scaling;
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
    for (const int sharers : {1, 1000}) {  // few blocks' kernels, and those of many
      Decoded decoded =
          DecodeOnGpu(*code, Iterations(3, true), {job}, /*first_byte=*/1, sharers)[0];
      decoded.bits.resize(expected.bits.size());
      EXPECT_EQ(decoded.bits, expected.bits);
      EXPECT_EQ(decoded.iterations, expected.result.iterations);
      EXPECT_EQ(decoded.parity_ok, expected.result.parity_ok);
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

TEST_F(LdpcDecodeGpuTest, RefusesWhatTheHeaderSaysAndWritesNothing) {
  Random random(14);
  const CodePtr code = *NrCode(1, 32);
  const auto expect_refused = [&](const char* message, const auto& spoil) {
    Launch launch(*code, DecodeParameters(), RandomJobs(*code, 2, random));
    spoil(launch.batch());
    EXPECT_THAT(LaunchDecode(launch.batch(), cudaStreamPerThread), IsInvalid(message));
    for (const Decoded& decoded : launch.Read()) {
      EXPECT_THAT(decoded.bits, ::testing::Each(kGuard)) << message;
    }
  };
  expect_refused("code", [](DecodeBatch& b) { b.code = nullptr; });
  expect_refused("num_blocks 0", [](DecodeBatch& b) { b.num_blocks = 0; });
  expect_refused("num_blocks 1048577", [](DecodeBatch& b) { b.num_blocks = (1 << 20) + 1; });
  expect_refused("sharers 0", [](DecodeBatch& b) { b.sharers = 0; });
  expect_refused("max_iterations 0", [](DecodeBatch& b) { b.parameters.max_iterations = 0; });
  expect_refused("max_iterations 101", [](DecodeBatch& b) { b.parameters.max_iterations = 101; });
  expect_refused("scale_factor", [](DecodeBatch& b) { b.parameters.scaling.factor = 1.5f; });
  expect_refused("scale_factor", [](DecodeBatch& b) { b.parameters.scaling.factor = NAN; });
  expect_refused("llr_scale", [](DecodeBatch& b) {
    b.parameters.algorithm = Algorithm::kSumProduct;
    b.parameters.llr_scale = 0.0f;
  });
  expect_refused("blocks", [](DecodeBatch& b) { b.blocks = nullptr; });
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
