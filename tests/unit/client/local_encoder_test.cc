// Code words made by the client are those that the slow, obvious encoder makes.
#include "client/ctl/ldpc/local_encoder.h"

#include <random>
#include <string>
#include <vector>

#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/code_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/reference.h"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using testing::IsInvalid;
using testing::IsOk;

struct Case {
  const char* name;
  CodeFlags flags;
  absl::StatusOr<ldpc::CodePtr> code;
};

CodeFlags Nr(int base_graph, int zc, int rows, int filler) {
  CodeFlags flags;
  flags.nr_bg = base_graph;
  flags.zc = zc;
  flags.rows = rows;
  flags.filler = filler;
  return flags;
}
CodeFlags Wimax(const std::string& rate, int n) {
  CodeFlags flags;
  flags.wimax_rate = rate;
  flags.n = n;
  return flags;
}
CodeFlags Wifi(const std::string& rate, int n) {
  CodeFlags flags;
  flags.wifi_rate = rate;
  flags.n = n;
  return flags;
}

std::vector<Case> Cases() {
  return {{"Bg1_Zc2", Nr(1, 2, 0, 0), ldpc::NrCode(1, 2)},
          {"Bg1_Zc36_rows24", Nr(1, 36, 24, 0), ldpc::NrCode(1, 36, 24)},
          {"Bg2_Zc15_filler7", Nr(2, 15, 0, 7), ldpc::NrCode(2, 15)},
          {"Wimax_2_3B", Wimax("2/3B", 576), ldpc::WimaxCode("2/3B", 576)},
          {"Wifi_3_4", Wifi("3/4", 648), ldpc::WifiCode("3/4", 648)}};
}

class LocalEncoderTest : public ::testing::TestWithParam<Case> {};

TEST_P(LocalEncoderTest, MakesTheSlowEncodersWords) {
  const ldpc::Code& code = **GetParam().code;
  const int filler = GetParam().flags.filler;
  const int info_bits = code.k() - filler;
  constexpr int kBlocks = 10;  // more than are proved
  std::mt19937 random(1);
  std::string info;
  std::string expected;
  for (int block = 0; block < kBlocks; ++block) {
    ldpc::Bits bits(static_cast<size_t>(code.k()));
    for (int i = 0; i < info_bits; ++i) bits[static_cast<size_t>(i)] = random() & 1;
    const auto parity = ldpc::ReferenceEncode(code, bits);
    ASSERT_THAT(parity, IsOk());
    ldpc::Bits word = bits;
    word.insert(word.end(), parity->begin(), parity->end());
    word.erase(word.begin(), word.end() - code.num_sent());
    bits.resize(static_cast<size_t>(info_bits));
    for (const uint8_t byte : ldpc::PackBits(bits)) info.push_back(static_cast<char>(byte));
    for (const uint8_t byte : ldpc::PackBits(word)) expected.push_back(static_cast<char>(byte));
  }
  const auto words = EncodeHere(*ToLdpcCode(GetParam().flags), filler, info, kBlocks);
  ASSERT_THAT(words, IsOk());
  EXPECT_EQ(*words, expected);
}

INSTANTIATE_TEST_SUITE_P(Codes, LocalEncoderTest, ::testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST(LocalEncoderTest, RefusesWhatIsNoCodeOrCannotBeEncoded) {
  v1::LdpcCode code;
  EXPECT_THAT(EncodeHere(code, 0, "", 1), IsInvalid("code is not set"));
  code.mutable_nr()->set_base_graph(1);
  code.mutable_nr()->set_zc(17);
  EXPECT_THAT(EncodeHere(code, 0, "", 1), IsInvalid("zc 17"));
  // Two equal parity columns.
  *code.mutable_custom() = *ParseBaseMatrix("0 0 0\n0 0 0\n", 4, 0);
  EXPECT_THAT(EncodeHere(code, 0, std::string(1, '\0'), 1), IsInvalid("has no inverse"));
}

TEST(LocalEncoderTest, AnOwnMatrixIsEncodedWithTheRowsThatAreUsed) {
  v1::LdpcCode code;
  *code.mutable_custom() = *ParseBaseMatrix("1 0 .\n0 2 0\n", 4, 0);
  code.set_parity_rows(1);
  // One row: parity p = information turned by one, as row r of a block has its one at r + shift.
  const auto words = EncodeHere(code, 0, std::string(1, static_cast<char>(0xb0)), 1);
  ASSERT_THAT(words, IsOk());
  EXPECT_EQ(*words, std::string(1, static_cast<char>(0xb7)));
}

}  // namespace
}  // namespace baseband::ctl
