// Where the narrow kernel's rows find their words under constant shifts: every row is gone through
// with words that say of which two positions they are.
#include <array>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/ldpc/decode_narrow_turns.cuh"

namespace baseband::ldpc::device {
namespace {

constexpr int kTurnsZc = LargestGraph1::kZc;
constexpr int kTurnsHalf = kTurnsZc / 2;

using TwoPositions = std::pair<int, int>;  // in the low half and in the high one
constexpr TwoPositions kNobodys = {-1, -1};

TwoPositions PositionsOf(int thread, int edge) {
  const int position = (thread + kNrBaseGraph1[edge].v[1]) % kTurnsZc;
  return {position, (position + kTurnsHalf) % kTurnsZc};
}

// Of iterations from the second on, for the first reads what was loaded.
template <int kRows>
int WordsThatAreNotTheRows() {
  using T = NarrowTurns<LargestGraph1, kRows>;
  using S = NarrowSchedule<LargestGraph1>;
  using Slot = std::array<TwoPositions, kTurnsZc>;
  Slot empty;
  empty.fill(kNobodys);
  std::vector<Slot> slots(LargestGraph1::kCoreColumns * S::kSlots, empty);
  int wrong = 0;
  for (int iteration = 1; iteration <= 3; ++iteration) {
    for (int r = 0; r < kRows; ++r) {
      for (int i = 0; i < S::kTable.row[r].degree; ++i) {
        const int edge = S::kTable.row[r].edge[i];
        const int column = LargestGraph1::kColumn[edge];
        int from = S::kTable.read_slot[edge];
        if (from == S::kNone) from = S::kTable.write_slot[T::kTable.last_edge[column]];
        const Slot read = slots[column * S::kSlots + from];
        Slot& written = slots[column * S::kSlots + S::kTable.write_slot[edge]];
        written.fill(kNobodys);
        for (int t = 0; t < kTurnsHalf; ++t) {
          const TwoPositions own = PositionsOf(t, edge);
          if (iteration > 1 && read.at(t + T::kTable.at[edge]) != own) ++wrong;
          const TwoPositions exchanged = {own.second, own.first};
          written[t] = T::kTable.exchanged[edge] ? exchanged : own;
          if (!T::kTable.has_copy[edge]) continue;
          written[t + kTurnsHalf] = T::kTable.exchanged[edge] ? own : exchanged;
        }
      }
    }
  }
  return wrong;
}

TEST(NarrowTurnsTest, EveryThreadFindsTheWordOfItsTwoChecks) {
  EXPECT_EQ(WordsThatAreNotTheRows<4>(), 0);
  EXPECT_EQ(WordsThatAreNotTheRows<46>(), 0);
}

}  // namespace
}  // namespace baseband::ldpc::device
