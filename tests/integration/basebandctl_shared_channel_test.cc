// basebandctl's commands of 5G NR shared channels against the real server.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"
#include "tests/support/matchers.h"

namespace baseband::testing {
namespace {

const std::string& Vectors() {
  static const auto& folder = *new std::string(BASEBAND_TEST_DATA "/ldpc/");
  return folder;
}

class SharedChannelCommandsTest : public CtlTest {
 protected:
  static std::vector<std::string> Demo(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"demo", Path("in"), "--nr"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(SharedChannelCommandsTest, VerifyPassesTheKnownAnswers) {
  const Outcome outcome = Run({"verify", Vectors() + "nr_rate_match.jsonl",
                               Vectors() + "nr_tb_chain.jsonl", Vectors() + "nr_tb_decode.jsonl"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("70 passed, 0 failed\n"));
}

// Without a server, and with the sizes that one takes.
TEST_F(SharedChannelCommandsTest, TbsTellsWhatAFormatAmountsTo) {
  const Outcome text = Run({"tbs", "--mcs=27", "--prbs=273", "--layers=4"});
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, HasSubstr("1277992 bits, 159749 bytes; CRC24A\n"));
  const Outcome json = Run({"tbs", "--mcs=5", "--prbs=4", "--json"});
  ASSERT_EQ(json.exit_code, 0) << json.output;
  const auto figures = nlohmann::json::parse(json.output);
  EXPECT_EQ(figures["received_bytes"]["llr-int8"], figures["coded_bits"]);
  const Outcome refused = Run({"tbs", "--mcs=27", "--mcs-table=4"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("mcs (--mcs) 27 is not in [0, 26] of MCS table 4"));
}

// One that is not among the published ones: told by the bits that the server sends.
TEST_F(SharedChannelCommandsTest, VerifyFailsWhereWhatIsComparedIsNotRight) {
  const auto first_line = [](const std::string& file) -> std::string {
    return std::vector<std::string>(absl::StrSplit(ReadAll(Vectors() + file), '\n'))[0];
  };
  const auto verify = [](const nlohmann::ordered_json& json) {
    WriteAll(Path("changed.jsonl"), json.dump() + "\n");
    const Outcome outcome = Run({"verify", Path("changed.jsonl")});
    EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
    return outcome.output;
  };
  const auto flip = [](nlohmann::ordered_json* hex, size_t digit) {
    std::string text = hex->get<std::string>();
    text[digit] = text[digit] == '0' ? '1' : '0';
    *hex = text;
  };
  auto json = nlohmann::ordered_json::parse(first_line("nr_rate_match.jsonl"));
  flip(&json["out"], 5);
  EXPECT_THAT(verify(json), HasSubstr("out differs at bit 2"));
  json = nlohmann::ordered_json::parse(first_line("nr_tb_chain.jsonl"));
  flip(&json["out"], 1);
  EXPECT_THAT(verify(json), HasSubstr("out differs at bit "));
  json = nlohmann::ordered_json::parse(first_line("nr_tb_decode.jsonl"));
  flip(&json["tx"][0]["llr"], 40);
  EXPECT_THAT(verify(json), HasSubstr("llr differs from the published case"));
  json = nlohmann::ordered_json::parse(first_line("nr_tb_decode.jsonl"));
  flip(&json["tb"], 7);
  EXPECT_THAT(verify(json), HasSubstr("tb differs at bit "));
}

TEST_F(SharedChannelCommandsTest, DemoRecoversAFileOverSeveralTransmissions) {
  std::string file(60001, 'x');
  file[77] = '\0';
  WriteAll(Path("in"), file);
  Outcome outcome = Run(Demo({"--prbs=25", "--out=" + Path("out")}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("MCS 16 of table 2: 64QAM, R=0.702, 25 PRBs, 1 layer"),
                    HasSubstr("OK: the recovered file equals the sent one.")));
  EXPECT_EQ(ReadAll(Path("out")), file);

  // 4 dB below what one transmission needs.
  outcome = Run(Demo({"--prbs=25", "--snr=9", "--json"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["harq"]["right"][0], 0);
  EXPECT_EQ(json["harq"]["sent"][0], json["blocks"]);
  EXPECT_EQ(json["harq"]["sent"][1], json["blocks"]);
  EXPECT_EQ(json["block_errors"], 0);
  EXPECT_EQ(json["recovered_equals_sent"], true);

  outcome = Run(Demo({"--prbs=25", "--snr=-10"}));
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("differs"));
}

TEST_F(SharedChannelCommandsTest, DemoTakesEveryModulationTypeOfSymbolsAndSize) {
  WriteAll(Path("in"), std::string(3000, 'y'));
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--qm=1", "--code-rate=0.3", "--prbs=3", "--input=float16", "--snr=6"},
           {"--mcs=2", "--prbs=1", "--input=float32"},
           {"--mcs=10", "--prbs=7", "--layers=2", "--input=int8"},
           {"--mcs=10", "--prbs=7", "--input=llr-int8"},
           {"--mcs=22", "--prbs=7", "--layers=2", "--input=llr-int6", "--snr=26"},
           {"--mcs=4", "--prbs=7", "--input=llr-int4"},
           {"--mcs=27", "--prbs=30", "--layers=4", "--snr=30", "--transmissions=1"},
           {"--mcs-table=4", "--mcs=26", "--prbs=20", "--snr=38", "--log-sum"},
           {"--mcs-table=3", "--mcs=0", "--prbs=10"},
           {"--mcs=20", "--prbs=50", "--tbs-lbrm=50000", "--iterations=20", "--snr=22"}}) {
    const Outcome outcome = Run(Demo(flags));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
}

TEST_F(SharedChannelCommandsTest, AFlagThatWouldHaveNoEffectIsRefused) {
  WriteAll(Path("in"), "z");
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"demo", Path("in"), "--mcs=3"}, "--mcs goes with --nr only"},
      {{"demo", Path("in"), "--log-sum"}, "--log-sum goes with --nr only"},
      {{"demo", Path("in"), "--nr", "--ebn0=3"}, "--ebn0 does not go with --nr"},
      {{"demo", Path("in"), "--nr", "--wifi=1/2"}, "--wifi does not go with --nr"},
      {{"demo", Path("in"), "--nr", "--algorithm=hard"}, "--algorithm does not go with --nr"},
      {{"demo", Path("in"), "--nr", "--mcs=28"}, "mcs (--mcs) 28 is not in [0, 27] of MCS table 2"},
      {{"demo", Path("in"), "--nr", "--qm=4"}, "--qm needs --code-rate"},
      {{"demo", Path("in"), "--nr", "--tbs-lbrm=1"}, "tbs_lbrm (--tbs-lbrm) 1 is below"},
      {{"bler", "--blocks=10", "--max-blocks=20"}, "--max-blocks does not go with --blocks"},
      {{"bler", "--mcs=3:1"}, "'3:1' is not BEGIN:STEP:END"},
      {{"bler", "--mcs=x"}, "'x' is not a whole number in [0, 28]"},
      {{"bler", "--snr=loud"}, "--snr: 'loud' is not a number of dB"},
      {{"bler", "--input=int4"}, "'int4' is not one of int8, int16, float16, float32, "},
      {{"bler", "--input=llr-int8", "--log-sum"}, "--log-sum says how symbols are demapped"},
      {{"demo", Path("in"), "--nr", "--input=llr-int4", "--llr-scale=4"},
       "--llr-scale says how symbols are demapped"}};
  for (const auto& [arguments, why] : cases) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(why));
  }
}

