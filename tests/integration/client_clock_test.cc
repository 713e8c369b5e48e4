// The host's clock is set back by an hour while a client waits: it waits no longer for that. Set
// for basebandctl alone: see tests/support/clock_shim.cc.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/server_process.h"
#include "tests/support/shifted_clock.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);  // far below what the clock is set by

class ClientClockTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> arguments) {
    server_.Start();
    arguments.insert(arguments.begin(), "--target=" + server_.target());
    client_ = std::make_unique<ChildProcess>(ProgramPath("basebandctl"), arguments);
  }
  void AwaitCalls(int count) {
    const absl::Time end = absl::Now() + kPatience;
    while (calls_ < count && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
    ASSERT_EQ(calls_, count) << client_->Output();
    absl::SleepFor(absl::Milliseconds(200));  // until the client waits
  }

  ShiftedClock clock_;
  std::atomic<int> calls_{0};
  FakeBaseband server_;
  std::unique_ptr<ChildProcess> client_;
};

TEST_F(ClientClockTest, TheTimeoutOfACallThatIsNotAnsweredIsKept) {
  server_.on_capabilities = [&](grpc::ServerContext* context, const auto&, auto*) {
    ++calls_;
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
    return grpc::Status(grpc::StatusCode::CANCELLED, "");
  };
  Start({"--timeout=5s", "info"});
  AwaitCalls(1);
  clock_.Set(absl::Hours(-1));
  EXPECT_EQ(client_->Wait(kPatience), 3) << client_->Output();
  EXPECT_THAT(client_->Output(), HasSubstr("no answer in time"));
}

TEST_F(ClientClockTest, APauseBeforeAnotherAttemptIsAsLongAsTheServerSays) {
  server_.on_capabilities = [&](grpc::ServerContext* context, const auto&,
                                v1::GetCapabilitiesResponse* response) {
    if (calls_++ > 0) {
      response->set_version("9.9.9");
      return grpc::Status::OK;
    }
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "1500");
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "full");
  };
  Start({"info"});
  AwaitCalls(1);
  clock_.Set(absl::Hours(-1));
  EXPECT_EQ(client_->Wait(kPatience), 0) << client_->Output();
  EXPECT_THAT(client_->Output(), HasSubstr("9.9.9"));
}

}  // namespace
}  // namespace baseband::testing
