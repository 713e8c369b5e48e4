// What the client library tries again and what not, and that no call takes longer than its timeout.
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
#include "tests/support/fake_baseband.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FakeBaseband;
using ::baseband::testing::FreePort;

// A server is gone for longer than until the second attempt, and far shorter than until the last.
constexpr absl::Duration kGone = absl::Milliseconds(400);
constexpr absl::Duration kBackoff = absl::Seconds(2);
constexpr absl::Duration kPatience =
    absl::Seconds(20);  // far below the timeouts that must not pass

std::unique_ptr<Client> Connect(const std::string& target, ClientOptions options = {}) {
  options.target = target;
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

v1::EncodeRequest RequestOf(const std::string& payload) {
  v1::EncodeRequest request;
  request.set_payload(payload);
  return request;
}

grpc::Status Echo(grpc::ServerContext*, const v1::EncodeRequest& request,
                  v1::EncodeResponse* response) {
  response->set_payload(request.payload());
  return grpc::Status::OK;
}

// Grants credits, and answers each request with its payload.
grpc::Status EchoStream(grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
  v1::SubmitResponse response;
  response.mutable_credits()->set_requests(16);
  response.mutable_credits()->set_bytes(1 << 20);
  stream->Write(response);
  for (v1::SubmitRequest request; stream->Read(&request);) {
    response.Clear();
    response.set_id(request.id());
    response.mutable_credits()->set_requests(1);
    response.mutable_credits()->set_bytes(request.ByteSizeLong());
    response.mutable_encode()->set_payload(request.encode().payload());
    stream->Write(response);
  }
  return grpc::Status::OK;
}

ClientOptions Patient() {
  ClientOptions options;
  options.initial_backoff = options.max_backoff = kBackoff;
  return options;
}

// A server that can be restarted at the same address.
class RestartedServer {
 public:
  RestartedServer() { Start(); }
  void Stop() { server_.reset(); }
  void Start() {
    server_ = std::make_unique<FakeBaseband>();
    server_->on_encode = Echo;
    server_->on_submit = EchoStream;
    server_->Start(target_);
  }
  const std::string& target() const { return target_; }

 private:
  const std::string target_ = absl::StrCat("127.0.0.1:", FreePort());
  std::unique_ptr<FakeBaseband> server_;
};

// Calls `call` on some threads, again and again, until half a second after the server was gone for
// a while; the worst that came of it.
template <typename CallOnce>
absl::Status CallsAcrossARestart(RestartedServer* server, const CallOnce& call) {
  absl::Mutex mutex;
  absl::Status worst;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const absl::Status status = call();
        absl::MutexLock lock(&mutex);
        worst.Update(status);
        if (!status.ok()) return;
      }
    });
  }
  absl::SleepFor(absl::Milliseconds(200));
  server->Stop();
  absl::SleepFor(kGone);
  server->Start();
  absl::SleepFor(absl::Milliseconds(500));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return worst;
}

TEST(ClientRetryTest, UnaryCallsSurviveAServerThatIsGoneForAWhile) {
  RestartedServer server;
  const auto client = Connect(server.target(), Patient());
  EXPECT_THAT(CallsAcrossARestart(&server, [&] { return client->Encode(RequestOf("x")).status(); }),
              IsOk());
}

TEST(ClientRetryTest, RequestsOfASubmitStreamDo) {
  RestartedServer server;
  const auto client = Connect(server.target(), Patient());
  const auto stream = *client->OpenSubmitStream();
  EXPECT_THAT(CallsAcrossARestart(&server,
                                  [&] {
                                    std::promise<absl::Status> answer;
                                    const absl::Status sent = stream->Submit(
                                        RequestOf("x"), SubmitOptions(),
                                        [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                                          answer.set_value(response.status());
                                        });
                                    return sent.ok() ? answer.get_future().get() : sent;
                                  }),
              IsOk());
}

TEST(ClientRetryTest, ACallThatAStoppingServerCancelsIsTriedAgain) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](auto* context, const auto& request, auto* response) {
    return calls++ == 0 ? grpc::Status(grpc::StatusCode::CANCELLED, "")
                        : Echo(context, request, response);
  };
  server.Start();
  EXPECT_THAT(Connect(server.target())->Encode(RequestOf("x")), IsOk());
  EXPECT_EQ(calls, 2);
}

// What brought one device down must not go from server to server.
TEST(ClientRetryTest, InternalIsFinalEvenIfTheServerSaysWhenToComeBack) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](grpc::ServerContext* context, const auto&, auto*) {
    ++calls;
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "1");
    return grpc::Status(grpc::StatusCode::INTERNAL, "the device faulted");
  };
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf("x")),
              StatusIs(absl::StatusCode::kInternal, "the device faulted"));
  EXPECT_EQ(calls, 1);
}

// Answers searches, the first of them with UNAVAILABLE, after progress or at once.
class LosingServer {
 public:
  explicit LosingServer(bool after_progress) {
    server_.on_minimize = [=](auto*, const auto&, FakeBaseband::SearchWriter* writer) {
      const bool first = searches_++ == 0;
      v1::MinimizeResponse response;
      response.mutable_progress()->set_points(1);
      if (after_progress) writer->Write(response);
      if (first) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the device was lost");
      response.mutable_answer();
      writer->Write(response);
      return grpc::Status::OK;
    };
    server_.Start();
  }
  const std::string& target() const { return server_.target(); }
  int searches() const { return searches_; }

 private:
  std::atomic<int> searches_{0};
  FakeBaseband server_;
};

