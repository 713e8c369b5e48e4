// The narrow kernel's schedule: whoever reads a slot reads what the edge before in its column
// wrote, and no warp writes what another may still read. The barriers are gone through as the
// hardware counts them, warp by warp in random order; what happened before what is told by vector
// clocks (F. Mattern, Virtual Time and Global States of Distributed Systems, 1989).
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/decode_narrow_schedule.cuh"

namespace baseband::ldpc::device {
namespace {

constexpr int kTeamWarps = 3;
constexpr int kWarps = 2 * kTeamWarps;
constexpr int kIterations = 3;
// Row r of iteration i, from 1 on, is row i * kPeriod + r: what is read must be of its iteration.
constexpr int kPeriod = 64;
static_assert(kPeriod % 2 == 0 && kPeriod >= BaseGraph1::kRows);

struct Step {
  enum What { kWait, kArrive, kRead, kWrite } what;
  int barrier = 0;
  int warps = 0;   // that a barrier is complete with
  int slot = 0;    // of all columns'
  int row = 0;     // whose access it is
  int writer = 0;  // of what a read is to find
};

// A row does not wait, tells before it has written all, or reads ahead what it should read late.
enum class Fault { kNone, kNoWaitForHurried, kNoWaitForAll, kToldTooEarly, kReadsTooEarly };

// What decode_narrow.cuh does, of a code with `rows` rows in an instantiation for `max_rows`: in
// the order of its RunRow, to be changed together.
template <class Graph>
class Program {
 public:
  using S = NarrowSchedule<Graph>;

  Program(int rows, int max_rows, Fault fault, int faulty_row)
      : rows_(rows), max_rows_(max_rows), fault_(fault), faulty_row_(faulty_row) {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < Row(r).degree; ++i) last_[ColumnOf(r, i)] = r;
    }
  }

  std::vector<Step> Of(int team) {
    steps_.clear();
    std::copy(last_.begin(), last_.end(), writer_.begin());
    for (int iteration = 1; iteration <= kIterations; ++iteration) {
      first_ = iteration * kPeriod;
      Wait(0, kWarps);
      int next = 0;  // of all rows, for who writes before whom
      std::array<int, Graph::kCoreColumns> writer = last_;
      for (int& w : writer) w += first_ - kPeriod;
      const auto move_to = [&](int row) {
        for (; next < row; ++next) {
          for (int i = 0; next < rows_ && i < Row(next).degree; ++i) {
            writer[ColumnOf(next, i)] = first_ + next;
          }
        }
        writer_ = writer;
      };
      move_to(team);
      ReadAll(team, S::kAhead);
      for (int row = team; row < rows_; row += 2) {
        move_to(row);
        WaitForAll(row);
        ReadAll(row, S::kEarly);
        if (HasLate(row)) WaitForHurried(row);
        ReadAll(row, S::kLate);
        const bool early = Has(Fault::kToldTooEarly, row);
        if (early) TellAll(row);
        WriteAll(row, true);
        if (row + 1 < max_rows_ && HasLate(row + 1)) Arrive(S::HurriedBarrier(row + 1));
        if (row + 2 < rows_) {
          move_to(row + 2);
          ReadAll(row + 2, S::kAhead);
        }
        WriteAll(row, false);
        if (!early) TellAll(row);
        if (row + 2 >= rows_ && row + 2 < max_rows_) WaitForTheRest(row);
      }
      Wait(0, kWarps);
      for (int c = team; c < Graph::kCoreColumns; c += 2) {  // Settle
        steps_.push_back({Step::kRead, 0, 0, c * S::kSlots + WriteSlotOf(last_[c], c),
                          first_ + kPeriod - 1, first_ + last_[c]});
      }
    }
    return steps_;
  }

 private:
  const typename S::Row& Row(int row) const { return S::kTable.row[row]; }
  int ColumnOf(int row, int place) const { return Graph::kColumn[Row(row).edge[place]]; }
  bool Has(Fault fault, int row) const { return fault == fault_ && row == faulty_row_; }
  bool HasLate(int row) const { return Row(row).first_late < Row(row).degree; }

