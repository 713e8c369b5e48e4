// The measuring part of `basebandctl load` against servers that misbehave in known ways.
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/load/run.h"
#include "tests/support/encode_calls.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::load {
namespace {

using testing::AnswerRight;
using testing::Calls;
using testing::FakeBaseband;
using testing::IsOk;
using testing::Milliseconds;
using testing::SpecOf;
using testing::StatusIs;

// Of the quickest call, which nothing else on a busy machine has held up; where that held up all of
// them, another time.
TEST(LoadRunTest, ADelayInTheServerIsReproducedWithinTwoPercent) {
  constexpr double kDelayMs = 200;
  std::atomic<bool> delayed{false};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    if (delayed) absl::SleepFor(absl::Milliseconds(kDelayMs));
    return AnswerRight(response);
  };
  server.Start();
  const LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 40, absl::Seconds(1));
  double delay_ms = 0;
  const auto is_reproduced = [&] { return std::abs(delay_ms - kDelayMs) <= 0.02 * kDelayMs; };
  for (int run = 0; run < 20 && !is_reproduced(); ++run) {
    delayed = false;
    const auto without = RunLoad(spec, Calls());
    ASSERT_THAT(without, IsOk());
    delayed = true;
    const auto with = RunLoad(spec, Calls());
    ASSERT_THAT(with, IsOk());
    EXPECT_EQ(with->totals.All().outcomes[Outcome::kGood], 40);
    EXPECT_NEAR(with->totals.All().stages[5].mean(), 7000, 70) << "kernel, to two digits";
    EXPECT_GE(Milliseconds(*with, 0), kDelayMs * 0.999) << "to the three digits of the histogram";
    delay_ms = Milliseconds(*with, 0) - Milliseconds(*without, 0);
  }
  EXPECT_TRUE(is_reproduced()) << delay_ms << " ms";
}

TEST(LoadRunTest, WhatTheServerAnswersIsToldApart) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](grpc::ServerContext* context, const auto&, v1::EncodeResponse* response) {
    switch (calls++ % 5) {
      case 0:
        return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            absl::StrCat("the queue is full: ", calls.load()));
      case 1:
        response->set_payload("other");
        return grpc::Status::OK;
      case 2:
        while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(1));
        return AnswerRight(response);
      default:
        return AnswerRight(response);
    }
  };
  server.Start();
  LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 50, absl::Seconds(1));
  spec.warm_up = absl::ZeroDuration();
  const auto result = RunLoad(spec, Calls(absl::Seconds(10)));
  ASSERT_THAT(result, IsOk());
  const Outcomes outcomes = result->totals.All().outcomes;
  EXPECT_EQ(outcomes.due(), 50);
  EXPECT_EQ(outcomes[Outcome::kRefused], 10);
  EXPECT_EQ(outcomes[Outcome::kWrong], 10);
  EXPECT_EQ(outcomes[Outcome::kExpired], 10);
  EXPECT_EQ(outcomes[Outcome::kGood], 20);
  EXPECT_THAT(result->totals.refusals,
              ElementsAre(Pair("RESOURCE_EXHAUSTED: the queue is full: #", 10)));
  EXPECT_EQ(result->totals.wrong_example, "not right");
  // An expired call has waited for its deadline, and the server for the call to go.
  EXPECT_GE(Milliseconds(*result, 1), 10000 - 1);
}

TEST(LoadRunTest, WhatIsNotSentToAServerUnderLoadIsRefusedTooUnlessAllIsSent) {
  for (const bool throttle : {true, false}) {
    std::atomic<int> calls{0};
    FakeBaseband server;
    server.on_encode = [&](grpc::ServerContext* context, auto&&...) {
      ++calls;
      context->AddTrailingMetadata("grpc-retry-pushback-ms", "1");
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full");
    };
    server.Start();
    LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 500, absl::Seconds(1));
    spec.client.throttle = throttle;
    spec.warm_up = absl::ZeroDuration();
    const auto result = RunLoad(spec, Calls());
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->totals.All().outcomes[Outcome::kRefused], 500);
    std::map<std::string, int64_t> expected{
        {"RESOURCE_EXHAUSTED: the queue is full", calls.load()}};
    if (throttle) {
      expected["RESOURCE_EXHAUSTED: not sent: the server refused # of the last # such calls"] =
          500 - calls;
    }
    EXPECT_EQ(result->totals.refusals, expected);
  }
}

