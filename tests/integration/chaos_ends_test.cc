// Ends of processes under load of every kind: SIGTERM, and kill -9 of clients and of the server.
// Each call is answered right, exactly once, or told to go elsewhere; and nothing stays behind.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/administered_server.h"
#include "tests/support/mixed_load.h"
#include "tests/support/quiescence.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using Code = absl::StatusCode;

constexpr int kSlowBlocks = 60;

absl::Status JudgeSlow(const absl::StatusOr<v1::DecodeResponse>& response) {
  if (!response.ok()) return response.status();
  return response->payload() == std::string(kSlowBlocks * 1056, '\0')
             ? absl::OkStatus()
             : absl::DataLossError("wrong");
}

class ChaosEndsTest : public ::testing::Test {
 protected:
  // Serves at target_ and at target() besides, and learns what answers are right.
  void Start(std::vector<std::string> flags) {
    flags.push_back("--listen=" + target_);
    const std::vector<std::string> pools = SmallPools();
    flags.insert(flags.end(), pools.begin(), pools.end());
    flags_ = flags;
    auto server = ServerProcess::Start(flags);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    learner_ = *client::Client::Create(LoadOf(target_).client);
    auto mix = Mix::Learn(*learner_);
    ASSERT_TRUE(mix.ok()) << mix.status();
    mix_ = std::make_unique<Mix>(*std::move(mix));
  }

  std::string target_ = absl::StrCat("127.0.0.1:", FreePort());
  std::vector<std::string> flags_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<client::Client> learner_;
  std::unique_ptr<Mix> mix_;
  RequestLog log_;  // ends after the load that writes into it
};

TEST_F(ChaosEndsTest, SigtermAnswersWhatIsInAndTurnsTheRestAway) {
  Start({"--drain=100s"});
  if (HasFatalFailure()) return;
  MixedLoadOptions options = LoadOf(target_);
  options.unary = 4;
  options.submit = 2;
  options.streams = 2;
  options.searches = 2;
  MixedLoad load(*mix_, options, &log_);
  ASSERT_TRUE(log_.AwaitCount(Code::kOk, 300));
  // What is surely in: on its way, counted, and slow.
  constexpr int kSlow = 3;
  RequestLog slow;
  Batch inside(&slow);
  const auto client = *client::Client::Create(LoadOf(target_).client);
  const auto stream = *client->OpenSubmitStream();
  const double before = server_->Metric("baseband_request_bytes_total", {"rpc=\"Decode\""});
  const auto sent = static_cast<double>(SlowDecode(kSlowBlocks).ByteSizeLong());
  for (int i = 0; i < kSlow; ++i) {
    client::CallOptions call_options;
    call_options.timeout = kPatience;
    client->Decode(SlowDecode(kSlowBlocks), call_options,
                   [done = inside.Enter()](const auto& response) { done(JudgeSlow(response)); });
    EXPECT_THAT(stream->Submit(
                    SlowDecode(kSlowBlocks), client::SubmitOptions(),
                    [done = inside.Enter()](const auto& response) { done(JudgeSlow(response)); }),
                IsOk());
  }
  const absl::Time deadline = absl::Now() + kPatience;
  while (server_->Metric("baseband_request_bytes_total", {"rpc=\"Decode\""}) <
         before + 2 * kSlow * sent) {
    ASSERT_LT(absl::Now(), deadline);
    absl::SleepFor(absl::Milliseconds(5));
  }

  EXPECT_EQ(server_->Terminate(kPatience), 0) << server_->process().Output();
  load.Join();  // each loop has been turned away once
  EXPECT_THAT(inside.Wait(), IsOk());
  EXPECT_EQ(slow.Faults({Code::kOk}), "");
  EXPECT_EQ(log_.Faults({Code::kOk, Code::kUnavailable}), "");
  EXPECT_THAT(learner_->GetCapabilities(), StatusIs(Code::kUnavailable, ::testing::HasSubstr("")));
}