  void Wait(int barrier, int warps, bool waits = true) {
    steps_.push_back({waits ? Step::kWait : Step::kArrive, barrier, warps});
  }
  void Arrive(int barrier) { Wait(barrier, kWarps, false); }
  void TellAll(int row) {
    if (row + 3 < max_rows_) Arrive(S::AllBarrier(row + 3));
  }
  void WaitForAll(int row) {
    if (row < 2) return;
    Wait(S::AllBarrier(row), row == 2 ? kTeamWarps : kWarps, !Has(Fault::kNoWaitForAll, row));
  }
  void WaitForHurried(int row) {
    Wait(S::HurriedBarrier(row), kWarps, !Has(Fault::kNoWaitForHurried, row));
  }
  void WaitForTheRest(int row) {
    if (row > 0) WaitForAll(row + 2);
    if (rows_ == row + 2) {
      if (HasLate(row + 2)) WaitForHurried(row + 2);
      if (row + 4 < max_rows_) WaitForAll(row + 4);
    }
  }
  void ReadAll(int row, typename S::Read when) {
    for (int i = 0; i < Row(row).degree; ++i) {
      typename S::Read read = Row(row).read[i];
      if (read == S::kLate && Has(Fault::kReadsTooEarly, row)) read = S::kAhead;
      if (read != when) continue;
      const int column = ColumnOf(row, i);
      int slot = S::kTable.read_slot[Row(row).edge[i]];
      if (slot == S::kNone) slot = WriteSlotOf(last_[column], column);
      steps_.push_back(
          {Step::kRead, 0, 0, column * S::kSlots + slot, first_ + row, writer_[column]});
    }
  }
  void WriteAll(int row, bool hurried) {
    for (int i = 0; i < Row(row).degree; ++i) {
      if (Row(row).hurries[i] != hurried) continue;
      const int slot = S::kTable.write_slot[Row(row).edge[i]];
      steps_.push_back({Step::kWrite, 0, 0, ColumnOf(row, i) * S::kSlots + slot, first_ + row});
    }
  }
  int WriteSlotOf(int row, int column) const {
    for (int i = 0; i < Row(row).degree; ++i) {
      if (ColumnOf(row, i) == column) return S::kTable.write_slot[Row(row).edge[i]];
    }
    return S::kNone;
  }

  int rows_;
  int max_rows_;
  Fault fault_;
  int faulty_row_;
  int first_ = 0;                                     // row 0 of the iteration
  std::array<int, Graph::kCoreColumns> last_ = {};    // the row that is a column's last
  std::array<int, Graph::kCoreColumns> writer_ = {};  // the one before a row
  std::vector<Step> steps_;
};

using Clock = std::array<int, kWarps>;
Clock Later(const Clock& a, const Clock& b) {
  Clock later;
  for (int w = 0; w < kWarps; ++w) later[w] = std::max(a[w], b[w]);
  return later;
}

// All warps of a thread block, each some steps at a time.
class Run {
 public:
  Run(const std::array<std::vector<Step>, 2>& of_team, uint32_t seed) : random_(seed) {
    for (int w = 0; w < kWarps; ++w) program_[w] = &of_team[w / kTeamWarps];
  }

  // What is wrong, or nothing.
  std::string Go() {
    for (;;) {
      std::vector<int> ready;
      bool done = true;
      for (int w = 0; w < kWarps; ++w) {
        if (at_[w] == program_[w]->size()) continue;
        done = false;
        if (!waits_[w]) ready.push_back(w);
      }
      if (done) return std::any_of(barrier_.begin(), barrier_.end(), IsUsed) ? "arrivals left" : "";
      if (ready.empty()) return "all wait";
      const int warp = ready[random_() % ready.size()];
      constexpr int kAtOnce[] = {1, 3, 30, 200};  // some run far ahead
      for (int n = kAtOnce[random_() % 4]; n > 0; --n) {
        if (waits_[warp] || at_[warp] == program_[warp]->size()) break;
        std::string wrong = Do(warp, (*program_[warp])[at_[warp]++]);
        if (!wrong.empty()) return wrong;
      }
    }
  }

 private:
  struct Barrier {
    int come = 0;
    int warps = 0;
    Clock clock = {};
    std::vector<int> waiting;
  };
  struct Access {
    int time = 0;  // of its warp's clock; 0: none
    int row = 0;
  };
  struct Slot {
    std::array<Access, kWarps> read;
    std::array<Access, kWarps> write;
  };
  static bool IsUsed(const Barrier& barrier) { return barrier.come > 0; }

