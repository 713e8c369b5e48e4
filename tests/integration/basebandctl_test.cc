// basebandctl against the real server: what it prints, what it writes, how it exits.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/ctl_test.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::testing {
namespace {

constexpr char kVectors[] = BASEBAND_TEST_DATA "/ldpc/noisy_decode.jsonl";

class BasebandctlTest : public CtlTest {};

TEST_F(BasebandctlTest, HealthExitsLikeGrpcHealthProbe) {
  EXPECT_EQ(Run({"health"}).exit_code, 0);
  EXPECT_EQ(Run({"health", "--service=baseband.v1.Baseband"}).exit_code, 0);
  EXPECT_EQ(Run({"health", "--sevrice=x"}).exit_code, 1);
  EXPECT_EQ(RunAt("127.0.0.1", {"health"}).exit_code, 1);
  EXPECT_EQ(RunAt(absl::StrCat("127.0.0.1:", FreePort()), {"health"}).exit_code, 2);
  EXPECT_EQ(Run({"health", "--service=unknown"}).exit_code, 3);
}

TEST_F(BasebandctlTest, HealthTakesTheFlagsOfGrpcHealthProbe) {
  const std::string address = "-addr=" + server_->target();
  const auto probe = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "health");
    return RunAt("127.0.0.1:1", flags).exit_code;  // nobody serves there
  };
  EXPECT_EQ(probe({address, "-connect-timeout=5s", "-rpc-timeout", "5s"}), 0);
  EXPECT_EQ(probe({address, "-service=baseband.v1.Baseband"}), 0);
  EXPECT_EQ(probe({address, "-rpc-timeout=soon"}), 1);
  EXPECT_EQ(probe({address, "-tls-ca-cert=/nowhere/ca.pem"}), 1);
  EXPECT_EQ(probe({"-connect-timeout=250ms"}), 2);
  EXPECT_EQ(probe({address, "-service=unknown"}), 3);
}

