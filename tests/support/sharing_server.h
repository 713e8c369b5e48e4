// The real server on the CPU device, sharing memory at a socket of the test's own.
#ifndef BASEBAND_TESTS_SUPPORT_SHARING_SERVER_H_
#define BASEBAND_TESTS_SUPPORT_SHARING_SERVER_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

class SharingServerTest : public ::testing::Test {
 protected:
  void Serve(std::vector<std::string> flags = {}) {
    flags.push_back("--shm-listen=unix:" + socket_);
    auto server = ServerProcess::Start(std::move(flags));
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  double SharedNow() const { return server_->Metric(kUsed, {kSharedPool}); }
  bool WaitUntilNothingIsShared() const {
    return server_->WaitForMetric(kUsed, {kSharedPool}, 0) &&
           server_->WaitForMetric("baseband_shared_memory_regions", {}, 0);
  }

  const std::string socket_ = absl::StrCat(::testing::TempDir(), "/shm", getpid(), ".sock");
  std::unique_ptr<ServerProcess> server_;

 private:
  static constexpr char kUsed[] = "baseband_pool_used_bytes";
  static constexpr char kSharedPool[] = "pool=\"shared\"";
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SHARING_SERVER_H_
