// The real server for tests: to start, and as a fixture for calls to one that all of its cases
// share.
#ifndef BASEBAND_TESTS_SUPPORT_SERVER_TEST_H_
#define BASEBAND_TESTS_SUPPORT_SERVER_TEST_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {

// Null, and a failure of the test, if it does not start.
inline std::unique_ptr<ServerProcess> StartServer(const std::vector<std::string>& flags = {}) {
  auto server = ServerProcess::Start(flags);
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? *std::move(server) : nullptr;
}

// It must end well. A fixture whose server takes flags hides SetUpTestSuite and calls StartServer
// itself.
class ServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { StartServer({}); }
  static void StartServer(const std::vector<std::string>& flags) {
    auto started = ServerProcess::Start(flags);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = started->release();
    stub_ = Connect(server_->target()).release();
  }
  static void TearDownTestSuite() {
    delete stub_;
    stub_ = nullptr;
    if (server_ != nullptr) {
      EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
    }
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override { ASSERT_NE(server_, nullptr); }

  inline static ServerProcess* server_ = nullptr;
  inline static v1::Baseband::Stub* stub_ = nullptr;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SERVER_TEST_H_
