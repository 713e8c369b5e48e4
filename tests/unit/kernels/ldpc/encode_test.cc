// EncodeOnCpu against known answers, the reference and the definition.
#define HWY_WANT_AVX3_DL  // as encode_cpu.cc has
#include "kernels/ldpc/encode.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/ldpc/reference.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/status_matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::FullMatrix;
using ::baseband::testing::IsOk;
using ::baseband::testing::RandomBytes;

std::vector<uint8_t> Encode(const Code& code, const std::vector<uint8_t>& info, int info_bits) {
  std::vector<uint8_t> parity(static_cast<size_t>(code.parity_bits() + 7) / 8, 0xa5);
  EncodeOnCpu(code, info, info_bits, absl::MakeSpan(parity));
  return parity;
}

// Information and parity as one word of the code, a bit to a byte.
Bits Codeword(const Code& code, const std::vector<uint8_t>& info,
              const std::vector<uint8_t>& parity) {
  Bits word = UnpackBits(info, code.k());
  const Bits tail = UnpackBits(parity, code.parity_bits());
  word.insert(word.end(), tail.begin(), tail.end());
  return word;
}

// k random bits, the rest of the last byte random too.
std::vector<uint8_t> RandomInfo(const Code& code, std::mt19937* random) {
  return RandomBytes(static_cast<size_t>(code.k() + 7) / 8, random);
}

std::vector<CodePtr> CustomCodes() {
  std::mt19937 random(10);
  std::vector<CodePtr> codes;
  for (const int zc : {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 511, 512}) {
    codes.push_back(*Code::Create(testing::TriangularMatrix(6, 14, zc, &random), Family::kCustom,
                                  "triangular zc=" + std::to_string(zc)));
  }
  for (const int zc : {1, 2, 4, 8, 16, 32, 64}) {
    codes.push_back(*Code::Create(FullMatrix(4, 9, zc, true, &random), Family::kCustom,
                                  "full zc=" + std::to_string(zc)));
  }
  return codes;
}

// The tests that follow run once for each instruction set that this build and processor have.
class LdpcEncodeTargetTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

INSTANTIATE_TEST_SUITE_P(AllTargets, LdpcEncodeTargetTest,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

TEST_P(LdpcEncodeTargetTest, KnownAnswersOfTheStandardsAreMet) {
  const std::vector<testing::EncodeVector> vectors = testing::ReadEncodeVectors();
  EXPECT_EQ(vectors.size(), 240u);
  for (const testing::EncodeVector& vector : vectors) {
    const Code& code = *vector.code;
    const std::vector<uint8_t> parity = Encode(code, vector.info, code.k());
    EXPECT_EQ(PackBits(Codeword(code, vector.info, parity)), vector.codeword) << code.name();
  }
}

TEST_P(LdpcEncodeTargetTest, EveryNrLiftingSizeAndRowCountSatisfiesTheParityChecks) {
  std::mt19937 random(11);
  for (const int base_graph : {1, 2}) {
    const int max_rows = base_graph == 1 ? 46 : 42;
    for (const int zc : NrLiftingSizes()) {
      // All row counts at some sizes, all sizes at some row counts.
      const int step = zc == 384 || zc == 30 || zc == 3 ? 1 : 13;
      for (int rows = 4; rows <= max_rows; rows += step) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const std::vector<uint8_t> info = RandomInfo(*code, &random);
        EXPECT_TRUE(CheckParity(*code, Codeword(*code, info, Encode(*code, info, code->k()))))
            << code->name();
      }
    }
  }
}

TEST(LdpcEncodeTest, EveryIeeeCodeSatisfiesTheParityChecks) {
  std::mt19937 random(12);
  for (const CodePtr& code : testing::IeeeCodes()) {
    const std::vector<uint8_t> info = RandomInfo(*code, &random);
    EXPECT_TRUE(CheckParity(*code, Codeword(*code, info, Encode(*code, info, code->k()))))
        << code->name();
  }
}

