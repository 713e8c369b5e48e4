// What becomes of a request of a stream that the server refuses as UNAVAILABLE, and of one that it
// never answers.
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "kernels/base/steady_time.h"
#include "tests/integration/client_calls.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FreePort;

// Refuses the first request with UNAVAILABLE, and answers all others.
class RefusingStream {
 public:
  explicit RefusingStream(absl::Duration retry_after) {
    server_.on_submit = [this, retry_after](auto*, FakeBaseband::SubmitStream* stream) {
      ++streams_;
      stream->Write(CreditsFor(16));
      for (v1::SubmitRequest request; stream->Read(&request);) {
        v1::SubmitResponse response = AnswerTo(request);
        if (requests_++ == 0) {
          response.set_code(static_cast<int>(grpc::StatusCode::UNAVAILABLE));
          response.set_retry_after_us(
              static_cast<uint64_t>(absl::ToInt64Microseconds(retry_after)));
        } else {
          response.mutable_encode();
        }
        stream->Write(response);
      }
      return grpc::Status::OK;
    };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }
  int streams() const { return streams_; }
  int requests() const { return requests_; }

 private:
  std::atomic<int> streams_{0};
  std::atomic<int> requests_{0};
  FakeBaseband server_;
};

// The answer to a request on a stream of its own to `server`.
absl::Status SubmitOne(const RefusingStream& server, absl::Duration timeout) {
  const auto client = Connect(server.target());
  const auto stream = *client->OpenSubmitStream();
  SubmitOptions options;
  options.timeout = timeout;
  std::promise<absl::Status> answer;
  EXPECT_THAT(stream->Submit(RequestOf(1), options,
                             [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                               answer.set_value(response.status());
                             }),
              IsOk());
  return answer.get_future().get();
}

// As a unary call does.
TEST(RefusedRequestTest, AServerThatSaysWhenARequestIsToComeBackKeepsItsStreamAndGetsItThen) {
  constexpr absl::Duration kRetryAfter = absl::Milliseconds(300);
  RefusingStream server(kRetryAfter);
  const absl::Time begin = SteadyNow();
  EXPECT_THAT(SubmitOne(server, absl::InfiniteDuration()), IsOk());
  EXPECT_GE(SteadyNow() - begin, kRetryAfter);
  EXPECT_EQ(server.streams(), 1);
  EXPECT_EQ(server.requests(), 2);
}

TEST(RefusedRequestTest, ARequestThatCannotComeBackInTimeIsNotSentAgain) {
  RefusingStream server(absl::Hours(1));
  EXPECT_THAT(SubmitOne(server, absl::Minutes(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_EQ(server.requests(), 1);
}

// A server that drains says so to each request, and ends the stream when it has none any more.
TEST(RefusedRequestTest, WhereItDoesNotSayTheRequestGoesToAStreamOfItsOwnAtOnce) {
  RefusingStream server(absl::ZeroDuration());
  EXPECT_THAT(SubmitOne(server, absl::InfiniteDuration()), IsOk());
  EXPECT_EQ(server.streams(), 2);
  EXPECT_EQ(server.requests(), 2);
}

TEST(RefusedRequestTest, AStreamThatEndsTellsItsRequestsWhenToComeBack) {
  FakeBaseband server;
  server.on_submit = [](grpc::ServerContext* context, FakeBaseband::SubmitStream* stream) {
    stream->Write(CreditsFor(1));
    v1::SubmitRequest request;
    stream->Read(&request);
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "60000");
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many");
  };
  server.Start();
  const auto client = Connect(server.target());
  const auto stream = *client->OpenSubmitStream();
  std::promise<absl::Status> answer;
  ASSERT_THAT(stream->Submit(RequestOf("x"), SubmitOptions(),
                             [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                               answer.set_value(response.status());
                             }),
              IsOk());
  const absl::Status status = answer.get_future().get();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("too many")));
  EXPECT_EQ(RetryAfter(status), absl::Seconds(60));
}

