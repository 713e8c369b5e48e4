// LaunchDecode's sum-product against the reference, within the bound of ldpc_sum_product_test, and
// the CPU's version.
#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/gpu/ldpc_decode_launch.h"

namespace baseband::ldpc {
namespace {

// The bound and its reason stand at the top of tests/unit/kernels/ldpc/sum_product_test.cc; the
// GPU's powers and logarithms are off as decode_odds.cuh says, which adds less than 0.001 to a
// message.
constexpr double kAppTolerance = 0.01;

DecodeParameters SumProduct(Schedule schedule, int iterations, bool early_termination) {
  DecodeParameters parameters = Iterations(iterations, early_termination);
  parameters.algorithm = Algorithm::kSumProduct;
  parameters.schedule = schedule;
  return parameters;
}

void ExpectNearReference(const Code& code, const DecodeParameters& parameters, const Job& job,
                         const Decoded& decoded) {
  SCOPED_TRACE(Describe(code, parameters));
  const reference::Decoded expected = reference::Decode(code, parameters, job.num_filler, job.llr);
  int num_wrong = 0;
  bool is_sure = true;  // of every bit
  for (int i = 0; i < code.n(); ++i) {
    const double app = expected.app[i];
    is_sure = is_sure && std::fabs(app) > kAppTolerance;
    if (!decoded.soft.empty()) {
      const double low = std::round((app - kAppTolerance) * parameters.llr_scale);
      const double high = std::round((app + kAppTolerance) * parameters.llr_scale);
      const int soft = decoded.soft[i];
      num_wrong += soft < std::clamp(low, -127.0, 127.0) || soft > std::clamp(high, -127.0, 127.0);
    }
    if (i < code.k() - job.num_filler && std::fabs(app) > kAppTolerance) {
      num_wrong += testing::BitAt(decoded.bits, i) != (app < 0);
    }
  }
  EXPECT_EQ(num_wrong, 0);
  EXPECT_EQ(decoded.iterations, expected.result.iterations);
  if (is_sure) {
    EXPECT_EQ(decoded.parity_ok, expected.result.parity_ok);
  }
}

void ExpectNearReference(const Code& code, const DecodeParameters& parameters,
                         const std::vector<Job>& jobs) {
  const std::vector<Decoded> decoded = DecodeOnGpu(code, parameters, jobs);
  for (size_t j = 0; j < jobs.size(); ++j) {
    SCOPED_TRACE("block " + std::to_string(j));
    ExpectNearReference(code, parameters, jobs[j], decoded[j]);
  }
}

TEST_F(LdpcDecodeGpuTest, SumProductAgreesWithTheReferenceWithinItsBound) {
  Random random(12);
  for (const CodePtr& code : {*NrCode(1, 32), *NrCode(2, 7, 10), *WimaxCode("1/2", 576),
                              *WimaxCode("5/6", 576), *WifiCode("5/6", 648)}) {
    for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      for (const int iterations : {1, 3}) {
        ExpectNearReference(*code, SumProduct(schedule, iterations, false),
                            RandomJobs(*code, 3, random));
      }
    }
  }
}

// Codes of the base graphs have a kernel of their own.
TEST_F(LdpcDecodeGpuTest, SumProductAgreesWithTheReferenceForEveryNumberOfRows) {
  Random random(31);
  for (const int base_graph : {1, 2}) {
    for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); ++rows) {
      const CodePtr code = *NrCode(base_graph, rows % 2 == 0 ? 36 : 15, rows);
      ExpectNearReference(*code, SumProduct(Schedule::kLayered, 2, false),
                          RandomJobs(*code, 5, random));
    }
  }
}

// Words through little noise.
std::vector<Job> NoisyWords(const Code& code, double ebn0_db, size_t count, Random& random) {
  std::vector<Job> jobs(count);
  for (Job& job : jobs) {
    const double variance = testing::NoiseVariance(ebn0_db, testing::SentRate(code));
    const std::vector<uint8_t> word = testing::RandomWord(code, 0, random);
    job.llr = testing::QuantiseLlr(
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random));
  }
  return jobs;
}

TEST_F(LdpcDecodeGpuTest, SumProductStopsWhereTheReferenceDoes) {
  Random random(35);
  for (const int base_graph : {1, 2}) {
    for (const int rows : {4, 5, 7, 12, 25, 0}) {
      const CodePtr code = *NrCode(base_graph, 40, rows);
      const DecodeParameters parameters = SumProduct(Schedule::kLayered, 15, true);
      const std::vector<Job> jobs = NoisyWords(*code, 7.0, 5, random);
      ExpectNearReference(*code, parameters, jobs);
      for (const Decoded& decoded : DecodeOnGpu(*code, parameters, jobs)) {
        EXPECT_EQ(decoded.parity_ok, 1) << code->name();
        EXPECT_LT(decoded.iterations, 15) << code->name();
      }
    }
  }
}

