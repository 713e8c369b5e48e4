// What is right is settled before a load begins.
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/load/confirm.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/encode_calls.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using testing::AnswerRight;
using testing::Calls;
using testing::FakeBaseband;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(ConfirmTest, TwoOfThreeAnswersAreRightAndTheThirdIsAWrongOne) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    const grpc::Status status = AnswerRight(response);
    if (calls++ == 1) response->set_payload("right but");
    return status;
  };
  server.Start();
  const std::vector<Workload> workloads = Calls();
  client::ClientOptions options;
  options.target = server.target();
  const auto wrong = Confirm(options, workloads, absl::Seconds(20));
  ASSERT_THAT(wrong, IsOk());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(wrong->count, 1);
  EXPECT_THAT(wrong->example, HasSubstr("differ"));
  EXPECT_TRUE(workloads[0].requests[0].answers->has_right());
}

TEST(ConfirmTest, WithoutTwoThatAgreeThereIsNothingToMeasure) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    const grpc::Status status = AnswerRight(response);
    response->set_payload(absl::StrCat("right ", calls++));
    return status;
  };
  server.Start();
  client::ClientOptions options;
  options.target = server.target();
  EXPECT_THAT(Confirm(options, Calls(), absl::Seconds(20)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("differ")));
  EXPECT_EQ(calls, 8);
}

TEST(ConfirmTest, AnErrorOfACallIsReturnedAndAnInterruptEndsIt) {
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not you");
  };
  server.Start();
  client::ClientOptions options;
  options.target = server.target();
  EXPECT_THAT(Confirm(options, Calls(), absl::Seconds(20)),
              StatusIs(absl::StatusCode::kPermissionDenied, "not you"));
  EXPECT_THAT(Confirm(options, Calls(), absl::Seconds(20), [] { return false; }),
              StatusIs(absl::StatusCode::kCancelled, "interrupted"));
}

// Under AddressSanitizer: those answers come when Confirm() is on its way out.
TEST(ConfirmTest, AnswersThatAreThereWhenItIsInterruptedAreStillJudged) {
  std::atomic<int> sent{0};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    ++sent;
    return AnswerRight(response);
  };
  server.Start();
  std::atomic<int> judged{0};
  std::vector<Workload> workloads = Calls();
  workloads.push_back(std::move(Calls()[0]));
  for (Workload& workload : workloads) {
    workload.requests[0].check = [&](const auto&) -> absl::StatusOr<int64_t> { return ++judged; };
  }
  client::ClientOptions options;
  options.target = server.target();
  int looks = 0;
  const auto wrong = Confirm(options, workloads, absl::Seconds(20), [&] {
    if (++looks <= 2) return true;
    for (int i = 0; i < 1000 && sent < 2; ++i) absl::SleepFor(absl::Milliseconds(10));
    absl::SleepFor(absl::Milliseconds(100));  // for the answers to arrive
    return false;
  });
  EXPECT_THAT(wrong, StatusIs(absl::StatusCode::kCancelled, "interrupted"));
  EXPECT_EQ(sent, 2);
  EXPECT_LE(judged, 2);
}

}  // namespace
}  // namespace baseband::load
