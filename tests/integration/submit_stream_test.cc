// The client library's Submit streams against the real server: many threads, credits, ends.
#include "client/cpp/submit_stream.h"

#include <signal.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/client.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::client {
namespace {

using ::baseband::testing::EncodeOf;
using ::baseband::testing::NrCode;
using ::baseband::testing::ServerProcess;

class SubmitStreamTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags,
             const SubmitStreamOptions& options = SubmitStreamOptions()) {
    auto server = ServerProcess::Start(flags);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    ClientOptions client_options;
    client_options.target = server_->target();
    client_options.connections = 1;
    client_options.max_attempts = max_attempts_;
    client_ = *Client::Create(client_options);
    stream_ = *client_->OpenSubmitStream(options);
  }
  // Some hundreds of milliseconds of a core.
  static v1::DecodeRequest Slow() {
    v1::DecodeRequest request = testing::DecodeOfZeros(NrCode(1, 384), 80);  // two: 4 MB
    request.mutable_groups(0)->set_max_iterations(100);
    request.mutable_groups(0)->set_fixed_iterations(true);
    return request;
  }
  // Counts the answers by status.
  SubmitStream::Callback<v1::DecodeResponse> Counted() {
    return [this](const absl::StatusOr<v1::DecodeResponse>& response) {
      absl::MutexLock lock(&mutex_);
      codes_.push_back(response.status().code());
      if (!response.ok()) refused_.push_back(response.status());
    };
  }
  // Whether `count` answers have come, or come within a minute.
  bool AwaitAnswers(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto came = [&] { return codes_.size() >= count; };
    return mutex_.AwaitWithTimeout(absl::Condition(&came), absl::Minutes(1));
  }
  std::vector<absl::StatusCode> codes() {
    absl::MutexLock lock(&mutex_);
    return codes_;
  }

  int max_attempts_ = 1;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<SubmitStream> stream_;
  absl::Mutex mutex_;
  std::vector<absl::StatusCode> codes_;
  std::vector<absl::Status> refused_;
};

TEST_F(SubmitStreamTest, ManyThreadsSubmitAndEachRequestIsAnsweredOnceAndRight) {
  Start({"--submit-requests=16"});
  constexpr int kThreads = 4;
  constexpr int kRequests = 200;
  const v1::EncodeRequest request = EncodeOf(NrCode(2, 32), 2);
  const auto expected = client_->Encode(request);
  ASSERT_THAT(expected, IsOk());
  std::vector<std::atomic<int>> answers(kThreads * kRequests);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRequests; ++i) {
        std::atomic<int>& answer = answers[static_cast<size_t>(t * kRequests + i)];
        EXPECT_THAT(stream_->Submit(request, SubmitOptions(),
                                    [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                                      ++answer;
                                      right += response.ok() &&
                                               response->payload() == expected->payload();
                                    }),
                    IsOk());
        EXPECT_LE(stream_->in_flight(), 16);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(stream_->Finish(), IsOk());
  for (const std::atomic<int>& answer : answers) EXPECT_EQ(answer, 1);
  EXPECT_EQ(right, kThreads * kRequests);
  EXPECT_EQ(stream_->in_flight(), 0);
  EXPECT_THAT(stream_->Submit(request, SubmitOptions(), nullptr),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has ended")));
}

TEST_F(SubmitStreamTest, TransportBlocksGoThereAndComeBack) {
  Start({});
  v1::SharedChannelBlock block;
  block.mutable_transport_block()->set_tb_bytes(100);
  block.mutable_transport_block()->set_base_graph(2);
  block.mutable_transport_block()->set_g(2000);
  block.set_qm(2);
  block.set_c_init(5);
  v1::EncodeSharedChannelRequest encode;
  *encode.add_groups()->mutable_block() = block;
  encode.mutable_groups(0)->set_count(1);
  encode.set_payload(std::string(100, 'b'));
  absl::Mutex mutex;
  v1::EncodeSharedChannelResponse encoded;
  v1::DecodeSharedChannelResponse decoded;
  bool ended = false;
  ASSERT_THAT(stream_->Submit(encode, SubmitOptions(),
                              [&](absl::StatusOr<v1::EncodeSharedChannelResponse> response) {
                                absl::MutexLock lock(&mutex);
                                EXPECT_THAT(response, IsOk());
                                encoded = response.value_or(encoded);
                                ended = true;
                              }),
              IsOk());
  mutex.LockWhen(absl::Condition(&ended));
  ended = false;
  mutex.Unlock();
  ASSERT_EQ(encoded.payload().size(), 250u);

  v1::DecodeSharedChannelRequest decode;
  *decode.add_groups()->mutable_block() = block;
  decode.mutable_groups(0)->set_count(1);
  for (const char byte : encoded.payload()) {
    for (int bit = 7; bit >= 0; --bit) {
      decode.mutable_payload()->push_back((byte >> bit & 1) != 0 ? -20 : 20);
    }
  }
  ASSERT_THAT(stream_->Submit(decode, SubmitOptions(),
                              [&](absl::StatusOr<v1::DecodeSharedChannelResponse> response) {
                                absl::MutexLock lock(&mutex);
                                EXPECT_THAT(response, IsOk());
                                decoded = response.value_or(decoded);
                                ended = true;
                              }),
              IsOk());
  EXPECT_THAT(stream_->Finish(), IsOk());
  absl::MutexLock lock(&mutex);
  EXPECT_EQ(decoded.payload(), encode.payload());
  ASSERT_EQ(decoded.blocks_size(), 1);
  EXPECT_TRUE(decoded.blocks(0).crc_ok());
}

TEST_F(SubmitStreamTest, WithoutCreditsItRefusesOrWaitsAsTheCallerWants) {
  Start({"--cpu-threads=1", "--submit-requests=2"});
  const SubmitOptions waiting;
  SubmitOptions impatient;
  impatient.wait_for_credits = false;
  for (int i = 0; i < 2; ++i) EXPECT_THAT(stream_->Submit(Slow(), waiting, Counted()), IsOk());
  EXPECT_THAT(stream_->Submit(Slow(), impatient, Counted()),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("no credits: 2 requests are in flight on this stream")));
  SubmitOptions hurried;
  hurried.timeout = absl::Microseconds(10);
  EXPECT_THAT(stream_->Submit(Slow(), hurried, Counted()),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("waiting for credits")));
  EXPECT_THAT(stream_->Submit(Slow(), waiting, Counted()), IsOk());
  EXPECT_TRUE(
      AwaitAnswers(1));  // it has waited for that; credits may come just before the callback
  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(3, absl::StatusCode::kOk));
}

