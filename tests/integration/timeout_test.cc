// Deadlines to the microsecond: the metadata baseband-timeout-us.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

class TimeoutTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = ServerProcess::Start();
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    stub_ = v1::Baseband::NewStub(OwnChannel(server_->target()));
  }

  // With each of `words` as the timeout, and gRPC's of a minute.
  grpc::Status Encode(const std::vector<std::string>& words) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(1)));
    for (const std::string& word : words) context.AddMetadata("baseband-timeout-us", word);
    v1::EncodeResponse response;
    return stub_->Encode(&context, EncodeOf(NrCode(2, 16), 1), &response);
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
};

TEST_F(TimeoutTest, WhatIsShorterThanGrpcsHolds) {
  EXPECT_TRUE(Encode({"50000000"}).ok());
  EXPECT_TRUE(Encode({"31536000000000"}).ok());  // a year
  for (const char* const word : {"0", "1"}) {
    EXPECT_EQ(Encode({word}).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_EQ(server_->Metric("baseband_requests_total", {"code=\"DEADLINE_EXCEEDED\""}), 2);
}

TEST_F(TimeoutTest, AWordThatIsNoNumberOfMicrosecondsIsRefused) {
  for (const char* const word :
       {"", "x", "-1", "1.5", "1e3", "0x10", "12 13", "31536000000001", "9223372036854775808"}) {
    const grpc::Status status = Encode({word});
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << word;
    EXPECT_EQ(status.error_message(), absl::StrCat("metadata baseband-timeout-us ", word,
                                                   " is not in [0, 31536000000000]"));
  }
  EXPECT_LT(Encode({std::string(5000, '9')}).error_message().size(), 100U);
}

TEST_F(TimeoutTest, TwoAreRefused) {
  const grpc::Status status = Encode({"1000000", "1000000"});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "metadata baseband-timeout-us is there more than once");
}

}  // namespace
}  // namespace baseband::testing
