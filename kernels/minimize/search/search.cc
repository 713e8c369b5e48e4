#include "kernels/minimize/search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/search/ordered_key.h"
#include "kernels/minimize/search/refine.h"

namespace baseband::minimize {
namespace {

constexpr int64_t kMaxTiles = int64_t{1} << 20;
// So many tiles are evaluated again at once, at most.
constexpr size_t kMaxAgain = 256;
// One piece has fewer points than this whatever it costs: progress is to move.
constexpr int64_t kMaxPiecePoints = int64_t{1} << 31;

// What `b` found is also found by *a.
void Merge(const BlockResult& b, BlockResult* a) {
  a->num_nan += b.num_nan;
  if (b.first_nan >= 0 && (a->first_nan < 0 || b.first_nan < a->first_nan)) {
    a->first_nan = b.first_nan;
  }
  if (IsBetter(b, *a)) {
    a->value = b.value;
    a->index = b.index;
  }
}

// So many points make a tile of a search for several peaks.
int64_t TilePoints(const Problem& problem) {
  int64_t points = problem.block_points();
  while ((problem.first() + problem.count() - 1) / points - problem.first() / points >= kMaxTiles) {
    points *= 2;
  }
  return points;
}

int64_t NumTiles(const Problem& problem, int64_t points) {
  return (problem.first() + problem.count() - 1) / points - problem.first() / points + 1;
}

// So many points make a piece, at most.
int64_t PiecePoints(const Problem& problem, const PieceLimits& limits) {
  const Settings& settings = problem.settings();
  const double points = limits.operations / problem.cost_per_point();
  int64_t piece_points =
      static_cast<int64_t>(std::clamp(points, 1.0, static_cast<double>(kMaxPiecePoints)));
  const int64_t block = problem.block_points();
  const int64_t max_blocks =
      (limits.output_bytes - settings.profile_bins * int64_t{sizeof(uint64_t)}) /
      int64_t{sizeof(BlockResult)};
  piece_points = std::min(piece_points, (max_blocks - 1) * block);
  while (piece_points > 1 &&
         problem.functional().GpuScratchBytes(problem.grid(), settings.method, piece_points) >
             limits.scratch_bytes) {
    piece_points /= 2;
  }
  if (piece_points > block) piece_points -= piece_points % block;
  return piece_points;
}

}  // namespace

int64_t Search::HostBytes(const Problem& problem) {
  const Settings& settings = problem.settings();
  int64_t bytes = settings.profile_bins * int64_t{sizeof(uint64_t)};
  if (settings.top_k > 1) {  // the tiles, and again in the order of their values
    bytes += 2 * NumTiles(problem, TilePoints(problem)) * int64_t{sizeof(BlockResult)};
  }
  return bytes;
}

int64_t Search::MaxOutputBytes(const Problem& problem, const PieceLimits& limits) {
  Piece piece;  // one that begins and ends within blocks
  piece.first = problem.block_points() - 1;
  piece.count = std::min(problem.count(), PiecePoints(problem, limits));
  return OutputBytes(problem, piece);
}

absl::StatusOr<Search> Search::Create(ProblemPtr problem, const PieceLimits& limits) {
  const int64_t bins_bytes = problem->settings().profile_bins * int64_t{sizeof(uint64_t)};
  if (limits.output_bytes < bins_bytes + 64 * int64_t{sizeof(BlockResult)}) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_bytes ", limits.output_bytes, " of a piece is too little"));
  }
  if (!(limits.operations > 0.0)) {
    return absl::InvalidArgumentError("operations of a piece is not above 0");
  }
  return Search(std::move(problem), limits);
}

Search::Search(ProblemPtr problem, const PieceLimits& limits) : problem_(std::move(problem)) {
  const Settings& settings = problem_->settings();
  piece_points_ = PiecePoints(*problem_, limits);
  profile_.assign(static_cast<size_t>(settings.profile_bins), kNoKey);
  if (settings.top_k > 1) {
    tile_points_ = TilePoints(*problem_);
    tiles_.resize(static_cast<size_t>(NumTiles(*problem_, tile_points_)));
  }
}