TEST_F(SubmitStreamTest, ALargeRequestGoesAloneAndOthersWaitForIt) {
  Start({"--submit-mib=1"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
    EXPECT_EQ(stream_->in_flight(), 1);
  }
  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(3, absl::StatusCode::kOk));
}

TEST_F(SubmitStreamTest, ARefusalIsTheRequestsAloneAndSaysWhenToComeBack) {
  Start({"--cpu-threads=1", "--client-requests=1"});
  constexpr int kRequests = 20;  // on a host with other work each may come when one has ended
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_GT(refused_.size(), 0u);
  EXPECT_LT(refused_.size(), kRequests);
  for (const absl::Status& status : refused_) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("client_requests")));
    EXPECT_GT(RetryAfter(status), absl::ZeroDuration());
  }
}

TEST_F(SubmitStreamTest, ADeadlineIsTheRequestsAlone) {
  Start({"--cpu-threads=1"});
  SubmitOptions hurried;
  hurried.timeout = absl::Milliseconds(1);
  absl::Status status = stream_->Submit(Slow(), hurried, Counted());
  while (absl::IsDeadlineExceeded(status)) {  // the first credits took longer
    status = stream_->Submit(Slow(), hurried, Counted());
  }
  EXPECT_THAT(status, IsOk());
  EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(),
                              [](const auto& response) { EXPECT_THAT(response, IsOk()); }),
              IsOk());
  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(1, absl::StatusCode::kDeadlineExceeded));
}

