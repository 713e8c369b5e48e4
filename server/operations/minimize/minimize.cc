#include "server/operations/minimize/minimize.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/minimize/minimize_cpu.h"
#include "server/operations/minimize/minimize_batch.h"

namespace baseband::server {
namespace {

constexpr double kPieceSeconds = 2e-3;  // what search.h's operations per piece take
constexpr int kGpuPieces = 2;           // one in work, one to follow it
constexpr int64_t kPieceOutputBytes = int64_t{1} << 20;
constexpr int64_t kPieceScratchBytes = int64_t{8} << 20;
constexpr double kGuessedOperationS = 1e-9;  // on one core
// Of a batch in place: what a GPU does in some 100 us, so that who waits for it need not sleep, and
// images that all threads read over the bus: a number or a few.
constexpr double kMaxInPlaceOperations = 0.05 * minimize::kGpuOperationsPerPiece;
constexpr int64_t kMaxInPlaceImageBytes = 64;

// Which of the devices that may run the plan evaluates `piece`; null: any of all.
Device* DeviceOf(const SearchPlan& plan, const minimize::Piece& piece) {
  const std::vector<Device*>& devices = plan.only_on;
  if (devices.empty()) return nullptr;
  const auto turn = static_cast<size_t>(piece.first / std::max<int64_t>(piece.count, 1));
  for (size_t i = 0; i < devices.size(); ++i) {
    Device* const device = devices[(turn + i) % devices.size()];
    if (device->healthy()) return device;
  }
  return devices.front();  // it is lost, as the dispatcher says
}

}  // namespace

SearchCapacity SearchCapacityOf(absl::Span<Device* const> serving) {
  SearchCapacity capacity;
  capacity.pieces_in_flight = 0;
  capacity.piece.output_bytes = kPieceOutputBytes;
  capacity.piece.scratch_bytes = kPieceScratchBytes;
  for (const Device* device : serving) {
    if (device->kind() == "cuda") {
      capacity.pieces_in_flight += kGpuPieces;
      capacity.piece.operations = minimize::kGpuOperationsPerPiece;
      capacity.operations_per_second += minimize::kGpuOperationsPerPiece / kPieceSeconds;
    } else {
      capacity.pieces_in_flight += 2 * device->pieces_at_once();
      capacity.operations_per_second +=
          device->pieces_at_once() * minimize::kCpuOperationsPerPiece / kPieceSeconds;
      capacity.piece.operations = minimize::kCpuOperationsPerPiece;
    }
  }
  return capacity;
}

const SearchPlan::Program* SearchPlan::ProgramOn(const Device* device) const {
  const auto found =
      std::find_if(programs.begin(), programs.end(),
                   [device](const Program& program) { return program.device == device; });
  return found == programs.end() ? nullptr : &*found;
}

SearchRates SearchRatesOf(const SearchCapacity& serving, absl::Span<Device* const> devices) {
  std::vector<Device*> first;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(first),
               [](const Device* device) { return !device->standby(); });
  const double now = serving.operations_per_second;
  return {now, std::max(now, SearchCapacityOf(first).operations_per_second)};
}

absl::Status CheckImageFits(int64_t image_bytes, int64_t max_input_bytes) {
  if (image_bytes <= max_input_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the search needs ", image_bytes,
                                                 " bytes of tables; this server takes at most ",
                                                 max_input_bytes, ": divide the grid"));
}

bool KeepToPrograms(absl::Span<Device* const> devices, SearchPlan* plan) {
  const auto can_run = [&](const Device* device) {
    return device->kind() != "cuda" || plan->ProgramOn(device) != nullptr;
  };
  plan->only_on.clear();
  if (std::all_of(devices.begin(), devices.end(), can_run)) return true;
  const std::vector<Device*> serving = Serving(devices);
  std::copy_if(serving.begin(), serving.end(), std::back_inserter(plan->only_on), can_run);
  return !plan->only_on.empty();
}

int64_t SearchHostBytes(const minimize::Problem& problem, const SearchCapacity& capacity,
                        absl::Span<Device* const> devices) {
  return problem.functional().HostBytes() + minimize::Search::HostBytes(problem) +
         SearchImageBytes(problem, devices) +
         capacity.pieces_in_flight * minimize::Search::MaxOutputBytes(problem, capacity.piece);
}

void KeepTables(std::string client, absl::Span<Device* const> devices,
                const minimize::PieceLimits& limits, SearchPlan* plan) {
  if (plan->image.size() < kMinKeptTableBytes || plan->problem->cost() <= limits.operations) return;
  plan->tables = std::make_unique<const KeptTables>(std::move(client), devices);
}

MinimizeJob::MinimizeJob(const Operation& operation, SearchPlanPtr plan, minimize::Piece piece,
                         const minimize::PieceLimits& limits)
    : Job(operation), plan_(std::move(plan)), piece_(std::move(piece)) {
  fingerprint = plan_->fingerprint;
  reply_bytes = minimize::OutputBytes(*plan_->problem, piece_);
  device = DeviceOf(*plan_, piece_);
  background = plan_->problem->cost() > limits.operations;
  work.units = plan_->problem->cost_per_point() * static_cast<double>(piece_.count);
  work.guessed_unit_s = kGuessedOperationS;
  footprint.blocks = 1;
  footprint.input_bytes = AlignUp(plan_->image.size());
  footprint.output_bytes =
      AlignUp(reply_bytes) + AlignUp(SearchScratchBytes(*plan_->problem, piece_));
}

std::unique_ptr<Batch> MakeMinimizeBatch(std::vector<JobPtr> jobs) {
  return std::make_unique<MinimizeBatch>(std::move(jobs));
}

bool MinimizeBatch::WritesInPlace() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    if (job(i).plan().problem->settings().profile_bins > 0) return false;  // atomic operations
    bytes += job(i).reply_bytes;
  }
  return bytes <= kMaxInPlaceBytes;
}

bool MinimizeBatch::IsInPlace() const {
  double operations = 0.0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const HostLease& image = job(i).plan().image;
    if (image.size() > kMaxInPlaceImageBytes) return false;
    if (image.size() > 0 && !image.region()->is_page_locked) return false;
    operations += job(i).work.units;
  }
  return operations <= kMaxInPlaceOperations;
}

void MinimizeBatch::RunPiece(int piece) {
  MinimizeJob& owner = job(static_cast<size_t>(piece));
  RunIfWanted(owner, [&] {
    minimize::EvaluatePieceOnCpu(*owner.plan().problem, owner.piece(),
                                 &minimize::CpuWorkspace::OfThisThread(), owner.reply.data());
  });
}

}  // namespace baseband::server