TEST(LoadRunTest, AWrongAnswerOfTheWarmUpIsCountedApart) {
  std::atomic<int> calls{0};
  FakeBaseband server;
  server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
    if (calls++ != 3) return AnswerRight(response);
    response->set_payload("other");
    return grpc::Status::OK;
  };
  server.Start();
  const auto result =
      RunLoad(SpecOf(server, Pace::Kind::kConstant, 50, absl::Milliseconds(200)), Calls());
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->totals.wrong_in_warm_up, 1);
  EXPECT_EQ(result->totals.wrong_example, "not right");
  EXPECT_EQ(result->totals.All().outcomes[Outcome::kGood], 10);
}

// Nothing known speaks against it, but the others do.
TEST(LoadRunTest, AnAnswerUnlikeTheOthersIsFoundWrongEvenIfItWasTheFirst) {
  for (const int which : {0, 1, 15}) {
    std::atomic<int> calls{0};
    FakeBaseband server;
    server.on_encode = [&](auto*, const auto&, v1::EncodeResponse* response) {
      const grpc::Status status = AnswerRight(response);
      if (calls++ == which) response->set_payload("righT or so");
      return status;
    };
    server.Start();
    LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 100, absl::Milliseconds(200));
    spec.warm_up = absl::ZeroDuration();
    std::vector<Workload> workloads = Calls();
    workloads[0].requests[0].check = [](const auto&) -> absl::StatusOr<int64_t> { return 0; };
    const auto result = RunLoad(spec, workloads);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->totals.All().outcomes[Outcome::kWrong], 1) << which;
    EXPECT_EQ(result->totals.All().outcomes[Outcome::kGood], 19) << which;
  }
}

TEST(LoadRunTest, CallsThatFindNoRoomBeforeTheirDeadlineAreSkipped) {
  FakeBaseband server;
  server.on_encode = [](auto*, const auto&, v1::EncodeResponse* response) {
    absl::SleepFor(absl::Milliseconds(200));
    return AnswerRight(response);
  };
  server.Start();
  LoadSpec spec = SpecOf(server, Pace::Kind::kConstant, 100, absl::Seconds(1));
  spec.max_in_flight = 1;
  const auto result = RunLoad(spec, Calls(absl::Milliseconds(250)));
  ASSERT_THAT(result, IsOk());
  const Outcomes outcomes = result->totals.All().outcomes;
  EXPECT_EQ(outcomes.due(), 100) << "each call has an outcome, sent or not";
  EXPECT_GT(outcomes[Outcome::kSkipped], 0);
  EXPECT_LE(outcomes.right(), 6) << "five fit into the second, and one begins before it";
}

TEST(LoadRunTest, MixConnectionsAndPriorityReachTheServer) {
  std::atomic<int> high{0};
  std::atomic<int> without{0};
  FakeBaseband server;
  server.on_encode = [&](grpc::ServerContext* context, const auto&, v1::EncodeResponse* response) {
    const auto& metadata = context->client_metadata();
    const auto priority = metadata.find("baseband-priority");
    if (priority == metadata.end()) {
      ++without;
    } else if (priority->second == "high") {
      ++high;
    }
    return AnswerRight(response);
  };
  server.Start();
  std::vector<Workload> workloads = Calls();
  workloads.push_back(std::move(Calls()[0]));
  workloads[1].name = "urgent";
  workloads[1].priority = client::Priority::kHigh;
  workloads[1].weight = 3;
  LoadSpec spec = SpecOf(server, Pace::Kind::kClosed, 0, absl::Minutes(2));
  spec.pace.in_flight = 32;
  spec.client.connections = 16;
  spec.workers = 2;
  const auto result = RunLoad(spec, workloads, [&](const LoadProgress& progress) {
    return progress.elapsed < absl::Seconds(1) || high < 300 || without < 100;
  });
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(server.peers().size(), 16);
  EXPECT_EQ(result->spec.workers, 2);
  const double share = static_cast<double>(high) / (high + without);
  // Binomial with p = 3/4; five deviations.
  EXPECT_NEAR(share, 0.75, 5 * std::sqrt(0.75 * 0.25 / (high + without)));
  EXPECT_GT(result->totals.tallies[0].outcomes.due(), 0);
  EXPECT_GT(result->totals.tallies[1].outcomes.due(), 0);
  EXPECT_GT(result->Throughput(), 0);
}