TEST_F(BasebandctlTest, WithoutAServerOneLineSaysWhatToTry) {
  const Outcome outcome = RunAt("unix:/nowhere/basebandd.sock", {"demo"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, AllOf(StartsWith("basebandctl: cannot connect to unix:/nowhere"),
                                    HasSubstr("--target")));
}

TEST_F(BasebandctlTest, InfoNamesTheDeviceAndIsJsonOnRequest) {
  EXPECT_THAT(Run({"info"}).output, HasSubstr("51 lifting sizes"));
  EXPECT_THAT(Run({"info", "--json"}).output, HasSubstr("\"max_blocks_per_request\""));
}

TEST_F(BasebandctlTest, DemoRecoversAnyFileOverAGoodChannelAndSaysSoOverABadOne) {
  std::string file(100001, 'x');
  file[77] = '\0';
  WriteAll(Path("in"), file);
  Outcome outcome = Run({"demo", Path("in"), "--out=" + Path("out")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("OK: the recovered file equals the sent one."));
  EXPECT_EQ(ReadAll(Path("out")), file);

  outcome = Run({"demo", Path("in"), "--ebn0=0"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.output, HasSubstr("differs"));
}

TEST_F(BasebandctlTest, DemoTakesEveryFamilyOfCodes) {
  WriteAll(Path("matrix"), "0 0 -1 0 0 -1 -1\n0 -1 0 0 -1 0 -1\n-1 0 0 0 -1 -1 0\n");
  WriteAll(Path("in"), std::string(5000, 'y'));
  for (const std::vector<std::string>& code : std::vector<std::vector<std::string>>{
           {"--nr-bg=2", "--zc=7", "--ebn0=8"},
           {"--wimax=3/4B", "--n=576", "--ebn0=8"},
           {"--wifi=5/6", "--ebn0=8"},
           {"--matrix=" + Path("matrix"), "--zc=31", "--ebn0=14"}}) {
    std::vector<std::string> arguments = {"demo", Path("in")};
    arguments.insert(arguments.end(), code.begin(), code.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
}

// Short codes and the bit-flipping decoder need more than a good code's default.
TEST_F(BasebandctlTest, DemoRaisesItsOwnDefaultUntilAllDecodes) {
  WriteAll(Path("in"), std::string(5000, 'y'));
  for (const char* graph : {"--nr-bg=1", "--nr-bg=2"}) {
    const Outcome outcome = Run({"demo", Path("in"), graph, "--zc=2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
  const Outcome raised = Run({"demo", Path("in"), "--algorithm=bit-flipping"});
  EXPECT_EQ(raised.exit_code, 0) << raised.output;
  EXPECT_THAT(raised.output, HasSubstr("before, at "));
  EXPECT_THAT(Run({"demo", Path("in"), "--algorithm=bit-flipping", "--json"}).output,
              HasSubstr("\"tried_before\""));
}

TEST_F(BasebandctlTest, AFlagThatWouldHaveNoEffectIsRefused) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"ber", "--curve=layered:min-sum", "--algorithm=hard"}, "--algorithm does not go with"},
      {{"ber", "--curve=layered:min-sum", "--schedule=layered"}, "--schedule does not go with"},
      {{"ber", "--frames=10", "--min-frame-errors=1"}, "--min-frame-errors does not go with"},
      {{"ber", "--frames=10", "--max-frames=20"}, "--max-frames does not go with"},
      {{"ber", "--curve=layered:spa", "--scale-factor=0.5"}, "--scale-factor does not go with"},
      {{"decode", Path("in"), "--wimax=1/2", "--algorithm=spa", "--scale-factor=0.5"},
       "--scale-factor does not go with"}};
  for (const auto& [arguments, why] : cases) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(why));
  }
}

TEST_F(BasebandctlTest, EncodeThenDecodeIsTheIdentity) {
  std::string info(20 * 144, '\0');
  for (size_t i = 0; i < info.size(); ++i) {
    info[i] = static_cast<char>(i * 37);
  }
  WriteAll(Path("info"), info);
  ASSERT_EQ(Run({"encode", Path("info"), "--wimax=1/2", "-o", Path("words")}).exit_code, 0);
  std::string llr;
  for (const char byte : ReadAll(Path("words"))) {
    for (int bit = 7; bit >= 0; --bit) {
      llr.push_back((byte >> bit & 1) != 0 ? -8 : 8);
    }
  }
  WriteAll(Path("llr"), llr);
  Outcome outcome =
      Run({"decode", Path("llr"), "--wimax=1/2", "-o", Path("out"), "--soft=" + Path("soft")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(ReadAll(Path("out")), info);
  EXPECT_EQ(ReadAll(Path("soft")).size(), llr.size());

  // The LLRs of the first block belong to no code word, and it says so.
  for (size_t i = 0; i < 2304; ++i) {
    llr[i] = i % 3 == 0 ? 9 : -9;
  }
  WriteAll(Path("llr"), llr);
  outcome = Run({"decode", Path("llr"), "--wimax=1/2", "-o", Path("out"), "--blocks"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.output, HasSubstr("block 0: 10 iterations, PARITY FAILED"));
  EXPECT_THAT(outcome.output, HasSubstr("block 1: 1 iteration, ok"));
}

// As a new user has them from numpy.
TEST_F(BasebandctlTest, WhereNoBlockDecodesTheLlrsAreLookedAt) {
  std::string floats;
  for (int i = 0; i < 4 * 2304; ++i) {
    const float llr = (i % 7 < 3 ? -1.0F : 1.0F) * (1.5F + 0.01F * static_cast<float>(i % 97));
    floats.append(reinterpret_cast<const char*>(&llr), sizeof(llr));
  }
  WriteAll(Path("llr.f32"), floats);
  Outcome outcome = Run({"decode", Path("llr.f32"), "--wimax=1/2", "-o", Path("out")});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("decoded: its bytes look like float32 numbers"));

  // Blocks of another code, of which they are the whole number that this one takes.
  ASSERT_EQ(Run({"demo", "--wimax=1/2"}).exit_code, 0);
  WriteAll(Path("info"), std::string(3 * 144, 'i'));
  ASSERT_EQ(Run({"encode", Path("info"), "--wimax=1/2", "-o", Path("words")}).exit_code, 0);
  std::string llr;
  for (const char byte : ReadAll(Path("words"))) {
    for (int bit = 7; bit >= 0; --bit) llr.push_back((byte >> bit & 1) != 0 ? -40 : 40);
  }
  WriteAll(Path("llr"), llr);
  outcome = Run({"decode", Path("llr"), "--wimax=2/3A", "-o", Path("out")});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is it the sender's code (rows, zc, n, filler)"));
  outcome = Run({"decode", Path("llr"), "--wimax=1/2", "-o", Path("out")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("no block of")));
}

TEST_F(BasebandctlTest, AnEmptyFileIsCalledEmpty) {
  for (const char* name : {"none", "none.f64", "none.f32", "none.cf32", "none.wav", "none.txt",
                           "none.json", "none.csv"}) {
    WriteAll(Path(name), "");
  }
  const std::vector<std::vector<std::string>> commands = {
      {"decode", Path("none"), "--wimax=1/2", "-o", Path("out")},
      {"encode", Path("none"), "--wimax=1/2", "-o", Path("out")},
      {"encode", Path("none"), "--wimax=1/2", "-o", Path("out"), "--pad"},
      {"demo", Path("none")},
      {"recover", Path("none.cf32"), "--constellation=QPSK"},
      {"recover", Path("none.wav"), "--constellation=QPSK"},
      {"downconvert", Path("none.cf32"), "--rate=1M", "--channel=0:8", "-o", Path("out.cf32")},
      {"downconvert", Path("none.cf32"), "--rate=1M", "--channels=" + Path("none.json"), "-o",
       Path("out.cf32")},
      {"minimize", "--builtin=sinusoids", "--signal=" + Path("none.f64"), "--interval=1us",
       "--axis=f=1:1:9"},
      {"minimize", "--builtin=sinusoids", "--signal=" + Path("none.txt"), "--interval=1us",
       "--axis=f=1:1:9"},
      {"minimize", "a[0]+x", "--array=a=" + Path("none.csv"), "--axis=x=1:1:9"},
      {"load", "--scenario=" + Path("none.json")}};
  for (const std::vector<std::string>& command : commands) {
    const Outcome outcome = Run(command);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("is empty")) << command[0];
    EXPECT_THAT(outcome.output, Not(HasSubstr("multiple"))) << command[0];
  }
}

TEST_F(BasebandctlTest, FilesThatAreNotWholeBlocksAreRefused) {
  WriteAll(Path("info"), std::string(100, 'z'));
  const Outcome outcome = Run({"encode", Path("info"), "--wimax=1/2", "-o", Path("out")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("not a multiple of the 144 of a block"));
  EXPECT_EQ(Run({"encode", Path("info"), "--wimax=1/2", "-o", Path("out"), "--pad"}).exit_code, 0);
}

TEST_F(BasebandctlTest, VerifyPassesTheKnownAnswers) {
  const Outcome outcome = Run({"verify", kVectors});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(" passed, 0 failed\n"));
}

TEST_F(BasebandctlTest, VerifyFailsWhenOneBitOfAFileIsChanged) {
  const std::string file = ReadAll(kVectors);
  // Spread over the file: most hit an LLR.
  for (int i = 0; i < 24; ++i) {
    const size_t bit = 8 * file.size() / 24 * i + 1237 * i + i % 8;
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    WriteAll(Path("flipped.jsonl"), flipped);
    const Outcome outcome = Run({"verify", Path("flipped.jsonl")});
    EXPECT_EQ(outcome.exit_code, 4) << "bit " << bit;
    EXPECT_THAT(outcome.output, Not(HasSubstr(", 0 failed")));
  }
}

TEST_F(BasebandctlTest, VerifyNeedsACase) {
  WriteAll(Path("empty.jsonl"), "");
  EXPECT_EQ(Run({"verify", Path("empty.jsonl")}).exit_code, 4);
  EXPECT_EQ(Run({"verify", Path("missing.jsonl")}).exit_code, 1);
}

// The rows of a table without their last column, the time.
std::vector<std::string> RowsWithoutTime(const std::string& csv) {
  std::vector<std::string> rows = absl::StrSplit(csv, '\n');
  for (std::string& row : rows) {
    row = row.substr(0, row.rfind(','));
  }
  return rows;
}

TEST_F(BasebandctlTest, AnErrorRateDoesNotDependOnTiming) {
  const std::vector<std::string> common = {"ber", "--ebn0=1:0.5:2", "--min-frame-errors=20",
                                           "--max-frames=2000", "--frames-per-request=32"};
  std::vector<std::vector<std::string>> tables;
  for (const char* in_flight : {"1", "7"}) {
    std::vector<std::string> arguments = common;
    arguments.push_back(absl::StrCat("--csv=", Path(in_flight)));
    arguments.push_back(absl::StrCat("--plot=", Path("plot.svg")));
    arguments.push_back(absl::StrCat("--in-flight=", in_flight));
    const Outcome outcome = Run(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    tables.push_back(RowsWithoutTime(ReadAll(Path(in_flight))));
  }
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_EQ(tables[0].size(), 5);  // header, three points, the end of the last line
  EXPECT_THAT(ReadAll(Path("plot.svg")), AllOf(StartsWith("<svg"), HasSubstr("frame error rate")));
}

TEST_F(BasebandctlTest, WhatIsNotKnownIsRefused) {
  EXPECT_EQ(Run({"demo", "--no-such-flag"}).exit_code, 1);
  EXPECT_EQ(Run({"frobnicate"}).exit_code, 1);
  EXPECT_EQ(Run({}).exit_code, 1);
  EXPECT_EQ(Run({"demo", "--nr-bg=3"}).exit_code, 1);
  EXPECT_EQ(Run({"ber", "--curve=layered:turbo"}).exit_code, 1);
  EXPECT_EQ(Run({"--help"}).exit_code, 0);
  EXPECT_THAT(Run({"--version"}).output, StartsWith("basebandctl "));
}

}  // namespace
}  // namespace baseband::testing
