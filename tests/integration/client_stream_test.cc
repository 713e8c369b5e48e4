// The client library's stream against a server in this process: order, window, every kind of end.
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "kernels/base/steady_time.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::FakeBaseband;
using ::testing::_;

std::unique_ptr<Client> Connect(const FakeBaseband& server) {
  ClientOptions options;
  options.target = server.target();
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

std::unique_ptr<DownconvertStream> Open(Client* client, StreamOptions options = {}) {
  auto stream = client->OpenDownconvertStream(options);
  EXPECT_THAT(stream, IsOk());
  return *std::move(stream);
}

v1::DownconvertRequest PieceAt(uint64_t first_sample, size_t payload_bytes = 10) {
  v1::DownconvertRequest request;
  request.set_first_sample(first_sample);
  request.set_payload(std::string(payload_bytes, 'b'));
  return request;
}

// A response to each request, which says where its samples were and brings them back.
grpc::Status EchoSamples(grpc::ServerContext*, FakeBaseband::Stream* stream) {
  v1::DownconvertRequest request;
  while (stream->Read(&request)) {
    v1::DownconvertResponse response;
    response.set_next_sample(request.first_sample());
    response.set_payload(request.payload());
    stream->Write(response);
  }
  return grpc::Status::OK;
}

// Takes one message up, then waits for the client to go.
grpc::Status HangSamples(grpc::ServerContext* context, FakeBaseband::Stream* stream) {
  v1::DownconvertRequest request;
  stream->Read(&request);
  while (!context->IsCancelled()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return grpc::Status(grpc::StatusCode::CANCELLED, "gone");
}

TEST(ClientStreamTest, UnaryPiecesTravelToo) {
  FakeBaseband server;
  server.on_downconvert = [](grpc::ServerContext*, const v1::DownconvertRequest& request,
                             v1::DownconvertResponse* response) {
    response->set_next_sample(request.first_sample());
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server);
  const auto response = client->Downconvert(PieceAt(77));
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->next_sample(), 77U);
}

TEST(ClientStreamTest, ResponsesComeInOrderOneARequest) {
  FakeBaseband server;
  server.on_downconvert_stream = EchoSamples;
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  v1::DownconvertResponse response;
  uint64_t read = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    if (stream->in_flight() == 4) {
      ASSERT_TRUE(stream->Read(&response));
      EXPECT_EQ(response.next_sample(), read++);
    }
    ASSERT_TRUE(stream->Write(PieceAt(i)));
  }
  stream->WritesDone();
  while (stream->Read(&response)) {
    EXPECT_EQ(response.next_sample(), read++);
  }
  EXPECT_EQ(read, 500U);
  EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_FALSE(stream->Write(PieceAt(0)));
}

TEST(ClientStreamTest, LargeMessagesFromAWriterAndAReaderThread) {
  FakeBaseband server;
  server.on_downconvert_stream = EchoSamples;
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  std::thread writer([&] {
    for (uint64_t i = 0; i < 20; ++i) {
      EXPECT_TRUE(stream->Write(PieceAt(i, 4 << 20)));
    }
    stream->WritesDone();
  });
  v1::DownconvertResponse response;
  uint64_t bytes = 0;
  while (stream->Read(&response)) {
    bytes += response.payload().size();
  }
  writer.join();
  EXPECT_EQ(bytes, 20U * (4 << 20));
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST(ClientStreamTest, AWriterWaitsWhileNobodyReads) {
  FakeBaseband server;
  server.on_downconvert_stream = EchoSamples;
  server.Start();
  const auto client = Connect(server);
  StreamOptions options;
  options.max_in_flight = 2;
  const auto stream = Open(client.get(), options);
  std::atomic<int> written{0};
  std::thread writer([&] {
    while (written < 5 && stream->Write(PieceAt(0))) {
      ++written;
    }
  });
  while (written < 2) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(100));
  EXPECT_EQ(written, 2);
  v1::DownconvertResponse response;
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(stream->Read(&response));
  }
  writer.join();
  EXPECT_EQ(written, 5);
  EXPECT_EQ(stream->in_flight(), 0);
}

TEST(ClientStreamTest, FinishDropsWhatNobodyHasRead) {
  FakeBaseband server;
  server.on_downconvert_stream = EchoSamples;
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  EXPECT_TRUE(stream->Write(PieceAt(0)) && stream->Write(PieceAt(1)));
  EXPECT_THAT(stream->Finish(), IsOk());
  v1::DownconvertResponse response;
  EXPECT_FALSE(stream->Read(&response));
}

TEST(ClientStreamTest, ARefusalEndsReadsAndWritesAndIsTheResult) {
  FakeBaseband server;
  server.on_downconvert_stream = [](grpc::ServerContext*, FakeBaseband::Stream* stream) {
    v1::DownconvertRequest request;
    stream->Read(&request);
    stream->Write(v1::DownconvertResponse());
    stream->Read(&request);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "first_sample 1 was there already");
  };
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  v1::DownconvertResponse response;
  EXPECT_TRUE(stream->Write(PieceAt(0)) && stream->Write(PieceAt(1)));
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_FALSE(stream->Write(PieceAt(2)));
  EXPECT_THAT(stream->Finish(),
              StatusIs(absl::StatusCode::kInvalidArgument, "first_sample 1 was there already"));
}