  std::string Do(int warp, const Step& step) {
    ++clock_[warp][warp];
    if (step.what == Step::kWait || step.what == Step::kArrive) return Come(warp, step);
    Slot& slot = slot_[step.slot];
    const Access access = {clock_[warp][warp], step.row};
    const std::string what = absl::StrCat("row ", step.row, ", slot ", step.slot, ": ");
    for (int w = 0; w < kWarps; ++w) {
      const auto is_over = [&](const Access& a) { return w == warp || a.time <= clock_[warp][w]; };
      // The warps of a row write words of their own.
      const bool own_row = slot.write[w].row == step.row && step.what == Step::kWrite &&
                           w / kTeamWarps == warp / kTeamWarps;
      if (!is_over(slot.write[w]) && !own_row) return absl::StrCat(what, "another still writes");
      if (step.what == Step::kWrite && !is_over(slot.read[w])) {
        return absl::StrCat(what, "row ", slot.read[w].row, " still reads");
      }
      const bool may_find_none = step.writer < kPeriod;  // but what was loaded
      if (step.what == Step::kRead && (slot.write[w].time > 0 || !may_find_none) &&
          w / kTeamWarps == step.writer % 2 && slot.write[w].row != step.writer) {
        return absl::StrCat(what, "finds row ", slot.write[w].row, "'s, not ", step.writer, "'s");
      }
    }
    (step.what == Step::kRead ? slot.read : slot.write)[warp] = access;
    return "";
  }

  std::string Come(int warp, const Step& step) {
    Barrier& barrier = barrier_[step.barrier];
    if (barrier.come > 0 && barrier.warps != step.warps) return "two counts at a barrier";
    barrier.warps = step.warps;
    ++barrier.come;
    barrier.clock = Later(barrier.clock, clock_[warp]);
    if (step.what == Step::kWait) {
      barrier.waiting.push_back(warp);
      waits_[warp] = true;
    }
    if (barrier.come < barrier.warps) return "";
    for (const int w : barrier.waiting) {
      clock_[w] = Later(clock_[w], barrier.clock);
      waits_[w] = false;
    }
    barrier = Barrier();
    return "";
  }

  std::mt19937 random_;
  std::array<const std::vector<Step>*, kWarps> program_;
  std::array<size_t, kWarps> at_ = {};
  std::array<bool, kWarps> waits_ = {};
  std::array<Clock, kWarps> clock_ = {};
  std::array<Barrier, 16> barrier_;  // that a thread block has
  std::map<int, Slot> slot_;
};

template <class Graph>
std::string WhatIsWrong(int rows, int max_rows, Fault fault = Fault::kNone, int faulty_row = 0) {
  Program<Graph> program(rows, max_rows, fault, faulty_row);
  const std::array<std::vector<Step>, 2> of_team = {program.Of(0), program.Of(1)};
  for (uint32_t seed = 0; seed < 8; ++seed) {
    std::string wrong = Run(of_team, seed).Go();
    if (!wrong.empty()) return wrong;
  }
  return "";
}

template <class Graph>
class NarrowScheduleTest : public ::testing::Test {};
using Graphs = ::testing::Types<BaseGraph1, BaseGraph2>;
TYPED_TEST_SUITE(NarrowScheduleTest, Graphs);

TYPED_TEST(NarrowScheduleTest, EveryNumberOfRowsReadsWhatTheEdgeBeforeWrote) {
  EXPECT_EQ(WhatIsWrong<TypeParam>(TypeParam::kDenseRows, TypeParam::kDenseRows), "");
  for (int rows = TypeParam::kDenseRows; rows <= TypeParam::kRows; ++rows) {
    EXPECT_EQ(WhatIsWrong<TypeParam>(rows, TypeParam::kRows), "") << rows << " rows";
  }
}

// The test's own test.
TYPED_TEST(NarrowScheduleTest, WithoutAWaitSomethingIsWrong) {
  constexpr int kRows = TypeParam::kRows;
  const auto found = [](Fault fault) {
    int rows = 0;
    for (int row = 0; row < kRows; ++row) {
      if (!WhatIsWrong<TypeParam>(kRows, kRows, fault, row).empty()) ++rows;
    }
    return rows;
  };
  using S = NarrowSchedule<TypeParam>;
  EXPECT_EQ(found(Fault::kNoWaitForHurried),
            std::count_if(std::begin(S::kTable.row), std::end(S::kTable.row),
                          [](const auto& row) { return row.first_late < row.degree; }));
  EXPECT_EQ(found(Fault::kReadsTooEarly), found(Fault::kNoWaitForHurried));
  EXPECT_GE(found(Fault::kNoWaitForAll), kRows - 4);  // rows 0 and 1 have none
  EXPECT_GE(found(Fault::kToldTooEarly), kRows / 2);  // others' outputs all hurry, or can wait
}

}  // namespace
}  // namespace baseband::ldpc::device
