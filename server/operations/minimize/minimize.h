// Minimize: a job is a piece of a search, so that long searches share the lanes with everything
// else.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/minimize/search.h"
#include "server/jobs/job.h"
#include "server/jobs/operation.h"
#include "server/operations/minimize/search_tables.h"

namespace baseband::minimize {
class GpuProgram;  // minimize_gpu.h
}

namespace baseband::server {

// What the pieces of a search share.
struct SearchPlan {
  struct Program {
    const Device* device = nullptr;
    std::shared_ptr<const minimize::GpuProgram> program;
  };

  minimize::ProblemPtr problem;
  // One for each GPU that can have one: what is built in is on all of them, and an expression's is
  // made for those that were healthy when the search began. They stay for as long as the search
  // does, whatever becomes of the cache that they came from.
  std::vector<Program> programs;
  // The one for `device`; null: there is none.
  const Program* ProgramOn(const Device* device) const;
  // The only devices that pieces go to, since a GPU that may come back meanwhile has no program;
  // empty: any.
  std::vector<Device*> only_on;
  HostLease image;  // its tables: what its functional reads on a GPU, page-locked; empty: nothing
  // Where they stay on GPUs between its batches; null: they come along with each.
  std::unique_ptr<const KeptTables> tables;
  uint64_t fingerprint = 0;  // of the request, and of all its jobs
};
using SearchPlanPtr = std::shared_ptr<const SearchPlan>;

class MinimizeJob final : public Job {
 public:
  // `reply` will hold the piece's output, see minimize::OutputBytes. A background job, unless the
  // search takes no longer than one piece. Bound to a device that is healthy now, each piece to the
  // next, if not all may run the plan.
  MinimizeJob(const Operation& operation, SearchPlanPtr plan, minimize::Piece piece,
              const minimize::PieceLimits& limits);

  const SearchPlan& plan() const { return *plan_; }
  const minimize::Piece& piece() const { return piece_; }

 private:
  const SearchPlanPtr plan_;
  const minimize::Piece piece_;
};

std::unique_ptr<Batch> MakeMinimizeBatch(std::vector<JobPtr> jobs);

// Searches on the lane of `bench`. Internal says what was found.
absl::Status TestMinimize(const Operation& operation, SelfTestBench& bench);

// Loads the kernels on the GPU that is current.
absl::Status PrepareMinimizeCuda();

// What searches may count on. The devices that serve are GPUs or CPUs, never both: one length of
// piece is right for all of them.
struct SearchCapacity {
  minimize::PieceLimits piece;
  // Of one search: enough to keep a device busy, few enough for others to get their turn.
  int pieces_in_flight = 2;
  double operations_per_second = 0.0;  // of all devices together
};
SearchCapacity SearchCapacityOf(absl::Span<Device* const> serving);
// Operations a second of all devices together.
struct SearchRates {
  double now = 0.0;      // of those that serve
  double at_best = 0.0;  // and once those that are lost are back
};
SearchRates SearchRatesOf(const SearchCapacity& serving, absl::Span<Device* const> devices);
// Host memory that a search of `problem` holds at most: what was made of its request, its course,
// its image, and the replies of its pieces in flight.
int64_t SearchHostBytes(const minimize::Problem& problem, const SearchCapacity& capacity,
                        absl::Span<Device* const> devices);

// Bytes of SearchPlan::image, and the image; 0 if no device of `devices` is a GPU.
int64_t SearchImageBytes(const minimize::Problem& problem, absl::Span<Device* const> devices);
void WriteSearchImage(const minimize::Problem& problem, uint8_t* image);
// Sets plan->tables, if the tables are large and the search more than one piece: then they stay on
// the GPUs among `devices`, which outlive the plan, as objects of `client`.
void KeepTables(std::string client, absl::Span<Device* const> devices,
                const minimize::PieceLimits& limits, SearchPlan* plan);

// InvalidArgument: it fits no lane, each of which has `max_input_bytes`.
absl::Status CheckImageFits(int64_t image_bytes, int64_t max_input_bytes);

// On a GPU, beside the output of a piece.
int64_t SearchScratchBytes(const minimize::Problem& problem, const minimize::Piece& piece);

// Sets plan->programs and plan->only_on, and returns true if every healthy GPU has the code of the
// problem already.
bool FindPrograms(absl::Span<Device* const> devices, SearchPlan* plan);
// Sets them, and compiles and loads what is not there; may take seconds. Unavailable: no device is
// healthy any more.
absl::Status MakePrograms(absl::Span<Device* const> devices, SearchPlan* plan);
// Sets plan->only_on by plan->programs. False: there is no device that may run the plan.
bool KeepToPrograms(absl::Span<Device* const> devices, SearchPlan* plan);
// Adds that of one device, healthy or not. Unavailable: an expression, and there is no NVRTC.
absl::Status AddProgram(Device* device, SearchPlan* plan);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_H_
