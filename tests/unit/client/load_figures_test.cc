// What a load makes of its counts: outcomes, limits, the highest rate, the server's metrics.
#include <cmath>
#include <string>
#include <vector>

#include "client/load/metrics_page.h"
#include "client/load/recorder.h"
#include "client/load/threshold.h"
#include "tests/support/matchers.h"

namespace baseband::load {
namespace {

using testing::IsInvalid;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kMs = 1000000;

// A window of 1 .. 3 s in intervals of 1 s.
Window TwoSeconds() { return Window{1000 * kMs, 3000 * kMs, 1000 * kMs}; }

Ended Call(Outcome outcome, int64_t due_ms, int64_t end_ms) {
  Ended ended;
  ended.outcome = outcome;
  ended.due_ns = due_ms * kMs;
  ended.end_ns = end_ms * kMs;
  ended.message_bytes = 100;
  ended.info_bits = 10;
  return ended;
}

TEST(LoadRecorderTest, ACallCountsWhereItWasDueAndInTheIntervalItEnded) {
  Recorder recorder(TwoSeconds(), 1);
  for (const int64_t due_ms : {500, 1100, 1900, 2900, 3000}) recorder.OnClosedSend(due_ms * kMs);
  recorder.OnEnd(Call(Outcome::kGood, 500, 1500));  // of the warm-up, ends in the window
  recorder.OnEnd(Call(Outcome::kGood, 1100, 1102));
  recorder.OnEnd(Call(Outcome::kLate, 1900, 2500));
  recorder.OnEnd(Call(Outcome::kGood, 2900, 3100));  // of the window, ends after it
  recorder.OnEnd(Call(Outcome::kGood, 3000, 3001));  // due too late to count
  EXPECT_EQ(recorder.outcomes().due(), 3) << "while it runs";
  EXPECT_EQ(recorder.outcomes().missed(), 1);
  const Totals totals = recorder.Take();

  EXPECT_EQ(totals.All().outcomes.due(), 3);
  EXPECT_EQ(totals.All().latency.count(), 3);
  EXPECT_EQ(totals.All().latency.max(), 600 * kMs);
  EXPECT_EQ(totals.series[0].due, 2);
  EXPECT_EQ(totals.series[1].due, 1);
  EXPECT_EQ(totals.series[0].outcomes[Outcome::kGood], 2);
  EXPECT_EQ(totals.series[1].outcomes[Outcome::kLate], 1);
  EXPECT_EQ(totals.Window().outcomes.due(), 3);
  EXPECT_EQ(totals.Window().message_bytes, 300);
  EXPECT_EQ(totals.Window().info_bits, 20) << "late calls bring nothing";
}

// Progress is told while calls are in flight: those that are have been due.
TEST(LoadRecorderTest, ACallIsDueWhileItIsInFlight) {
  Recorder recorder(TwoSeconds(), 1);
  recorder.OnSend(500 * kMs, 500 * kMs, false);  // of the warm-up
  recorder.OnSend(1100 * kMs, 1100 * kMs, false);
  recorder.OnClosedSend(1200 * kMs);
  recorder.OnSend(2500 * kMs, 2500 * kMs, false);
  EXPECT_EQ(recorder.At(0).due, 2);
  EXPECT_EQ(recorder.DueWithin(1), 2);
  EXPECT_EQ(recorder.DueWithin(2), 3);
  EXPECT_EQ(recorder.due(), 3);
  EXPECT_EQ(recorder.in_flight(), 4);
  recorder.OnEnd(Call(Outcome::kGood, 1100, 1300));
  recorder.OnEnd(Call(Outcome::kSkipped, 1400, 1500));  // which was never sent
  EXPECT_EQ(recorder.DueWithin(1), 3);
  EXPECT_EQ(recorder.in_flight(), 3);
}

TEST(LoadRecorderTest, WrongAnswersOfTheWarmUpAreCountedApart) {
  Recorder recorder(TwoSeconds(), 1);
  Ended wrong = Call(Outcome::kWrong, 500, 600);
  wrong.explanation = "a bit";
  recorder.OnEnd(wrong);
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.wrong_in_warm_up, 1);
  EXPECT_EQ(totals.wrong_example, "a bit");
  EXPECT_EQ(totals.All().outcomes.due(), 0);
}

TEST(LoadRecorderTest, ACallWhoseAnswerIsRejectedLaterCountsAsIfItHadBeenWrongAtOnce) {
  for (const Outcome was : {Outcome::kGood, Outcome::kLate}) {
    Recorder at_once(TwoSeconds(), 1);
    Recorder later(TwoSeconds(), 1);
    Ended call = Call(was, 1100, 2200);
    call.blocks = {8, 2};
    later.OnEnd(call);
    later.Reject(call);
    call.outcome = Outcome::kWrong;
    at_once.OnEnd(call);
    const Totals expected = at_once.Take();
    const Totals found = later.Take();
    EXPECT_EQ(found.All().outcomes.counts, expected.All().outcomes.counts);
    EXPECT_EQ(found.Window().outcomes.counts, expected.Window().outcomes.counts);
    EXPECT_EQ(found.Window().info_bits, expected.Window().info_bits);
    EXPECT_EQ(found.All().blocks.count, 0);
    EXPECT_EQ(found.All().blocks.failed, 0);
  }
}

TEST(LoadRecorderTest, BlocksOfRightAnswersMakeTheBlockErrorRate) {
  Recorder recorder(TwoSeconds(), 2);
  Ended call = Call(Outcome::kGood, 1500, 1501);
  call.blocks = {10, 3};
  recorder.OnEnd(call);
  call = Call(Outcome::kLate, 1500, 1600);
  call.blocks = {10, 2};
  recorder.OnEnd(call);
  call = Call(Outcome::kWrong, 1500, 1501);
  call.blocks = {10, 10};
  recorder.OnEnd(call);
  call = Call(Outcome::kGood, 1500, 1501);
  call.workload = 1;  // not one of decoding
  recorder.OnEnd(call);
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.tallies[0].blocks.count, 20);
  EXPECT_EQ(totals.tallies[0].blocks.Bler(), 0.25);
  EXPECT_EQ(totals.tallies[1].blocks.Bler(), 0);
  EXPECT_EQ(totals.Window().blocks.failed, 5);
}

