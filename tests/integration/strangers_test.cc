// What those can take of a server who have not shown who they are.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/version_info.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/integration/secured_server.h"
#include "tests/support/http2_frames.h"
#include "tests/support/idle_connection.h"
#include "tests/support/quiescence.h"
#include "tests/support/raw_http2.h"

namespace baseband::testing {
namespace {

using grpc::reflection::v1::ServerReflection;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using http2::Frame;
using http2::Header;
using http2::HeadersOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int64_t kMiB = 1 << 20;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int64_t kPeakMiB = 8 << 20;  // its own memory comes on top
#else
constexpr int64_t kPeakMiB = 1 << 20;
#endif

// Of many calls that come at once a gRPC of today turns some away itself, and takes more for each.
constexpr bool kTurnsAway = GRPC_CPP_VERSION_MAJOR > 1 || GRPC_CPP_VERSION_MINOR > 51;

// The most that the process ever had resident.
int64_t PeakBytes(ServerProcess& server) {
  std::ifstream status(absl::StrCat("/proc/", server.process().pid(), "/status"));
  for (std::string line; std::getline(status, line);) {
    int64_t kib = 0;
    if (absl::StartsWith(line, "VmHWM:") &&
        absl::SimpleAtoi(line.substr(6, line.size() - 6 - 3), &kib)) {
      return kib << 10;
    }
  }
  return 0;
}

class StrangersTest : public SecurityTest {
 protected:
  void SetUp() override {
    SecurityTest::SetUp();
    auto started = ServerProcess::Start({"--tokens-file=" + files_.Path("tokens")});
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ =
        grpc::CreateCustomChannel(server_->target(), grpc::InsecureChannelCredentials(), arguments);
  }

  client::ClientOptions PlainClient(const std::string& token) {
    client::ClientOptions options;
    options.target = server_->target();
    options.connections = 1;
    options.max_attempts = 1;
    options.token = token;
    return options;
  }

  static void Prepare(grpc::ClientContext& context, const std::string& token) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
  }

  std::shared_ptr<grpc::Channel> channel_;
};

// One stream of questions about the services.
class Reflection {
 public:
  Reflection(const std::shared_ptr<grpc::Channel>& channel, const std::string& token)
      : stub_(ServerReflection::NewStub(channel)) {
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    stream_ = stub_->ServerReflectionInfo(&context_);
  }
  // The services listed, a line each; nothing if there is no answer.
  std::string List() {
    ServerReflectionRequest request;
    request.set_list_services("*");
    ServerReflectionResponse response;
    std::string names;
    if (!stream_->Write(request) || !stream_->Read(&response)) return names;
    for (const auto& service : response.list_services_response().service()) {
      absl::StrAppend(&names, service.name(), "\n");
    }
    return names;
  }
  grpc::Status Finish() {
    stream_->WritesDone();
    return stream_->Finish();
  }

 private:
  const std::unique_ptr<ServerReflection::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>>
      stream_;
};

TEST_F(StrangersTest, ReflectionIsForWhoMayCallAndTakesNoThreads) {
  Reflection stranger(channel_, "");
  EXPECT_EQ(stranger.List(), "");
  EXPECT_EQ(stranger.Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);

  Reflection first(channel_, kUserToken);
  EXPECT_THAT(first.List(), HasSubstr("baseband.v1.Baseband\n"));
  const Holdings before = HoldingsOf(*server_);
  constexpr int kStreams = 50;
  std::vector<std::unique_ptr<Reflection>> streams;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(std::make_unique<Reflection>(channel_, kUserToken));
    EXPECT_NE(streams.back()->List(), "");
  }
  const Holdings during = HoldingsOf(*server_);
  EXPECT_LT(during.own_threads + during.grpc_threads,
            before.own_threads + before.grpc_threads + kStreams / 2);
  for (const auto& stream : streams) EXPECT_TRUE(stream->Finish().ok());
  EXPECT_NE(first.List(), "") << "a stream takes more than one question";
  EXPECT_TRUE(first.Finish().ok());
}

TEST_F(StrangersTest, OfARefusedCallNothingIsReceived) {
  v1::EncodeRequest request;
  request.set_payload(std::string(48 * kMiB, 'x'));
  const auto stub = v1::Baseband::NewStub(channel_);
  const int64_t before = PeakBytes(*server_);
  constexpr int kCallers = 8;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      grpc::ClientContext context;
      Prepare(context, "");
      v1::EncodeResponse response;
      EXPECT_EQ(stub->Encode(&context, request, &response).error_code(),
                grpc::StatusCode::UNAUTHENTICATED);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_LT(PeakBytes(*server_) - before, 32 * kPeakMiB);
}