TEST(ClientRetryTest, ASearchIsTriedAgainUntilItsFirstResponseAndNotAfterIt) {
  LosingServer at_once(/*after_progress=*/false);
  EXPECT_THAT(Connect(at_once.target())->Minimize(v1::MinimizeRequest()), IsOk());
  EXPECT_EQ(at_once.searches(), 2);

  LosingServer later(/*after_progress=*/true);
  EXPECT_THAT(Connect(later.target())->Minimize(v1::MinimizeRequest()),
              StatusIs(absl::StatusCode::kUnavailable, "the device was lost"));
  EXPECT_EQ(later.searches(), 1);

  LosingServer once(/*after_progress=*/false);
  ClientOptions options;
  options.max_attempts = 1;
  EXPECT_THAT(Connect(once.target(), options)->Minimize(v1::MinimizeRequest()),
              StatusIs(absl::StatusCode::kUnavailable, "the device was lost"));
  EXPECT_EQ(once.searches(), 1);
}

class StreamEndTest : public ::testing::TestWithParam<bool> {};

TEST_P(StreamEndTest, InternalIsFinalForARequestOfAStreamToo) {
  const bool ends_the_stream = GetParam();
  std::atomic<int> requests{0};
  FakeBaseband server;
  server.on_submit = [&](grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
    v1::SubmitResponse response;
    response.mutable_credits()->set_requests(16);
    response.mutable_credits()->set_bytes(1 << 20);
    stream->Write(response);
    for (v1::SubmitRequest request; stream->Read(&request);) {
      ++requests;
      if (ends_the_stream) return grpc::Status(grpc::StatusCode::INTERNAL, "the device faulted");
      response.set_id(request.id());
      response.set_code(static_cast<int>(grpc::StatusCode::INTERNAL));
      response.set_message("the device faulted");
      stream->Write(response);
    }
    return grpc::Status::OK;
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
  EXPECT_THAT(answer.get_future().get(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("the device faulted")));
  EXPECT_EQ(requests, 1);
}

INSTANTIATE_TEST_SUITE_P(InBandOrAtTheEnd, StreamEndTest, ::testing::Bool());

// Refuses the first request with UNAVAILABLE, and answers all others.
class RefusingStream {
 public:
  explicit RefusingStream(absl::Duration retry_after) {
    server_.on_submit = [this, retry_after](auto*, FakeBaseband::SubmitStream* stream) {
      ++streams_;
      v1::SubmitResponse response;
      response.mutable_credits()->set_requests(16);
      response.mutable_credits()->set_bytes(1 << 20);
      stream->Write(response);
      for (v1::SubmitRequest request; stream->Read(&request);) {
        response.Clear();
        response.set_id(request.id());
        response.mutable_credits()->set_requests(1);
        response.mutable_credits()->set_bytes(request.ByteSizeLong());
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
  EXPECT_THAT(stream->Submit(RequestOf("x"), options,
                             [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                               answer.set_value(response.status());
                             }),
              IsOk());
  return answer.get_future().get();
}

// As a unary call does.
TEST(ClientRetryTest, AServerThatSaysWhenARequestIsToComeBackKeepsItsStreamAndGetsItThen) {
  constexpr absl::Duration kRetryAfter = absl::Milliseconds(300);
  RefusingStream server(kRetryAfter);
  const absl::Time begin = SteadyNow();
  EXPECT_THAT(SubmitOne(server, absl::InfiniteDuration()), IsOk());
  EXPECT_GE(SteadyNow() - begin, kRetryAfter);
  EXPECT_EQ(server.streams(), 1);
  EXPECT_EQ(server.requests(), 2);
}

TEST(ClientRetryTest, ARequestThatCannotComeBackInTimeIsNotSentAgain) {
  RefusingStream server(absl::Hours(1));
  EXPECT_THAT(SubmitOne(server, absl::Minutes(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_EQ(server.requests(), 1);
}

// A server that drains says so to each request, and ends the stream when it has none any more.
TEST(ClientRetryTest, WhereItDoesNotSayTheRequestGoesToAStreamOfItsOwnAtOnce) {
  RefusingStream server(absl::ZeroDuration());
  EXPECT_THAT(SubmitOne(server, absl::InfiniteDuration()), IsOk());
  EXPECT_EQ(server.streams(), 2);
  EXPECT_EQ(server.requests(), 2);
}

// Grants two credits and answers a request when it is told to.
class HungStream {
 public:
  HungStream() {
    server_.on_submit = [this](grpc::ServerContext* context, FakeBaseband::SubmitStream* stream) {
      v1::SubmitResponse response;
      response.mutable_credits()->set_requests(2);
      response.mutable_credits()->set_bytes(1 << 20);
      stream->Write(response);
      for (v1::SubmitRequest request; stream->Read(&request);) {
        while (!answers_ && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        response.Clear();
        response.set_id(request.id());
        response.mutable_credits()->set_requests(1);
        response.mutable_credits()->set_bytes(request.ByteSizeLong());
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

TEST(EmptyMessageTest, AnErrorAlwaysSaysSomething) {
  FakeBaseband server;
  grpc::StatusCode code = grpc::StatusCode::UNIMPLEMENTED;
  server.on_encode = [&](auto*, const auto&, auto*) { return grpc::Status(code, ""); };
  server.Start();
  ClientOptions options;
  options.max_attempts = 1;
  const auto client = Connect(server.target(), options);
  for (const auto next : {grpc::StatusCode::UNIMPLEMENTED, grpc::StatusCode::UNAVAILABLE,
                          grpc::StatusCode::INTERNAL, grpc::StatusCode::PERMISSION_DENIED,
                          grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNKNOWN}) {
    code = next;
    const absl::Status status = client->Encode(RequestOf("x")).status();
    EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code));
    EXPECT_GT(status.message().size(), 10) << status;
  }
}

}  // namespace
}  // namespace baseband::client
