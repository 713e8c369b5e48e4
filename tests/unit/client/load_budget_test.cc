// Where the report of a load says that time went, and what the decoder did.
#include "client/ctl/load/load_budget.h"

#include <cmath>
#include <string>
#include <vector>

#include "client/ctl/load/load_html.h"
#include "client/ctl/load/load_report.h"
#include "client/ctl/load/load_transports.h"
#include "client/load/recorder.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kUs = 1000;
constexpr int64_t kMs = 1000 * kUs;

v1::Timing TimingOf(uint32_t kernel_us) {
  v1::Timing timing;
  timing.set_receive_us(10);
  timing.set_queue_us(20);
  timing.set_copy_in_us(30);
  timing.set_h2d_us(40);
  timing.set_kernel_us(kernel_us);
  timing.set_d2h_us(50);
  return timing;
}

// Of workload 0, slots of cells: calls sent 15 us late that the kernels worked on for 100 us, but
// one in a hundred that took 500 us more. Of workload 1, with a deadline of 1 ms, one without a
// Timing.
load::LoadResult ResultOfSlots() {
  load::Recorder recorder({0, 10 * kMs, 10 * kMs}, 2);
  load::Iterations iterations;
  for (const uint32_t of_block : {3, 3, 4, 8}) iterations.Add(of_block);
  for (int i = 0; i < 100; ++i) {
    const uint32_t kernel_us = i < 98 ? 100 : 600;
    const v1::Timing timing = TimingOf(kernel_us);
    load::Ended call;
    call.due_ns = kMs;
    call.sent_ns = kMs + 15 * kUs;
    call.end_ns = kMs + (15 + 150 + kernel_us + 85) * kUs;
    call.timing = &timing;
    call.blocks = {4, 0};
    call.iterations = &iterations;
    recorder.OnEnd(call);
  }
  load::Ended other;
  other.workload = 1;
  other.due_ns = kMs;
  other.end_ns = 2 * kMs + 500 * kUs;
  recorder.OnEnd(other);
  load::LoadResult result;
  result.totals = recorder.Take();
  result.spec.client.target = "127.0.0.1:1";
  result.spec.pace.kind = load::Pace::Kind::kSlots;
  result.measured = absl::Milliseconds(10);
  result.interval = result.measured;
  result.workloads = {"uplink", "downlink"};
  result.settings = {{{"input", "int16"}, {"llr_scale", 6.0}}, {}};
  result.budgets = {{absl::Microseconds(500), true}, {absl::Milliseconds(1), false}};
  return result;
}

// The same, and as many calls of each workload again that expired.
load::LoadResult WithExpiredCalls() {
  load::Recorder recorder({0, 10 * kMs, 10 * kMs}, 2);
  for (int i = 0; i < 101; ++i) {
    load::Ended call;
    call.workload = i < 100 ? 0 : 1;
    call.outcome = load::Outcome::kExpired;
    call.due_ns = kMs;
    call.end_ns = 3 * kMs;
    recorder.OnEnd(call);
  }
  load::LoadResult result = ResultOfSlots();
  result.totals.Merge(recorder.Take());
  return result;
}

TEST(LoadBudgetTest, TheStagesOfACallAddUpToItsLatency) {
  const load::Tally tally = ResultOfSlots().totals.tallies[0];
  double sum = 0;
  for (const load::Histogram& stage : tally.stages) sum += stage.mean();
  EXPECT_NEAR(sum, tally.latency.mean(), 0.01 * sum) << "to the two digits of histograms";
  EXPECT_NEAR(tally.stages.back().mean(), 85 * kUs, kUs) << "what nobody has told of";
}

TEST(LoadBudgetTest, AServerThatClaimsMoreTimeThanPassedLeavesNoneForTheTransport) {
  load::Recorder recorder({0, kMs, kMs}, 1);
  const v1::Timing timing = TimingOf(5000);
  load::Ended call;
  call.end_ns = kMs;
  call.timing = &timing;
  recorder.OnEnd(call);
  EXPECT_EQ(recorder.Take().tallies[0].stages.back().max(), 0);
}