TEST_F(SubmitStreamTest, WhatWasInFlightWhenTheServerDiedIsUnavailableOnce) {
  Start({"--cpu-threads=1"});
  constexpr int kRequests = 20;
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  server_->process().Signal(SIGKILL);
  EXPECT_THAT(stream_->Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  const std::vector<absl::StatusCode> all = codes();
  EXPECT_EQ(all.size(), kRequests);
  EXPECT_EQ(all.back(), absl::StatusCode::kUnavailable);
  for (const absl::StatusCode code : all) {
    EXPECT_TRUE(code == absl::StatusCode::kOk || code == absl::StatusCode::kUnavailable);
  }
}

TEST_F(SubmitStreamTest, WhatWasInFlightGoesToTheServerThatTookThePlaceOfADeadOne) {
  max_attempts_ = 5;
  const testing::Place place = {{},
                                absl::StrCat("127.0.0.1:", ::baseband::testing::FreePort()),
                                absl::StrCat("127.0.0.1:", ::baseband::testing::FreePort())};
  server_ = *ServerProcess::StartAt(place, {"--cpu-threads=1"});
  ClientOptions options;
  options.target = place.target;
  options.max_attempts = max_attempts_;
  options.initial_backoff = options.max_backoff = absl::Seconds(5);  // time to start the next one
  client_ = *Client::Create(options);
  stream_ = *client_->OpenSubmitStream();
  constexpr int kRequests = 10;
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  EXPECT_TRUE(AwaitAnswers(1));
  server_->process().Signal(SIGKILL);
  server_->process().Wait(absl::Seconds(60));
  server_ = *ServerProcess::StartAt(place, {"--cpu-threads=1"});

  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(kRequests, absl::StatusCode::kOk));
}

TEST_F(SubmitStreamTest, AServerThatDrainsAnswersWhatItHasAndTheNextOneGetsTheRest) {
  max_attempts_ = 4;
  Start({"--cpu-threads=1"});
  const auto next = *ServerProcess::Start({"--cpu-threads=1"});
  ClientOptions options;
  options.target = absl::StrCat(server_->target(), ",", next->target());
  options.connections = 1;
  client_ = *Client::Create(options);
  stream_ = *client_->OpenSubmitStream();
  int sent = 0;
  for (; sent < 4; ++sent) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  EXPECT_TRUE(AwaitAnswers(1));
  // It is one of the two that has them.
  const bool first = server_->Metric("baseband_requests_total", {"Decode"}) > 0;
  (first ? server_ : next)->process().Signal(SIGTERM);
  for (; sent < 12; ++sent) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  EXPECT_EQ((first ? server_ : next)->process().Wait(absl::Seconds(100)), 0);
  EXPECT_THAT(stream_->Finish(), IsOk());
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(12, absl::StatusCode::kOk));
}

TEST_F(SubmitStreamTest, ACancelledStreamCancelsWhatIsInFlight) {
  Start({"--cpu-threads=1"});
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  }
  stream_->Cancel();
  EXPECT_THAT(stream_->Finish(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("client")));
  EXPECT_EQ(codes().size(), 10U);
  EXPECT_EQ(codes().back(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_THAT(client_->GetCapabilities(), IsOk());
}

TEST_F(SubmitStreamTest, AServerThatSaysNothingIsGivenUp) {
  SubmitStreamOptions options;
  options.response_timeout = absl::Seconds(5);
  Start({}, options);
  EXPECT_THAT(stream_->Submit(EncodeOf(NrCode(2, 16), 1), SubmitOptions(), [](const auto&) {}),
              IsOk());
  server_->process().Signal(SIGSTOP);
  EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()), IsOk());
  EXPECT_THAT(stream_->Finish(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no response within 5s")));
  EXPECT_EQ(codes(), std::vector<absl::StatusCode>(1, absl::StatusCode::kUnavailable));
  server_->process().Signal(SIGCONT);
}

TEST_F(SubmitStreamTest, OptionsOutOfRangeAreNamed) {
  Start({});
  SubmitStreamOptions options;
  options.response_timeout = absl::ZeroDuration();
  EXPECT_THAT(client_->OpenSubmitStream(options), IsInvalid("response_timeout 0 is not > 0"));
  SubmitOptions submit;
  submit.timeout = -absl::Seconds(1);
  EXPECT_THAT(stream_->Submit(v1::EncodeRequest(), submit, nullptr),
              IsInvalid("timeout -1s is not > 0"));
}

TEST_F(SubmitStreamTest, WithoutAServerRequestsAreUnavailable) {
  ClientOptions options;
  options.target = "127.0.0.1:" + std::to_string(::baseband::testing::FreePort());
  client_ = *Client::Create(options);
  stream_ = *client_->OpenSubmitStream();
  EXPECT_THAT(stream_->Submit(Slow(), SubmitOptions(), Counted()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("has ended")));
  EXPECT_THAT(stream_->Finish(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  EXPECT_TRUE(codes().empty());
}

}  // namespace
}  // namespace baseband::client
