// A fixture for basebandctl against the real server, one for all cases of a program.
#ifndef BASEBAND_TESTS_SUPPORT_CTL_TEST_H_
#define BASEBAND_TESTS_SUPPORT_CTL_TEST_H_

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

inline std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

inline void WriteAll(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

struct Outcome {
  int exit_code = -1;
  std::string output;  // both streams
};

class CtlTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto server = ServerProcess::Start();
    ASSERT_THAT(server, IsOk());
    server_ = server->release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }

  static Outcome RunAt(const std::string& target, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--target=" + target);
    ChildProcess process(ProgramPath("basebandctl"), arguments);
    Outcome outcome;
    outcome.exit_code = process.Wait(absl::Seconds(120)).value_or(-1);
    outcome.output = process.Output();
    return outcome;
  }
  static Outcome Run(std::vector<std::string> arguments) {
    return RunAt(server_->target(), std::move(arguments));
  }

  // A file name of this test case's own.
  static std::string Path(const std::string& name) {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(), ".", test->name(), ".",
                        name);
  }

  inline static ServerProcess* server_ = nullptr;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CTL_TEST_H_
