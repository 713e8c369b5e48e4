// The course of one search: hands out pieces, gathers their results in any order, and says what the
// answer is. The answer does not depend on how the grid was cut nor on the order of the results.
//
// Not thread-safe: the caller holds a lock. Nothing here is slow but Create (which may allocate
// room for 2^20 tiles) and Finish (refinement).
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/minimize/piece.h"
#include "kernels/minimize/problem.h"

namespace baseband::minimize {

// How much a piece may be. Operations are Problem::cost_per_point's: what a device does in 2 ms.
inline constexpr double kCpuOperationsPerPiece = 8e6;   // of one core
inline constexpr double kGpuOperationsPerPiece = 3e10;  // of an H200
struct PieceLimits {
  double operations = kCpuOperationsPerPiece;  // at most, unless one point is more
  // At most, but there must be room for the profile and 64 blocks.
  int64_t output_bytes = int64_t{1} << 20;
  int64_t scratch_bytes = int64_t{64} << 20;  // of a GPU, at most, unless one point needs more
};

struct Progress {
  int64_t done = 0;   // points evaluated
  int64_t total = 0;  // points of the range; re-evaluations for the top K are not counted
  // Best so far, as the device computed it, in the sign of the functional; index -1: none yet.
  int64_t index = -1;
  double value = 0.0;
  int64_t num_nan = 0;
};

struct Peak {
  int64_t index = -1;
  double value = 0.0;  // as the device computed it
};

struct Answer {
  std::vector<Peak> top;  // best first; fewer than top_k if the boxes cover the range; or empty

  // Of the best point; nothing is set if there is none.
  Coordinates grid_point{};
  double grid_value = 0.0;  // at grid_point, in float64 on the host
  bool at_edge = false;     // on the first or last point of an axis with more than one
  Coordinates point{};      // refined; grid_point without refinement
  double value = 0.0;       // at `point`, in float64 on the host
  Coordinates curvature{};  // second derivative along each axis at `point`
  NoiseBound bound;

  int64_t evaluations = 0;  // on the devices, re-evaluations included
  int64_t num_nan = 0;
  int64_t first_nan = -1;
  std::vector<double> profile;  // by bin; NaN where no point of the range had a value
};

class Search {
 public:
  // InvalidArgument: limits that leave no room.
  static absl::StatusOr<Search> Create(ProblemPtr problem, const PieceLimits& limits);

  // Host memory that a search of `problem` holds beside the problem, and the output of its largest
  // piece.
  static int64_t HostBytes(const Problem& problem);
  static int64_t MaxOutputBytes(const Problem& problem, const PieceLimits& limits);

  const Problem& problem() const { return *problem_; }

  // The next piece; none while the results of others have to come first, or once done().
  absl::optional<Piece> Next();
  // The output of a piece that Next returned, OutputBytes() of it, 8-byte aligned. Every piece
  // exactly once.
  void Add(const Piece& piece, const uint8_t* output);
  // Nothing is to be evaluated any more: with NanPolicy::kFail, as soon as there is a NaN. Pieces
  // that are still on their way may be dropped.
  bool done() const { return done_; }

  Progress progress() const;
  // Once done(). OutOfRange: the functional is not a number somewhere, and the policy is to fail;
  // the message names the point. A refinement takes up to some thousand evaluations on the host, a
  // second each at worst: `may_continue`, if there is one, is asked before each, and what it says
  // other than OK is returned.
  using ContinueCheck = std::function<absl::Status()>;
  absl::StatusOr<Answer> Finish(const ContinueCheck& may_continue = nullptr) const;

 private:
  Search(ProblemPtr problem, const PieceLimits& limits);

  struct Worse {
    bool operator()(const BlockResult& a, const BlockResult& b) const { return IsBetter(b, a); }
  };

  void Choose();
  BlockResult& TileOf(int64_t index);
  bool IsExcluded(int64_t index) const;
  bool IsCovered(int64_t first, int64_t last) const;

  ProblemPtr problem_;
  int64_t piece_points_ = 1;
  bool done_ = false;

  int64_t handed_out_ = 0;  // points
  int64_t added_ = 0;       // points
  int64_t evaluations_ = 0;
  BlockResult best_;  // and all NaNs
  std::vector<uint64_t> profile_;

  // More than one peak: the best of every tile that is not excluded.
  int64_t tile_points_ = 0;
  std::vector<BlockResult> tiles_;
  std::priority_queue<BlockResult, std::vector<BlockResult>, Worse> queue_;
  std::vector<Peak> chosen_;
  std::shared_ptr<const std::vector<int64_t>> excluded_;
  std::vector<Piece> re_evaluated_;  // whole tiles, some limits' worth
  std::vector<Piece> again_;         // what is left of them to be handed out
  int64_t outstanding_ = 0;          // their points that did not come back
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_H_
