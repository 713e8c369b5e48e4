// LaunchDecode of known zeros against LLRs that say otherwise, by every kernel: what is answered as
// a code word is one of zeros there, and integers are the CPU's, bit for bit.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/ldpc_decode_launch.h"
#include "tests/support/crc_words.h"
#include "tests/support/custom_codes.h"
#include "tests/support/filler_words.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::IsAFillerOne;
using ::baseband::testing::IsWordOf;
using ::baseband::testing::LlrOfOnes;

using LdpcFillerGpuTest = LdpcDecodeGpuTest;

DecodeParameters By(Algorithm algorithm, Schedule schedule, bool early_termination) {
  DecodeParameters parameters = Iterations(6, early_termination);
  parameters.algorithm = algorithm;
  parameters.schedule = schedule;
  return parameters;
}

// Words with ones in the place of fillers, of as many sorts as there are of these and of LLRs;
// among them, so that they share pairs, words through noise with fillers or without.
std::vector<Job> FillerJobs(const Code& code, Random& random, bool wants_soft) {
  std::vector<Job> jobs;
  for (const int num_filler : {1, 2, 8, 40, code.zc(), code.zc() + 1, code.k() / 2, code.k() - 1}) {
    if (num_filler < 1 || num_filler >= code.k()) continue;
    for (const int magnitude : {8, 20, 127}) {
      Job job;
      job.num_filler = num_filler;
      job.wants_soft = wants_soft;
      job.llr = LlrOfOnes(code, num_filler, magnitude, random);
      jobs.push_back(job);
    }
    jobs.push_back(RandomJob(code, random, wants_soft));
  }
  return jobs;
}

// What `decoded` says of itself. Counts words of which a filler was decided 1.
void ExpectWordsOfZeros(const Code& code, const DecodeParameters& parameters,
                        const std::vector<Job>& jobs, const std::vector<Decoded>& decoded,
                        int* overruled) {
  SCOPED_TRACE(Describe(code, parameters));
  ASSERT_EQ(decoded.size(), jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (decoded[i].soft.empty()) continue;
    const int num_filler = jobs[i].num_filler;
    if (decoded[i].parity_ok != 0) {
      EXPECT_TRUE(IsWordOf(code, num_filler, decoded[i].bits, decoded[i].soft)) << "block " << i;
    }
    if (!IsAFillerOne(code, num_filler, decoded[i].soft)) continue;
    *overruled += 1;
    EXPECT_EQ(decoded[i].parity_ok, 0) << "block " << i;
    EXPECT_EQ(decoded[i].iterations, parameters.max_iterations) << "block " << i;
  }
}

// As few are decoded, so are many, of which several pairs share a thread block, and one is alone.
void ExpectManyEqualFew(const Code& code, const DecodeParameters& parameters,
                        const std::vector<Job>& jobs) {
  constexpr int kMany = 3001;
  constexpr int kMostZc = 192;  // of larger ones a thread block of 384 threads has one pair
  if (code.zc() > kMostZc) return;
  SCOPED_TRACE(Describe(code, parameters));
  const std::vector<Decoded> few = DecodeOnGpu(code, parameters, jobs);
  std::vector<Job> many;
  while (many.size() < kMany) many.push_back(jobs[many.size() % jobs.size()]);
  const std::vector<Decoded> decoded = DecodeOnGpu(code, parameters, many);
  for (size_t i = 0; i < many.size(); ++i) {
    ASSERT_TRUE(decoded[i] == few[i % jobs.size()]) << "block " << i;
  }
}

// Integers: with soft values, and without them by few blocks' own kernels too.
void ExpectNoOverruledFillerHolds(const Code& code, Random& random, int* overruled) {
  const std::vector<Job> soft = FillerJobs(code, random, /*wants_soft=*/true);
  const std::vector<Job> hard = FillerJobs(code, random, /*wants_soft=*/false);
  for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
    for (const bool early_termination : {true, false}) {
      const DecodeParameters parameters =
          By(Algorithm::kNormalizedMinSum, schedule, early_termination);
      ExpectEqualToCpu(code, parameters, soft);
      ExpectEqualToCpu(code, parameters, hard);
      ExpectWordsOfZeros(code, parameters, soft, DecodeOnGpu(code, parameters, soft), overruled);
      if (early_termination) ExpectManyEqualFew(code, parameters, soft);
    }
  }
  ExpectEqualToCpu(code, By(Algorithm::kBitFlipping, Schedule::kLayered, true), hard);
}