TEST(ClientStreamTest, AnEndWithoutAllResponsesIsNoSuccess) {
  FakeBaseband server;
  server.on_downconvert_stream = [](grpc::ServerContext*, FakeBaseband::Stream* stream) {
    v1::DownconvertRequest request;
    stream->Read(&request);
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  EXPECT_TRUE(stream->Write(PieceAt(0)));
  EXPECT_THAT(stream->Finish(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("after 0 of 1 responses")));
}

TEST(ClientStreamTest, ResponsesThatNobodyAskedForEndIt) {
  FakeBaseband server;
  server.on_downconvert_stream = [](grpc::ServerContext* context, FakeBaseband::Stream* stream) {
    while (stream->Write(v1::DownconvertResponse())) {
    }
    return HangSamples(context, stream);
  };
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  EXPECT_TRUE(stream->Write(PieceAt(0)));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kInternal, HasSubstr("more responses")));
}

TEST(ClientStreamTest, AServerThatDoesNotAnswerIsGivenUp) {
  FakeBaseband server;
  server.on_downconvert_stream = HangSamples;
  server.Start();
  const auto client = Connect(server);
  StreamOptions options;
  options.response_timeout = absl::Milliseconds(100);
  const auto stream = Open(client.get(), options);
  EXPECT_TRUE(stream->Write(PieceAt(0)));
  v1::DownconvertResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "no response within 100ms"));
}

TEST(ClientStreamTest, AResponseIsWaitedForSinceItIsDueAndNotSinceSomebodyWaits) {
  FakeBaseband server;
  server.on_downconvert_stream = HangSamples;
  server.Start();
  const auto client = Connect(server);
  StreamOptions options;
  options.response_timeout = absl::Milliseconds(500);
  const auto stream = Open(client.get(), options);
  absl::Time end;
  std::thread reader([&] {
    v1::DownconvertResponse response;
    EXPECT_FALSE(stream->Read(&response));
    end = SteadyNow();
  });
  absl::SleepFor(absl::Milliseconds(400));
  const absl::Time written = SteadyNow();
  EXPECT_TRUE(stream->Write(PieceAt(0)));
  reader.join();
  EXPECT_GE(end - written, options.response_timeout);
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

// Without a server that takes it up, too.
TEST(ClientStreamTest, AnEndThatDoesNotComeIsGivenUp) {
  FakeBaseband server;
  server.on_downconvert_stream = HangSamples;
  server.Start();
  for (const std::string& target : {server.target(), std::string("127.0.0.1:1")}) {
    ClientOptions client_options;
    client_options.target = target;
    const auto client = *Client::Create(client_options);
    StreamOptions options;
    options.wait_for_ready = true;
    options.response_timeout = absl::Milliseconds(100);
    const auto stream = Open(client.get(), options);
    EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  }
}

TEST(ClientStreamTest, TheDeadlineOfTheWholeStreamHolds) {
  FakeBaseband server;
  server.on_downconvert_stream = HangSamples;
  server.Start();
  const auto client = Connect(server);
  StreamOptions options;
  options.timeout = absl::Milliseconds(100);
  const auto stream = Open(client.get(), options);
  stream->Write(PieceAt(0));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
}

TEST(ClientStreamTest, CancelWakesAWriterThatWaits) {
  FakeBaseband server;
  server.on_downconvert_stream = HangSamples;
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  std::thread writer([&] {
    while (stream->Write(PieceAt(0))) {
    }
  });
  absl::SleepFor(absl::Milliseconds(20));
  stream->Cancel();
  writer.join();
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST(ClientStreamTest, AStreamThatIsDestroyedIsCancelledAndTheClientWaitsForIt) {
  FakeBaseband server;
  absl::Notification started;
  absl::Notification gone;
  server.on_downconvert_stream = [&](grpc::ServerContext* context, FakeBaseband::Stream* stream) {
    started.Notify();
    const grpc::Status status = HangSamples(context, stream);
    gone.Notify();
    return status;
  };
  server.Start();
  auto client = Connect(server);
  auto stream = Open(client.get());
  stream->Write(PieceAt(0));
  started.WaitForNotification();
  stream.reset();
  client.reset();
  EXPECT_TRUE(gone.WaitForNotificationWithTimeout(absl::Seconds(10)));
}

TEST(ClientStreamTest, WithoutAServerItIsUnavailable) {
  ClientOptions options;
  options.target = "127.0.0.1:1";
  options.max_attempts = 1;
  const auto client = *Client::Create(options);
  const auto stream = Open(client.get());
  stream->Write(PieceAt(0));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kUnavailable, _));
}

TEST(ClientStreamTest, AServerThatIsTooFullIsSaidSoAtOnce) {
  FakeBaseband server;
  server.on_downconvert_stream = [](grpc::ServerContext*, FakeBaseband::Stream*) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "8 streams are open already");
  };
  server.Start();
  const auto client = Connect(server);
  const auto stream = Open(client.get());
  stream->Write(PieceAt(0));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(ClientStreamTest, OptionsOutOfRangeAreRefused) {
  const auto client = *Client::Create(ClientOptions());
  StreamOptions options;
  options.max_in_flight = 0;
  EXPECT_THAT(client->OpenDownconvertStream(options), IsInvalid("max_in_flight 0"));
}

}  // namespace
}  // namespace baseband::client
