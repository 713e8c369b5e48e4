#include "kernels/minimize/minimize_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels/base/work_steps.h"
#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/search/ordered_key.h"

namespace baseband::minimize {
namespace {

bool IsExcluded(const Settings& settings, const std::vector<int64_t>& excluded, int64_t index) {
  const Grid& grid = settings.grid;
  const Indices at = grid.IndicesOf(index);
  return std::any_of(excluded.begin(), excluded.end(), [&](int64_t centre_index) {
    const Indices centre = grid.IndicesOf(centre_index);
    for (size_t k = 0; k < static_cast<size_t>(grid.num_axes()); ++k) {
      if (std::abs(at[k] - centre[k]) >= settings.separation[k]) return false;
    }
    return true;
  });
}

// Which bins of a profile points fall into.
class Bins {
 public:
  explicit Bins(const Settings& settings) {
    if (settings.profile_axis < 0) return;
    for (int k = settings.profile_axis + 1; k < settings.grid.num_axes(); ++k) {
      stride_ *= settings.grid.axis(k).count;
    }
    count_ = settings.grid.axis(settings.profile_axis).count;
    bins_ = settings.profile_bins;
  }
  // Of indices i of the axis: floor(i * bins / count).
  int64_t Bin(int64_t index) const { return Of(index / stride_ % count_); }
  // The first index after `index` that falls into another bin, at least as far as the row goes.
  int64_t End(int64_t index) const {
    const int64_t i = index / stride_ % count_;
    // The least i' with floor(i' bins / count) > bin.
    const int64_t next = std::min(((Of(i) + 1) * count_ + bins_ - 1) / bins_, count_);
    return (index / stride_ + (next - i)) * stride_;
  }

 private:
  int64_t Of(int64_t i) const { return i * bins_ / count_; }
  int64_t stride_ = 1;
  int64_t count_ = 1;
  int64_t bins_ = 0;
};

// One run's values into the results of its block and into the profile.
template <typename T>
class Gatherer {
 public:
  Gatherer(const Problem& problem, const Piece& piece, uint8_t* output)
      : settings_(problem.settings()),
        bins_(settings_),
        blocks_(reinterpret_cast<BlockResult*>(output)),
        first_block_(piece.first / problem.block_points()),
        block_points_(problem.block_points()),
        excluded_(piece.excluded.get()) {
    std::fill_n(blocks_, NumBlocks(problem, piece), BlockResult());
    if (excluded_ == nullptr && settings_.profile_bins > 0) {
      profile_ = reinterpret_cast<uint64_t*>(output + ProfileOffset(problem, piece));
      std::fill_n(profile_, settings_.profile_bins, kNoKey);
    }
  }

  // Values of points first .. first + count - 1, all of one block.
  void Add(int64_t first, size_t count, T* values) {
    BlockResult& block = blocks_[first / block_points_ - first_block_];
    if (excluded_ != nullptr) {
      const bool is_maximum = settings_.goal == Goal::kMaximum;
      for (size_t i = 0; i < count; ++i) {
        const int64_t index = first + static_cast<int64_t>(i);
        if (IsExcluded(settings_, *excluded_, index)) continue;
        Take(index, is_maximum ? T{0} - values[i] : values[i] + T{0}, &block);
      }
      return;
    }
    const Least<T> least =
        SearchKernelsOfThisProcessor<T>().least(settings_.goal == Goal::kMaximum, values, count);
    if (least.has_nan) {
      for (size_t i = 0; i < count; ++i) Take(first + static_cast<int64_t>(i), values[i], &block);
    } else if (block.index < 0 || static_cast<double>(least.value) < block.value) {
      const size_t at =
          static_cast<size_t>(std::find(values, values + count, least.value) - values);
      block.value = static_cast<double>(least.value);
      block.index = first + static_cast<int64_t>(at);
    }
    if (profile_ != nullptr) AddToProfile(first, count, values);
  }

 private:
  // Ascending indices: what is not less than the best so far is no better.
  static void Take(int64_t index, T value, BlockResult* block) {
    if (std::isnan(value)) {
      if (block->num_nan++ == 0) block->first_nan = index;
    } else if (block->index < 0 || static_cast<double>(value) < block->value) {
      block->value = static_cast<double>(value);
      block->index = index;
    }
  }

  void AddToProfile(int64_t first, size_t count, const T* values) {
    const int64_t end = first + static_cast<int64_t>(count);
    for (int64_t index = first; index < end;) {
      const int64_t bin = bins_.Bin(index);
      const int64_t stop = std::min(end, bins_.End(index));
      uint64_t& key = profile_[bin];
      for (; index < stop; ++index) {
        const auto value = static_cast<double>(values[index - first]);
        if (!std::isnan(value)) key = std::min(key, OrderedKey(value));
      }
    }
  }

  const Settings& settings_;
  const Bins bins_;
  BlockResult* const blocks_;
  const int64_t first_block_;
  const int64_t block_points_;
  const std::vector<int64_t>* const excluded_;
  uint64_t* profile_ = nullptr;
};

template <typename T>
void EvaluatePiece(const Problem& problem, const Piece& piece, CpuWorkspace* workspace,
                   uint8_t* output) {
  Gatherer<T> gatherer(problem, piece, output);
  Run<T> run;
  run.grid = &problem.grid();
  run.method = problem.settings().method;
  run.values = workspace->Values<T>();
  workspace->BeginPiece();
  const int64_t end = piece.first + piece.count;
  for (run.first = piece.first; run.first < end && CountStep();
       run.first += static_cast<int64_t>(run.count)) {
    const int64_t block_end = (run.first / problem.block_points() + 1) * problem.block_points();
    run.count = static_cast<size_t>(
        std::min<int64_t>({static_cast<int64_t>(kMaxRun), block_end - run.first, end - run.first}));
    problem.functional().Evaluate(run, workspace);
    gatherer.Add(run.first, run.count, run.values);
  }
}

}  // namespace

void EvaluatePieceOnCpu(const Problem& problem, const Piece& piece, CpuWorkspace* workspace,
                        uint8_t* output) {
  if (problem.settings().precision == Precision::kFloat32) {
    EvaluatePiece<float>(problem, piece, workspace, output);
  } else {
    EvaluatePiece<double>(problem, piece, workspace, output);
  }
}

}  // namespace baseband::minimize