TEST_F(SharedChannelCommandsTest, ABlockErrorRateDoesNotDependOnTiming) {
  std::vector<std::vector<std::string>> tables;
  for (const char* in_flight : {"1", "7"}) {
    const Outcome outcome =
        Run({"bler", "--mcs=4,10", "--prbs=2", "--snr=-1:2:7", "--blocks=60",
             "--blocks-per-request=7", absl::StrCat("--csv=", Path(in_flight)),
             "--plot=" + Path("plot.svg"), absl::StrCat("--in-flight=", in_flight)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    std::vector<std::string> rows = absl::StrSplit(ReadAll(Path(in_flight)), '\n');
    for (std::string& row : rows) row = row.substr(0, row.rfind(','));
    tables.push_back(rows);
  }
  EXPECT_EQ(tables[0], tables[1]);
  // Two MCS, five points, of which a curve without errors needs not the last, four transmissions.
  EXPECT_GE(tables[0].size(), 2u * 4 * 4 + 2);
  EXPECT_THAT(ReadAll(Path("plot.svg")), AllOf(StartsWith("<svg"), HasSubstr("block error rate"),
                                               HasSubstr("MCS 10, 3 transmissions")));
}

TEST_F(SharedChannelCommandsTest, PointsThatTheFloorLeavesOutAreTold) {
  const std::vector<std::string> bler = {"bler",          "--mcs=4",     "--prbs=2",
                                         "--snr=10:1:13", "--blocks=20", "--floor=0.5"};
  const Outcome text = Run(bler);
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, HasSubstr("\n  left out by --floor=0.5: 3 points, 11 to 13 dB\n"));
  std::vector<std::string> json = bler;
  json.push_back("--json");
  EXPECT_EQ(nlohmann::json::parse(Run(json).output)["curves"][0]["left_out_db"],
            nlohmann::json({11, 12, 13}));
  const Outcome all = Run({"bler", "--mcs=4", "--prbs=2", "--snr=10", "--blocks=20"});
  EXPECT_THAT(all.output, Not(HasSubstr("left out")));
  const Outcome ber = Run({"ber", "--nr-bg=2", "--zc=8", "--ebn0=9,10", "--frames=20"});
  EXPECT_EQ(ber.exit_code, 0) << ber.output;
  EXPECT_THAT(ber.output, HasSubstr("\n  left out by --floor=0: 1 point, 10 dB\n"));
}

// More transmissions never leave more blocks wrong, more SNR never makes a curve rise by much.
TEST_F(SharedChannelCommandsTest, BlockErrorRatesFallWithSnrAndTransmissions) {
  const Outcome outcome =
      Run({"bler", "--mcs=16", "--prbs=4", "--snr=6:4:18", "--blocks=100", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto points = nlohmann::json::parse(outcome.output)["curves"][0]["points"];
  ASSERT_EQ(points.size(), 4u);
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i]["undetected_block_errors"], 0);
    for (size_t t = 1; t < 4; ++t) {
      EXPECT_LE(points[i]["after"][t]["bler"], points[i]["after"][t - 1]["bler"]);
    }
    for (size_t t = 0; i > 0 && t < 4; ++t) {
      EXPECT_LE(points[i]["after"][t]["bler"], points[i - 1]["after"][t]["bler"]);
    }
  }
  EXPECT_EQ(points[0]["after"][0]["bler"], 1.0);
  EXPECT_EQ(points[0]["after"][3]["bler"], 0.0);
  EXPECT_EQ(points[3]["after"][0]["bler"], 0.0);
}

}  // namespace
}  // namespace baseband::testing
