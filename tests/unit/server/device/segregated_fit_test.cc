#include "server/device/segregated_fit.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::server {
namespace {

// The slow, obvious version: a map of what is taken.
class TakenMap {
 public:
  explicit TakenMap(int64_t capacity) : capacity_(capacity) {}

  // Whether begin .. begin + size lies inside, and nothing of it was taken.
  bool Add(int64_t begin, int64_t size) {
    if (begin < 0 || begin + size > capacity_) return false;
    const auto after = taken_.lower_bound(begin);
    if (after != taken_.end() && after->first < begin + size) return false;
    if (after != taken_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second > begin) return false;
    }
    taken_.emplace(begin, size);
    used_ += size;
    return true;
  }
  void Erase(int64_t begin) {
    used_ -= taken_.at(begin);
    taken_.erase(begin);
  }
  int64_t LargestFree() const {
    int64_t largest = 0;
    int64_t at = 0;
    for (const auto& [begin, size] : taken_) {
      largest = std::max(largest, begin - at);
      at = begin + size;
    }
    return std::max(largest, capacity_ - at);
  }
  int64_t used() const { return used_; }

 private:
  const int64_t capacity_;
  std::map<int64_t, int64_t> taken_;  // begin -> size
  int64_t used_ = 0;
};

struct Piece {
  SegregatedFit::Piece piece;
  int64_t size;
};

// What a random history looks like: how large pieces are, and how full it gets.
struct History {
  const char* name;
  int64_t capacity;
  int64_t largest;  // sizes are 1 .. largest, small ones as likely as large ones
  double taking;    // of all steps
};

class SegregatedFitHistoryTest : public ::testing::TestWithParam<History> {};

TEST_P(SegregatedFitHistoryTest, PiecesNeverOverlapAndExhaustionIsTrue) {
  constexpr int kStreams = 5;
  const History& history = GetParam();
  SegregatedFit fit(history.capacity, kStreams);
  TakenMap oracle(history.capacity);
  std::mt19937_64 random(1);
  std::vector<Piece> pieces;
  int refused = 0;
  for (int i = 0; i < 30000; ++i) {
    if (std::uniform_real_distribution<>(0, 1)(random) < history.taking) {
      const double log = std::uniform_real_distribution<>(
          0, std::log2(static_cast<double>(history.largest)))(random);
      const auto size = static_cast<int64_t>(std::exp2(log));
      const auto piece = fit.Take(size, static_cast<int>(random() % kStreams));
      ASSERT_EQ(piece.has_value(), size <= oracle.LargestFree()) << "step " << i;
      if (piece.has_value()) {
        ASSERT_TRUE(oracle.Add(piece->begin, size)) << "step " << i;
        pieces.push_back({*piece, size});
      } else {
        ++refused;
      }
    } else if (!pieces.empty()) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      oracle.Erase(pieces.back().piece.begin);
      fit.Return(pieces.back().piece.block);
      pieces.pop_back();
    }
    ASSERT_EQ(fit.used(), oracle.used());
  }
  EXPECT_GT(refused, 0);  // it was full at times
  for (const Piece& piece : pieces) fit.Return(piece.piece.block);
  EXPECT_EQ(fit.used(), 0);
  EXPECT_TRUE(fit.Take(history.capacity, 0).has_value());  // all in one block again
}

INSTANTIATE_TEST_SUITE_P(Random, SegregatedFitHistoryTest,
                         ::testing::Values(History{"Tiny", 7, 7, 0.6},
                                           History{"AlwaysFull", 1 << 12, 40, 0.9},
                                           History{"SmallAndLarge", 1 << 16, 1 << 14, 0.55},
                                           History{"NoPowerOfTwo", 99991, 9999, 0.6},
                                           History{"Balanced", 3000, 2000, 0.5}),
                         [](const auto& test) { return test.param.name; });

TEST(SegregatedFitTest, TakesAllOfAnyCapacity) {
  for (int64_t capacity = 1; capacity < 3000; ++capacity) {
    SegregatedFit fit(capacity, 1);
    EXPECT_FALSE(fit.Take(capacity + 1, 0).has_value());
    ASSERT_TRUE(fit.Take(capacity, 0).has_value()) << capacity;
    EXPECT_FALSE(fit.Take(1, 0).has_value());
  }
}

