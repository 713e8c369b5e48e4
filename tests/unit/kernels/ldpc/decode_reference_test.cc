// DecodeOnCpu's integer engine against the reference, bit for bit, on every instruction set.
#define HWY_WANT_AVX3_DL  // as decode_minsum_cpu.cc has
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/custom_codes.h"
#include "tests/support/every_target.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/unit/kernels/ldpc/decode_on_cpu.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::OnEveryTarget;

void ExpectEqualsReference(const Code& code, const DecodeParameters& parameters, int num_filler,
                           absl::Span<const int8_t> llr) {
  SCOPED_TRACE(code.name() + ", algorithm " + std::to_string(int(parameters.algorithm)) +
               ", schedule " + std::to_string(int(parameters.schedule)) + ", " +
               std::to_string(num_filler) + " fillers, " + std::to_string(llr.size()) + " LLRs");
  const reference::Decoded expected = reference::Decode(code, parameters, num_filler, llr);
  OnEveryTarget([&] {
    const Decoded decoded = Decode(code, parameters, num_filler, llr);
    EXPECT_EQ(decoded.bits, expected.bits);
    EXPECT_EQ(decoded.soft, expected.soft);
    EXPECT_EQ(decoded.result.iterations, expected.result.iterations);
    EXPECT_EQ(decoded.result.parity_ok, expected.result.parity_ok);
  });
}

// The same with a few of the extremes.
std::vector<int8_t> ExtremeLlr(const Code& code, Random& random) {
  std::vector<int8_t> llr = NoisyLlr(code, random);
  for (const int extreme : {-128, -127, 127, 0}) {
    llr[static_cast<size_t>(random.Below(code.num_sent()))] = static_cast<int8_t>(extreme);
  }
  return llr;
}

// Options that differ from one case to the next.
DecodeParameters RandomParameters(Random& random) {
  DecodeParameters parameters;
  parameters.algorithm =
      random.Below(3) == 0 ? Algorithm::kBitFlipping : Algorithm::kNormalizedMinSum;
  parameters.schedule = random.Below(3) == 0 ? Schedule::kFlooding : Schedule::kLayered;
  parameters.early_termination = random.Below(2) == 0;
  parameters.max_iterations = 1 + random.Below(parameters.early_termination ? 6 : 3);
  if (random.Below(2) == 0) {
    const auto factor = [&random] { return static_cast<float>(0.501 + 0.499 * random.Uniform()); };
    parameters.scaling = {factor(), random.Below(3) == 0 ? 0.0f : factor(), random.Below(2)};
  }
  return parameters;
}

void ExpectEqualsReferenceAtRandom(const Code& code, Random& random) {
  const DecodeParameters parameters = RandomParameters(random);
  const int num_filler = random.Below(2) == 0 ? 0 : random.Below(code.k());
  std::vector<int8_t> llr =
      random.Below(2) == 0 ? NoisyLlr(code, random) : ExtremeLlr(code, random);
  if (random.Below(2) == 0) llr.resize(static_cast<size_t>(1 + random.Below(code.num_sent())));
  ExpectEqualsReference(code, parameters, num_filler, llr);
}

TEST(LdpcDecodeTest, EqualsTheReferenceForEveryLiftingSize) {
  Random random(1);
  for (int i = 0; i < 4; ++i) {
    for (const CodePtr& code : testing::NrCodes()) ExpectEqualsReferenceAtRandom(*code, random);
  }
}

TEST(LdpcDecodeTest, EqualsTheReferenceForEveryNumberOfRows) {
  Random random(2);
  for (int rows = 4; rows <= 46; ++rows) {
    ExpectEqualsReferenceAtRandom(**NrCode(1, 15, rows), random);
    if (rows <= 42) ExpectEqualsReferenceAtRandom(**NrCode(2, 36, rows), random);
  }
}

TEST(LdpcDecodeTest, EqualsTheReferenceForEveryCodeOfTheIeee) {
  Random random(3);
  for (int i = 0; i < 4; ++i) {
    for (const CodePtr& code : testing::IeeeCodes()) ExpectEqualsReferenceAtRandom(*code, random);
  }
}