TEST_F(LdpcFillerGpuTest, ParityOkOfNrCodesSaysThatTheBitsAndZerosAreACodeWord) {
  Random random(1);
  int overruled = 0;
  for (const int base_graph : {1, 2}) {
    for (const int zc : {2, 7, 16, 20, 36, 64, 104, 208, 384}) {
      for (const int rows : {4, 7, 12, 20, 0}) {
        ExpectNoOverruledFillerHolds(**NrCode(base_graph, zc, rows), random, &overruled);
      }
    }
  }
  EXPECT_GT(overruled, 100);  // or the test has seen nothing
}

TEST_F(LdpcFillerGpuTest, ParityOkOfOtherCodesSaysThatTheBitsAndZerosAreACodeWord) {
  Random random(2);
  int overruled = 0;
  std::mt19937 generator(1);
  // The last one's state does not fit on the chip.
  const CodePtr large =
      *Code::Create(testing::TriangularMatrix(60, 120, 512, &generator), Family::kCustom, "large");
  EXPECT_GT(
      DecodeWorkspaceBytes(*large, By(Algorithm::kNormalizedMinSum, Schedule::kLayered, true)), 0);
  const CodePtr small =
      *Code::Create(testing::TriangularMatrix(6, 14, 33, &generator), Family::kCustom, "small");
  for (const CodePtr& code :
       {*WimaxCode("1/2", 576), *WimaxCode("1/2", 2304), *WimaxCode("5/6", 2304),
        *WifiCode("1/2", 648), *WifiCode("5/6", 1944), small, large}) {
    ExpectNoOverruledFillerHolds(*code, random, &overruled);
  }
  EXPECT_GT(overruled, 50);
}

TEST_F(LdpcFillerGpuTest, ParityOkOfSumProductSaysThatTheBitsAndZerosAreACodeWord) {
  Random random(3);
  int overruled = 0;
  for (const CodePtr& code :
       {*NrCode(1, 36), *NrCode(1, 384, 4), *NrCode(2, 20, 20), *NrCode(2, 384), *NrCode(2, 7, 5),
        *WimaxCode("1/2", 576), *WimaxCode("5/6", 2304), *WifiCode("1/2", 648)}) {
    const std::vector<Job> jobs = FillerJobs(*code, random, /*wants_soft=*/true);
    for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      for (const bool early_termination : {true, false}) {
        const DecodeParameters parameters = By(Algorithm::kSumProduct, schedule, early_termination);
        ExpectWordsOfZeros(*code, parameters, jobs, DecodeOnGpu(*code, parameters, jobs),
                           &overruled);
        if (early_termination) ExpectManyEqualFew(*code, parameters, jobs);
      }
    }
  }
  EXPECT_GT(overruled, 10);  // it takes five checks to overrule a filler: not those of every code
}

// A CRC may stop them, of ones in the place of fillers too: it is that of the bits before.
TEST_F(LdpcFillerGpuTest, WordsThatACrcMayStopEqualTheCpu) {
  Random random(4);
  for (const int base_graph : {1, 2}) {
    for (const int zc : {7, 20, 64, 208, 384}) {
      for (const int rows : {4, 7, 12, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        std::vector<Job> jobs = FillerJobs(*code, random, /*wants_soft=*/false);
        for (const int num_filler : {1, 8, code->zc() + 1}) {
          const std::vector<uint8_t> right =
              testing::RandomCrcWord(*code, num_filler, Crc::kCrc24A, random);
          std::vector<uint8_t> message(right.begin(), right.begin() + code->k());
          std::fill(message.end() - num_filler, message.end(), 1);
          Job job;
          job.num_filler = num_filler;
          job.wants_soft = false;
          for (const uint8_t bit :
               testing::SentBits(*code, testing::WordOf(*code, /*num_filler=*/0, message))) {
            job.llr.push_back(bit != 0 ? -127 : 127);
          }
          jobs.push_back(job);
        }
        DecodeParameters parameters = Iterations(6, true);
        parameters.stop_crc = Crc::kCrc24A;
        ExpectEqualToCpu(*code, parameters, jobs);
        ExpectManyEqualFew(*code, parameters, jobs);
      }
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
