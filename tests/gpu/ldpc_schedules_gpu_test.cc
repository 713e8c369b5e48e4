// LaunchDecode's integer engine under either schedule against the CPU's version, bit for bit.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/ldpc_decode_launch.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"

namespace baseband::ldpc {
namespace {

class LdpcSchedulesGpuTest : public LdpcDecodeGpuTest,
                             public ::testing::WithParamInterface<Schedule> {
 protected:
  static DecodeParameters Parameters(int iterations, bool early_termination) {
    DecodeParameters parameters = Iterations(iterations, early_termination);
    parameters.schedule = GetParam();
    return parameters;
  }
};

INSTANTIATE_TEST_SUITE_P(Schedules, LdpcSchedulesGpuTest,
                         ::testing::Values(Schedule::kLayered, Schedule::kFlooding),
                         [](const auto& test) {
                           return test.param == Schedule::kLayered ? "Layered" : "Flooding";
                         });

TEST_P(LdpcSchedulesGpuTest, EveryLiftingSizeEqualsTheCpu) {
  Random random(1);
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        EXPECT_EQ(DecodeWorkspaceBytes(*code, Parameters(4, true)), 0);
        const size_t count = zc < 64 ? 401 : 5;
        for (const bool ends_early : {false, true}) {
          ExpectEqualToCpu(*code, Parameters(4, ends_early),
                           RandomJobs(*code, count, random, ends_early));
        }
      }
    }
  }
}

TEST_P(LdpcSchedulesGpuTest, EveryNumberOfRowsEqualsTheCpu) {
  Random random(2);
  for (const int base_graph : {1, 2}) {
    for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); ++rows) {
      for (const int zc : {384, 36}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        ExpectEqualToCpu(*code, Parameters(3, true), RandomJobs(*code, 3, random, false));
        ExpectEqualToCpu(*code, Parameters(2, false), RandomJobs(*code, 3, random, true));
      }
    }
  }
}

TEST_P(LdpcSchedulesGpuTest, EveryBatchSizeEqualsTheCpu) {
  Random random(3);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(1, 384, 4), *NrCode(2, 96), *NrCode(1, 2),
                              *WimaxCode("1/2", 2304), *WifiCode("5/6", 648)}) {
    for (const size_t count : {1, 2, 3, 31, 32, 33, 132, 133, 263, 264, 265, 700}) {
      ExpectEqualToCpu(*code, Parameters(5, true), RandomJobs(*code, count, random, false));
    }
  }
}

TEST_P(LdpcSchedulesGpuTest, EveryCodeOfTheIeeeEqualsTheCpu) {
  Random random(4);
  for (const CodePtr& code : testing::IeeeCodes()) {
    EXPECT_EQ(DecodeWorkspaceBytes(*code, Parameters(6, true)), 0);
    ExpectEqualToCpu(*code, Parameters(6, true), RandomJobs(*code, 33, random));
  }
}

TEST_P(LdpcSchedulesGpuTest, CodesOfAClientEqualTheCpu) {
  Random random(8);
  std::mt19937 generator(9);
  for (const int zc : {1, 2, 3, 16, 31, 32, 33, 64, 100, 127, 128, 129, 257, 511, 512}) {
    BaseMatrix matrix = testing::TriangularMatrix(6, 14, zc, &generator);
    matrix.punctured_columns = random.Below(3);
    std::vector<BaseMatrix> matrices = {matrix, testing::FullMatrix(9, 20, zc, false, &generator),
                                        testing::FullMatrix(3, 32, zc, false, &generator)};
    // As many columns of information as a warp has lanes, and one more.
    if (zc == 32 || zc == 64) {
      matrices.push_back(testing::FullMatrix(3, 35, zc, false, &generator));
      matrices.push_back(testing::FullMatrix(3, 36, zc, false, &generator));
    }
    for (const BaseMatrix& m : matrices) {
      const auto code = Code::Create(m, Family::kCustom, "custom zc=" + std::to_string(zc));
      ASSERT_THAT(code, IsOk());
      for (const auto& [algorithm, stops] : {std::pair(Algorithm::kNormalizedMinSum, false),
                                             std::pair(Algorithm::kNormalizedMinSum, true),
                                             std::pair(Algorithm::kBitFlipping, true)}) {
        DecodeParameters parameters = Parameters(4, stops);
        parameters.algorithm = algorithm;
        ExpectEqualToCpu(**code, parameters, RandomJobs(**code, 7, random));
      }
    }
  }
}

TEST_P(LdpcSchedulesGpuTest, UnsoundLlrsEqualTheCpu) {
  Random random(27);
  for (const CodePtr& code :
       {*NrCode(1, 384), *NrCode(1, 352, 7), *NrCode(1, 384, 4), *NrCode(1, 224, 12),
        *NrCode(2, 72), *NrCode(2, 208, 8), *WimaxCode("1/2", 2304), *WimaxCode("5/6", 576)}) {
    for (const Scaling scaling : testing::kScalings) {
      std::vector<Job> jobs(5);
      for (Job& job : jobs) job.llr.resize(static_cast<size_t>(code->num_sent()));
      std::fill(jobs[1].llr.begin(), jobs[1].llr.end(), -128);
      std::fill(jobs[2].llr.begin(), jobs[2].llr.end(), 127);
      for (size_t i = 3; i < jobs.size(); ++i) {
        for (int8_t& llr : jobs[i].llr) llr = random.Below(2) == 0 ? -128 : 127;
      }
      jobs[4].num_filler = code->k() / 2;
      DecodeParameters parameters = Parameters(10, random.Below(2) == 0);
      parameters.scaling = scaling;
      ExpectEqualToCpu(*code, parameters, jobs);
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