TEST(LdpcDecodeTest, EqualsTheReferenceForEveryOption) {
  Random random(4);
  const std::vector<CodePtr> codes = {*NrCode(1, 36, 46), *NrCode(2, 7, 10),
                                      *WimaxCode("2/3B", 672), *WifiCode("5/6", 648)};
  for (const CodePtr& code : codes) {
    const std::vector<int8_t> llr = NoisyLlr(*code, random);
    for (Algorithm algorithm : {Algorithm::kNormalizedMinSum, Algorithm::kBitFlipping}) {
      for (Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
        for (bool early_termination : {true, false}) {
          for (const Scaling scaling : testing::kScalings) {
            for (int num_filler : {0, 5, code->k() - 1}) {
              DecodeParameters parameters;
              parameters.algorithm = algorithm;
              parameters.schedule = schedule;
              parameters.early_termination = early_termination;
              parameters.max_iterations = 4;
              parameters.scaling = scaling;
              ExpectEqualsReference(*code, parameters, num_filler, llr);
            }
          }
        }
      }
    }
  }
}

TEST(LdpcDecodeTest, EqualsTheReferenceForCodesOfAClient) {
  Random random(5);
  std::mt19937 generator(6);
  for (const int zc :
       {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191, 257, 511, 512}) {
    BaseMatrix matrix = testing::TriangularMatrix(6, 14, zc, &generator);
    matrix.punctured_columns = random.Below(3);
    const auto triangular = Code::Create(matrix, Family::kCustom, "triangular");
    ASSERT_TRUE(triangular.ok()) << triangular.status();
    // Every column in every row: nothing private, the largest column degree.
    const auto full =
        Code::Create(testing::FullMatrix(9, 20, zc, false, &generator), Family::kCustom, "full");
    ASSERT_TRUE(full.ok()) << full.status();
    for (int i = 0; i < 3; ++i) {
      ExpectEqualsReferenceAtRandom(**triangular, random);
      ExpectEqualsReferenceAtRandom(**full, random);
    }
  }
}

TEST(LdpcDecodeTest, EqualsTheReferenceAtTheLimitsOfAMatrix) {
  // 64 rows and 128 columns, the largest row degree, all of one size and of the largest.
  Random random(7);
  for (const int zc : {3, 512}) {
    BaseMatrix matrix = testing::EmptyMatrix(kMaxRows, kMaxColumns, zc);
    for (int row = 0; row < kMaxRows; ++row) {
      for (int i = 0; i < 14; ++i) {
        testing::ShiftAt(&matrix, row, (row * 17 + i * 9) % kMaxColumns) = random.Below(zc);
      }
    }
    for (int i = 0; i < kMaxRowDegree; ++i) {
      testing::ShiftAt(&matrix, 0, (i * 9) % kMaxColumns) = random.Below(zc);
    }
    const auto code = Code::Create(matrix, Family::kCustom, "limits");
    ASSERT_TRUE(code.ok()) << code.status();
    ExpectEqualsReferenceAtRandom(**code, random);
  }
}

TEST(LdpcDecodeTest, AppStaysInRangeForTheStrongestInput) {
  // All LLRs at their limit, and a word that is none: messages grow as far as they can.
  Random random(8);
  for (const CodePtr& code : {*NrCode(1, 2), *NrCode(2, 2), *WimaxCode("1/2", 576)}) {
    std::vector<int8_t> llr(static_cast<size_t>(code->num_sent()), 127);
    for (int i = 0; i < 3; ++i) llr[static_cast<size_t>(random.Below(code->num_sent()))] = -127;
    for (const Scaling scaling : testing::kScalings) {
      DecodeParameters parameters;
      parameters.scaling = scaling;
      parameters.early_termination = false;
      parameters.max_iterations = 30;
      const reference::Decoded decoded = reference::Decode(*code, parameters, 0, llr);
      EXPECT_THAT(decoded.app, ::testing::Each(::testing::AllOf(::testing::Ge(-kAppMax),
                                                                ::testing::Le(kAppMax))));
      ExpectEqualsReference(*code, parameters, 0, llr);
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
