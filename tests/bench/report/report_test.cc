// The whole command on the CPU device, quick.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/ldpc/code.h"
#include "tests/bench/report/run_file.h"
#include "tests/support/server_process.h"

namespace baseband::bench {
namespace {

using ::testing::HasSubstr;

// Of one try; its output in `*output`.
int ExitCode(const std::vector<std::string>& arguments, std::string* output) {
  testing::ChildProcess report(testing::ProgramPath("bench_report"), arguments);
  const int code = report.Wait(absl::Minutes(4)).value_or(-1);
  *output = report.Output();
  return code;
}

std::string FileOf(const Head& head, const std::string& line) {
  return HeadLine(head) + "\n" + line + "\n" + EndLine() + "\n";
}

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "report_test." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

TEST_F(ReportTest, MeasuresEverythingAndAgreesWithItself) {
  std::string output;
  ASSERT_EQ(ExitCode({folder_, "--quick", "--device=cpu"}, &output), 0) << output;

  const std::string file = folder_ + "/run.jsonl";
  const absl::StatusOr<BenchRun> run = ReadRun(file);
  ASSERT_TRUE(run.ok()) << run.status();
  std::map<std::string, std::set<std::string>> sizes;  // lifting sizes by operation and code
  std::set<std::string> measured;
  for (const Row& row : run->rows) {
    measured.insert(row.what);
    if (row.along != "zc") continue;
    sizes[row.what + " " + row.parameters[0].second].insert(row.parameters[1].second);
    EXPECT_TRUE(row.checked) << KeyOf(row);
  }
  EXPECT_THAT(measured, ::testing::IsSupersetOf({"limit", "decode", "encode", "shared channel",
                                                 "carrier recovery", "symbol timing",
                                                 "down-conversion", "search", "latency"}));
  for (const char* operation : {"decode", "encode"}) {
    EXPECT_EQ(sizes[std::string(operation) + " NR BG1 rows=46"].size(),
              ldpc::NrLiftingSizes().size());
    EXPECT_EQ(sizes[std::string(operation) + " 802.16e rate=1/2"].size(), 19);
    EXPECT_EQ(sizes[std::string(operation) + " 802.11n rate=1/2"].size(), 3);
  }
  for (const char* name :
       {"results.md", "log.txt", "roofline.svg", "sizes.svg", "batches.svg", "latency.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/" + name)) << name;
  }

  EXPECT_EQ(ExitCode({folder_, "--from=" + file, "--compare=" + file}, &output), 0);
  EXPECT_THAT(output, HasSubstr("0 worse, 0 better"));
}

TEST_F(ReportTest, WhatIsWorseIsNamedAndHasAnExitCodeOfItsOwn) {
  std::filesystem::create_directories(folder_);
  Row row = RateRow("encode", "cpu", {{"code", "a"}}, 8, "bit", 1.0, 0.0);
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  };
  const std::string before = write("before.jsonl", FileOf({}, ToJson(row)));
  row.value = 4;
  const std::string now = write("now.jsonl", FileOf({}, ToJson(row)));
  std::string output;

  EXPECT_EQ(ExitCode({folder_, "--from=" + now, "--compare=" + before}, &output), 3);
  EXPECT_THAT(output, HasSubstr("WORSE: encode cpu code=a [bit/s]: 4.00 bit/s, was 8.00 bit/s, "
                                "takes +100 %"));

  const std::string failed = write("failed.jsonl", FileOf({}, FailedLine("x_bench ended")));
  EXPECT_EQ(ExitCode({folder_, "--from=" + failed, "--compare=" + before}, &output), 1);
  EXPECT_THAT(output, HasSubstr("FAILED: x_bench ended"));
}