TEST_F(StrangersTest, WhatIsPackedIsRefusedOfEverybodyAndNotUnpacked) {
  v1::EncodeRequest request;
  request.set_payload(std::string(60 * kMiB, '\0'));  // within what a request may have
  const auto stub = v1::Baseband::NewStub(channel_);
  const int64_t before = PeakBytes(*server_);
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    for (const std::string token : {"", kUserToken}) {
      grpc::ClientContext context;
      Prepare(context, token);
      context.set_compression_algorithm(algorithm);
      v1::EncodeResponse response;
      const grpc::Status status = stub->Encode(&context, request, &response);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
      EXPECT_THAT(status.error_message(),
                  HasSubstr(algorithm == GRPC_COMPRESS_GZIP ? "gzip" : "deflate"));
    }
  }
  EXPECT_LT(PeakBytes(*server_) - before, 16 * kPeakMiB);
}

TEST_F(StrangersTest, OfALongHeaderLittleIsLogged) {
  const std::string headers = HeadersOf("/") + Header("te", std::string(16000, 'x'));
  const IdleConnection stranger(
      server_->target(), LeastHello() + Frame(http2::kHeaders, http2::kEndHeaders, 1, headers));
  const std::string log = server_->process().OutputWith("Error parsing");
  EXPECT_THAT(log, AnyOf(HasSubstr("key=te"), HasSubstr("'te'")));  // 1.51, 1.83
  EXPECT_LT(log.size(), 8000);
}

TEST_F(StrangersTest, AFloodIsEndedAndDisturbsNobody) {
  auto client = client::Client::Create(PlainClient(kUserToken));
  ASSERT_THAT(client, IsOk());
  for (const Flood flood :
       {Flood::kSettings, Flood::kEmptyData, Flood::kResets, Flood::kEndlessHeader}) {
    EXPECT_TRUE(IsEndedAfterFlood(server_->target(), flood, absl::Seconds(20)))
        << static_cast<int>(flood);
    EXPECT_THAT((*client)->GetCapabilities(), IsOk());
  }
  EXPECT_GE(server_->Metric("baseband_strangers_ended_total"), 4);
}

TEST_F(StrangersTest, CallsBeyondWhatAConnectionMayHaveTakeLittle) {
  const std::string socket = "unix:" + files_.Path("socket");
  auto started =
      ServerProcess::Start({"--tokens-file=" + files_.Path("tokens"), "--listen=" + socket});
  ASSERT_THAT(started, IsOk());
  const auto user = client::Client::Create(PlainClient(kUserToken)).value();
  for (ServerProcess* const server : {server_.get(), started->get()}) {
    const int64_t before = PeakBytes(*server);
    for (const Flood flood : {Flood::kCalls, Flood::kHealthCalls, Flood::kUnknownCalls}) {
      std::vector<std::thread> floods;
      for (int i = 0; i < 4; ++i) {
        floods.emplace_back(
            [&] { EXPECT_TRUE(IsEndedAfterFlood(server->target(), flood, absl::Seconds(20))); });
      }
      for (std::thread& one : floods) one.join();
      EXPECT_LT(PeakBytes(*server) - before, 64 * kPeakMiB) << static_cast<int>(flood);
    }
  }
  EXPECT_THAT(user->GetCapabilities(), IsOk());
}

TEST_F(StrangersTest, DuringFloodsOthersComeFromTheSameAddress) {
  std::atomic<bool> stop{false};
  std::atomic<int> ended{0};
  std::vector<std::thread> floods;
  for (int i = 0; i < 8; ++i) {
    floods.emplace_back([&, flood = i % 2 == 0 ? Flood::kEndlessHeader : Flood::kSettings] {
      while (!stop) ended += IsEndedAfterFlood(server_->target(), flood, absl::Seconds(20));
    });
  }
  v1::EncodeRequest request;
  request.set_payload(std::string(kMiB, 'x'));  // more than a stranger may send
  while (ended < 8) absl::SleepFor(absl::Milliseconds(10));
  for (int i = 0; i < 5; ++i) {
    auto client = client::Client::Create(PlainClient(kUserToken));
    ASSERT_THAT(client, IsOk());
    EXPECT_THAT((*client)->GetCapabilities(), IsOk());
    EXPECT_EQ((*client)->Encode(request).status().code(), absl::StatusCode::kInvalidArgument);
  }
  stop = true;
  for (std::thread& flood : floods) flood.join();
}

