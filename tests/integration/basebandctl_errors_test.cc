// What basebandctl says when a server has an error and no word for it: each command names the code
// and what it means.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  std::vector<std::string> arguments;  // FILE: one with some bytes
};

class WithoutAMessageTest : public ::testing::TestWithParam<Case> {};

TEST_P(WithoutAMessageTest, AnErrorSaysWhatItMeans) {
  // 32 blocks of information, 2 of LLRs.
  const std::string file = FolderOfTests() + "/file";
  WriteAll(file, std::string(4608, 'x'));
  const auto refuse = [](auto*, const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  };
  FakeBaseband server;
  server.on_capabilities = refuse;
  server.on_encode = refuse;
  server.on_decode = refuse;
  server.on_recover_carrier = refuse;
  server.on_downconvert = refuse;
  server.on_downconvert_stream = [](auto*, auto*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  };
  server.Start();
  std::vector<std::string> arguments = {"--target=" + server.target(), "--timeout=20s"};
  for (const std::string& argument : GetParam().arguments) {
    arguments.push_back(argument == "FILE" ? file : argument);
  }
  ChildProcess client(ProgramPath("basebandctl"), arguments);
  EXPECT_EQ(client.Wait(absl::Seconds(60)), 3) << client.Output();
  EXPECT_THAT(client.Output(), HasSubstr("the server has no such call: it is of another version"));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, WithoutAMessageTest,
    ::testing::Values(Case{"info", {"info"}},
                      Case{"encode", {"encode", "FILE", "--wimax=1/2", "-o", "/dev/null"}},
                      Case{"decode", {"decode", "FILE", "--wimax=1/2", "-o", "/dev/null"}},
                      Case{"demo", {"demo", "FILE"}},
                      Case{"ber", {"ber", "--nr-bg=1", "--ebn0=1:1:2"}},
                      Case{"recover", {"recover", "FILE", "--constellation=QPSK"}},
                      Case{"downconvert",
                           {"downconvert", "FILE", "--format=ci16", "--rate=1M", "--channel=0:8",
                            "-o", "/dev/null"}},
                      Case{"minimize", {"minimize", "x^2", "--axis=x=-1:0.1:1"}},
                      Case{"load", {"load", "decode"}}, Case{"admin", {"admin", "config"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace baseband::testing