TEST_F(ChaosEndsTest, ClientsKilledAgainAndAgainLeaveNothingBehindAndDisturbNobody) {
  Start({"--client-requests=64", "--client-streams=16", "--max-streams=16", "--max-searches=8"});
  if (HasFatalFailure()) return;
  MixedLoad load(*mix_, LoadOf(target_), &log_);
  ASSERT_TRUE(log_.AwaitCount(Code::kOk, 100));
  std::mt19937 random(11);
  const auto kill_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ChildProcess client(ProgramPath("chaos_client"), {target_});
      const absl::Time deadline = absl::Now() + kPatience;
      while (!absl::StrContains(client.Output(), "loaded")) {
        ASSERT_TRUE(absl::Now() < deadline && client.IsRunning()) << client.Output();
        absl::SleepFor(absl::Milliseconds(5));
      }
      absl::SleepFor(absl::Milliseconds(random() % 100));  // at any moment
      client.Signal(SIGKILL);
      EXPECT_EQ(client.Wait(absl::Seconds(60)), 128 + SIGKILL);
    }
  };
  kill_some(2);
  load.Stop();
  ASSERT_EQ(AwaitQuiescence(*server_, NoMoreConnectionsThan(4)), "");
  const Holdings before = HoldingsOf(*server_);

  MixedLoad again(*mix_, LoadOf(target_), &log_);
  kill_some(8);
  again.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
  Holdings with_load = before;  // whose two connections are there
  with_load.connections += 2;
  with_load.descriptors += 2;
  EXPECT_EQ(AwaitQuiescence(*server_, with_load), "");
  EXPECT_LT(HoldingsOf(*server_).resident_bytes - before.resident_bytes, MaxGrowthBytes());

  // All places and quotas are free.
  std::vector<std::unique_ptr<client::SubmitStream>> streams;
  Batch batch(&log_);
  for (int i = 0; i < 16; ++i) {
    streams.push_back(*learner_->OpenSubmitStream());
    for (int j = 0; j < 4; ++j) {
      EXPECT_THAT(mix_->Submit(*streams.back(), j, client::SubmitOptions(), batch.Enter()), IsOk());
    }
  }
  EXPECT_THAT(batch.Wait(), IsOk());
  for (const auto& stream : streams) EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(ChaosEndsTest, AServerKilledUnderLoadComesBackAtItsAddressesAndClientsGoOn) {
  const std::string path = FolderOfTests() + "/socket";
  const std::string socket = "unix:" + path;
  Start({"--listen=" + socket});
  if (HasFatalFailure()) return;
  std::vector<std::unique_ptr<MixedLoad>> loads;
  for (const std::string& target : {target_, socket}) {
    MixedLoadOptions options = LoadOf(target);
    options.client.max_attempts = 4;
    options.wait_for_ready = true;
    options.go_on = true;
    loads.push_back(std::make_unique<MixedLoad>(*mix_, options, &log_));
  }
  int64_t right = 100;
  for (int kills = 0; kills < 4; ++kills) {
    ASSERT_TRUE(log_.AwaitCount(Code::kOk, right)) << log_.Faults({});
    absl::SleepFor(absl::Milliseconds(7 * kills));
    server_->process().Signal(SIGKILL);
    ASSERT_EQ(server_->process().Wait(absl::Seconds(60)), 128 + SIGKILL);
    auto server = ServerProcess::Start(flags_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    right = log_.Count(Code::kOk) + 100;
  }
  ASSERT_TRUE(log_.AwaitCount(Code::kOk, right)) << log_.Faults({});
  for (const auto& load : loads) load->Stop();
  EXPECT_EQ(log_.Faults({Code::kOk, Code::kUnavailable}), "");
  EXPECT_EQ(AwaitQuiescence(*server_, NoMoreConnectionsThan(1000)), "");
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  EXPECT_NE(access(path.c_str(), F_OK), 0) << "the socket is left behind";
}

// Its calls are cancelled all at once, and end while the server does.
TEST_F(ChaosEndsTest, AClientThatStoppedReadingDoesNotKeepAServerFromItsOrderlyEnd) {
  constexpr int kCalls = 128;
  for (int round = 0; round < 8; ++round) {
    const bool loses_its_device = round % 2 == 0;
    auto started = StartAdministered({"--allow-fault-injection", "--stall=1h", "--drain=1s"});
    ASSERT_THAT(started, IsOk());
    ServerProcess& server = *started->server;
    ChildProcess client(ProgramPath("basebandctl"),
                        {"load", "encode", "--target=" + server.target(), "--warmup=0s",
                         "--duration=600s", absl::StrCat("--in-flight=", kCalls), "--blocks=128"});
    const auto batches = [&] { return server.Metric("baseband_batches_total"); };
    const absl::Time deadline = absl::Now() + kPatience;
    while (batches() < 100) {
      ASSERT_TRUE(absl::Now() < deadline && client.IsRunning()) << client.Output();
      absl::SleepFor(absl::Milliseconds(5));
    }
    client.Signal(SIGSTOP);
    // What it sent gets done; for the answers there is no room on their way to it.
    for (double before = 0; before != batches(); absl::SleepFor(absl::Milliseconds(200))) {
      before = batches();
    }
    if (loses_its_device) {
      v1::InjectFaultRequest lose;
      lose.set_kind(v1::InjectFaultRequest::LOSE);
      lose.set_device("cpu");
      ASSERT_THAT(started->admin->InjectFault(lose, kPatience), IsOk());
    } else {
      server.process().Signal(SIGTERM);
    }
    ASSERT_EQ(server.process().Wait(kPatience), loses_its_device ? 3 : 0)
        << server.process().Output();
  }
}

}  // namespace
}  // namespace baseband::testing
