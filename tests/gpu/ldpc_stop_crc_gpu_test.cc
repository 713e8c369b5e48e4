// LaunchDecode of code words that a CRC may stop, against the CPU's version, bit for bit; and what
// it refuses.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/ldpc_decode_launch.h"
#include "tests/support/crc_words.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::IsInvalid;

constexpr Crc kCrcs[] = {Crc::kCrc16, Crc::kCrc24A, Crc::kCrc24B};

using LdpcStopCrcGpuTest = LdpcDecodeGpuTest;

DecodeParameters StoppedBy(Crc crc, int max_iterations) {
  DecodeParameters parameters = Iterations(max_iterations, /*early_termination=*/true);
  parameters.stop_crc = crc;
  return parameters;
}

// Words whose checks are held up: by one that never holds, by LLRs that are too large; zeros of
// which that is so; words that do not end in the CRC; noise.
Job CrcJob(const Code& code, Crc crc, Random& random) {
  Job job;
  job.wants_soft = false;
  if (random.Below(2) == 0 && code.k() > 30) job.num_filler = random.Below(code.k() - 26);
  const bool fits = code.k() - job.num_filler > 26;
  std::vector<uint8_t> word = fits ? testing::RandomCrcWord(code, job.num_filler, crc, random)
                                   : testing::RandomWord(code, job.num_filler, random);
  const int kind = random.Below(8);
  if (kind == 0) word.assign(word.size(), 0);
  if (kind == 1) word = testing::RandomWord(code, job.num_filler, random);
  if (kind < 4) {
    job.llr = testing::HeldUpLlr(code, word, 20);
    return job;
  }
  const double variance = testing::NoiseVariance(1.0 + random.Below(6), testing::SentRate(code));
  job.llr = testing::QuantiseLlr(
      testing::SendOverAwgn(testing::SentBits(code, word), variance, random), 16.0);
  return job;
}

std::vector<Job> CrcJobs(const Code& code, Crc crc, size_t count, Random& random) {
  std::vector<Job> jobs;
  while (jobs.size() < count) jobs.push_back(CrcJob(code, crc, random));
  return jobs;
}

TEST_F(LdpcStopCrcGpuTest, EqualsTheCpuForEveryLiftingSize) {
  Random random(1);
  int stopped = 0;  // with a check that does not hold
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 6, 13, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const Crc crc = kCrcs[random.Below(3)];
        const std::vector<Job> jobs = CrcJobs(*code, crc, zc < 64 ? 401 : 5, random);
        ExpectEqualToCpu(*code, StoppedBy(crc, 6), jobs);
        for (const Decoded& decoded : DecodeOnGpu(*code, StoppedBy(crc, 6), jobs)) {
          stopped += decoded.parity_ok == 0 && decoded.iterations < 6;
        }
      }
    }
  }
  EXPECT_GT(stopped, 1000);
}

TEST_F(LdpcStopCrcGpuTest, EqualsTheCpuForEveryNumberOfRowsAndBatchSize) {
  Random random(2);
  for (const int base_graph : {1, 2}) {
    for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); ++rows) {
      for (const int zc : {384, 36}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const size_t counts[] = {1, 2, 3, 31};
        const size_t count = counts[random.Below(4)];
        ExpectEqualToCpu(*code, StoppedBy(Crc::kCrc24B, 5),
                         CrcJobs(*code, Crc::kCrc24B, count, random));
      }
    }
  }
}

TEST_F(LdpcStopCrcGpuTest, BitFlippingAndOneIterationEqualTheCpu) {
  Random random(3);
  const CodePtr code = *NrCode(1, 64, 46);
  for (const int iterations : {1, 2, kMaxIterations}) {
    for (const Algorithm algorithm : {Algorithm::kNormalizedMinSum, Algorithm::kBitFlipping}) {
      DecodeParameters parameters = StoppedBy(Crc::kCrc24A, iterations);
      parameters.algorithm = algorithm;
      ExpectEqualToCpu(*code, parameters, CrcJobs(*code, Crc::kCrc24A, 33, random));
    }
  }
}

TEST_F(LdpcStopCrcGpuTest, APermutedBatchGivesThePermutedResult) {
  Random random(4);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(2, 30)}) {
    std::vector<Job> jobs = CrcJobs(*code, Crc::kCrc16, 301, random);
    std::vector<Decoded> decoded = DecodeOnGpu(*code, StoppedBy(Crc::kCrc16, 6), jobs);
    std::reverse(decoded.begin(), decoded.end());
    std::reverse(jobs.begin(), jobs.end());
    EXPECT_TRUE(DecodeOnGpu(*code, StoppedBy(Crc::kCrc16, 6), jobs) == decoded) << code->name();
  }
}

// More than the device has room for at a time.
TEST_F(LdpcStopCrcGpuTest, MoreWordsThanThereIsRoomForEqualTheCpu) {
  Random random(6);
  for (const int base_graph : {1, 2}) {
    for (const int rows : {4, 8, 12, 0}) {
      const CodePtr code = *NrCode(base_graph, 208, rows);
      const std::vector<Job> some = CrcJobs(*code, Crc::kCrc24A, 32, random);
      std::vector<Job> jobs;
      while (jobs.size() < 1701) jobs.push_back(some[static_cast<size_t>(random.Below(32))]);
      std::vector<Decoded> decoded = DecodeOnGpu(*code, StoppedBy(Crc::kCrc24A, 9), jobs);
      for (const Job& job : some) {
        const Decoded expected = ExpectedOf(*code, StoppedBy(Crc::kCrc24A, 9), job);
        for (size_t i = 0; i < jobs.size(); ++i) {
          if (jobs[i].llr == job.llr && jobs[i].num_filler == job.num_filler) {
            EXPECT_TRUE(decoded[i] == expected) << Describe(*code, StoppedBy(Crc::kCrc24A, 9));
          }
        }
      }
    }
  }
}

TEST_F(LdpcStopCrcGpuTest, RefusesCodesSchedulesAndSoftValuesAndWritesNothing) {
  Random random(5);
  const auto expect_refused = [&](const Code& code, const auto& spoil) {
    std::vector<Job> jobs = {RandomJob(code, random, /*wants_soft=*/false)};
    spoil(&jobs[0], nullptr);
    DecodeParameters parameters = StoppedBy(Crc::kCrc24A, 5);
    spoil(nullptr, &parameters);
    Launch launch(code, parameters, jobs);
    EXPECT_THAT(LaunchDecode(launch.batch(), cudaStreamPerThread), IsInvalid("stop_crc is set"));
    EXPECT_THAT(launch.Read()[0].bits, ::testing::Each(kGuard));
  };
  const auto nothing = [](Job*, DecodeParameters*) {};
  expect_refused(**WimaxCode("1/2", 2304), nothing);
  expect_refused(**WifiCode("1/2", 648), nothing);
  expect_refused(**NrCode(1, 32), [](Job* job, DecodeParameters*) {
    if (job != nullptr) job->wants_soft = true;
  });
  expect_refused(**NrCode(1, 32), [](Job*, DecodeParameters* parameters) {
    if (parameters != nullptr) parameters->schedule = Schedule::kFlooding;
  });
  expect_refused(**NrCode(1, 32), [](Job*, DecodeParameters* parameters) {
    if (parameters != nullptr) parameters->algorithm = Algorithm::kSumProduct;
  });
}

}  // namespace
}  // namespace baseband::ldpc