TEST_F(ReportTest, AFileThatIsNoRunIsRefusedBeforeAnythingIsMeasured) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ + "/old.jsonl") << "{}\n";
  std::string output;

  EXPECT_EQ(ExitCode({folder_ + "/new", "--compare=" + folder_ + "/old.jsonl"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("old.jsonl:1: is no run's head"));
  EXPECT_EQ(ExitCode({folder_ + "/new", "--compare=" + folder_ + "/none.jsonl"}, &output), 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
}

TEST_F(ReportTest, ARunThatHasNoEndIsDrawnAndSaidToHaveNoneButNotComparedWith) {
  std::filesystem::create_directories(folder_ + "/old");
  const std::string file = folder_ + "/old/run.jsonl";
  const Row row = RateRow("encode", "cpu", {}, 8, "bit", 1.0, 0.0);
  std::ofstream(file) << HeadLine({}) << "\n" << ToJson(row) << "\n";
  std::string output;

  EXPECT_EQ(ExitCode({folder_ + "/page", "--from=" + file}, &output), 0);
  EXPECT_THAT(output, HasSubstr("run.jsonl was broken off"));
  EXPECT_EQ(ExitCode({folder_ + "/new", "--compare=" + file}, &output), 2);
  EXPECT_THAT(output, HasSubstr("run.jsonl was broken off: it is no run to compare with"));
  Head head;
  head.mode = "full";
  std::ofstream(file) << HeadLine(head) << "\n" << EndLine() << "\n";
  EXPECT_EQ(ExitCode({folder_ + "/new", "--compare=" + file}, &output), 2);
  EXPECT_THAT(output, HasSubstr("run.jsonl has no measurement to compare with"));
}

TEST_F(ReportTest, WhatAnotherRunLeftIsNotWrittenOver) {
  std::filesystem::create_directories(folder_);
  const std::string file = folder_ + "/run.jsonl";
  std::ofstream(file) << FileOf({}, ToJson(RateRow("encode", "cpu", {}, 8, "bit", 1.0, 0.0)));
  std::ofstream(folder_ + "/batches.svg") << "of an earlier page\n";
  const std::string other = folder_ + "/other.jsonl";
  std::filesystem::copy_file(file, other);
  std::string output;

  EXPECT_EQ(ExitCode({folder_, "--quick"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("run.jsonl is there already: name another FOLDER, or remove it"));
  EXPECT_EQ(ExitCode({folder_, "--from=" + other}, &output), 2);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/batches.svg"));
  EXPECT_EQ(ExitCode({folder_, "--from=" + file}, &output), 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/batches.svg"));  // the run has none
}

TEST_F(ReportTest, FlagsThatCannotBeFollowedAreRefusedBeforeAnythingIsMeasured) {
  std::string output;

  EXPECT_EQ(ExitCode({"/dev/null", "--quick"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("cannot make /dev/null"));
  EXPECT_EQ(ExitCode({folder_, "--from=x.jsonl", "--turns=2"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("--turns excludes --from"));
  EXPECT_EQ(ExitCode({folder_, "--device=cpu", "--only=limits_gpu_bench"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("--only=limits_gpu_bench needs a GPU: --device=cpu"));
  EXPECT_EQ(ExitCode({"--device=cpu", "--only=nr_bench,limits_gpu_bench", folder_}, &output), 2);
  EXPECT_THAT(output, HasSubstr("--only=limits_gpu_bench needs a GPU: --device=cpu"));
  for (const auto& [argument, told] : std::vector<std::pair<std::string, std::string>>{
           {"--turns=0", "bench_report: --turns 0 is not in [1, 100]\n"},
           {"--only=nr_benc", "'nr_benc' is not one of limits_bench, "},
           {"--only=nr_benc", "; did you mean nr_bench?\n"},
           {"--device=gpu", "'gpu' is not one of auto, cpu, cuda"},
           {"--devic=cpu", "bench_report: unknown flag --devic; did you mean --device?\n"}}) {
    EXPECT_EQ(ExitCode({folder_, argument}, &output), 2);
    EXPECT_THAT(output, HasSubstr(told)) << argument;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_EQ(ExitCode({"--help"}, &output), 0);
  EXPECT_THAT(output, HasSubstr("\nExamples:\n  bench_report "));
}

TEST_F(ReportTest, AQuickRunIsNotHeldAgainstAFullOne) {
  std::filesystem::create_directories(folder_);
  Head head;
  head.mode = "full";
  const Row row = RateRow("encode", "cpu", {}, 8, "bit", 1.0, 0.0);
  std::ofstream(folder_ + "/full.jsonl") << FileOf(head, ToJson(row));
  std::string output;

  EXPECT_EQ(
      ExitCode({folder_ + "/new", "--quick", "--compare=" + folder_ + "/full.jsonl"}, &output), 2);
  EXPECT_THAT(output, HasSubstr("full.jsonl is a full run, this one is quick"));
}

}  // namespace
}  // namespace baseband::bench