TEST_F(StrangersTest, WhoSaysNothingMakesRoomForWhoMayCall) {
  auto small =
      ServerProcess::Start({"--tokens-file=" + files_.Path("tokens"), "--max-connections=8"});
  ASSERT_THAT(small, IsOk());
  std::vector<std::unique_ptr<HeadersAlone>> silent;
  for (int i = 0; i < 32; ++i) {
    silent.push_back(std::make_unique<HeadersAlone>((*small)->target(), "", 0));
  }
  client::ClientOptions options = PlainClient(kUserToken);
  options.target = (*small)->target();
  auto client = client::Client::Create(options);
  ASSERT_THAT(client, IsOk());
  EXPECT_THAT((*client)->GetCapabilities(), IsOk());
  for (int i = 0; i < 32; ++i) {
    silent.push_back(std::make_unique<HeadersAlone>((*small)->target(), "", 0));
  }
  EXPECT_THAT((*client)->GetCapabilities(), IsOk()) << "who was let in stays";
}

TEST_F(StrangersTest, ReflectionCountsWhomItRefuses) {
  EXPECT_EQ(Reflection(channel_, "wrong").Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Reflection(channel_, kUserToken).Finish().ok());
  EXPECT_TRUE(
      server_->WaitForMetric("baseband_requests_total", {"rpc=\"Reflection\"", "code=\"OK\""}, 1));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total",
                                     {"rpc=\"Reflection\"", "reason=\"bad_token\""}, 1));
}

TEST_F(StrangersTest, HealthCallsWithoutEndTakeLittleAndDisturbNoProbe) {
  const auto user = client::Client::Create(PlainClient(kUserToken)).value();
  ASSERT_THAT(user->GetCapabilities(), IsOk());
  const int64_t before = PeakBytes(*server_);
  const double calls_before = server_->Metric("baseband_requests_total", {"rpc=\"Health\""});
  constexpr int kConnections = 30;
  constexpr int kHealthCalls = 128;
  std::vector<std::unique_ptr<HeadersAlone>> strangers;
  for (int i = 0; i < kConnections; ++i) {
    for (const char* const method : {"Check", "Watch"}) {
      strangers.push_back(std::make_unique<HeadersAlone>(
          server_->target(), absl::StrCat("/grpc.health.v1.Health/", method), kHealthCalls));
    }
  }
  for (int i = 0; i < kConnections; ++i) {
    const auto prober = client::Client::Create(PlainClient("")).value();
    absl::StatusOr<client::Health> health = prober->CheckHealth("");
    while (kTurnsAway && absl::IsResourceExhausted(health.status())) {
      health = prober->CheckHealth("");
    }
    ASSERT_THAT(health, IsOk());
    EXPECT_EQ(*health, client::Health::kServing);
  }
  // Those that had no place were turned away, and the others' messages did not come. What a fast
  // host reads at once makes suspects of the strangers, some of whom are ended before all is read.
  const double all = calls_before + kConnections * (2 * kHealthCalls + 1);
  const auto came = [this] {
    return server_->Metric("baseband_requests_total", {"rpc=\"Health\""});
  };
  const auto has_all = [&] {
    return came() >= all - kHealthCalls * server_->Metric("baseband_strangers_ended_total");
  };
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (!kTurnsAway && !has_all() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(20));
  EXPECT_TRUE(kTurnsAway || has_all());
  EXPECT_TRUE(kTurnsAway || came() <= all);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Health\""}, 0));
  EXPECT_GT(server_->Metric("baseband_requests_unserved_total",
                            {"rpc=\"Health\"", "reason=\"stream_limit\""}),
            0);
  EXPECT_LT(PeakBytes(*server_) - before, (kTurnsAway ? 128 : 64) * kPeakMiB);
  EXPECT_THAT(user->GetCapabilities(), IsOk());
}

TEST_F(StrangersTest, GuessingTokensIsSlowAndHindersNobodyElse) {
  const auto guesser = client::Client::Create(PlainClient("wrong")).value();
  const absl::Time begin = absl::Now();
  constexpr int kGuesses = 300;
  int looked_at = 0;
  for (int i = 0; i < kGuesses; ++i) {
    const absl::Status refused = guesser->GetCapabilities().status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
    looked_at += absl::StrContains(refused.message(), "not one of this server's") ? 1 : 0;
  }
  EXPECT_GE(looked_at, 4);
  EXPECT_LE(looked_at, 4 + 1 + absl::ToDoubleSeconds(absl::Now() - begin));
  const auto user = client::Client::Create(PlainClient(kUserToken)).value();
  EXPECT_THAT(user->GetCapabilities(), IsOk());
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total", {"reason=\"bad_token\""},
                                     kGuesses));
}

}  // namespace
}  // namespace baseband::testing
