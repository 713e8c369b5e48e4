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
#include "tests/integration/client_calls.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FreePort;

// A server is gone for longer than until the second attempt, and far shorter than until the last.
constexpr absl::Duration kAway = absl::Milliseconds(400);
constexpr absl::Duration kBackoff = absl::Seconds(2);

// Grants credits, and answers each request with its payload.
grpc::Status EchoStream(grpc::ServerContext*, FakeBaseband::SubmitStream* stream) {
  stream->Write(CreditsFor(16));
  for (v1::SubmitRequest request; stream->Read(&request);) {
    v1::SubmitResponse response = AnswerTo(request);
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
  absl::SleepFor(kAway);
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
    stream->Write(CreditsFor(16));
    for (v1::SubmitRequest request; stream->Read(&request);) {
      ++requests;
      if (ends_the_stream) return grpc::Status(grpc::StatusCode::INTERNAL, "the device faulted");
      v1::SubmitResponse response = AnswerTo(request);
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
