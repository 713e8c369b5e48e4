#include "client/ctl/ldpc/known_answer.h"

#include <cmath>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/published_llrs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/hex.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

// Base graph 2 with Zc = 2: k 20, n_full 104. Not a code word; parsing does not judge that.
std::string EncodeLine() {
  return absl::StrCat(
      R"({"case":1,"bg":2,"zc":2,"ils":0,"k":20,"n_full":104,"info":"123450","codeword":")",
      std::string(26, 'c'), R"("})");
}

// The all-zero word of base graph 2, Zc = 2, with 4 fillers, all 100 sent bits, at 3 dB.
std::string DecodeLine(const std::string& llr_hex) {
  const double sigma2 = NoiseVariance(3, 16.0 / 96);
  return absl::StrFormat(
      R"({"group":"g","case":1,"standard":"38.212","bg":2,"zc":2,"k":20,"k_prime":16,)"
      R"("filler":4,"n":100,"e":96,"ebn0_db":3.0,"sigma2":%.8f,"llr_scale":4,"llr_count":100,)"
      R"("info":"0000","llr":"%s"})",
      sigma2, llr_hex);
}

// LLR 5 everywhere but for the fillers: bits 16 .. 19, that is, LLRs 12 .. 15.
std::string Llrs() {
  std::string llr(100, 5);
  llr.replace(12, 4, 4, 127);
  return llr;
}

void ExpectRefused(const std::string& line, const std::string& message) {
  EXPECT_THAT(ParseKnownAnswer(line),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)))
      << line;
}

TEST(KnownAnswerTest, ReadsAnEncodeCase) {
  const auto answer = ParseKnownAnswer(EncodeLine());
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->kind, KnownAnswer::Kind::kEncode);
  EXPECT_EQ(answer->code.nr().base_graph(), 2);
  EXPECT_EQ(answer->info, BytesOfHex("123450"));
  EXPECT_EQ(answer->codeword.size(), 13);
}

TEST(KnownAnswerTest, ReadsADecodeCaseWithFillers) {
  const auto answer = ParseKnownAnswer(DecodeLine(absl::BytesToHexString(Llrs())));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->kind, KnownAnswer::Kind::kDecode);
  EXPECT_EQ(answer->filler, 4);
  EXPECT_EQ(answer->llr, Llrs());
}

TEST(KnownAnswerTest, EveryFieldIsNeededAndNoOtherIsTaken) {
  for (const std::string& line : {EncodeLine(), DecodeLine(absl::BytesToHexString(Llrs()))}) {
    const auto json = nlohmann::ordered_json::parse(line);
    for (const auto& [name, value] : json.items()) {
      auto without = json;
      without.erase(name);
      EXPECT_FALSE(ParseKnownAnswer(without.dump()).ok()) << "without " << name;
    }
    auto with = json;
    with["colour"] = "red";
    ExpectRefused(with.dump(), "'colour' is unknown");
  }
}

TEST(KnownAnswerTest, FieldsThatFollowFromOthersMustAgree) {
  const std::string encode = EncodeLine();
  ExpectRefused(absl::StrReplaceAll(encode, {{"\"ils\":0", "\"ils\":1"}}), "ils is 1");
  ExpectRefused(absl::StrReplaceAll(encode, {{"\"k\":20", "\"k\":22"}}), "k is 22");
  ExpectRefused(absl::StrReplaceAll(encode, {{":104", ":105"}}), "n_full is 105");
  ExpectRefused(absl::StrReplaceAll(encode, {{"\"zc\":2", "\"zc\":1"}}), "zc 1 is not");
  const std::string decode = DecodeLine(absl::BytesToHexString(Llrs()));
  ExpectRefused(absl::StrReplaceAll(decode, {{"\"e\":96", "\"e\":97"}}), "e is 97");
  ExpectRefused(absl::StrReplaceAll(decode, {{":3.0", ":3.1"}}), "sigma2");
  ExpectRefused(absl::StrReplaceAll(decode, {{"38.212", "38.213"}}), "standard");
  ExpectRefused(absl::StrReplaceAll(decode, {{"llr_scale\":4", "llr_scale\":5"}}), "llr_scale");
}

TEST(KnownAnswerTest, BadHexWrongLengthAndPaddingAreRefused) {
  const std::string line = EncodeLine();
  ExpectRefused(absl::StrReplaceAll(line, {{"12345", "1234g"}}), "info: digit 4");
  ExpectRefused(absl::StrReplaceAll(line, {{"123450", "12345000"}}), "info has 4 bytes");
  ExpectRefused(absl::StrReplaceAll(line, {{"123450", "123451"}}), "ones after its 20 bits");
  ExpectRefused("", "not a JSON object");
  ExpectRefused("[1]", "not a JSON object");
  ExpectRefused("{}", "no case of Encode");
}

TEST(KnownAnswerTest, EveryFlippedBitOfAnEncodeLineIsRefusedOrChangesWhatIsCompared) {
  const std::string line = EncodeLine();
  const KnownAnswer original = *ParseKnownAnswer(line);
  for (size_t bit = 0; bit < 8 * line.size(); ++bit) {
    std::string flipped = line;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const auto answer = ParseKnownAnswer(flipped);
    if (answer.ok()) {
      EXPECT_TRUE(answer->info != original.info || answer->codeword != original.codeword ||
                  answer->number != original.number)
          << flipped;
    }
  }
}

TEST(CheckLlrsTest, PlausibleLlrsPass) {
  const auto answer = ParseKnownAnswer(DecodeLine(absl::BytesToHexString(Llrs())));
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(CheckLlrs(*answer, std::string(13, '\0')), IsOk());
}

TEST(CheckLlrsTest, FillersAreKnownAndImpossibleValuesAreFound) {
  std::string llr = Llrs();
  llr[13] = 126;
  auto answer = ParseKnownAnswer(DecodeLine(absl::BytesToHexString(llr)));
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(CheckLlrs(*answer, std::string(13, '\0')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("llr 13")));
  llr = Llrs();
  llr[50] = -100;
  answer = ParseKnownAnswer(DecodeLine(absl::BytesToHexString(llr)));
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(CheckLlrs(*answer, std::string(13, '\0')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("llr 50 is -100")));
}

TEST(PublishedLlrsTest, UnknownCasesAreNotJudged) {
  EXPECT_THAT(CheckAgainstPublished("some info", "some llr"), IsOk());
}

}  // namespace
}  // namespace baseband::ctl
