// basebandctl admin against the real server: faults, records, traces.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/admin_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BasebandctlAdminTest : public CtlTest {
 protected:
  void SetUp() override {
    CtlTest::SetUp();
    admin_ = absl::StrCat("127.0.0.1:", FreePort());
    auto started = ServerProcess::Start({"--allow-fault-injection", "--admin-listen=" + admin_});
    ASSERT_THAT(started, IsOk());
    faulty_ = *std::move(started);
  }
  Outcome Admin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "admin");
    return RunAt(admin_, std::move(arguments));
  }

  std::string admin_;
  std::unique_ptr<ServerProcess> faulty_;
};

TEST_F(BasebandctlAdminTest, LoadNoticesCorruptReplies) {
  ChildProcess load(
      ProgramPath("basebandctl"),
      {"--target=" + faulty_->target(), "load", "encode", "--duration=5s", "--warmup=0s",
       "--blocks=2", "--zc=32", "--nr-bg=1", "--json", "--in-flight=2", "--fail-above=wrong=0"});
  // Its preparations take some requests, of which a wrong answer would be the end.
  while (load.IsRunning() && faulty_->Metric("baseband_requests_total", {"Encode", "OK"}) < 100) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  client::ClientOptions options;
  options.target = admin_;
  v1::InjectFaultRequest fault;
  fault.set_kind(v1::InjectFaultRequest::CORRUPT);
  fault.set_count(3);
  EXPECT_THAT((*client::AdminClient::Create(options))->InjectFault(fault, absl::Seconds(60)),
              IsOk());
  EXPECT_EQ(load.Wait(absl::Seconds(120)), 4) << load.Output();
  const std::string output = load.Output();
  const size_t begin = output.find("{\n");
  ASSERT_NE(begin, std::string::npos) << output;
  const auto report = nlohmann::json::parse(output.substr(begin, output.rfind("}\n") + 1 - begin));
  EXPECT_GE(report["outcomes"]["wrong"], 1);
  EXPECT_LE(report["outcomes"]["wrong"], 3);
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

TEST_F(BasebandctlAdminTest, WrongArgumentsAreRefused) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"inject"}, {"inject", "chaos"}, {"records", "x"}, {"trace"}, {"drain", "--count=1"}}) {
    EXPECT_EQ(Admin(arguments).exit_code, 1) << arguments.back();
  }
  EXPECT_THAT(Admin({"inject", "stall"}).output, HasSubstr("stall_ms 0 is not in [1, 600000]"));
  EXPECT_THAT(Admin({"inject", "fail", "--count=1001"}).output,
              HasSubstr("count 1001 is not in [1, 1000]"));
  EXPECT_THAT(Admin({"inject", "fail", "--device=gpu"}).output,
              HasSubstr("device 'gpu' is not one of "));
}

}  // namespace
}  // namespace baseband::testing