TEST(SegregatedFitTest, OfNothingNothingCanBeTaken) {
  SegregatedFit fit(0, 1);
  EXPECT_FALSE(fit.Take(1, 0).has_value());
}

TEST(SegregatedFitTest, TheLargestCapacityIsCounted) {
  constexpr int64_t kCapacity = int64_t{1} << 58;  // 2^64 bytes in units of 64
  SegregatedFit fit(kCapacity, 2);
  ASSERT_TRUE(fit.Take(kCapacity - 1, 0).has_value());
  EXPECT_TRUE(fit.Take(1, 0).has_value());
  EXPECT_FALSE(fit.Take(1, 0).has_value());
}

TEST(SegregatedFitTest, AStreamGoesOnWhereItsLastPieceEnded) {
  SegregatedFit fit(1 << 16, 2);
  int64_t next[2] = {fit.Take(10, 0)->begin + 10, fit.Take(10, 1)->begin + 10};
  for (int i = 0; i < 100; ++i) {
    const int64_t size = 1 + i % 7;
    EXPECT_EQ(fit.Take(size, i % 2)->begin, next[i % 2]);
    next[i % 2] += size;
  }
}

TEST(SegregatedFitTest, AStreamGoesOnAlthoughSmallHolesWouldFit) {
  SegregatedFit fit(1 << 12, 1);
  std::vector<SegregatedFit::Piece> pieces;
  for (int i = 0; i < 64; ++i) pieces.push_back(*fit.Take(8, 0));
  for (size_t i = 0; i < pieces.size(); i += 2) fit.Return(pieces[i].block);
  const int64_t end = pieces.back().begin + 8;
  EXPECT_EQ(fit.Take(8, 0)->begin, end);
  EXPECT_EQ(fit.Take(8, 0)->begin, end + 8);
}

TEST(SegregatedFitTest, StreamsStartAnewOnceAllIsFree) {
  SegregatedFit fit(800, 8);
  const auto first = *fit.Take(5, 3);
  const auto second = *fit.Take(5, 3);
  EXPECT_EQ(first.begin, 300);
  fit.Return(first.block);
  fit.Return(second.block);
  EXPECT_EQ(fit.Take(1, 3)->begin, 300);
  EXPECT_EQ(fit.Take(1, 0)->begin, 0);
}

// Four streams whose pieces come back in order go around the memory again and again. Each begins
// anew only where the free block that it was in ends, of which there are a few a round.
TEST(SegregatedFitTest, StreamsStayApartAfterManyRounds) {
  constexpr int64_t kCapacity = 1 << 16;
  constexpr int64_t kSize = 8;
  constexpr int kStreams = 4;
  constexpr int kSteps = 20 * kCapacity / kSize;
  SegregatedFit fit(kCapacity, kStreams);
  std::deque<SegregatedFit::Piece> pieces;
  int64_t end[kStreams] = {};
  int breaks = 0;
  for (int i = 0; i < kSteps; ++i) {
    const int stream = i % kStreams;
    pieces.push_back(*fit.Take(kSize, stream));
    breaks += pieces.back().begin != end[stream];
    end[stream] = pieces.back().begin + kSize;
    if (pieces.size() > 256) {
      fit.Return(pieces.front().block);
      pieces.pop_front();
    }
  }
  EXPECT_LT(breaks, kSteps / 100);
}

// Three neighbours come back in every order and are one block again.
TEST(SegregatedFitTest, NeighboursJoinInWhateverOrderTheyComeBack) {
  std::vector<size_t> order = {0, 1, 2};
  do {
    SegregatedFit fit(30, 1);
    const std::vector<SegregatedFit::Piece> pieces = {*fit.Take(10, 0), *fit.Take(10, 0),
                                                      *fit.Take(10, 0)};
    EXPECT_FALSE(fit.Take(1, 0).has_value());
    for (const size_t i : order) fit.Return(pieces[i].block);
    EXPECT_TRUE(fit.Take(30, 0).has_value());
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace baseband::server
