// Calls of the client library that go over several connections, in parts.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"

namespace baseband::client {
namespace {

using ::testing::_;

constexpr int kBlocks = 4000;
constexpr int kBlockBytes = 1056;  // BG1, zc 384

v1::EncodeRequest BlocksOf(int blocks) {
  v1::EncodeRequest request;
  for (const int count : {blocks / 3, blocks - blocks / 3}) {
    v1::EncodeGroup* const group = request.add_groups();
    group->mutable_code()->mutable_nr()->set_base_graph(1);
    group->mutable_code()->mutable_nr()->set_zc(384);
    group->set_count(static_cast<uint32_t>(count));
  }
  for (int i = 0; i < blocks * kBlockBytes; ++i) {
    request.mutable_payload()->push_back(static_cast<char>(i % 251));
  }
  return request;
}

class StripeTest : public ::testing::Test {
 protected:
  // Answers by `handler`, which gets the number of the call, from 1 on. Then a client with four
  // connections, all of them there.
  void Start(const std::function<grpc::Status(int, grpc::ServerContext*, const v1::EncodeRequest&,
                                              v1::EncodeResponse*)>& handler,
             ClientOptions options = ClientOptions()) {
    server_.on_encode = [=](grpc::ServerContext* context, const v1::EncodeRequest& request,
                            v1::EncodeResponse* response) {
      return handler(++calls_, context, request, response);
    };
    server_.Start();
    client_ = Connect(server_.target(), options);
    ASSERT_THAT(client_->Connect(kPatience, /*keep_trying=*/true), IsOk());
  }
  static grpc::Status EchoAny(int, grpc::ServerContext* context, const v1::EncodeRequest& request,
                              v1::EncodeResponse* response) {
    return Echo(context, request, response);
  }
  static grpc::Status HangAny(int, grpc::ServerContext* context, const v1::EncodeRequest&,
                              v1::EncodeResponse*) {
    return Hang(context);
  }

  std::atomic<int> calls_{0};
  FakeBaseband server_;
  std::unique_ptr<Client> client_;
};

TEST_F(StripeTest, ALargeRequestGoesOverAllIdleConnectionsAndItsAnswerIsWhole) {
  Start(EchoAny);
  const v1::EncodeRequest request = BlocksOf(kBlocks);
  const auto response = client_->Encode(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->payload(), request.payload());
  EXPECT_EQ(calls_, 4);
  EXPECT_THAT(server_.peers(), SizeIs(4));
}

TEST_F(StripeTest, APartHasAtLeastHalfOfTheOption) {
  ClientOptions options;
  options.stripe_from_bytes = 300 * kBlockBytes;
  Start(EchoAny, options);
  for (const auto& [blocks, calls] : {std::pair(299, 1), std::pair(300, 2), std::pair(450, 3)}) {
    calls_ = 0;
    EXPECT_THAT(client_->Encode(BlocksOf(blocks)), IsOk());
    EXPECT_EQ(calls_, calls);
  }
}

TEST_F(StripeTest, ItCanBeTurnedOff) {
  ClientOptions options;
  options.stripe_from_bytes = 0;
  Start(EchoAny, options);
  EXPECT_THAT(client_->Encode(BlocksOf(kBlocks)), IsOk());
  EXPECT_EQ(calls_, 1);
}

TEST_F(StripeTest, WithoutConnectionsToSpareItIsOneCall) {
  ClientOptions options;
  options.connections = 2;
  absl::Notification begun;
  Start(
      [&](int call, grpc::ServerContext* context, const v1::EncodeRequest& request,
          v1::EncodeResponse* response) {
        if (call > 1) return Echo(context, request, response);
        begun.Notify();
        return Hang(context);
      },
      options);
  std::promise<void> over;
  const CallHandle hung =
      client_->Encode(RequestOf(10), CallOptions(), [&](const auto&) { over.set_value(); });
  begun.WaitForNotification();
  EXPECT_THAT(client_->Encode(BlocksOf(kBlocks)), IsOk());
  EXPECT_EQ(calls_, 2);
  hung.Cancel();
  over.get_future().wait();
}

TEST_F(StripeTest, TheFirstFailureIsTheCallsAndEndsTheOtherParts) {
  Start([](int call, grpc::ServerContext* context, const v1::EncodeRequest&, v1::EncodeResponse*) {
    return call == 2 ? grpc::Status(grpc::StatusCode::INTERNAL, "the device refused")
                     : Hang(context);
  });
  const absl::Time begin = absl::Now();
  EXPECT_THAT(client_->Encode(BlocksOf(kBlocks), Within(2 * kPatience)),
              StatusIs(absl::StatusCode::kInternal, "the device refused"));
  EXPECT_LT(absl::Now() - begin, kPatience);
}

TEST_F(StripeTest, WhatIsWrongIsSaidOfTheWholeRequest) {
  Start([](int, grpc::ServerContext*, const v1::EncodeRequest& request, v1::EncodeResponse*) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        absl::StrCat("of ", request.groups(0).count() +
                                                request.groups(request.groups_size() - 1).count()));
  });
  EXPECT_THAT(client_->Encode(BlocksOf(kBlocks)),
              StatusIs(absl::StatusCode::kInvalidArgument, absl::StrCat("of ", kBlocks)));
  EXPECT_LE(calls_, 5);
}

TEST_F(StripeTest, APartIsTriedAgainAlone) {
  Start([](int call, grpc::ServerContext* context, const v1::EncodeRequest& request,
           v1::EncodeResponse* response) {
    if (call == 1) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now");
    return Echo(context, request, response);
  });
  const v1::EncodeRequest request = BlocksOf(kBlocks);
  const auto response = client_->Encode(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->payload(), request.payload());
  EXPECT_EQ(calls_, 5);
}

TEST_F(StripeTest, TheDeadlineIsThatOfAllParts) {
  Start(HangAny);
  EXPECT_THAT(client_->Encode(BlocksOf(kBlocks), Within(absl::Milliseconds(200))),
              StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST_F(StripeTest, CancelEndsAllParts) {
  Start(HangAny);
  std::promise<absl::Status> result;
  const CallHandle call = client_->Encode(
      BlocksOf(kBlocks), CallOptions(),
      [&](const absl::StatusOr<v1::EncodeResponse>& answer) { result.set_value(answer.status()); });
  call.Cancel();
  EXPECT_THAT(result.get_future().get(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(StripeTest, DestructionCancelsWhatIsInFlight) {
  Start(HangAny);
  std::promise<absl::Status> result;
  client_->Encode(
      BlocksOf(kBlocks), CallOptions(),
      [&](const absl::StatusOr<v1::EncodeResponse>& answer) { result.set_value(answer.status()); });
  client_.reset();
  EXPECT_THAT(result.get_future().get(), StatusIs(absl::StatusCode::kCancelled, _));
}

}  // namespace
}  // namespace baseband::client
