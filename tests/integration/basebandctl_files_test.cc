// Which files basebandctl writes, and when: every command that writes is asked to overwrite what it
// reads, to write one file twice and into a folder that is not there. It refuses before it
// connects: nobody serves at the address that it is given.
#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"

namespace baseband::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

struct Writer {
  Words command;         // DIR stands for the test's folder
  std::string output;    // what comes in front of the output's path
  std::string input;     // the file it reads; empty: none
  std::string second{};  // what comes in front of a second output; empty: there is none
};

// Every output of every command.
std::vector<Writer> Writers() {
  const Words encode = {"encode", "DIR/bits", "--wimax=1/2"};
  const Words decode = {"decode", "DIR/llr", "--wimax=1/2"};
  const Words recover = {"recover", "DIR/x.cf32", "--constellation=QPSK"};
  const Words recover_known = {"recover", "DIR/x.cf32", "--constellation=QPSK",
                               "--known=DIR/known.csv"};
  const Words recover_points = {"recover", "DIR/x.cf32", "--points=DIR/points.txt"};
  const Words sigmf = {"recover", "DIR/r.sigmf-meta", "--constellation=QPSK"};
  const Words signal = {"carrier-signal", "--pilots=dvbs2"};
  const Words downconvert = {"downconvert", "DIR/x.cf32", "--rate=1M", "--channel=1k:1"};
  const Words described = {"downconvert", "DIR/x.cf32", "--rate=1M", "--channels=DIR/plan.0.cf32"};
  const Words minimize = {"minimize",       "--builtin=chirp", "--signal=DIR/x.cf32",
                          "--axis=a=0:1:9", "--axis=b=0:1:9",  "--profile=a"};
  const Words table = {"minimize-bench", "table", "--with=DIR/table.csv"};
  const Words load = {"load", "--scenario=DIR/scenario.json"};
  const Words own_code = {"demo", "DIR/bits", "--matrix=DIR/matrix", "--zc=4"};
  const Words ber = {"ber", "--matrix=DIR/matrix", "--zc=4"};
  const Words token = {"--token-file=DIR/bits", "ber"};
  return {{encode, "-o", "bits"},
          {decode, "-o", "llr", "--soft"},
          {decode, "--soft", "llr", "-o"},
          {own_code, "-o", "bits"},
          {own_code, "-o", "matrix"},
          {{"demo", "DIR/bits", "--nr"}, "-o", "bits"},
          {ber, "--csv", "matrix", "--plot"},
          {ber, "--plot", "matrix", "--csv"},
          {{"bler"}, "--csv", "", "--plot"},
          {{"bler"}, "--plot", "", "--csv"},
          {recover, "-o", "x.cf32", "--plot"},
          {recover, "--plot", "x.cf32", "--csv"},
          {recover, "--csv", "x.cf32", "-o"},
          {recover_known, "-o", "known.csv"},
          {recover_points, "--csv", "points.txt"},
          {sigmf, "-o", "r.sigmf-data", "--csv"},
          {sigmf, "--plot", "r.sigmf-meta"},
          {signal, "-o", "", "--known-out"},
          {{"carrier-bench", "pilots"}, "--csv", "", "--plot"},
          {{"carrier-bench", "pilots"}, "--plot", "", "--csv"},
          {downconvert, "--plot", "x.cf32"},
          {described, "--plot", "plan.0.cf32"},
          {{"wideband-signal", "--samples=1k"}, "-o", ""},
          {minimize, "--csv", "x.cf32", "--map"},
          {minimize, "--plot", "x.cf32", "--csv"},
          {minimize, "--map", "x.cf32", "--plot"},
          {table, "--csv", "table.csv"},
          {load, "--csv", "scenario.json", "--html"},
          {load, "--html", "scenario.json", "--csv"},
          {{"admin", "trace"}, "", ""}};
}

class BasebandctlFilesTest : public ::testing::Test {
 protected:
  struct Outcome {
    int exit_code = -1;
    std::string output;
  };

