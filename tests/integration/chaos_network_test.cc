// Networks and clients that misbehave: stalls, resets, trickles, silence, half a handshake. Whoever
// behaves beside them gets right answers, and the server holds nothing for the others for ever.
#include <signal.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/idle_connection.h"
#include "tests/support/mixed_load.h"
#include "tests/support/proxy.h"
#include "tests/support/quiescence.h"
#include "tests/support/raw_http2.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using Code = absl::StatusCode;

client::ClientOptions OneConnection(const std::string& target) {
  client::ClientOptions options = LoadOf(target).client;
  options.connections = 1;
  return options;
}

// 2.5 MB there, 100 KiB back.
v1::DecodeRequest LargeRequest() { return DecodeOfZeros(NrCode(1, 384), 100); }
// 1 MiB there, 3 MiB back: more than the kernel's buffers and HTTP/2's windows take.
v1::EncodeRequest LargeReply() { return EncodeOf(NrCode(1, 384), 1000); }

class ChaosNetworkTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags) {
    const std::vector<std::string> pools = SmallPools();
    flags.insert(flags.end(), pools.begin(), pools.end());
    auto server = ServerProcess::Start(flags);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    client_ = *client::Client::Create(LoadOf(server_->target()).client);
    auto mix = Mix::Learn(*client_);
    ASSERT_TRUE(mix.ok()) << mix.status();
    mix_ = std::make_unique<Mix>(*std::move(mix));
    ASSERT_EQ(AwaitQuiescence(*server_, NoMoreConnectionsThan(2)), "");
    before_ = HoldingsOf(*server_);
  }
  // A load that is as it should be.
  std::unique_ptr<MixedLoad> StartLoad() {
    return std::make_unique<MixedLoad>(*mix_, LoadOf(server_->target()), &log_);
  }
  void ExpectNothingLeft() {
    EXPECT_EQ(AwaitQuiescence(*server_, before_, kPatience), "");
    EXPECT_LT(HoldingsOf(*server_).resident_bytes - before_.resident_bytes, MaxGrowthBytes());
    EXPECT_EQ(log_.Faults({Code::kOk}), "");
    EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  }
  bool AwaitMore(int64_t count) {
    return log_.AwaitCount(Code::kOk, log_.Count(Code::kOk) + count);
  }

  std::unique_ptr<ServerProcess> server_;
  RequestLog log_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<Mix> mix_;
  Holdings before_;
};

TEST_F(ChaosNetworkTest, WhoStallsInMidMessageOrNeverReadsIsDroppedAndOthersGoOn) {
  const Certificates folder;
  const std::string socket = "unix:" + folder.Path("socket");
  Start({"--keepalive=1s", "--listen=" + socket});
  if (HasFatalFailure()) return;
  Plan mute;  // the request never ends
  mute.up.stall_after = 300'000;
  Plan deaf;  // the answer is never read
  deaf.down.stall_after = 20'000;
  const Proxy mutes(server_->target(), mute);
  const Proxy deafs(server_->target(), deaf);
  RequestLog bad;
  Batch batch(&bad);
  std::vector<std::unique_ptr<client::Client>> clients;
  std::vector<std::unique_ptr<client::SubmitStream>> streams;
  const auto connect = [&](const Proxy& proxy) -> client::Client& {
    clients.push_back(*client::Client::Create(OneConnection(proxy.target())));
    return *clients.back();
  };
  const auto answer = [&] {
    return [done = batch.Enter()](const auto& response) { done(response.status()); };
  };
  const auto submit = [&](client::Client& client, const auto& request) {
    streams.push_back(*client.OpenSubmitStream());
    ASSERT_THAT(streams.back()->Submit(request, client::SubmitOptions(), answer()), IsOk());
  };
  client::CallOptions options;
  options.timeout = absl::Hours(1);
  for (int i = 0; i < 2; ++i) {
    connect(mutes).Decode(LargeRequest(), options, answer());
    connect(deafs).Encode(LargeReply(), options, answer());
    submit(connect(mutes), LargeRequest());
    submit(connect(deafs), LargeReply());
  }
  const absl::Time deadline = absl::Now() + kPatience;
  while (mutes.stalled() < 4 || deafs.stalled() < 4) {
    ASSERT_LT(absl::Now(), deadline) << mutes.stalled() << " " << deafs.stalled();
    absl::SleepFor(absl::Milliseconds(10));
  }
  // And whole processes that stand still, with two connections each.
  std::vector<std::unique_ptr<ChildProcess>> frozen;
  for (const std::string& target : {server_->target(), socket}) {
    frozen.push_back(
        std::make_unique<ChildProcess>(ProgramPath("chaos_client"), std::vector{target}));
    while (!absl::StrContains(frozen.back()->Output(), "loaded")) {
      ASSERT_LT(absl::Now(), deadline) << frozen.back()->Output();
      absl::SleepFor(absl::Milliseconds(10));
    }
    frozen.back()->Signal(SIGSTOP);
  }

  const auto load = StartLoad();
  ASSERT_TRUE(AwaitMore(100));
  // They go although the calls would have an hour, and their processes live.
  EXPECT_TRUE(server_->WaitForMetric("baseband_open_connections", {}, 4, kPatience));
  ASSERT_TRUE(AwaitMore(100));
  load->Stop();
  // With the load's two connections, which are there.
  before_.connections += 2;
  before_.descriptors += 2;
  EXPECT_EQ(AwaitQuiescence(*server_, before_, kPatience), "");
  streams.clear();
  clients.clear();
  EXPECT_FALSE(absl::IsInternal(batch.Wait()));
  EXPECT_EQ(bad.Count(Code::kOk), 0);
  ExpectNothingLeft();
}