TEST_F(LdpcDecodeGpuTest, SumProductAgreesWithTheReferenceForLargeAndSmallCodes) {
  Random random(32);
  for (const CodePtr& code :
       {*NrCode(1, 384), *NrCode(1, 384, 4), *NrCode(1, 352, 5), *NrCode(2, 384), *NrCode(2, 2),
        *NrCode(1, 2, 4), *WimaxCode("1/2", 2304), *WimaxCode("1/2", 672)}) {
    for (const float llr_scale : {4.0f, 0.5f}) {
      DecodeParameters parameters = SumProduct(Schedule::kLayered, 2, false);
      parameters.llr_scale = llr_scale;
      ExpectNearReference(*code, parameters, RandomJobs(*code, 3, random));
    }
  }
}

// More than there is room for on the device at once, several to a thread block.
TEST_F(LdpcDecodeGpuTest, SumProductOfABlockDependsOnItsOwnLlrsAlone) {
  Random random(33);
  for (const CodePtr& code :
       {*NrCode(1, 384), *NrCode(1, 56), *NrCode(1, 15), *NrCode(2, 72, 6), *NrCode(2, 384),
        *NrCode(2, 2), *WimaxCode("1/2", 2304), *WimaxCode("1/2", 576)}) {
    const DecodeParameters parameters = SumProduct(Schedule::kLayered, 6, true);
    const size_t count = code->zc() == 384 ? 301 : 3001;
    std::vector<Job> jobs = RandomJobs(*code, 10, random);
    for (size_t i = jobs.size(); i < count; ++i) {
      jobs.push_back(jobs[static_cast<size_t>(random.Below(10))]);
    }
    const std::vector<Decoded> decoded = DecodeOnGpu(*code, parameters, jobs);
    std::vector<Decoded> alone;
    for (size_t i = 0; i < 10; ++i) {
      alone.push_back(DecodeOnGpu(*code, parameters, {jobs[i]})[0]);
    }
    for (size_t i = 0; i < count; ++i) {
      const auto same = [&](const Job& job) { return job.llr == jobs[i].llr; };
      const auto first = std::find_if(jobs.begin(), jobs.begin() + 10, same) - jobs.begin();
      EXPECT_TRUE(decoded[i] == alone[static_cast<size_t>(first)]) << code->name() << " " << i;
    }
  }
}

// For one iteration: where all contradicts, a column adds up the rounding of its 30 messages, and
// the next iteration that of 30 such sums.
TEST_F(LdpcDecodeGpuTest, SumProductOfUnsoundLlrsAgreesWithTheReference) {
  Random random(34);
  for (const CodePtr& code : {*NrCode(1, 64), *NrCode(2, 20, 9), *WimaxCode("1/2", 576)}) {
    for (const float llr_scale : {4.0f, 1e-30f, 1e30f}) {
      std::vector<Job> jobs(3);
      for (Job& job : jobs) {
        job.llr.resize(static_cast<size_t>(code->num_sent()));
        for (int8_t& llr : job.llr) llr = random.Below(2) == 0 ? -127 : 127;
      }
      std::fill(jobs[1].llr.begin(), jobs[1].llr.end(), 0);
      jobs[2].num_filler = code->k() - 1;
      DecodeParameters parameters = SumProduct(Schedule::kLayered, 1, false);
      parameters.llr_scale = llr_scale;
      ExpectNearReference(*code, parameters, jobs);
    }
  }
}

TEST_F(LdpcDecodeGpuTest, SumProductDecodesWhatTheCpuDecodes) {
  Random random(13);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(2, 384), *WimaxCode("1/2", 2304)}) {
    const DecodeParameters parameters = SumProduct(Schedule::kLayered, 20, true);
    const std::vector<Job> jobs = NoisyWords(*code, 2.5, 5, random);
    const std::vector<Decoded> decoded = DecodeOnGpu(*code, parameters, jobs);
    for (size_t i = 0; i < jobs.size(); ++i) {
      EXPECT_EQ(decoded[i].parity_ok, 1);
      EXPECT_TRUE(decoded[i].bits == ExpectedOf(*code, parameters, jobs[i]).bits);
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