TEST(LoadRecorderTest, RefusalsCountByCauseAndHaveNoLatency) {
  Recorder recorder(TwoSeconds(), 1);
  for (int i = 0; i < 100; ++i) {
    Ended ended = Call(Outcome::kRefused, 1500, 1501);
    ended.explanation = i < 60 ? "full" : "cause " + std::string(static_cast<size_t>(i), 'x');
    recorder.OnEnd(ended);
  }
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.All().latency.count(), 0);
  EXPECT_EQ(totals.refusals.at("full"), 60);
  EXPECT_EQ(totals.refusals.at("others"), 100 - 60 - 31) << "32 causes are told apart";
}

TEST(LoadRecorderTest, ACauseIsTheMessageWithoutItsNumbers) {
  EXPECT_EQ(Cause("INTERNAL", "lane 12 of 4\nfailed at 0x1f"),
            "INTERNAL: lane # of # failed at #x#f");
}

TEST(LoadRecorderTest, ASendWithoutRoomIsACapHitAndNoLag) {
  Recorder recorder(TwoSeconds(), 1);
  recorder.OnSend(500 * kMs, 800 * kMs, false);  // of the warm-up
  recorder.OnSend(1500 * kMs, 1502 * kMs, false);
  recorder.OnSend(1500 * kMs, 1500 * kMs + 1, false);
  recorder.OnSend(1500 * kMs, 1800 * kMs, true);
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.send_lag.count(), 2);
  EXPECT_EQ(totals.late_sends, 1);
  EXPECT_EQ(totals.cap_hits, 1);
}

// The sender, which waited for room, is not late by itself until it has made up for that.
TEST(LoadRecorderTest, WhatIsSentLateBehindACallWithoutRoomHadNoneEither) {
  Recorder recorder(TwoSeconds(), 1);
  recorder.OnSend(990 * kMs, 1200 * kMs, true);    // of the warm-up
  recorder.OnSend(1100 * kMs, 1205 * kMs, false);  // due while the sender waited
  recorder.OnSend(1204 * kMs, 1210 * kMs, false);  // due while it caught up
  recorder.OnSend(1220 * kMs, 1220 * kMs, false);  // in time again ..
  recorder.OnSend(1230 * kMs, 1232 * kMs, false);  // .. and late by itself
  Ended skipped = Call(Outcome::kSkipped, 1300, 1400);
  recorder.OnEnd(skipped);
  recorder.OnSend(1350 * kMs, 1401 * kMs, false);
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.cap_hits, 3);
  EXPECT_EQ(totals.send_lag.count(), 2);
  EXPECT_EQ(totals.late_sends, 1);
}

LoadResult ResultOf(const std::vector<Ended>& calls) {
  Recorder recorder(TwoSeconds(), 1);
  for (const Ended& call : calls) recorder.OnEnd(call);
  LoadResult result;
  result.totals = recorder.Take();
  result.measured = absl::Seconds(2);
  return result;
}

