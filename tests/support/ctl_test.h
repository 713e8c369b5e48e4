// A fixture for basebandctl against the real server, one for all cases of a program.
#ifndef BASEBAND_TESTS_SUPPORT_CTL_TEST_H_
#define BASEBAND_TESTS_SUPPORT_CTL_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"

namespace baseband::testing {

struct Outcome {
  int exit_code = -1;
  std::string output;  // both streams
};

// Flags of `load` that make the requests of `operation` small.
inline std::vector<std::string> SmallRequests(const std::string& operation) {
  if (operation == "encode" || operation == "decode") {
    return {"--blocks=2", "--zc=32", "--nr-bg=1"};
  }
  if (operation == "recover") return {"--blocks=2", "--frame-symbols=2000"};
  if (operation == "downconvert") return {"--samples=4096", "--channels=2"};
  if (operation == "minimize") return {"--points=1000"};
  return {"--blocks=2", "--mcs=4", "--prbs=3"};
}

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
  static Outcome RunProgram(const std::string& program, const std::vector<std::string>& arguments) {
    ChildProcess process(program, arguments);
    Outcome outcome;
    outcome.exit_code = process.Wait(absl::Seconds(120)).value_or(-1);
    outcome.output = process.Output();
    return outcome;
  }
  static Outcome RunAt(const std::string& target, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--target=" + target);
    return RunProgram(ProgramPath("basebandctl"), arguments);
  }
  static Outcome Run(std::vector<std::string> arguments) {
    return RunAt(server_->target(), std::move(arguments));
  }

  // A file of this process's own: ctest runs each case as a process, some at a time.
  static std::string Path(const std::string& name) {
    return absl::StrCat(FolderOfTests(), "/", name);
  }

  inline static ServerProcess* server_ = nullptr;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CTL_TEST_H_