TEST(LdpcEncodeTest, SmallCodesEqualDenseElimination) {
  std::mt19937 random(13);
  std::vector<CodePtr> codes = CustomCodes();
  for (const CodePtr& code : testing::NrCodes()) {
    codes.push_back(code);
  }
  codes.push_back(*WimaxCode("3/4B", 576));
  codes.push_back(*WifiCode("5/6", 648));
  int num_compared = 0;
  for (const CodePtr& code : codes) {
    ASSERT_THAT(code->encode_plan(), IsOk()) << code->name();
    if (code->parity_bits() > 400) {
      continue;  // Cubic: the larger ones are held against H * c = 0.
    }
    const std::vector<uint8_t> info = RandomInfo(*code, &random);
    const auto expected = ReferenceEncode(*code, UnpackBits(info, code->k()));
    ASSERT_THAT(expected, IsOk()) << code->name();
    EXPECT_EQ(Encode(*code, info, code->k()), PackBits(*expected)) << code->name();
    ++num_compared;
  }
  EXPECT_GT(num_compared, 25);
}

TEST_P(LdpcEncodeTargetTest, CustomCodesSatisfyTheParityChecks) {
  std::mt19937 random(14);
  for (const CodePtr& code : CustomCodes()) {
    const std::vector<uint8_t> info = RandomInfo(*code, &random);
    EXPECT_TRUE(CheckParity(*code, Codeword(*code, info, Encode(*code, info, code->k()))))
        << code->name();
  }
}

TEST(LdpcEncodeTest, SumOfMessagesHasTheSumOfTheParities) {
  std::mt19937 random(15);
  for (const CodePtr& code : testing::NrCodes()) {
    const std::vector<uint8_t> a = RandomInfo(*code, &random);
    const std::vector<uint8_t> b = RandomInfo(*code, &random);
    std::vector<uint8_t> sum(a.size());
    std::transform(a.begin(), a.end(), b.begin(), sum.begin(),
                   [](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x ^ y); });
    const std::vector<uint8_t> parity_a = Encode(*code, a, code->k());
    const std::vector<uint8_t> parity_b = Encode(*code, b, code->k());
    std::vector<uint8_t> expected(parity_a.size());
    std::transform(parity_a.begin(), parity_a.end(), parity_b.begin(), expected.begin(),
                   [](uint8_t x, uint8_t y) { return static_cast<uint8_t>(x ^ y); });
    EXPECT_EQ(Encode(*code, sum, code->k()), expected) << code->name();
  }
}

TEST_P(LdpcEncodeTargetTest, FillersCountAsZerosWhateverFollowsTheInformation) {
  std::mt19937 random(16);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(1, 22), *NrCode(2, 7), *NrCode(2, 352)}) {
    for (const int info_bits : {1, 7, 8, 9, 31, 32, 33, code->k() - 1, code->k()}) {
      const std::vector<uint8_t> info =
          RandomBytes(static_cast<size_t>(info_bits + 7) / 8, &random);
      Bits padded = UnpackBits(info, info_bits);
      padded.resize(static_cast<size_t>(code->k()), 0);
      EXPECT_EQ(Encode(*code, info, info_bits), Encode(*code, PackBits(padded), code->k()))
          << code->name() << ", " << info_bits << " bits";
    }
  }
}

TEST_P(LdpcEncodeTargetTest, BytesPastTheParityStayUntouched) {
  std::mt19937 random(17);
  for (const int zc : NrLiftingSizes()) {
    const CodePtr code = *NrCode(2, zc, 5);
    const std::vector<uint8_t> info = RandomInfo(*code, &random);
    const std::vector<uint8_t> expected = Encode(*code, info, code->k());
    // At an odd address, with a guard on either side.
    std::vector<uint8_t> guarded(expected.size() + 2, 0x5a);
    std::vector<uint8_t> odd_info(1);
    odd_info.insert(odd_info.end(), info.begin(), info.end());
    EncodeOnCpu(*code, absl::MakeConstSpan(odd_info).subspan(1), code->k(),
                absl::MakeSpan(guarded).subspan(1, expected.size()));
    EXPECT_EQ(guarded.front(), 0x5a);
    EXPECT_EQ(guarded.back(), 0x5a) << code->name();
    EXPECT_EQ(std::vector<uint8_t>(guarded.begin() + 1, guarded.end() - 1), expected);
  }
}

TEST(LdpcEncodeTest, UnusedBitsOfTheLastByteAreZero) {
  std::mt19937 random(18);
  const CodePtr code = *NrCode(2, 7, 5);  // 35 parity bits
  EXPECT_EQ(Encode(*code, RandomInfo(*code, &random), code->k()).back() & 0x1f, 0);
}

}  // namespace
}  // namespace baseband::ldpc