  void SetUp() override {
    std::string folder = ::testing::TempDir() + "/basebandctl_files_test.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    Write("bits", std::string(144, 'b'));
    Write("llr", std::string(2304, 'l'));
    Write("matrix", "0 1 -1 0 -1\n1 0 0 -1 0\n");
    Write("x.cf32", std::string(64 * 8, '\0'));
    Write("known.csv", "0 1 0\n");
    Write("points.txt", "1 0\n-1 0\n");
    Write("r.sigmf-data", std::string(64 * 8, '\0'));
    Write("r.sigmf-meta", "{\"global\": {\"core:datatype\": \"cf32_le\"}, \"captures\": []}");
    Write("plan.0.cf32", "[{\"frequency\": \"1k\"}]   ");  // three samples
    Write("scenario.json", "{\"mix\": [{\"operation\": \"encode\"}]}");
    Write("table.csv",
          "device,points,method,client_ms,server_ms,points_per_s,error_hz,minimum,paper_gpu_ms,"
          "paper_cpu_ms\nhere,130,fast,1,1,130000,0.05,1e-6,0.4,29.78\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& contents) const {
    WriteAll(Path(name), contents);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  Outcome Run(Words words) const {
    words.insert(words.begin(), "--target=127.0.0.1:1");
    for (std::string& word : words) {
      word = absl::StrReplaceAll(word, {{"DIR", folder_.string()}});
    }
    ChildProcess process(ProgramPath("basebandctl"), words);
    Outcome outcome;
    outcome.exit_code = process.Wait(absl::Seconds(120)).value_or(-1);
    outcome.output = process.Output();
    return outcome;
  }
  // Of `writer` with `path` as its output.
  static Words With(const Writer& writer, const std::string& path) {
    Words words = writer.command;
    if (!writer.output.empty()) words.push_back(writer.output);
    words.push_back(path);
    return words;
  }

  fs::path folder_;
};

TEST_F(BasebandctlFilesTest, NoCommandOverwritesWhatItReads) {
  fs::create_directory(Path("links"));
  for (const Writer& writer : Writers()) {
    if (writer.input.empty()) continue;
    const std::string before = ReadAll(Path(writer.input));
    fs::create_symlink(Path(writer.input), Path("links/soft"));
    fs::create_hard_link(Path(writer.input), Path("links/hard"));
    for (const std::string& path : {writer.input, std::string("links/soft"),
                                    std::string("links/hard"), "links/../" + writer.input}) {
      const Outcome outcome = Run(With(writer, Path(path)));
      EXPECT_EQ(outcome.exit_code, 1) << writer.command[0] << ": " << outcome.output;
      EXPECT_THAT(outcome.output,
                  AllOf(HasSubstr(path), HasSubstr("which is read: name another file")))
          << writer.command[0];
      EXPECT_EQ(ReadAll(Path(writer.input)), before);
    }
    fs::remove(Path("links/soft"));
    fs::remove(Path("links/hard"));
  }
}

TEST_F(BasebandctlFilesTest, ThePrefixOfChannelsIsHeldAgainstTheInputToo) {
  const std::string before = ReadAll(Path("plan.0.cf32"));
  const Outcome outcome =
      Run({"downconvert", "DIR/plan.0.cf32", "--rate=1M", "--channel=1k:1", "-o", "DIR/plan"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("plan.0.cf32, which is read"));
  EXPECT_EQ(ReadAll(Path("plan.0.cf32")), before);
}

TEST_F(BasebandctlFilesTest, TheTokenIsAnInputToo) {
  const Outcome outcome = Run({"--token-file=DIR/bits", "ber", "--csv", "DIR/bits"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("bits, which is read"));
}

TEST_F(BasebandctlFilesTest, TwoOutputsAreNotOneFile) {
  for (const Writer& writer : Writers()) {
    if (writer.second.empty()) continue;
    Words words = With(writer, Path("new"));
    words.push_back(writer.second);
    words.push_back(Path("./new"));
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.exit_code, 1) << writer.command[0] << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("are the same file")) << writer.command[0];
  }
}

TEST_F(BasebandctlFilesTest, NothingIsNamedAsWhatItIsNot) {
  const std::map<std::string, std::pair<const char*, const char*>> kWrong = {
      {"--plot", {"new.PNG", "what is drawn is SVG, not .png: name a .svg"}},
      {"--map", {"new.bin", "what is drawn is SVG, not .bin: name a .svg or .csv"}},
      {"--csv", {"new.svg", "what is written is a table, not .svg: name a .csv or .txt"}},
      {"--html", {"new.csv", "what is written is a page, not .csv: name a .html or .htm"}},
      {"", {"new.txt", "what is written is JSON, not .txt: name a .json"}}};
  int tried = 0;
  for (const Writer& writer : Writers()) {
    const auto wrong = kWrong.find(writer.output);
    if (wrong == kWrong.end()) continue;
    ++tried;
    const auto& [name, message] = wrong->second;
    const Outcome outcome = Run(With(writer, Path(name)));
    EXPECT_EQ(outcome.exit_code, 1) << writer.command[0] << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << writer.command[0];
  }
  EXPECT_GE(tried, 16);
}

// Recordings: by the name of the input, and of what is written.
TEST_F(BasebandctlFilesTest, ARecordingIsReadAndWrittenAsItsNameSays) {
  Write("LICENSE", std::string(64, '\0'));
  Write("x.dat", std::string(64, '\0'));
  Write("x.wav", std::string(64, '\0'));
  const Words recover = {"--constellation=QPSK"};
  const Words downconvert = {"--rate=1M", "--channel=1k:1", "-o", "DIR/out"};
  for (const auto& [command, rest] :
       {std::pair("recover", recover), std::pair("downconvert", downconvert)}) {
    const auto run = [this, command = command, rest = rest](const Words& more) {
      Words words = {command};
      words.insert(words.end(), more.begin(), more.end());
      words.insert(words.end(), rest.begin(), rest.end());
      return Run(words);
    };
    for (const auto& [words, message] : std::vector<std::pair<Words, const char*>>{
             {{"DIR/x.cf32", "--format=ci16"}, "--format ci16 contradicts "},
             {{"DIR/x.dat"}, "x.dat does not say what its samples are: end its name in ."},
             {{"DIR/LICENSE"}, "or say it by --format"},
             {{"DIR/x.wav"}, "x.wav is no WAV file: it does not begin with RIFF"}}) {
      const Outcome outcome = run(words);
      EXPECT_EQ(outcome.exit_code, 1) << command << ": " << outcome.output;
      EXPECT_THAT(outcome.output, HasSubstr(message)) << command;
    }
    for (const Words& words : {Words{"DIR/x.dat", "--format=ci16"}, Words{"DIR/x.cf32"},
                               Words{"DIR/x.cf32", "--format=fc32"}}) {
      EXPECT_EQ(run(words).exit_code, 2) << command << ": the connection fails";
    }
  }
  for (const Words& words : {Words{"recover", "DIR/x.cf32", "--constellation=QPSK"},
                             Words{"carrier-signal"}, Words{"wideband-signal", "--samples=10"}}) {
    Words more = words;
    more.insert(more.end(), {"-o", "DIR/c"});
    const Outcome outcome = Run(more);
    EXPECT_EQ(outcome.exit_code, 1) << words[0] << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("c does not say what its samples are: end its name in ."))
        << words[0];
  }
}

TEST_F(BasebandctlFilesTest, AMissingFolderIsToldBeforeTheWork) {
  const std::vector<std::string> before = Names();
  for (const Writer& writer : Writers()) {
    const bool wideband = writer.command[0] == "wideband-signal";
    Words words = With(writer, Path(wideband ? "nowhere/new.ci16" : "nowhere/new"));
    if (writer.command[0] == "carrier-signal") words.push_back("--known-out=DIR/known.cf32");
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.exit_code, 1) << writer.command[0] << ": " << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("there is no such folder; make it first"))
        << writer.command[0];
  }
  EXPECT_EQ(Names(), before);
}