TEST_F(ChaosNetworkTest, WhoLivesButDoesNotReadHisAnswerIsCutOff) {
  Start({"--keepalive=1s", "--stall=2s"});
  if (HasFatalFailure()) return;
  // 42 KB there, 130 KB back: it fits into no window, nor is it much.
  const RawCall call(server_->target(), "/baseband.v1.Baseband/Encode",
                     EncodeOf(NrCode(1, 384), 40).SerializeAsString());
  ASSERT_TRUE(server_->WaitForMetric("baseband_open_connections", {}, 3, kPatience));
  const auto held = [this] {
    return server_->Metric("baseband_requests_in_flight", {"rpc=\"Encode\""});
  };
  const absl::Time deadline = absl::Now() + kPatience;
  while (held() == 0) ASSERT_LT(absl::Now(), deadline);
  EXPECT_TRUE(
      server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Encode\""}, 0, kPatience));
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0, kPatience));
  EXPECT_EQ(server_->Metric("baseband_open_connections"), 3) << "it is the call that ends";
}

// Not even the first one of a stream, with its credits.
TEST_F(ChaosNetworkTest, WhoDoesNotReadAStreamsFirstResponseIsCutOff) {
  Start({"--keepalive=1s", "--stall=2s"});
  if (HasFatalFailure()) return;
  v1::SubmitRequest request;
  request.set_id(1);
  *request.mutable_encode() = EncodeOf(NrCode(1, 384), 40);
  const RawCall call(server_->target(), "/baseband.v1.Baseband/Submit",
                     request.SerializeAsString());
  const absl::Time deadline = absl::Now() + kPatience;
  while (server_->Metric("baseband_pool_used_bytes", {"pool=\"reply\""}) == 0) {
    ASSERT_LT(absl::Now(), deadline);
  }
  EXPECT_TRUE(
      server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Submit\""}, 0, kPatience));
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0, kPatience));
}

// A process that stands still with its socket's buffers full, which no ping gets through: more than
// gRPC finds out by itself.
TEST_F(ChaosNetworkTest, WhoStandsStillInMidAnswerIsDroppedOverTcpAndOverAUnixSocket) {
  const Certificates folder;
  const std::string socket = "unix:" + folder.Path("socket");
  Start({"--keepalive=1s", "--listen=" + socket});
  if (HasFatalFailure()) return;
  // 2 KB there, 6.5 MB back, for of each block but one bit is not a filler.
  v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 2000);
  request.mutable_groups(0)->set_n_filler(22 * 384 - 1);
  request.mutable_groups(0)->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  request.mutable_payload()->resize(2000);
  for (const std::string& target : {server_->target(), socket}) {
    const RawCall call(target, "/baseband.v1.Baseband/Encode", request.SerializeAsString(),
                       RawCall::Manner::kStandsStill);
    ASSERT_TRUE(server_->WaitForMetric("baseband_open_connections", {}, 3, kPatience)) << target;
    EXPECT_TRUE(server_->WaitForMetric("baseband_open_connections", {}, 2, kPatience)) << target;
  }
  ExpectNothingLeft();
}

