// What becomes of calls whose request names shared memory when a server refuses or loses them.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/client_calls.h"
#include "tests/support/fake_regions.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FakeRegions;
using ::baseband::testing::StatusIs;

const grpc::Status kNoSuchRegion(grpc::StatusCode::FAILED_PRECONDITION, "no such region");
const grpc::Status kGone(grpc::StatusCode::UNAVAILABLE, "gone");

class ClientSharedMemoryTest : public ::testing::Test {
 protected:
  // The server's handlers are set before.
  std::unique_ptr<Client> NewClient() {
    server_.on_capabilities = [this](grpc::ServerContext*, const auto&, auto* response) {
      *response->mutable_shared_memory() = regions_.Capabilities();
      return grpc::Status::OK;
    };
    server_.Start();
    ClientOptions options;
    options.initial_backoff = options.max_backoff = absl::Milliseconds(1);
    std::unique_ptr<Client> client = Connect(server_.target(), options);
    EXPECT_THAT(client->ShareMemory(CallOptions(), 1), IsOk());
    return client;
  }

  FakeRegions regions_;
  FakeBaseband server_;
};

TEST_F(ClientSharedMemoryTest, ARequestThatFallsBackWaitsForCreditsAlsoWhenTheStreamIsFinished) {
  absl::Notification finished;
  server_.on_submit = [&](grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
    stream->Write(CreditsFor(2));
    v1::SubmitRequest requests[2];
    for (v1::SubmitRequest& request : requests) stream->Read(&request);
    finished.WaitForNotification();
    for (const v1::SubmitRequest& request : requests) {
      EXPECT_TRUE(request.encode().has_payload_at());
      v1::SubmitResponse response;  // no credits come with it
      response.set_id(request.id());
      response.set_code(static_cast<uint32_t>(kNoSuchRegion.error_code()));
      response.set_message(kNoSuchRegion.error_message());
      stream->Write(response);
    }
    absl::SleepFor(absl::Milliseconds(20));
    stream->Write(CreditsFor(2));
    for (v1::SubmitRequest request; stream->Read(&request);) {
      v1::SubmitResponse response = AnswerTo(request);
      response.mutable_encode()->set_payload(request.encode().payload());
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const std::unique_ptr<Client> client = NewClient();
  auto stream = client->OpenSubmitStream();
  ASSERT_THAT(stream, IsOk());
  std::promise<absl::StatusOr<v1::EncodeResponse>> ended[2];
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        (*stream)->Submit(RequestOf(std::string(100, static_cast<char>('a' + i))), SubmitOptions(),
                          [&ended, i](absl::StatusOr<v1::EncodeResponse> response) {
                            ended[i].set_value(std::move(response));
                          }),
        IsOk());
  }
  std::thread finishing([&] { EXPECT_THAT((*stream)->Finish(), IsOk()); });
  absl::SleepFor(absl::Milliseconds(5));  // so that it has begun
  finished.Notify();
  finishing.join();
  for (int i = 0; i < 2; ++i) {
    const auto response = ended[i].get_future().get();
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->payload(), std::string(100, static_cast<char>('a' + i)));
  }
}

TEST_F(ClientSharedMemoryTest, CancelReachesWhatIsSentInPlaceOfARefusedRequest) {
  std::promise<void> hangs;
  server_.on_encode = [&](grpc::ServerContext* context, const v1::EncodeRequest& request,
                          v1::EncodeResponse*) {
    if (request.has_payload_at()) return kNoSuchRegion;
    hangs.set_value();
    return Hang(context);
  };
  const std::unique_ptr<Client> client = NewClient();
  std::promise<absl::Status> ended;
  const CallHandle handle = client->Encode(
      RequestOf(1000), Within(absl::Minutes(10)),
      [&](absl::StatusOr<v1::EncodeResponse> response) { ended.set_value(response.status()); });
  hangs.get_future().wait();
  handle.Cancel();
  auto future = ended.get_future();
  ASSERT_EQ(future.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_THAT(future.get(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(ClientSharedMemoryTest, ARefusedRequestIsSentOnceWithoutAndIsNoAttempt) {
  std::atomic<int> named{0};
  std::atomic<int> plain{0};
  server_.on_encode = [&](grpc::ServerContext*, const v1::EncodeRequest& request,
                          v1::EncodeResponse* response) {
    response->set_payload(request.payload());
    if (!request.has_payload_at()) return ++plain < 4 ? kGone : grpc::Status::OK;
    ++named;
    return kNoSuchRegion;
  };
  const std::unique_ptr<Client> client = NewClient();
  const auto response = client->Encode(RequestOf("payload"));
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->payload(), "payload");
  EXPECT_EQ(named, 1);
  EXPECT_EQ(plain, 4);
}

TEST_F(ClientSharedMemoryTest, WhatASecondAttemptCouldOverwriteIsTriedOnceUnlessTheServerSaysSo) {
  std::atomic<int> attempts{0};
  std::atomic<bool> tells{false};
  server_.on_encode = [&](grpc::ServerContext* context, const v1::EncodeRequest&,
                          v1::EncodeResponse*) {
    ++attempts;
    if (tells) context->AddTrailingMetadata("grpc-retry-pushback-ms", "1");
    return kGone;
  };
  server_.on_submit = [&](grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
    stream->Write(CreditsFor(16));
    for (v1::SubmitRequest request; stream->Read(&request);) {
      ++attempts;
      if (!tells) return kGone;
      v1::SubmitResponse response = AnswerTo(request);
      response.set_code(static_cast<uint32_t>(kGone.error_code()));
      response.set_retry_after_us(1000);
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const std::unique_ptr<Client> client = NewClient();
  const auto tried = [&](const v1::EncodeRequest& request) {
    attempts = 0;
    EXPECT_THAT(client->Encode(request), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
    const int by_calls = attempts.exchange(0);
    auto stream = client->OpenSubmitStream();
    std::promise<absl::Status> ended;
    EXPECT_THAT((*stream)->Submit(request, SubmitOptions(),
                                  [&](absl::StatusOr<v1::EncodeResponse> response) {
                                    ended.set_value(response.status());
                                  }),
                IsOk());
    EXPECT_THAT(ended.get_future().get(), StatusIs(absl::StatusCode::kUnavailable, ::testing::_));
    EXPECT_EQ(attempts, by_calls) << "on a stream";
    return by_calls;
  };
  Buffer in = client->Loan(1000);
  Buffer out = client->Loan(1000);
  ASSERT_TRUE(out.is_shared());
  v1::EncodeRequest request;
  SetPayload(in, in.size(), &request);
  EXPECT_EQ(tried(request), 4) << "which is only read";
  SetReply(out, &request);
  EXPECT_EQ(tried(request), 1);
  request.mutable_hold()->set_number(4);
  EXPECT_EQ(tried(request), 4) << "its caller has seen to it";
  request.clear_hold();
  tells = true;
  EXPECT_EQ(tried(request), 4) << "the attempt has ended";
  in.Abandon();
  out.Abandon();
}

}  // namespace
}  // namespace baseband::client
