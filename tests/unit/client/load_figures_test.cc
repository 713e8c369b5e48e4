// What a load makes of its counts: outcomes, limits, the highest rate, the server's metrics.
#include <cmath>
#include <string>
#include <vector>

#include "client/load/knee.h"
#include "client/load/metrics_page.h"
#include "client/load/recorder.h"
#include "client/load/reply.h"
#include "client/load/threshold.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Pair;
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
  recorder.OnEnd(Call(Outcome::kGood, 500, 1500));  // of the warm-up, ends in the window
  recorder.OnEnd(Call(Outcome::kGood, 1100, 1102));
  recorder.OnEnd(Call(Outcome::kLate, 1900, 2500));
  recorder.OnEnd(Call(Outcome::kGood, 2900, 3100));  // of the window, ends after it
  recorder.OnEnd(Call(Outcome::kGood, 3000, 3001));  // due too late to count
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
  recorder.OnSend(1500 * kMs, 2 * kMs, false);
  recorder.OnSend(1500 * kMs, 1, false);
  recorder.OnSend(1500 * kMs, 300 * kMs, true);
  recorder.OnSend(500 * kMs, 300 * kMs, false);  // of the warm-up
  const Totals totals = recorder.Take();
  EXPECT_EQ(totals.send_lag.count(), 2);
  EXPECT_EQ(totals.late_sends, 1);
  EXPECT_EQ(totals.cap_hits, 1);
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
  EXPECT_TRUE(exceeded("missed=0.019"));
  EXPECT_TRUE(exceeded("wrong=0"));
  EXPECT_FALSE(exceeded("refused=0"));
  EXPECT_TRUE(exceeded("late=0.9%"));
}

TEST(LoadThresholdTest, WhatIsNoLimitIsRefused) {
  for (const char* text : {"p99", "p0=1ms", "p100=1ms", "p99=2", "p99=-1ms", "speed=1",
                           "missed=2ms", "missed=101%", "=1ms"}) {
    EXPECT_THAT(ParseThreshold(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                               HasSubstr(absl::StrCat("'", text, "'"))));
  }
}

class KneeTest : public ::testing::TestWithParam<double> {};

TEST_P(KneeTest, FindsTheHighestRateToItsPrecisionFromEitherSide) {
  const double knee = GetParam();
  for (const double first : {1.0, 100.0, 5000.0}) {
    int loads = 0;
    const auto found = FindKnee(first, 0.05, [&](double rate) -> absl::StatusOr<bool> {
      ++loads;
      return rate <= knee;
    });
    if (knee < first / 1024) {
      EXPECT_THAT(found, StatusIs(absl::StatusCode::kNotFound, HasSubstr("not even")));
      continue;
    }
    ASSERT_THAT(found, IsOk());
    EXPECT_LE(*found, knee);
    EXPECT_GE(*found * 1.05, std::min(knee, 1024 * first));
    // Ten doublings, and log2(log(2) / log(1.05)) halvings.
    EXPECT_LE(loads, 11 + 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, KneeTest, ::testing::Values(1.5, 100.0, 777.0, 12345.0, 2e6));

TEST(KneeTest, AnErrorOfALoadEndsTheSearch) {
  EXPECT_THAT(
      FindKnee(100, 0.05,
               [](double) -> absl::StatusOr<bool> { return absl::UnavailableError("gone"); }),
      StatusIs(absl::StatusCode::kUnavailable, "gone"));
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
  EXPECT_THAT(
      FetchMetrics("https://host/metrics", absl::Seconds(1)),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is not http://HOST:PORT/PATH")));
  EXPECT_THAT(FetchMetrics("http://127.0.0.1:1/metrics", absl::Seconds(1)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot connect")));
}

// The bytes of `response` in slices of at most `slice` bytes.
grpc::ByteBuffer Cut(const v1::DecodeResponse& response, size_t slice) {
  const std::string bytes = response.SerializeAsString();
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += slice) slices.emplace_back(bytes.substr(at, slice));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

TEST(LoadReplyTest, TheTimingIsReadAndTheRestComparedHoweverTheBytesLie) {
  v1::DecodeResponse response;
  response.mutable_timing()->set_queue_us(300);
  response.mutable_timing()->set_kernel_us(70000);
  response.add_iterations(3);
  response.set_payload(std::string(1000, 'p'));
  ReplyView first(Cut(response, 5000));
  v1::Timing timing;
  ASSERT_TRUE(first.ReadTiming(&timing));
  EXPECT_EQ(timing.kernel_us(), 70000);
  KnownReply known;
  EXPECT_FALSE(known.Is(first)) << "nothing is known yet";
  known.Set(first.Rest());

  for (const size_t slice : {1, 7, 64, 200, 1000, 5000}) {
    response.mutable_timing()->set_queue_us(static_cast<uint32_t>(slice));
    ReplyView same(Cut(response, slice));
    ASSERT_TRUE(same.ReadTiming(&timing)) << slice;
    EXPECT_EQ(timing.queue_us(), slice);
    EXPECT_TRUE(known.Is(same)) << slice;

    v1::DecodeResponse other = response;
    other.mutable_payload()->back() = 'q';
    ReplyView different(Cut(other, slice));
    ASSERT_TRUE(different.ReadTiming(&timing));
    EXPECT_FALSE(known.Is(different)) << slice;
  }
}

TEST(LoadReplyTest, AnAnswerThatDoesNotBeginWithATimingHasNone) {
  v1::DecodeResponse response;
  response.set_payload("x");
  v1::Timing timing;
  EXPECT_FALSE(ReplyView(Cut(response, 100)).ReadTiming(&timing));
  EXPECT_FALSE(ReplyView(grpc::ByteBuffer()).ReadTiming(&timing));
  const grpc::Slice lies("\x0a\x7f\x01", 3);  // says that a Timing of 127 bytes follows
  EXPECT_FALSE(ReplyView(grpc::ByteBuffer(&lies, 1)).ReadTiming(&timing));
}

}  // namespace
}  // namespace baseband::load
