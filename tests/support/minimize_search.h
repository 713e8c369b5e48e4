// Searches run to their end, and the signals that they are run on.
#ifndef BASEBAND_TESTS_SUPPORT_MINIMIZE_SEARCH_H_
#define BASEBAND_TESTS_SUPPORT_MINIMIZE_SEARCH_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/minimize/minimize_cpu.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/sinusoids.h"

namespace baseband::testing {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline minimize::Grid MakeGrid(const std::vector<minimize::Axis>& axes) {
  auto grid = minimize::Grid::Create(axes);
  EXPECT_TRUE(grid.ok()) << grid.status();
  return *grid;
}

inline minimize::ProblemPtr MakeProblem(minimize::Settings settings) {
  auto problem = minimize::Problem::Create(std::move(settings));
  EXPECT_TRUE(problem.ok()) << problem.status();
  return *problem;
}

// Hands the pieces that `search` has to `evaluate`, (piece, output), in an order drawn from `seed`.
template <typename Evaluate>
void RunSearch(minimize::Search* search, Evaluate evaluate, uint32_t seed = 0) {
  std::mt19937 random(seed);
  std::vector<minimize::Piece> waiting;
  while (!search->done()) {
    while (auto piece = search->Next()) {
      waiting.push_back(*piece);
      if (waiting.size() == 64) break;
    }
    ASSERT_FALSE(waiting.empty()) << "neither done nor anything to do";
    std::shuffle(waiting.begin(), waiting.end(), random);
    std::vector<uint64_t> output(
        static_cast<size_t>(OutputBytes(search->problem(), waiting.back())) / 8);
    evaluate(waiting.back(), reinterpret_cast<uint8_t*>(output.data()));
    search->Add(waiting.back(), reinterpret_cast<const uint8_t*>(output.data()));
    waiting.pop_back();
  }
}

inline minimize::Answer SearchOnCpu(const minimize::ProblemPtr& problem,
                                    minimize::PieceLimits limits = {}, uint32_t seed = 0) {
  auto search = minimize::Search::Create(problem, limits);
  EXPECT_TRUE(search.ok()) << search.status();
  RunSearch(
      &*search,
      [&](const minimize::Piece& piece, uint8_t* output) {
        EvaluatePieceOnCpu(*problem, piece, &minimize::CpuWorkspace::OfThisThread(), output);
      },
      seed);
  auto answer = search->Finish();
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? *answer : minimize::Answer();
}

// The largest magnitude among the values that `answer` was chosen from, as far as some of them
// tell: what its rounding is measured by. Only the points that were searched have a say, for
// elsewhere the functional may be far larger, or no number.
inline double SizeOfValues(const minimize::Problem& problem, const minimize::Answer& answer) {
  double size = 0.0;
  for (const minimize::Peak& peak : answer.top) size = std::max(size, std::fabs(peak.value));
  std::mt19937_64 random(1);
  for (int i = 0; i < 64; ++i) {
    minimize::Piece piece;
    piece.first =
        problem.first() + static_cast<int64_t>(random() % static_cast<uint64_t>(problem.count()));
    piece.count = 1;
    std::vector<uint64_t> output(static_cast<size_t>(OutputBytes(problem, piece)) / 8);
    EvaluatePieceOnCpu(problem, piece, &minimize::CpuWorkspace::OfThisThread(),
                       reinterpret_cast<uint8_t*>(output.data()));
    minimize::BlockResult result;
    std::memcpy(static_cast<void*>(&result), output.data(), sizeof(result));
    if (result.index >= 0 && std::isfinite(result.value)) {
      size = std::max(size, std::fabs(result.value));
    }
  }
  return size;
}

// The answer is the same to the bit in pieces of each of `points`, handed back in another order.
inline void ExpectNoDependenceOnTheCutting(const minimize::ProblemPtr& problem,
                                           const std::vector<double>& points) {
  const minimize::Answer expected = SearchOnCpu(problem);
  for (const double of_piece : points) {
    minimize::PieceLimits limits;
    limits.operations = of_piece * problem->cost_per_point();
    const minimize::Answer answer = SearchOnCpu(problem, limits, 3);
    ASSERT_EQ(answer.top.size(), expected.top.size());
    for (size_t i = 0; i < expected.top.size(); ++i) {
      EXPECT_EQ(answer.top[i].index, expected.top[i].index);
      EXPECT_EQ(answer.top[i].value, expected.top[i].value);
    }
    EXPECT_EQ(answer.profile, expected.profile);
  }
}

// All values of a grid of at most kMaxRun points, on the CPU device.
template <typename T>
std::vector<double> Values(const minimize::Functional& functional, const minimize::Grid& grid,
                           minimize::Method method) {
  minimize::Run<T> run;
  run.grid = &grid;
  run.method = method;
  run.count = static_cast<size_t>(grid.num_points());
  minimize::CpuWorkspace& workspace = minimize::CpuWorkspace::OfThisThread();
  workspace.BeginPiece();
  run.values = workspace.Values<T>();
  functional.Evaluate(run, &workspace);
  return std::vector<double>(run.values, run.values + run.count);
}

// White complex noise of unit variance.
inline std::vector<std::complex<double>> ComplexNoise(size_t size, std::mt19937* random) {
  std::normal_distribution<double> normal(0.0, std::sqrt(0.5));
  std::vector<std::complex<double>> noise(size);
  for (auto& x : noise) x = {normal(*random), normal(*random)};
  return noise;
}

// The paper's signal (papers/grid-minimisation): the code word 0xC44B at 465 kHz as the known
// columns, and sin(2 pi 467321.36 Hz t) as what is observed.
inline constexpr double kPaperFrequency = 467321.36;
inline minimize::Observation PaperObservation() {
  constexpr size_t kSamplesPerBit = 150;
  constexpr double kTwoPi = 6.283185307179586476925;
  minimize::Observation observation;
  observation.sampling_interval_s = 2e-7;
  observation.columns.resize(2);
  for (size_t n = 0; n < 16 * kSamplesPerBit; ++n) {
    const double t = static_cast<double>(n) * 2e-7;
    const double sign = (0xC44B >> (15 - n / kSamplesPerBit) & 1) != 0 ? 1.0 : -1.0;
    observation.columns[0].emplace_back(sign * std::cos(kTwoPi * 465000.0 * t));
    observation.columns[1].emplace_back(sign * std::sin(kTwoPi * 465000.0 * t));
    observation.signal.emplace_back(std::sin(kTwoPi * kPaperFrequency * t));
  }
  return observation;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MINIMIZE_SEARCH_H_