absl::optional<Piece> Search::Next() {
  if (done_) return absl::nullopt;
  if (!again_.empty()) {
    Piece piece = again_.back();
    // No more at once than the limits allow.
    if (piece.count > piece_points_) {
      again_.back().first += piece_points_;
      again_.back().count -= piece_points_;
      piece.count = piece_points_;
    } else {
      again_.pop_back();
    }
    return piece;
  }
  if (handed_out_ == problem_->count()) return absl::nullopt;
  Piece piece;
  piece.first = problem_->first() + handed_out_;
  // Pieces end where blocks end, if they are that long.
  const int64_t block = problem_->block_points();
  int64_t end = piece.first + piece_points_;
  if (piece_points_ >= block) end -= end % block;
  end = std::min(end, problem_->first() + problem_->count());
  piece.count = end - piece.first;
  handed_out_ += piece.count;
  return piece;
}

void Search::Add(const Piece& piece, const uint8_t* output) {
  const absl::Span<const BlockResult> blocks(reinterpret_cast<const BlockResult*>(output),
                                             static_cast<size_t>(NumBlocks(*problem_, piece)));
  evaluations_ += piece.count;
  if (!tiles_.empty()) {
    const int64_t first_tile = problem_->first() / tile_points_;
    int64_t block = piece.first / problem_->block_points();
    for (const BlockResult& result : blocks) {
      const int64_t tile = block++ * problem_->block_points() / tile_points_ - first_tile;
      Merge(result, &tiles_[static_cast<size_t>(tile)]);
    }
  }
  if (piece.excluded != nullptr) {
    outstanding_ -= piece.count;
    if (outstanding_ == 0) Choose();
    return;
  }
  for (const BlockResult& result : blocks) Merge(result, &best_);
  const auto* const keys =
      reinterpret_cast<const uint64_t*>(output + ProfileOffset(*problem_, piece));
  for (size_t i = 0; i < profile_.size(); ++i) profile_[i] = std::min(profile_[i], keys[i]);
  added_ += piece.count;
  if (best_.num_nan > 0 && problem_->settings().nan_policy == NanPolicy::kFail) done_ = true;
  if (added_ < problem_->count() || done_) return;
  if (tiles_.empty()) {
    done_ = true;
    return;
  }
  std::vector<BlockResult> found;
  found.reserve(tiles_.size());
  for (const BlockResult& tile : tiles_) {
    if (tile.index >= 0) found.push_back(tile);
  }
  queue_ = decltype(queue_)(Worse(), std::move(found));
  Choose();
}

// Takes peaks from the queue until there are enough, or until tiles have to be evaluated again:
// then as many of them as come next.
void Search::Choose() {
  if (excluded_ != nullptr) {  // tiles came back
    for (const Piece& piece : re_evaluated_) {
      const BlockResult& tile = TileOf(piece.first);
      if (tile.index >= 0) queue_.push(tile);
    }
    re_evaluated_.clear();
    excluded_ = nullptr;
  }
  while (!queue_.empty() && static_cast<int>(chosen_.size()) < problem_->settings().top_k) {
    const BlockResult tile = queue_.top();
    if (!IsExcluded(tile.index)) {
      if (!re_evaluated_.empty()) break;  // a tile before this one may have something better
      queue_.pop();
      chosen_.push_back({tile.index, tile.value});
      queue_.push(tile);  // for what else is in it
      continue;
    }
    queue_.pop();
    Piece piece;
    const int64_t begin = tile.index / tile_points_ * tile_points_;
    piece.first = std::max(begin, problem_->first());
    piece.count =
        std::min(begin + tile_points_, problem_->first() + problem_->count()) - piece.first;
    if (IsCovered(piece.first, piece.first + piece.count - 1)) continue;
    re_evaluated_.push_back(piece);
    if (re_evaluated_.size() == kMaxAgain) break;
  }
  if (re_evaluated_.empty()) {
    done_ = true;
    return;
  }
  auto excluded = std::make_shared<std::vector<int64_t>>();
  for (const Peak& peak : chosen_) excluded->push_back(peak.index);
  excluded_ = std::move(excluded);
  for (Piece& piece : re_evaluated_) {
    piece.excluded = excluded_;
    TileOf(piece.first) = BlockResult();
    outstanding_ += piece.count;
  }
  again_ = re_evaluated_;
}

