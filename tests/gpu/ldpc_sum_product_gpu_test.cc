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
// fast exponential and logarithm of the GPU have relative errors below 2^-20 on their ranges here,
// which adds less than 0.001 to a message.
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

}  // namespace
}  // namespace baseband::ldpc
