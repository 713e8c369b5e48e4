// basebandctl admin against the real server: faults, records, traces.
#include <signal.h>

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

class BasebandctlAdminTest : public CtlTest {
 protected:
  void SetUp() override {
    CtlTest::SetUp();
    admin_ = absl::StrCat("127.0.0.1:", FreePort());
    auto started = ServerProcess::Start(
        {"--allow-fault-injection", "--standby-cpu", "--admin-listen=" + admin_});
    ASSERT_THAT(started, IsOk());
    faulty_ = *std::move(started);
  }
  Outcome Admin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "admin");
    return RunAt(admin_, std::move(arguments));
  }

  // What --json prints behind the lines of progress.
  static nlohmann::json Report(const std::string& output) {
    const size_t begin = output.find("{\n");
    EXPECT_NE(begin, std::string::npos) << output;
    return begin == std::string::npos
               ? nlohmann::json()
               : nlohmann::json::parse(output.substr(begin, output.rfind("}\n") + 1 - begin));
  }
  // Whether `process` has written what `pattern` finds before it ends.
  static bool AwaitOutput(ChildProcess* process, const std::string& pattern) {
    const std::regex regex(pattern);
    const absl::Time end = absl::Now() + kPatience;
    while (!std::regex_search(process->Output(), regex)) {
      if (!process->IsRunning() || absl::Now() > end) return false;
      absl::SleepFor(absl::Milliseconds(20));
    }
    return true;
  }

  std::string admin_;
  std::unique_ptr<ServerProcess> faulty_;
};