// Here it gets as far as the connection, which fails.
TEST_F(BasebandctlFilesTest, AFailedRunLeavesTheOldFileAndNoOther) {
  for (const Writer& writer : Writers()) {
    if (writer.command[0] == "wideband-signal") continue;  // which needs no server
    const bool samples = writer.command[0] == "recover" || writer.command[0] == "carrier-signal";
    const std::string name = samples && writer.output == "-o" ? "old.cf32" : "old";
    Write(name, "old");
    const std::vector<std::string> before = Names();
    Words words = With(writer, Path(name));
    if (writer.command[0] == "carrier-signal") words.push_back("--known-out=DIR/known.cf32");
    const Outcome outcome = Run(words);
    EXPECT_EQ(outcome.exit_code, 2) << writer.command[0] << ": " << outcome.output;
    EXPECT_EQ(ReadAll(Path(name)), "old") << writer.command[0];
    EXPECT_EQ(Names(), before) << writer.command[0];
  }
}

TEST_F(BasebandctlFilesTest, EndedByASignalItLeavesTheOldFileAndNoOther) {
  Write("old.ci16", "old");
  const std::vector<std::string> before = Names();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    ChildProcess process(ProgramPath("basebandctl"),
                         {"wideband-signal", "--samples=1G", "-o", Path("old.ci16")});
    while (Names() == before && process.IsRunning()) {
      absl::SleepFor(absl::Milliseconds(5));
    }
    EXPECT_TRUE(process.IsRunning()) << process.Output();
    process.Signal(signal);
    EXPECT_EQ(process.Wait(absl::Seconds(60)).value_or(-1), 128 + signal);
    EXPECT_EQ(ReadAll(Path("old.ci16")), "old");
    EXPECT_EQ(Names(), before);
  }
}

}  // namespace
}  // namespace baseband::testing