TEST(LoadBudgetTest, WhatIsLeftOfASlotIsNegativeWhereTheAnswerCameAfterIt) {
  const BudgetTable table = ToBudgetTable(ResultOfSlots());
  EXPECT_THAT(table.heads, ElementsAre("", "", "send_lag", "receive", "queue", "copy_in", "h2d",
                                       "kernel", "d2h", "transport", "budget", "left", "untimed"));
  ASSERT_EQ(table.rows.size(), 6);
  EXPECT_THAT(table.rows[0],
              ElementsAre("uplink", "p50", "15 us", "10 us", "20 us", "30 us", "40 us", "100 us",
                          "50 us", "85 us", "500us slot", "150 us", "0"));
  EXPECT_THAT(table.rows[1], ElementsAre("", "p99", "15 us", "10 us", "20 us", "30 us", "40 us",
                                         HasSubstr("us"), "50 us", "85 us", "", "-350 us", ""));
  EXPECT_THAT(table.rows[2], ElementsAre("downlink", "p50", "-", "-", "-", "-", "-", "-", "-", "-",
                                         "1ms deadline", "-500 us", "1 (100 %)"))
      << "without a Timing";
  EXPECT_EQ(table.rows[4][0], "all");
  EXPECT_EQ(table.rows[4][11], "") << "budgets that differ are not one";
}

TEST(LoadBudgetTest, CallsThatExpiredDoNotVanishFromAnyFormOfTheBudget) {
  LoadReport report;
  report.result = WithExpiredCalls();
  const BudgetTable table = ToBudgetTable(report.result);
  ASSERT_EQ(table.rows.size(), 6);
  EXPECT_EQ(table.rows[0].back(), "100 (50 %)");
  EXPECT_EQ(table.rows[2].back(), "2 (100 %)") << "one that expired, one without a Timing";
  EXPECT_EQ(table.rows[4].back(), "102 (50.5 %)");
  EXPECT_THAT(ToText(report), AllOf(HasSubstr("  untimed\n"), HasSubstr("100 (50 %)\n")));
  EXPECT_THAT(ToHtml(report), AllOf(HasSubstr("<th>untimed</th>"), HasSubstr("100 (50 %)")));
  const nlohmann::json json = ToJson(report);
  EXPECT_EQ(json["workloads"][0]["untimed"]["calls"], 100);
  EXPECT_EQ(json["workloads"][0]["untimed"]["share"], 0.5);
  EXPECT_EQ(json["untimed"]["calls"], 102);
  EXPECT_THAT(ToCsv(report), HasSubstr(",untimed,budget_ms,"));
}

TEST(LoadBudgetTest, AClosedLoopIsNeverBehindItsTime) {
  load::LoadResult result = ResultOfSlots();
  result.spec.pace.kind = load::Pace::Kind::kClosed;
  for (const std::vector<std::string>& row : ToBudgetTable(result).rows) EXPECT_EQ(row[2], "");
}

TEST(LoadBudgetTest, WithoutATimingThereIsNoTable) {
  load::LoadResult result = ResultOfSlots();
  for (load::Histogram& stage : result.totals.tallies[0].stages) stage = load::Histogram(2);
  EXPECT_TRUE(ToBudgetTable(result).rows.empty());
}