TEST(LoadThresholdTest, EachFigureIsComparedWithItsLimit) {
  std::vector<Ended> calls;
  for (int i = 0; i < 98; ++i) calls.push_back(Call(Outcome::kGood, 1500, 1502));
  calls.push_back(Call(Outcome::kLate, 1500, 1600));
  calls.push_back(Call(Outcome::kWrong, 1500, 1502));
  calls[0].blocks = {100, 2};
  const LoadResult result = ResultOf(calls);
  const auto exceeded = [&](const std::string& text) {
    const auto threshold = ParseThreshold(text);
    EXPECT_THAT(threshold, IsOk());
    return IsExceeded(*threshold, result);
  };
  EXPECT_FALSE(exceeded("p99=2100us"));
  EXPECT_TRUE(exceeded("p99.5=2100us"));
  EXPECT_TRUE(exceeded("max=99ms"));
  EXPECT_FALSE(exceeded("max=100ms"));
  EXPECT_TRUE(exceeded("mean=2.9ms"));
  EXPECT_FALSE(exceeded("mean=3ms"));
  EXPECT_FALSE(exceeded("missed=2%"));
  EXPECT_TRUE(exceeded("missed=1.9%"));
  EXPECT_TRUE(exceeded("wrong=0"));
  EXPECT_FALSE(exceeded("refused=0"));
  EXPECT_TRUE(exceeded("late=0.9%"));
  EXPECT_FALSE(exceeded("bler=2%"));
  EXPECT_TRUE(exceeded("bler=1.9%"));
}

// A server that died in the warm-up was within all limits: its times and shares were 0 of nothing.
TEST(LoadThresholdTest, AFigureOfNothingExceedsEveryLimit) {
  const LoadResult none = ResultOf({Call(Outcome::kGood, 500, 501)});  // of the warm-up
  const LoadResult refused = ResultOf({Call(Outcome::kRefused, 1500, 1501)});
  // What is known of calls that expired is how long they were waited for.
  const LoadResult expired = ResultOf({Call(Outcome::kExpired, 1500, 1501)});
  for (const char* text : {"p99=10h", "mean=10h", "max=10h", "lag=10h", "bler=100%"}) {
    const auto threshold = ParseThreshold(text);
    ASSERT_THAT(threshold, IsOk());
    for (const LoadResult* result : {&none, &refused, &expired}) {
      if (result == &expired && *text == 'l') continue;  // it was sent
      EXPECT_TRUE(IsExceeded(*threshold, *result)) << text;
      EXPECT_EQ(ToText(*threshold, *result), absl::StrCat(text, ": nothing to take it from"));
    }
  }
  for (const char* text : {"missed=100%", "late=100%", "wrong=100%"}) {
    EXPECT_TRUE(IsExceeded(*ParseThreshold(text), none)) << text;
    EXPECT_FALSE(IsExceeded(*ParseThreshold(text), refused)) << text;
  }
}

TEST(LoadThresholdTest, WhatIsNoLimitIsRefused) {
  for (const char* text :
       {"p99", "p0=1ms", "p100=1ms", "p99=2", "p99=-1ms", "speed=1", "missed=2ms", "missed=101%",
        "=1ms", "missed=1", "bler=0.5", "late=50"}) {
    EXPECT_THAT(ParseThreshold(text), IsInvalid(absl::StrCat("'", text, "'")));
  }
  EXPECT_THAT(ParseThreshold("missed=1"),
              IsInvalid("'1' is not a share in [0%, 100%] with its %, such as 1%"));
}

TEST(MetricsPageTest, SeriesAreReadWithTheirLabelsAndCountersSubtracted) {
  const MetricsPage before = ParseMetrics(
      "# HELP cpu CPU\n# TYPE cpu counter\ncpu_total 5\nrefused_total{cause=\"a b\"} 2\n");
  const MetricsPage now = ParseMetrics(
      "cpu_total 7.5 1700000000\nrefused_total{cause=\"a b\"} 5\nrefused_total{cause=\"c\"} 1\n"
      "memory_bytes 1e6\nnothing NaN\nbroken\n");
  const MetricsPage since = Since(before, now);
  EXPECT_THAT(since, ElementsAre(Pair("cpu_total", 2.5), Pair("memory_bytes", 1e6),
                                 Pair("refused_total{cause=\"a b\"}", 3),
                                 Pair("refused_total{cause=\"c\"}", 1)));
  EXPECT_EQ(Sum(since, "refused_total"), 4);
  EXPECT_EQ(Sum(since, "refused_total", "cause=\"c\""), 1);
  EXPECT_EQ(Sum(since, "refused"), 0) << "a name is not its beginning";
}

TEST(MetricsPageTest, AnAddressWithoutAPageIsRefusedByWhatItIs) {
  EXPECT_THAT(FetchMetrics("https://host/metrics", absl::Seconds(1)),
              IsInvalid("is not http://HOST:PORT/PATH"));
  EXPECT_THAT(FetchMetrics("http://127.0.0.1:1/metrics", absl::Seconds(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect")));
}

}  // namespace
}  // namespace baseband::load