TEST_F(ChaosNetworkTest, ResetsAtRandomOffsetsLoseNoOtherCall) {
  Start({});
  if (HasFatalFailure()) return;
  auto random = std::make_shared<std::mt19937>(5);
  const Proxy proxy(server_->target(), [random] {
    Plan plan;
    Treatment& treatment = (*random)() % 2 == 0 ? plan.up : plan.down;
    // Of each size as many: what matters happens early.
    treatment.cut_after = int64_t{1} << ((*random)() % 20);
    treatment.cut_after += static_cast<int64_t>((*random)()) % treatment.cut_after;
    return plan;
  });
  const auto load = StartLoad();
  RequestLog cut_book;
  MixedLoadOptions options = LoadOf(proxy.target());
  options.go_on = true;
  {
    MixedLoad cut(*mix_, options, &cut_book);
    const absl::Time deadline = absl::Now() + kPatience;
    while (proxy.cut() < 40 || cut_book.Count(Code::kOk) == 0) {
      ASSERT_LT(absl::Now(), deadline) << proxy.cut() << cut_book.Faults({});
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  EXPECT_EQ(cut_book.Faults({Code::kOk, Code::kUnavailable}), "");
  ASSERT_TRUE(AwaitMore(50));
  load->Stop();
  before_.connections += 2;
  before_.descriptors += 2;
  ExpectNothingLeft();
}

TEST_F(ChaosNetworkTest, ATrickleIsSlowAndRight) {
  Start({});
  if (HasFatalFailure()) return;
  Plan plan;
  plan.up.bytes_per_ms = 97;
  plan.down.bytes_per_ms = 131;
  const Proxy proxy(server_->target(), plan);
  const auto client = *client::Client::Create(OneConnection(proxy.target()));
  const auto load = StartLoad();
  Batch batch(&log_);
  for (int which = 0; which < 4; ++which) {
    mix_->Call(*client, which, client::CallOptions(), batch.Enter());
  }
  batch.Enter()(mix_->Stream(*client, client::StreamOptions()));
  EXPECT_THAT(batch.Wait(), IsOk());
  load->Stop();
  before_.connections += 3;
  before_.descriptors += 3;
  ExpectNothingLeft();
}

// Closed within a minute, each of them.
void ExpectClosed(const Crowd& crowd, const std::string& what) {
  for (const auto& connection : crowd) EXPECT_TRUE(connection->IsClosed(kPatience)) << what;
}

TEST_F(ChaosNetworkTest, SilenceAndHalfAPrefaceAreDroppedInTimeAndBlockNobody) {
  Start({"--handshake=1s"});
  if (HasFatalFailure()) return;
  const auto load = StartLoad();
  std::vector<std::pair<std::string, Crowd>> crowds;
  for (const std::string& hello :
       {std::string(), LeastHello().substr(0, 9), LeastHello().substr(0, 24),
        std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(64, '\x16')}) {
    crowds.emplace_back(hello, Gather(server_->target(), 10, hello));
  }
  const Crowd readers = Gather(server_->metrics_address(), 12, "GET /metrics HT");
  ASSERT_TRUE(AwaitMore(50));
  EXPECT_FALSE(server_->MetricsPage().empty());
  for (const auto& [hello, crowd] : crowds) ExpectClosed(crowd, hello);
  ExpectClosed(readers, "metrics");
  ASSERT_TRUE(AwaitMore(50));
  load->Stop();
  before_.connections += 2;
  before_.descriptors += 2;
  ExpectNothingLeft();
}

TEST(ChaosTlsTest, HalfAHandshakeIsDroppedInTimeAndBlocksNobody) {
  const Certificates files;
  files.Make("server", "IP:127.0.0.1");
  const client::TlsOptions tls = files.ClientTls("");
  auto server = ServerProcess::Start({"--handshake=1s", "--tls-cert=" + files.Path("server.pem"),
                                      "--tls-key=" + files.Path("server.key")},
                                     grpc::SslCredentials({tls.ca, "", ""}));
  ASSERT_THAT(server, IsOk());
  const Holdings before = HoldingsOf(**server);
  // Of a ClientHello of 512 bytes the first few.
  const std::string half = std::string("\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", 11);
  std::vector<std::pair<std::string, Crowd>> crowds;
  for (const std::string& hello : {std::string(), half, LeastHello()}) {
    crowds.emplace_back(hello, Gather((*server)->target(), 20, hello));
  }
  for (int i = 0; i < 10; ++i) {
    client::ClientOptions options = OneConnection((*server)->target());
    options.tls = tls;
    EXPECT_THAT((*client::Client::Create(options))->GetCapabilities(), IsOk());
  }
  for (const auto& [hello, crowd] : crowds) ExpectClosed(crowd, hello);
  EXPECT_EQ(AwaitQuiescence(**server, before), "");
  EXPECT_EQ((*server)->Terminate(), 0);
}

}  // namespace
}  // namespace baseband::testing