TEST(LoadBudgetTest, EveryFormOfTheReportHasBudgetAndIterations) {
  LoadReport report;
  report.result = ResultOfSlots();
  EXPECT_THAT(ToText(report), AllOf(HasSubstr("iterations  4.50 a code block, p99 8, at most 8\n"),
                                    HasSubstr("latency budget"), HasSubstr("500us slot")));
  const nlohmann::json json = ToJson(report);
  EXPECT_EQ(json["iterations"]["code_blocks"], 400);
  EXPECT_EQ(json["iterations"]["mean"], 4.5);
  EXPECT_EQ(json["workloads"][1]["iterations"], nullptr);
  EXPECT_EQ(json["budget"], nullptr);
  EXPECT_NEAR(json["workloads"][0]["budget"]["left_p50_s"], 150e-6, 1e-6);
  EXPECT_NEAR(json["workloads"][0]["stages"]["kernel"]["p50_s"], 100e-6, 1e-6);
  EXPECT_TRUE(json["workloads"][0]["budget"]["is_slot"]);
  const std::string csv = ToCsv(report);
  EXPECT_THAT(csv, AllOf(HasSubstr(",iterations_mean,iterations_p99,iterations_max,"),
                         HasSubstr(",transport_p50_ms,transport_p99_ms,"),
                         HasSubstr(",budget_ms,left_p50_ms,left_p99_ms"), Not(HasSubstr("nan"))));
}

TEST(LoadReportTest, EveryFormSaysWhatWasAskedForAndHowPayloadsCame) {
  LoadReport report;
  report.result = ResultOfSlots();
  EXPECT_THAT(ToText(report), AllOf(HasSubstr("127.0.0.1:1, payloads in the messages; "),
                                    HasSubstr("uplink  input int16, llr_scale 6\n")));
  EXPECT_THAT(ToHtml(report), AllOf(HasSubstr("127.0.0.1:1, payloads in the messages"),
                                    HasSubstr("<td>input int16, llr_scale 6</td>")));
  nlohmann::json json = ToJson(report);
  EXPECT_EQ(json["shared_memory"], false);
  EXPECT_EQ(json["shared_memory_calls"], 0);
  EXPECT_EQ(json["workloads"][0]["settings"],
            nlohmann::json({{"input", "int16"}, {"llr_scale", 6}}));
  EXPECT_EQ(json["workloads"][1]["settings"], nlohmann::json::object());
  EXPECT_THAT(ToCsv(report),
              AllOf(HasSubstr(",transport,shared_memory_calls,in_place,input,llr_scale\n"),
                    HasSubstr(",unary,0,0,int16,6\n"), HasSubstr(",unary,0,0,,\n")));

  report.result.totals.tallies[0].by_shared_memory = 100;
  EXPECT_THAT(ToText(report), HasSubstr(", payloads of 100 of 101 calls by shared memory; "));
  report.result.totals.tallies[1].by_shared_memory = 1;
  EXPECT_THAT(ToText(report), HasSubstr(", payloads by shared memory; "));
  json = ToJson(report);
  EXPECT_EQ(json["workloads"][0]["shared_memory_calls"], 100);
  EXPECT_EQ(json["shared_memory_calls"], 101);
}

TEST(LoadReportTest, EveryFormSaysThatCallsWentThroughRings) {
  LoadReport report;
  report.result = ResultOfSlots();
  report.result.spec.rings.emplace();
  report.result.spec.workers = 2;
  report.result.totals.tallies[0].by_shared_memory = 100;
  report.result.totals.tallies[1].by_shared_memory = 1;
  const std::string line = "2 rings to 127.0.0.1:1, payloads by shared memory";
  EXPECT_THAT(ToText(report), HasSubstr("; " + line + "; "));
  EXPECT_THAT(ToHtml(report), HasSubstr(line));
  const nlohmann::json json = ToJson(report);
  EXPECT_EQ(json["transport"], "ring");
  EXPECT_EQ(json["shared_memory"], true);
  EXPECT_THAT(ToCsv(report), HasSubstr(",ring,100,0,int16,6\n"));
}

