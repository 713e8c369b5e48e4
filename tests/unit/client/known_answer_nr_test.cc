// Known answers of 5G NR shared channels: those of the vectors folder, and what is wrong with them.
#include <fstream>
#include <string>
#include <vector>

#include "client/ctl/ldpc/known_answer.h"
#include "client/ctl/ldpc/published_llrs.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using Json = nlohmann::ordered_json;
using Kind = KnownAnswer::Kind;

std::vector<std::string> Lines(const std::string& name) {
  std::ifstream file(std::string(BASEBAND_TEST_DATA) + "/ldpc/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The first of the file that has `c` code blocks, or any of a file that does not say.
Json CaseOf(const std::string& file, int c) {
  for (const std::string& line : Lines(file)) {
    Json json = Json::parse(line);
    if (!json.contains("c") || json["c"] == c) return json;
  }
  ADD_FAILURE() << file;
  return Json();
}

void ExpectRefused(const Json& json, const std::string& message) {
  EXPECT_THAT(ParseKnownAnswer(json.dump()).status(), IsInvalid(message)) << json["case"];
}

Json With(Json json, const char* name, const Json& value) {
  json[name] = value;
  return json;
}

TEST(NrKnownAnswerTest, ReadsEveryCaseOfTheVectors) {
  int shared_encode = 0;
  int several = 0;
  for (const char* file : {"nr_rate_match.jsonl", "nr_tb_chain.jsonl", "nr_tb_decode.jsonl"}) {
    const std::vector<std::string> lines = Lines(file);
    EXPECT_FALSE(lines.empty()) << file;
    for (const std::string& line : lines) {
      const auto answer = ParseKnownAnswer(line);
      ASSERT_THAT(answer, IsOk()) << file << " " << line.substr(0, 40);
      shared_encode += answer->kind == Kind::kSharedEncode;
      several += answer->transmissions.size() > 1;
    }
  }
  EXPECT_EQ(shared_encode, 64);
  EXPECT_EQ(several, 2);
}

TEST(NrKnownAnswerTest, ACodeBlockIsOneOfBbdevs) {
  const auto answer = ParseKnownAnswer(Lines("nr_rate_match.jsonl")[1]);
  ASSERT_THAT(answer, IsOk());
  const v1::CodeBlock& block = answer->block.code_block();
  EXPECT_EQ(block.base_graph(), 2);
  EXPECT_EQ(block.zc(), 9);
  EXPECT_EQ(block.n_filler(), 5);
  EXPECT_EQ(block.n_cb(), 384);
  EXPECT_EQ(block.e(), 134);
  EXPECT_EQ(answer->sent.size(), 17);
  EXPECT_EQ(answer->info.size(), 11);
}

TEST(NrKnownAnswerTest, EveryFieldIsNeededAndNoOtherIsTaken) {
  for (const Json& json : {CaseOf("nr_rate_match.jsonl", 1), CaseOf("nr_tb_chain.jsonl", 2),
                           CaseOf("nr_tb_decode.jsonl", 2)}) {
    for (const auto& [name, value] : json.items()) {
      Json without = json;
      without.erase(name);
      EXPECT_FALSE(ParseKnownAnswer(without.dump()).ok()) << "without " << name;
    }
    ExpectRefused(With(json, "colour", "red"), "'colour' is unknown");
  }
}

TEST(NrKnownAnswerTest, FieldsThatFollowFromOthersMustAgree) {
  const Json block = CaseOf("nr_rate_match.jsonl", 1);
  for (const char* name : {"k", "k_prime", "n", "ncb", "k0"}) {
    ExpectRefused(With(block, name, block[name].get<int>() + 1), std::string(name) + " is ");
  }
  ExpectRefused(With(block, "bg", 3), "base_graph 3 is not in [1, 2]");
  ExpectRefused(With(block, "zc", 17), "zc 17 is not a lifting size");
  ExpectRefused(With(block, "rv", 4), "rv 4 is not in [0, 3]");
  ExpectRefused(With(block, "qm", 7), "qm 7 is not 1, 2, 4, 6, 8 or 10");

  const Json chain = CaseOf("nr_tb_chain.jsonl", 2);
  for (const char* name : {"bg", "nref", "tb_crc_bits", "b", "c", "kb", "zc", "k", "k_prime",
                           "filler", "n", "ncb", "k0"}) {
    ExpectRefused(With(chain, name, chain[name].get<int>() + 1), std::string(name) + " is ");
  }
  ExpectRefused(With(chain, "e", {chain["e"][0], 1}), "e[1] should be");
  ExpectRefused(With(chain, "e", {1}), "e has 1 elements instead of 2");
  ExpectRefused(With(chain, "a", chain["a"].get<int>() + 1), "is not a multiple of 8");
  ExpectRefused(With(chain, "r_x1024", 1024), "r_x1024 is not in (0, 1024)");
  ExpectRefused(With(chain, "g", chain["g"].get<int>() + 1), "is not a multiple of");
  Json blocks = chain["cbs"];
  std::string hex = blocks[1];
  hex.back() = hex.back() == '0' ? '1' : '0';  // of the CRC
  blocks[1] = hex;
  ExpectRefused(With(chain, "cbs", blocks), "cbs[1] is not that part of tb with its CRC");

  const Json decode = CaseOf("nr_tb_decode.jsonl", 1);
  ExpectRefused(With(decode, "llr_scale", 5), "llr_scale is 5");
  ExpectRefused(With(decode, "decodes_after_first_tx", false), "does not go with 1 transmissions");
  ExpectRefused(With(decode, "decodes_after_first_tx", 1), "is not true or false");
  ExpectRefused(With(decode, "snr_db", 200), "snr_db is not in");
  ExpectRefused(With(decode, "tx", Json::array()), "tx is not a list");
  ExpectRefused(With(decode, "tx", {1}), "tx[0] is not an object");
  ExpectRefused(With(decode, "tx", {{{"rv", 4}, {"llr", decode["tx"][0]["llr"]}}}),
                "tx[0]: rv 4 is not in [0, 3]");
  ExpectRefused(With(decode, "tx", {{{"rv", 0}, {"llr", "00"}}}), "tx[0]: llr has 1 bytes instead");
}

TEST(NrKnownAnswerTest, EveryFlippedBitIsRefusedOrChangesWhatIsComparedOrSent) {
  for (const Json& json : {CaseOf("nr_rate_match.jsonl", 1), CaseOf("nr_tb_chain.jsonl", 1)}) {
    const std::string line = json.dump();
    const KnownAnswer original = *ParseKnownAnswer(line);
    const std::string block = original.block.SerializeAsString();
    for (size_t bit = 0; bit < 8 * line.size(); ++bit) {
      std::string flipped = line;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      const auto answer = ParseKnownAnswer(flipped);
      if (answer.ok()) {
        EXPECT_TRUE(answer->info != original.info || answer->sent != original.sent ||
                    answer->number != original.number ||
                    answer->block.SerializeAsString() != block)
            << flipped;
      }
    }
  }
}

TEST(NrKnownAnswerTest, LlrsOfPublishedCasesAreKnown) {
  for (const std::string& line : Lines("nr_tb_decode.jsonl")) {
    const KnownAnswer answer = *ParseKnownAnswer(line);
    std::string llr;
    for (const auto& transmission : answer.transmissions) llr += transmission.llr;
    EXPECT_THAT(CheckAgainstPublished(answer.info, llr), IsOk());
    llr.back() = static_cast<char>(llr.back() ^ 1);
    EXPECT_THAT(CheckAgainstPublished(answer.info, llr), IsInvalid("llr differs"));
  }
}

TEST(CheckLlrTest, ALlrIsAsFarOffAsItsNoiseMakesLikely) {
  // Mean 4 * 2 / 0.5 = 16, deviation 8 / sqrt(0.5) = 11.3.
  EXPECT_THAT(CheckLlr(3, 16, false, 0.5), IsOk());
  EXPECT_THAT(CheckLlr(3, -16, true, 0.5), IsOk());
  EXPECT_THAT(CheckLlr(3, -50, false, 0.5), IsOk());
  EXPECT_THAT(CheckLlr(3, -60, false, 0.5), IsInvalid("llr 3 is -60"));
  EXPECT_THAT(CheckLlr(3, 100, false, 0.5), IsInvalid("llr 3 is 100"));
  EXPECT_THAT(CheckLlr(3, -128, true, 0.5), IsInvalid("llr 3 is -128, below the range"));
}

}  // namespace
}  // namespace baseband::ctl