TEST(LoadRunTest, ALoadIsEndedEarlyByItsProgress) {
  FakeBaseband server;
  server.on_encode = [](auto*, const auto&, v1::EncodeResponse* r) { return AnswerRight(r); };
  server.Start();
  const LoadSpec spec = SpecOf(server, Pace::Kind::kPoisson, 100, absl::Seconds(60));
  const absl::Time begin = absl::Now();
  const auto result = RunLoad(spec, Calls(), [](const LoadProgress& progress) {
    return progress.elapsed < absl::Milliseconds(500);
  });
  ASSERT_THAT(result, IsOk());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
  EXPECT_LT(result->measured, absl::Seconds(20));
  EXPECT_GT(result->totals.All().outcomes[Outcome::kGood], 10);
}

// With attempts, and without: a server that is restarted is gone for a while.
TEST(LoadRunTest, AttemptsSaveTheCallsOfARestart) {
  const std::string target = absl::StrCat("127.0.0.1:", testing::FreePort());
  const auto start = [&] {
    auto server = std::make_unique<FakeBaseband>();
    server->on_encode = [](auto*, const auto&, v1::EncodeResponse* r) { return AnswerRight(r); };
    server->Start(target);
    return server;
  };
  for (const int attempts : {1, 4}) {
    std::unique_ptr<FakeBaseband> server = start();
    LoadSpec spec = SpecOf(*server, Pace::Kind::kConstant, 200, absl::Milliseconds(1500));
    spec.attempts = attempts;
    spec.client.initial_backoff = absl::Seconds(2);  // three times what a server is gone for
    spec.client.max_backoff = absl::Seconds(2);
    spec.warm_up = absl::ZeroDuration();
    std::thread restart([&] {
      absl::SleepFor(absl::Milliseconds(500));
      server.reset();
      absl::SleepFor(absl::Milliseconds(700));
      server = start();
    });
    const auto result = RunLoad(spec, Calls());
    restart.join();
    ASSERT_THAT(result, IsOk());
    const Outcomes outcomes = result->totals.All().outcomes;
    EXPECT_EQ(outcomes.due(), 300);
    EXPECT_EQ(outcomes[Outcome::kRefused] > 0, attempts == 1);
    EXPECT_EQ(outcomes[Outcome::kGood] == 300, attempts == 4);
  }
}

TEST(LoadRunTest, WhatCannotBeRunIsRefused) {
  FakeBaseband server;
  server.Start();
  const LoadSpec good = SpecOf(server, Pace::Kind::kConstant, 1, absl::Seconds(1));
  const auto refusal = [](const LoadSpec& spec, absl::StatusCode code, const std::string& message) {
    EXPECT_THAT(RunLoad(spec, Calls()), StatusIs(code, HasSubstr(message)));
  };
  LoadSpec spec = good;
  spec.client.connections = 5000;
  refusal(spec, absl::StatusCode::kInvalidArgument, "connections 5000 is not in [1, 4096]");
  spec = good;
  spec.duration = absl::ZeroDuration();
  refusal(spec, absl::StatusCode::kInvalidArgument, "duration 0 is not in [10ms, 24h]");
  spec = good;
  spec.metrics_url = "http://127.0.0.1:1/metrics";
  refusal(spec, absl::StatusCode::kUnavailable, "cannot connect to http://127.0.0.1:1/metrics");
  spec = good;
  spec.client.target = "127.0.0.1:1";
  refusal(spec, absl::StatusCode::kUnavailable, "");
}

}  // namespace
}  // namespace baseband::load