BlockResult& Search::TileOf(int64_t index) {
  return tiles_[static_cast<size_t>(index / tile_points_ - problem_->first() / tile_points_)];
}

bool Search::IsExcluded(int64_t index) const {
  const Grid& grid = problem_->grid();
  const Indices at = grid.IndicesOf(index);
  for (const Peak& peak : chosen_) {
    const Indices centre = grid.IndicesOf(peak.index);
    bool inside = true;
    for (size_t k = 0; k < static_cast<size_t>(grid.num_axes()); ++k) {
      inside = inside && std::abs(at[k] - centre[k]) < problem_->settings().separation[k];
    }
    if (inside) return true;
  }
  return false;
}

// Whether one box is sure to hold all of first .. last: only looked for within a row.
bool Search::IsCovered(int64_t first, int64_t last) const {
  const Grid& grid = problem_->grid();
  const auto row = static_cast<size_t>(grid.num_axes() - 1);
  const int64_t length = grid.axis(grid.num_axes() - 1).count;
  if (first / length != last / length) return false;
  const Indices from = grid.IndicesOf(first);
  for (const Peak& peak : chosen_) {
    const Indices centre = grid.IndicesOf(peak.index);
    const Indices& separation = problem_->settings().separation;
    bool inside = std::abs(from[row] - centre[row]) < separation[row] &&
                  std::abs(from[row] + (last - first) - centre[row]) < separation[row];
    for (size_t k = 0; k < row; ++k) {
      inside = inside && std::abs(from[k] - centre[k]) < separation[k];
    }
    if (inside) return true;
  }
  return false;
}

Progress Search::progress() const {
  Progress progress;
  progress.done = added_;
  progress.total = problem_->count();
  progress.index = best_.index;
  progress.value = problem_->settings().goal == Goal::kMaximum ? -best_.value : best_.value;
  progress.num_nan = best_.num_nan;
  return progress;
}

absl::StatusOr<Answer> Search::Finish(const ContinueCheck& may_continue) const {
  const Settings& settings = problem_->settings();
  if (best_.num_nan > 0 && settings.nan_policy == NanPolicy::kFail) {
    const Coordinates x = problem_->grid().CoordinatesOf(best_.first_nan);
    return absl::OutOfRangeError(absl::StrCat(
        "the functional is not a number at point ", best_.first_nan, ", coordinates ",
        absl::StrJoin(absl::MakeSpan(x.data(), static_cast<size_t>(problem_->grid().num_axes())),
                      ", ")));
  }
  const double sign = settings.goal == Goal::kMaximum ? -1.0 : 1.0;
  Answer answer;
  answer.evaluations = evaluations_;
  answer.num_nan = best_.num_nan;
  answer.first_nan = best_.first_nan;
  for (const uint64_t key : profile_) {
    answer.profile.push_back(key == kNoKey ? std::numeric_limits<double>::quiet_NaN()
                                           : sign * FromOrderedKey(key));
  }
  if (best_.index < 0) return answer;
  answer.top = chosen_;
  if (answer.top.empty()) answer.top.push_back({best_.index, best_.value});
  for (Peak& peak : answer.top) peak.value *= sign;
  BASEBAND_RETURN_IF_ERROR(Refine(*problem_, may_continue, &answer));
  return answer;
}

}  // namespace baseband::minimize
