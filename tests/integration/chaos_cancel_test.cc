// Calls of every kind, cancelled or timed out at any moment: one answer each, and nothing stays.
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/mix.h"
#include "tests/support/mixed_load.h"
#include "tests/support/quiescence.h"
#include "tests/support/request_log.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using Code = absl::StatusCode;

const std::vector<Code> kFair = {Code::kOk, Code::kCancelled, Code::kDeadlineExceeded,
                                 Code::kResourceExhausted};

// One thread's rounds, the same for the same seed but for the moments.
class Capricious {
 public:
  Capricious(const Mix& mix, client::Client* client, unsigned seed, RequestLog* log)
      : mix_(mix), client_(*client), random_(seed), log_(log) {}

  void Rounds(int count) {
    for (int round = 0; round < count; ++round) {
      switch (Below(5)) {
        case 0:
          Search();
          break;
        case 1:
          Stream();
          break;
        case 2:
          Submit();
          break;
        default:
          Calls();
          break;
      }
    }
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  void Sleep() { absl::SleepFor(absl::Microseconds(Below(3) == 0 ? 0 : Below(15'000))); }
  // Long enough in every other case.
  absl::Duration Timeout() {
    return Below(2) == 0 ? absl::Seconds(60) : absl::Microseconds(1 + Below(30'000));
  }

  void Calls() {
    Batch batch(log_);
    std::vector<client::CallHandle> handles;
    for (int i = 0; i < 4; ++i) {
      client::CallOptions options;
      options.timeout = Timeout();
      options.priority = static_cast<client::Priority>(Below(3));
      handles.push_back(mix_.Call(client_, Below(mix_.size()), options, batch.Enter()));
    }
    for (const client::CallHandle& handle : handles) {
      Sleep();
      if (Below(2) == 0) handle.Cancel();
    }
    EXPECT_FALSE(absl::IsInternal(batch.Wait()));
  }

  void Submit() {
    const auto stream = *client_.OpenSubmitStream();
    Batch batch(log_);
    const int count = Below(12);
    for (int i = 0; i < count; ++i) {
      client::SubmitOptions options;
      options.timeout = Timeout();
      options.wait_for_credits = Below(4) != 0;
      const absl::Status status = mix_.Submit(*stream, Below(mix_.size()), options, batch.Enter());
      if (!status.ok()) batch.Withdraw();
      // Unavailable: Finish() says why.
      EXPECT_TRUE(status.ok() || absl::IsDeadlineExceeded(status) ||
                  absl::IsResourceExhausted(status) || absl::IsUnavailable(status))
          << status;
    }
    if (Below(2) == 0) {
      Sleep();
      stream->Cancel();
    }
    EXPECT_FALSE(absl::IsInternal(batch.Wait()));
    const absl::Status status = stream->Finish();
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status) || absl::IsResourceExhausted(status))
        << status;
  }

  void Stream() {
    client::StreamOptions options;
    options.timeout = Timeout();
    Batch batch(log_);
    batch.Enter()(mix_.Stream(client_, options, [this] {
      if (Below(2) == 0) Sleep();
      return Below(6) != 0;
    }));
  }

  void Search() {
    client::CallOptions options;
    options.timeout = Timeout();
    Batch batch(log_);
    batch.Enter()(mix_.Search(client_, options, [this](const auto&) { return Below(3) != 0; }));
  }

  const Mix& mix_;
  client::Client& client_;
  std::mt19937 random_;
  RequestLog* const log_;
};

class ChaosCancelTest : public ::testing::Test {
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
  }

  // From several threads; then nothing is left of it.
  void Storm(unsigned seed, int rounds) {
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
      threads.emplace_back(
          [=] { Capricious(*mix_, client_.get(), seed + i, &log_).Rounds(rounds); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(log_.Faults(kFair), "");
    EXPECT_EQ(AwaitQuiescence(*server_, NoMoreConnectionsThan(2)), "");
  }

  std::unique_ptr<ServerProcess> server_;
  RequestLog log_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<Mix> mix_;
};

TEST_F(ChaosCancelTest, EachCallIsAnsweredOnceAndNothingStays) {
  Start({});
  if (HasFatalFailure()) return;
  Storm(100, 60);
  const Holdings before = HoldingsOf(*server_);
  Storm(200, 120);
  EXPECT_EQ(AwaitQuiescence(*server_, before), "");
  EXPECT_LT(HoldingsOf(*server_).resident_bytes - before.resident_bytes, MaxGrowthBytes());
  for (const Code code : {Code::kOk, Code::kCancelled, Code::kDeadlineExceeded}) {
    EXPECT_GT(log_.Count(code), 0) << absl::StatusCodeToString(code);
  }
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(ChaosCancelTest, AlsoWhereThereIsLittleRoom) {
  Start({"--queue-requests=4", "--client-requests=12", "--client-streams=3", "--max-searches=1",
         "--submit-requests=4"});
  if (HasFatalFailure()) return;
  Storm(300, 60);
  const Holdings before = HoldingsOf(*server_);
  Storm(400, 60);
  EXPECT_EQ(AwaitQuiescence(*server_, before), "");
  EXPECT_GT(log_.Count(Code::kResourceExhausted), 0);
  EXPECT_GT(log_.Count(Code::kOk), 0);
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

}  // namespace
}  // namespace baseband::testing
