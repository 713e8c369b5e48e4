// DecodeOnCpu's sum-product against the reference in double.
//
// The bound. A message is -ln of a quotient of products of up to 32 factors, each rounded a few
// times: its relative error before the logarithm is below 200 * 2^-24, which is the absolute error
// of |r|, plus 4 ulp of a logarithm below 32; an app is a sum below 32 * 30 + 127, rounded to
// 2^-14 for each of its messages. Together below 0.01, hence:
constexpr double kAppTolerance = 0.01;
// for one iteration. Later ones start from these errors; the checks' rule never enlarges one
// (|dr/dq| <= 1), but an app sums them. The tests hold the same bound after 20 iterations.
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/ldpc_words.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::Random;

// Soft values are app * llr_scale, rounded: within the tolerance of the reference's, and bits equal
// wherever the reference's app is further from zero than that.
void ExpectNearReference(const Code& code, const DecodeParameters& parameters, int num_filler,
                         absl::Span<const int8_t> llr) {
  const reference::Decoded expected = reference::Decode(code, parameters, num_filler, llr);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(code.name() + " " + hwy::TargetName(target) + ", schedule " +
                 std::to_string(int(parameters.schedule)) + ", " +
                 std::to_string(parameters.max_iterations) + " iterations, LLR scale " +
                 std::to_string(parameters.llr_scale));
    hwy::SetSupportedTargetsForTest(target);
    std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(code, num_filler)), 0xa5);
    std::vector<int8_t> soft(static_cast<size_t>(code.n()), 0x5a);
    const DecodeResult result =
        DecodeOnCpu(code, parameters, num_filler, llr, absl::MakeSpan(bits), absl::MakeSpan(soft));
    int num_wrong = 0;
    for (int i = 0; i < code.n(); ++i) {
      const double scale = parameters.llr_scale;
      const double value = expected.app[i];
      const double lowest = std::round((value - kAppTolerance) * scale);
      const double highest = std::round((value + kAppTolerance) * scale);
      if (soft[i] < std::max(lowest, -127.0) && soft[i] < 127) ++num_wrong;
      if (soft[i] > std::min(highest, 127.0) && soft[i] > -127) ++num_wrong;
      if (i < code.k() - num_filler && std::fabs(value) > kAppTolerance) {
        num_wrong += testing::BitAt(bits, i) != (value < 0) ? 1 : 0;
      }
    }
    EXPECT_EQ(num_wrong, 0);
    EXPECT_EQ(result.parity_ok, expected.result.parity_ok);
    EXPECT_EQ(result.iterations, expected.result.iterations);
  }
  hwy::SetSupportedTargetsForTest(0);
}

std::vector<int8_t> NoisyLlr(const Code& code, double ebn0_db, double scale, Random& random) {
  const std::vector<uint8_t> zeros(static_cast<size_t>(code.num_sent()), 0);
  const double variance = testing::NoiseVariance(ebn0_db, testing::SentRate(code));
  return testing::QuantiseLlr(testing::SendOverAwgn(zeros, variance, random), scale);
}

TEST(LdpcSumProductTest, AgreesWithTheReferenceWithinItsBound) {
  Random random(1);
  const std::vector<CodePtr> codes = {
      *NrCode(1, 36, 46),     *NrCode(1, 7, 4),       *NrCode(2, 16),
      *NrCode(2, 52, 9),      *NrCode(1, 2, 20),      *NrCode(2, 128, 5),
      *WimaxCode("1/2", 576), *WimaxCode("5/6", 960), *WifiCode("1/2", 648)};
  for (const CodePtr& code : codes) {
    for (Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      for (int iterations : {1, 2, 20}) {
        // At scale 60 a soft value resolves 1/60, and most channel values are clipped.
        for (float llr_scale : {1.0f, 4.0f, 60.0f}) {
          DecodeParameters parameters;
          parameters.algorithm = Algorithm::kSumProduct;
          parameters.schedule = schedule;
          parameters.max_iterations = iterations;
          parameters.llr_scale = llr_scale;
          const double ebn0_db = iterations == 20 ? 3.0 : 1.0;
          const std::vector<int8_t> llr =
              NoisyLlr(*code, ebn0_db, static_cast<double>(llr_scale), random);
          ExpectNearReference(*code, parameters, random.Below(5), llr);
        }
      }
    }
  }
}

TEST(LdpcSumProductTest, AgreesWithTheReferenceForOddSizesAndLargeRowDegrees) {
  Random random(2);
  std::mt19937 generator(3);
  for (const int zc : {1, 3, 15, 16, 17, 33, 63, 65}) {
    BaseMatrix matrix = testing::EmptyMatrix(5, kMaxRowDegree + 4, zc);
    for (int row = 0; row < matrix.rows; ++row) {
      for (int i = 0; i < kMaxRowDegree; ++i) {
        testing::ShiftAt(&matrix, row, (row + i) % matrix.columns) = random.Below(zc);
      }
    }
    const auto code = Code::Create(matrix, Family::kCustom, "degree 32");
    ASSERT_TRUE(code.ok()) << code.status();
    for (int count : {1, (*code)->num_sent() / 2, (*code)->num_sent()}) {
      DecodeParameters parameters;
      parameters.algorithm = Algorithm::kSumProduct;
      parameters.max_iterations = 3;
      parameters.early_termination = false;
      std::vector<int8_t> llr = NoisyLlr(**code, 4.0, 4.0, random);
      llr.resize(static_cast<size_t>(count));
      ExpectNearReference(**code, parameters, 0, llr);
    }
  }
}

TEST(LdpcSumProductTest, StrongInputStaysFinite) {
  const CodePtr code = *NrCode(1, 8);
  std::vector<int8_t> llr(static_cast<size_t>(code->num_sent()), 127);
  for (size_t i = 0; i < llr.size(); i += 11) llr[i] = -127;
  DecodeParameters parameters;
  parameters.algorithm = Algorithm::kSumProduct;
  parameters.llr_scale = 0.01f;  // channel values of 12700
  parameters.max_iterations = 1;
  std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(*code, 0)));
  std::vector<int8_t> soft(static_cast<size_t>(code->n()));
  for (int i = 0; i < 3; ++i) {
    parameters.max_iterations *= 10;
    if (parameters.max_iterations > kMaxIterations) parameters.max_iterations = kMaxIterations;
    DecodeOnCpu(*code, parameters, 0, llr, absl::MakeSpan(bits), absl::MakeSpan(soft));
    // A sent bit keeps its sign: 12700 against messages of at most 30 from each row.
    const int first_sent = code->punctured_columns() * code->zc();
    for (size_t j = 0; j < llr.size(); ++j) {
      ASSERT_EQ(soft[static_cast<size_t>(first_sent) + j] < 0, llr[j] < 0);
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