TEST(LoadReportTest, EveryFormSaysThatPayloadsWereInPlace) {
  LoadReport report;
  report.result = ResultOfSlots();
  report.result.spec.rings.emplace();
  report.result.spec.workers = 1;
  EXPECT_EQ(ToJson(report)["in_place"], false);
  report.result.spec.in_place = true;
  report.result.totals.tallies[0].by_shared_memory = 100;
  EXPECT_THAT(ToText(report), HasSubstr(", payloads of 100 of 101 calls in place in shared "));
  report.result.totals.tallies[1].by_shared_memory = 1;
  const std::string line = "1 ring to 127.0.0.1:1, payloads in place in shared memory";
  EXPECT_THAT(ToText(report), HasSubstr("; " + line + "; "));
  EXPECT_THAT(ToHtml(report), HasSubstr(line));
  EXPECT_EQ(ToJson(report)["in_place"], true);
  EXPECT_THAT(ToCsv(report), HasSubstr(",ring,100,1,int16,6\n"));
  const TransportResults results = {{Transport{TransportKind::kRing, "ring", ""}, report.result}};
  EXPECT_THAT(ToText(results), HasSubstr("ring, in place"));
  EXPECT_EQ(ToJson(results)["transports"][0]["payloads"], "in place");
}

TEST(LoadReportTest, SettingsThatDifferHaveNoValueForAll) {
  LoadReport report;
  report.result = ResultOfSlots();
  report.result.settings[1] = {{"input", "int16"}, {"llr_scale", 4.0}};
  EXPECT_THAT(ToCsv(report), AllOf(HasSubstr(",0,0,int16,6\n"), HasSubstr(",0,0,int16,4\n"),
                                   HasSubstr(",0,0,int16,\n")));
}

TEST(LoadReportTest, APartOfTheMixThatCameToNothingIsRemarked) {
  LoadReport report;
  report.result = ResultOfSlots();
  EXPECT_THAT(report.result.Warnings(), IsEmpty());
  load::Outcomes& outcomes = report.result.totals.tallies[1].outcomes;
  outcomes = load::Outcomes();
  outcomes[load::Outcome::kLate] = 3;
  outcomes[load::Outcome::kExpired] = 2;
  const std::string warning = "downlink: none of its 5 calls was answered rightly and in time";
  EXPECT_THAT(Remarks(report), Contains(warning));
  EXPECT_THAT(ToText(report), HasSubstr(warning));
  EXPECT_THAT(ToHtml(report), HasSubstr(warning));
  EXPECT_EQ(ToJson(report)["warnings"].dump(), "[\"" + warning + "\"]");
  outcomes[load::Outcome::kGood] = 1;
  EXPECT_THAT(Remarks(report), Not(Contains(warning)));
  outcomes = load::Outcomes();
  EXPECT_THAT(report.result.Warnings(), IsEmpty()) << "none was due";
}

TEST(LoadIterationsTest, AreCountedByCodeBlockAndTakenAwayAgain) {
  load::Iterations some;
  EXPECT_EQ(some.mean(), 0);
  EXPECT_EQ(some.Quantile(0.99), 0);
  for (int i = 0; i < 99; ++i) some.Add(2);
  load::Iterations more;
  more.Add(100);
  some.Merge(more);
  EXPECT_EQ(some.count(), 100);
  EXPECT_EQ(some.Quantile(0.5), 2);
  EXPECT_EQ(some.Quantile(0.99), 2);
  EXPECT_EQ(some.Quantile(1), 100);
  EXPECT_DOUBLE_EQ(some.mean(), 2.98);
  some.Merge(more, -1);
  EXPECT_EQ(some.Quantile(1), 2);
  EXPECT_EQ(some.mean(), 2);
}

TEST(LoadIterationsTest, OfAnAnswerThatIsRejectedLaterDoNotCount) {
  load::Recorder recorder({0, kMs, kMs}, 1);
  load::Iterations iterations;
  iterations.Add(7);
  load::Ended call;
  call.end_ns = 10 * kUs;
  call.iterations = &iterations;
  recorder.OnEnd(call);
  recorder.Reject(call);
  EXPECT_EQ(recorder.Take().All().iterations.count(), 0);
}

}  // namespace
}  // namespace baseband::ctl