// Grants two credits and answers a request when it is told to.
class HungStream {
 public:
  HungStream() {
    server_.on_submit = [this](grpc::ServerContext* context, FakeBaseband::SubmitStream* stream) {
      stream->Write(CreditsFor(2));
      for (v1::SubmitRequest request; stream->Read(&request);) {
        while (!answers_ && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        v1::SubmitResponse response = AnswerTo(request);
        response.mutable_encode()->set_payload(request.encode().payload());
        stream->Write(response);
      }
      return grpc::Status::OK;
    };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }
  void AnswerFromNowOn() { answers_ = true; }

 private:
  std::atomic<bool> answers_{false};
  FakeBaseband server_;
};

TEST(SubmitTimeoutTest, IsKeptByTheClientWhateverTheServerDoes) {
  HungStream server;
  const auto client = Connect(server.target());
  const auto stream = *client->OpenSubmitStream();
  SubmitOptions options;
  options.timeout = absl::Seconds(1);
  const absl::Time begin = absl::Now();
  std::vector<std::promise<absl::Status>> answers(2);
  for (auto& answer : answers) {
    ASSERT_THAT(stream->Submit(RequestOf("x"), options,
                               [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                                 answer.set_value(response.status());
                               }),
                IsOk());
  }
  for (auto& answer : answers) {
    EXPECT_THAT(answer.get_future().get(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("timeout")));
  }
  EXPECT_GE(absl::Now() - begin, options.timeout);
  EXPECT_LT(absl::Now() - begin, kPatience);
  EXPECT_EQ(stream->in_flight(), 0);
  // Without credits, which the server still has.
  EXPECT_THAT(stream->Submit(RequestOf("x"), options, nullptr),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("credits")));

  // The late answers are nobody's, and bring the credits back.
  server.AnswerFromNowOn();
  options.timeout = kPatience;
  for (int i = 0; i < 5; ++i) {
    std::promise<absl::StatusOr<v1::EncodeResponse>> answer;
    ASSERT_THAT(stream->Submit(RequestOf(absl::StrCat(i)), options,
                               [&](absl::StatusOr<v1::EncodeResponse> response) {
                                 answer.set_value(std::move(response));
                               }),
                IsOk());
    const auto response = answer.get_future().get();
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->payload(), absl::StrCat(i));
  }
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST(SubmitTimeoutTest, TheEarlierOfTwoIsKeptWhicheverCameFirst) {
  HungStream server;
  const auto client = Connect(server.target());
  const auto stream = *client->OpenSubmitStream();
  std::promise<absl::Status> late;
  std::promise<absl::Status> early;
  SubmitOptions options;
  options.timeout = absl::Minutes(10);
  ASSERT_THAT(stream->Submit(RequestOf("late"), options,
                             [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                               late.set_value(response.status());
                             }),
              IsOk());
  options.timeout = absl::Milliseconds(100);
  ASSERT_THAT(stream->Submit(RequestOf("early"), options,
                             [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                               early.set_value(response.status());
                             }),
              IsOk());
  EXPECT_THAT(early.get_future().get(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("")));
  EXPECT_EQ(stream->in_flight(), 1);
  stream->Cancel();
  EXPECT_THAT(late.get_future().get(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

// Nobody listens there, and nobody refuses: a connection is never made.
TEST(SubmitTimeoutTest, HoldsWhileThereIsNoConnectionToo) {
  ClientOptions options;
  options.max_attempts = 1;
  const auto client = Connect("10.255.255.1:1", options);
  SubmitStreamOptions stream_options;
  stream_options.wait_for_ready = true;
  const auto stream = *client->OpenSubmitStream(stream_options);
  SubmitOptions submit;
  submit.timeout = absl::Milliseconds(200);
  const absl::Time begin = absl::Now();
  EXPECT_FALSE(stream->Submit(RequestOf("x"), submit, nullptr).ok());
  EXPECT_LT(absl::Now() - begin, kPatience);
}

}  // namespace
}  // namespace baseband::client
