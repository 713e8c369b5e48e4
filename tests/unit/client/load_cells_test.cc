// The search for how many cells a server carries, against servers that are simulated.
#include "client/ctl/load/load_cells.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client/load/recorder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using load::Outcome;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

class CarryingServerTest : public ::testing::TestWithParam<int> {};

TEST_P(CarryingServerTest, AsManyCellsAreFoundAsItCarriesFromWhereverTheSearchBegins) {
  const int most = GetParam();
  for (const int first : {1, 2, 3, 100, load::kMaxCells}) {
    std::map<int, int> tries;
    const auto found = load::FindCells(first, [&](int cells) -> absl::StatusOr<bool> {
      EXPECT_GE(cells, 1);
      EXPECT_LE(cells, load::kMaxCells);
      EXPECT_EQ(++tries[cells], 1) << cells << " cells, once more";
      return cells <= most;
    });
    ASSERT_THAT(found, IsOk());
    EXPECT_EQ(found->carried, most);
    EXPECT_EQ(found->too_many, most < load::kMaxCells ? most + 1 : 0);
    EXPECT_LE(tries.size(), 25u);  // twelve doublings, as many halvings
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, CarryingServerTest,
                         ::testing::Values(0, 1, 2, 3, 99, 100, 101, 1000, load::kMaxCells - 1,
                                           load::kMaxCells));

TEST(FindCellsTest, AnErrorEndsTheSearch) {
  EXPECT_THAT(load::FindCells(1, [](int) { return absl::UnavailableError("gone"); }),
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
}

load::Outcomes Slots(int64_t good, int64_t late) {
  load::Outcomes slots;
  slots[Outcome::kGood] = good;
  slots[Outcome::kLate] = late;
  return slots;
}

TEST(CellCriterionTest, TheShareIsToldByAsManySlotsAsLetOneBeMissed) {
  CellCriterion criterion;
  EXPECT_EQ(criterion.LeastSlots(), 100000);
  EXPECT_TRUE(criterion.IsMet(Slots(99999, 1)));
  EXPECT_FALSE(criterion.IsMet(Slots(99998, 2)));
  EXPECT_FALSE(criterion.IsMet(Slots(99998, 1)));
  EXPECT_FALSE(criterion.IsMet(Slots(0, 0)));
  for (const int64_t slots : {2, 10, 1000, 1000000}) {
    criterion.in_time = 1 - 1.0 / static_cast<double>(slots);
    EXPECT_EQ(criterion.LeastSlots(), slots);
    EXPECT_TRUE(criterion.IsMet(Slots(slots - 1, 1)));
  }
}

TEST(CellCriterionTest, ATryLastsUntilTheShareIsToldWithinItsBounds) {
  const CellCriterion criterion;
  load::Pace pace;
  pace.kind = load::Pace::Kind::kSlots;
  const auto seconds = [&](int cells, absl::Duration most) {
    pace.cells = cells;
    return absl::ToDoubleSeconds(criterion.TryDuration(pace, most));
  };
  EXPECT_DOUBLE_EQ(seconds(5, absl::Minutes(1)), 10);
  EXPECT_DOUBLE_EQ(seconds(1, absl::Seconds(20)), 20);
  EXPECT_DOUBLE_EQ(seconds(1000, absl::Minutes(1)), 3);
  EXPECT_DOUBLE_EQ(seconds(1000, absl::Seconds(1)), 1);
}

// Answers each slot of up to `cells` cells after `latency` slots, and of more never.
struct Server {
  int cells;
  int latency;
};

// What a whole try, or one that `go_on` has ended, would tell of `server`.
load::LoadResult Play(const Server& server, const load::LoadSpec& spec, absl::Duration deadline,
                      const load::OnLoadProgress& go_on) {
  const bool in_time =
      spec.pace.cells <= server.cells && deadline >= server.latency * spec.pace.slot;
  load::LoadResult result;
  result.spec = spec;
  result.cores = 1;
  result.workloads = {"decode of NR"};
  result.settings = {{{"zc", 384.0}}};
  const int64_t second_ns = 1000000000;
  const int64_t seconds = absl::ToInt64Seconds(spec.duration);
  load::Recorder recorder(load::Window{0, seconds * second_ns, second_ns}, 1);
  const auto slots_a_second = static_cast<int64_t>(spec.pace.offered());
  for (int64_t second = 0; second < seconds; ++second) {
    for (int64_t i = 0; i < slots_a_second; ++i) {
      load::Ended call;
      call.outcome = in_time ? Outcome::kGood : Outcome::kExpired;
      call.due_ns = second * second_ns;
      call.end_ns = call.due_ns + 1;
      recorder.OnEnd(call);
    }
    result.measured = absl::Seconds(second + 1);
    load::LoadProgress progress;
    progress.covered = absl::Seconds(1);
    progress.so_far = recorder.outcomes();
    if (!go_on(progress)) break;
  }
  result.totals = recorder.Take();
  return result;
}

CellsReport Search(const Server& server, absl::Duration longest_try = absl::Minutes(1)) {
  load::LoadSpec spec;
  spec.client.target = "127.0.0.1:1";
  spec.pace.kind = load::Pace::Kind::kSlots;
  spec.duration = longest_try;
  std::vector<load::Workload> workloads(1);
  CellsReport report;
  report.criterion.in_time = 0.999;
  const auto run = [&](const load::LoadSpec& one, const std::string& what,
                       const load::OnLoadProgress& go_on) -> absl::StatusOr<load::LoadResult> {
    EXPECT_THAT(what, HasSubstr(std::to_string(one.pace.cells)));
    return Play(server, one, workloads[0].deadline, go_on);
  };
  EXPECT_THAT(SearchCells(spec, &workloads, run, &report), IsOk());
  return report;
}

TEST(SearchCellsTest, EachDeadlineHasItsNumberAndTheNextSearchBeginsThere) {
  const CellsReport report = Search({/*cells=*/6, /*latency=*/2});
  ASSERT_EQ(report.found.size(), 3u);
  std::vector<int> carried, first;
  for (const CellsFound& found : report.found) {
    carried.push_back(found.bracket.carried);
    first.push_back(found.tries.front().spec.pace.cells);
  }
  EXPECT_THAT(carried, ElementsAre(0, 6, 6));
  EXPECT_THAT(first, ElementsAre(1, 1, 6));
  EXPECT_FALSE(report.IsNegative());
  EXPECT_THAT(ToText(report),
              AllOf(HasSubstr("deadline of 1 slot, 500us: not even one cell is carried"),
                    HasSubstr("deadline of 3 slots, 1.5ms: 6 cells are carried, 7 are not"),
                    Not(HasSubstr("too few"))));
  EXPECT_THAT(ToText(report), StartsWith("decode of NR: a call each slot of 500us"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["workloads"][0]["name"], "decode of NR");
  EXPECT_EQ(json["workloads"][0]["settings"]["zc"], 384);
  EXPECT_EQ(json["cells"][1]["carried"], 6);
  EXPECT_EQ(json["cells"][1]["too_many"], 7);
  EXPECT_EQ(json["cells"][1]["tries"][0]["is_enough"], true);
}

TEST(SearchCellsTest, ATryEndsOnceMoreSlotsAreMissedThanMayBe) {
  const CellsReport report = Search({/*cells=*/1, /*latency=*/1});
  for (const CellsFound& found : report.found) {
    EXPECT_EQ(found.Try(1)->measured, absl::Seconds(3));
    EXPECT_EQ(found.Try(2)->measured, absl::Seconds(1));
  }
}

TEST(SearchCellsTest, WhereNoServerIsTheSearchEndsWithoutAVerdict) {
  load::LoadSpec spec;
  spec.pace.kind = load::Pace::Kind::kSlots;
  spec.duration = absl::Seconds(3);
  std::vector<load::Workload> workloads(1);
  CellsReport report;
  const auto run = [&](const load::LoadSpec& one, const std::string&,
                       const load::OnLoadProgress& go_on) -> absl::StatusOr<load::LoadResult> {
    load::LoadResult result = Play({/*cells=*/0, /*latency=*/1}, one, absl::Seconds(1), go_on);
    result.totals.refusals["UNAVAILABLE: Failed to connect"] = 7;
    return result;
  };
  const absl::Status status = SearchCells(spec, &workloads, run, &report);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable,
                               HasSubstr("1 cell, 1 slot: 7 calls found no server")));
}

TEST(SearchCellsTest, SlotsThatAreTooFewToTellAreSaidToBe) {
  const CellsReport report = Search({/*cells=*/0, /*latency=*/1}, absl::Seconds(2));
  EXPECT_TRUE(report.IsNegative());
  CellsReport few = Search({/*cells=*/2, /*latency=*/1}, absl::Seconds(2));
  few.criterion.in_time = 0.99999;
  EXPECT_THAT(ToText(few), AllOf(HasSubstr("8000 slots are too few to tell"),
                                 HasSubstr("99.999 %, which takes 100000")));
  EXPECT_EQ(ToJson(few)["cells"][0]["tries"][0]["is_enough"], false);
}

}  // namespace
}  // namespace baseband::ctl
