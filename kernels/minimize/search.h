// The course of one search: hands out pieces, gathers their results in any order, and says what the
// answer is. The answer does not depend on how the grid was cut nor on the order of the results.
//
// Not thread-safe: the caller holds a lock. Slow are Create, which may allocate room for 2^20
// tiles, and Finish, which refines; and where more than one peak is wanted, Add: with the last
// point it brings as many tiles into order, and from then on, whenever all tiles that were
// evaluated again are back, it compares tiles with the peaks so far.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/base/continue_check.h"
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

// What has come of a refinement. The box: one step to each side of the grid's best point, within
// the ends of the axes.
enum class Outcome {
  kNone,       // nothing was refined
  kConverged,  // to a minimum: on each axis it is within the tolerance
  kAtEdge,     // the same of the searched part of space: `point` is at an end of an axis, and the
               // functional falls beyond
  kAtBox,  // `point` is at another face of the box, and the functional falls beyond: the minimum
           // is more than a step from the grid's best point
  kOutOfRounds,  // the method was through before it was there; point_error says by how much, if
                 // that can be said
  kUnresolved,  // nothing better was found, but that it is a minimum cannot be told: the functional
                // is flat there, kinked or noisy
};
// Of kConverged and kAtEdge, in steps of each axis; or four roundings of the coordinate, if that is
// more. A minimum of a smooth functional is a point where the slope is 0 and the curvature is
// positive in all directions, both beyond what they may be wrong by; of one axis also a kink, from
// where the functional rises to both sides.
inline constexpr double kRefinementTolerance = 1e-6;
// Of the functional, on the host.
inline constexpr int64_t kMaxRefinementEvaluations = int64_t{1} << 16;

struct Answer {
  std::vector<Peak> top;  // best first; fewer than top_k if the boxes cover the range; or empty

  // Of the best point; nothing is set if there is none.
  Coordinates grid_point{};
  double grid_value = 0.0;  // at grid_point, in float64 on the host
  bool at_edge = false;     // on the first or last point of an axis with more than one
  Coordinates point{};      // refined; grid_point without refinement
  double value = 0.0;       // at `point`, in float64 on the host; no worse, but for rounding
  Coordinates curvature{};  // second derivative along each axis at `point`; NaN: there is none
  Outcome outcome = Outcome::kNone;
  Coordinates point_error{};  // how far the minimum is from `point`, estimated; NaN: not known
  // Axes with a step longer than the well at `point` is wide, at half its depth: a deeper one may
  // lie unseen between the grid's points. Of functionals that know how wide their wells are
  // (Functional::Lobe); of others, if refined, by their values beside the point.
  std::vector<int> coarse_axes;
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
  // the message names the point. A refinement takes some hundred evaluations on the host and up to
  // kMaxRefinementEvaluations, without one there are some dozens; of the largest functionals each
  // takes a second. `may_continue` is asked before each.
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
