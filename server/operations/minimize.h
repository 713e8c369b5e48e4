// Minimize: a job is a piece of a search, so that long searches share the lanes with everything
// else.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/minimize/search.h"
#include "server/operations/job.h"

namespace baseband::server {

// What the pieces of a search share.
struct SearchPlan {
  minimize::ProblemPtr problem;
  HostLease image;  // what its functional reads on a GPU, page-locked; empty: nothing
};
using SearchPlanPtr = std::shared_ptr<const SearchPlan>;

class MinimizeJob final : public Job {
 public:
  // `reply` will hold the piece's output, see minimize::OutputBytes.
  MinimizeJob(SearchPlanPtr plan, minimize::Piece piece);

  const SearchPlan& plan() const { return *plan_; }
  const minimize::Piece& piece() const { return piece_; }

 private:
  const SearchPlanPtr plan_;
  const minimize::Piece piece_;
};

std::unique_ptr<Batch> MakeMinimizeBatch(std::vector<JobPtr> jobs);

// What searches may count on.
struct SearchCapacity {
  minimize::PieceLimits piece;
  // Of one search: enough to keep a device busy, few enough for others to get their turn.
  int pieces_in_flight = 2;
  double operations_per_second = 0.0;  // of all devices together
};
SearchCapacity SearchCapacityOf(absl::Span<Device* const> devices);

// Bytes of SearchPlan::image, and the image; 0 if no device of `devices` is a GPU.
int64_t SearchImageBytes(const minimize::Problem& problem, absl::Span<Device* const> devices);
void WriteSearchImage(const minimize::Problem& problem, uint8_t* image);

// On a GPU, beside the output of a piece.
int64_t SearchScratchBytes(const minimize::Problem& problem, const minimize::Piece& piece);

// Whether every healthy GPU has the code of the problem already.
bool HasPrograms(const minimize::Problem& problem, absl::Span<Device* const> devices);
// Compiles and loads it where it is not; may take seconds.
absl::Status MakePrograms(const minimize::Problem& problem, absl::Span<Device* const> devices);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_H_
