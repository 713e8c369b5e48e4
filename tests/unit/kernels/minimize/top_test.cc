// The search: the best K points, and profiles.
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/search.h"
#include "tests/support/minimize_functionals.h"
#include "tests/support/minimize_search.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::kInfinity;
using ::baseband::testing::kNan;
using ::baseband::testing::MakeProblem;
using ::baseband::testing::SearchOnCpu;
using ::baseband::testing::TableSettings;

// The greedy definition, word for word.
std::vector<int64_t> BruteTop(const Settings& settings, const std::vector<double>& values) {
  std::vector<int64_t> chosen;
  while (static_cast<int>(chosen.size()) < settings.top_k) {
    int64_t best = -1;
    for (int64_t index = 0; index < static_cast<int64_t>(values.size()); ++index) {
      const Indices at = settings.grid.IndicesOf(index);
      bool excluded = std::isnan(values[static_cast<size_t>(index)]);
      for (const int64_t other : chosen) {
        const Indices centre = settings.grid.IndicesOf(other);
        bool inside = true;
        for (size_t k = 0; k < kMaxAxes; ++k) {
          inside = inside && std::abs(at[k] - centre[k]) < settings.separation[k];
        }
        excluded = excluded || inside;
      }
      if (!excluded &&
          (best < 0 || values[static_cast<size_t>(index)] < values[static_cast<size_t>(best)])) {
        best = index;
      }
    }
    if (best < 0) break;
    chosen.push_back(best);
  }
  return chosen;
}

TEST(MinimizeTopTest, TheTopKAreTheGreedyOnes) {
  std::mt19937 random(7);
  const std::vector<std::vector<Axis>> grids = {{{0, 1, 2000}},
                                                {{0, 1, 40}, {0, 1, 50}},
                                                {{0, 1, 5}, {0, 1, 20}, {0, 1, 20}},
                                                {{0, 1, 500}, {0, 1, 4}}};
  for (int trial = 0; trial < 40; ++trial) {
    // Smooth in places, so that neighbours of a peak are the next best; coarse, so that many tie.
    std::vector<double> values(2000);
    const double period = 20.0 + 5.0 * trial;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::round(50.0 * std::sin(static_cast<double>(i) / period)) +
                  static_cast<double>(random() % 5);
      if (random() % 50 == 0) values[i] = kNan;
    }
    Settings settings = TableSettings(values);
    settings.grid = testing::MakeGrid(grids[static_cast<size_t>(trial) % grids.size()]);
    settings.top_k = 1 + trial % 12;
    for (int64_t& steps : settings.separation) steps = 1 + static_cast<int64_t>(random() % 30);
    const std::vector<int64_t> expected = BruteTop(settings, values);
    PieceLimits limits;
    limits.operations = 100.0 * (1 + trial);
    const Answer answer = SearchOnCpu(MakeProblem(settings), limits, 1);
    ASSERT_EQ(answer.top.size(), expected.size()) << trial;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(answer.top[i].index, expected[i]);
  }
}

TEST(MinimizeTopTest, AProfileKeepsEveryMinimum) {
  const std::vector<double> values = testing::RandomValues(30 * 70, 8);
  for (const int axis : {0, 1}) {
    for (const int bins : {1, 7, 30}) {
      Settings settings = TableSettings(values);
      settings.grid = testing::MakeGrid({{0, 1, 30}, {0, 1, 70}});
      settings.profile_axis = axis;
      settings.profile_bins = bins;
      std::vector<double> expected(static_cast<size_t>(bins), kInfinity);
      for (int64_t index = 0; index < 30 * 70; ++index) {
        const int64_t i = axis == 0 ? index / 70 : index % 70;
        double& least = expected[static_cast<size_t>(i * bins / (axis == 0 ? 30 : 70))];
        least = std::min(least, values[static_cast<size_t>(index)]);
      }
      EXPECT_EQ(SearchOnCpu(MakeProblem(settings)).profile, expected);
    }
  }
}

}  // namespace
}  // namespace baseband::minimize