// A fault waits for the next request, which is the first of those that settle what is right.
TEST_F(BasebandctlAdminTest, LoadNoticesACorruptReplyBeforeItBegins) {
  EXPECT_EQ(Admin({"inject", "corrupt"}).exit_code, 0);
  const Outcome outcome =
      RunAt(faulty_->target(), {"load", "encode", "--duration=200ms", "--warmup=0s", "--json"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  const nlohmann::json wrong = Report(outcome.output)["wrong_answers"];
  EXPECT_EQ(wrong["count"], 1) << outcome.output;
  EXPECT_EQ(wrong["before"], 1) << outcome.output;
}

// The load runs until its own progress has told both, that it measures and that it has noticed.
TEST_F(BasebandctlAdminTest, LoadNoticesCorruptRepliesWhileItMeasures) {
  ChildProcess load(
      ProgramPath("basebandctl"),
      {"--target=" + faulty_->target(), "load", "encode", "--duration=2m", "--warmup=0s",
       "--blocks=2", "--zc=32", "--nr-bg=1", "--json", "--in-flight=2"});
  ASSERT_TRUE(AwaitOutput(&load, "\"good\":[1-9]")) << load.Output();
  EXPECT_EQ(Admin({"inject", "corrupt", "--count=3"}).exit_code, 0);
  ASSERT_TRUE(AwaitOutput(&load, "\"wrong\":[1-9]")) << load.Output();
  load.Signal(SIGINT);
  EXPECT_EQ(load.Wait(kPatience), 128 + SIGINT) << load.Output();
  const nlohmann::json report = Report(load.Output());
  EXPECT_GE(report["wrong_answers"]["measured"], 1);
  EXPECT_LE(report["wrong_answers"]["measured"], 3);
  EXPECT_EQ(report["wrong_answers"]["count"], report["outcomes"]["wrong"]);
}

TEST_F(BasebandctlAdminTest, RecordsAreATableAndATraceForPerfetto) {
  const std::vector<std::string> load = {"load", "encode", "--duration=200ms", "--warmup=0s"};
  EXPECT_EQ(RunAt(faulty_->target(), load).exit_code, 0);
  EXPECT_EQ(Admin({"inject", "fail"}).exit_code, 0);
  EXPECT_EQ(RunAt(faulty_->target(), load).exit_code, 3);
  const Outcome records = Admin({"records"});
  EXPECT_EQ(records.exit_code, 0);
  EXPECT_THAT(records.output, AllOf(HasSubstr("arrived (UTC)"), HasSubstr("INTERNAL"),
                                    HasSubstr("SLOW"), HasSubstr("an injected fault")));
  const auto json = nlohmann::json::parse(Admin({"records", "--json"}).output);
  EXPECT_GE(json["records"].size(), 2U);
  EXPECT_EQ(Admin({"trace", Path("trace.json")}).exit_code, 0);
  const auto trace = nlohmann::json::parse(ReadAll(Path("trace.json")));
  EXPECT_GT(trace["traceEvents"].size(), 4U);
}

TEST_F(BasebandctlAdminTest, QuarantineIsATableAndIsLifted) {
  EXPECT_EQ(Admin({"quarantine"}).output, "no kind of request is in quarantine\n");
  EXPECT_EQ(Admin({"inject", "device-fault"}).exit_code, 0);
  const std::vector<std::string> load = {"load", "encode", "--duration=200ms", "--warmup=0s"};
  EXPECT_NE(RunAt(faulty_->target(), load).exit_code, 0);
  // It is no fault of the arguments, which will do again in a while.
  const Outcome refused = RunAt(faulty_->target(), load);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("a request like this one ran on cpu"),
                                    HasSubstr("admin quarantine --lift=")));
  const Outcome table = Admin({"quarantine"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.output, AllOf(HasSubstr("fingerprint"), HasSubstr("Encode  127.0.0.1  cpu"),
                                  HasSubstr(" s")));
  const auto json = nlohmann::json::parse(Admin({"quarantine", "--json"}).output);
  ASSERT_EQ(json["requests"].size(), 1U);
  const std::string fingerprint = json["requests"][0]["fingerprint"];
  EXPECT_THAT(table.output, HasSubstr(fingerprint));
  EXPECT_EQ(Admin({"quarantine", "--lift=" + fingerprint}).output, "1 lifted\n");
  EXPECT_THAT(Admin({"quarantine", "--lift=" + fingerprint}).output, HasSubstr("is not in"));
  EXPECT_EQ(Admin({"quarantine", "--lift=all"}).output, "0 lifted\n");
  EXPECT_THAT(Admin({"quarantine", "--lift=x"}).output,
              HasSubstr("fingerprint (--lift) 'x' is not 16 hexadecimal digits"));
}

TEST_F(BasebandctlAdminTest, WhoeverNamesAnotherAddressIsToldWhichItIs) {
  for (const std::string& target : {faulty_->target(), std::string("127.0.0.1:1")}) {
    for (const char* action : {"records", "quarantine", "config"}) {
      const Outcome outcome = RunAt(target, {"admin", action});
      EXPECT_EQ(outcome.exit_code, target == "127.0.0.1:1" ? 2 : 3) << outcome.output;
      EXPECT_THAT(outcome.output, HasSubstr("--target must be the server's --admin-listen"));
    }
  }
  EXPECT_THAT(RunAt("127.0.0.1:1", {"admin", "config"}).output,
              HasSubstr("cannot connect to 127.0.0.1:1: Connection refused\n"));
}

TEST_F(BasebandctlAdminTest, WhatTheServerRefusesOfTheArgumentsIsABadArgument) {
  const Outcome outcome = Admin({"log-level", "verbose"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("'verbose'"));
}

TEST_F(BasebandctlAdminTest, WrongArgumentsAreRefused) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"inject"},
                                             {"inject", "chaos"},
                                             {"records", "x"},
                                             {"trace"},
                                             {"drain", "--count=1"},
                                             {"records", "--lift=all"}}) {
    EXPECT_EQ(Admin(arguments).exit_code, 1) << arguments.back();
  }
  const struct {
    std::vector<std::string> arguments;
    const char* refusal;
  } by_flag[] = {{{"inject", "stall"}, "inject stall takes --stall=TIME"},
                 {{"inject", "fail", "--stall=1s"}, "--stall is of inject stall"},
                 {{"config", "--stall=1s"}, "--stall is of inject stall"},
                 {{"inject", "lose"}, "inject lose takes --device=ID"},
                 {{"inject", "lose", "--device=cpu", "--count=1"}, "--count is not of inject lose"},
                 {{"inject", "no-memory", "--device=cpu"}, "--device is not of inject no-memory"}};
  for (const auto& wrong : by_flag) {
    const Outcome outcome = Admin(wrong.arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr(wrong.refusal));
  }
  EXPECT_THAT(Admin({"inject", "fail", "--count=1001"}).output,
              HasSubstr("count 1001 is not in [1, 1000]"));
  EXPECT_THAT(Admin({"inject", "fail", "--device=gpu"}).output,
              HasSubstr("device (--device) 'gpu' is not one of "));
}

}  // namespace
}  // namespace baseband::testing
