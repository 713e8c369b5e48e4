// The GPU's side of MinimizeBatch. CUDA builds only.
#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/minimize/minimize_gpu.h"
#include "server/jobs/cuda_copies.h"
#include "server/operations/minimize/minimize_batch.h"

namespace baseband::server {
namespace {

bool IsGpu(const Device* device) { return device->kind() == "cuda"; }
// Whether its code is on every GPU from the start, and the same on all of them.
bool IsBuiltIn(const minimize::Problem& problem) {
  return problem.functional().kind() != minimize::FunctionalKind::kExpression;
}

}  // namespace

absl::Status PrepareMinimizeCuda() { return minimize::PrepareMinimize(); }

int64_t SearchImageBytes(const minimize::Problem& problem, absl::Span<Device* const> devices) {
  return std::any_of(devices.begin(), devices.end(), IsGpu) ? minimize::ImageBytes(problem) : 0;
}

void WriteSearchImage(const minimize::Problem& problem, uint8_t* image) {
  minimize::WriteImage(problem, image);
}

int64_t SearchScratchBytes(const minimize::Problem& problem, const minimize::Piece& piece) {
  return minimize::ScratchBytes(problem, piece);
}

bool FindPrograms(absl::Span<Device* const> devices, SearchPlan* plan) {
  plan->programs.clear();
  const bool is_built_in = IsBuiltIn(*plan->problem);
  for (Device* const device : devices) {
    if (!IsGpu(device) || (!device->healthy() && !is_built_in)) continue;
    minimize::GpuProgramPtr program;
    const auto find = [&] {
      program = minimize::FindProgram(*plan->problem);
      return absl::OkStatus();
    };
    const absl::Status looked = is_built_in ? find() : device->OnDevice(find);
    if (!looked.ok() || program == nullptr) return false;
    plan->programs.push_back({device, std::move(program)});
  }
  return KeepToPrograms(devices, plan);
}

absl::Status MakePrograms(absl::Span<Device* const> devices, SearchPlan* plan) {
  if (IsBuiltIn(*plan->problem) && FindPrograms(devices, plan)) return absl::OkStatus();
  plan->programs.clear();
  for (Device* const device : devices) {
    if (!IsGpu(device) || !device->healthy()) continue;
    const absl::Status added = AddProgram(device, plan);
    if (!added.ok() && device->healthy()) return added;  // else the others go on without it
  }
  if (!KeepToPrograms(devices, plan)) return absl::UnavailableError("no device is healthy");
  return absl::OkStatus();
}

absl::Status AddProgram(Device* device, SearchPlan* plan) {
  if (!IsGpu(device)) return absl::OkStatus();
  return device->OnDevice([&]() -> absl::Status {
    BASEBAND_ASSIGN_OR_RETURN(minimize::GpuProgramPtr program,
                              minimize::PrepareProgram(*plan->problem));
    plan->programs.push_back({device, std::move(program)});
    return absl::OkStatus();
  });
}

absl::Status MinimizeBatch::CopyImages(const CudaLaneView& lane) {
  std::vector<CopyRun> runs;
  std::vector<std::pair<const SearchPlan*, const uint8_t*>> images;
  int64_t input_bytes = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const SearchPlan& plan = job(i).plan();
    const auto found = std::find_if(images.begin(), images.end(),
                                    [&](const auto& image) { return image.first == &plan; });
    if (found != images.end()) {
      places_[i].image = found->second;
      continue;
    }
    const int64_t bytes = plan.image.size();
    const BatchTables::Place kept = tables_.Find(lane.device->objects(), plan.tables.get(), bytes);
    if (kept.is_new) {
      BASEBAND_RETURN_IF_ERROR(CopyToObject(kept.data, plan.image.data(), bytes, lane));
    }
    places_[i].image = kept.data;
    if (kept.data == nullptr) {
      places_[i].image = lane.input_device + input_bytes;
      if (bytes > 0) runs.push_back({plan.image.data(), input_bytes, bytes});
      input_bytes += AlignUp(bytes);
    }
    images.emplace_back(&plan, places_[i].image);
  }
  return CopyToDevice(/*control_bytes=*/0, runs, lane);
}

absl::Status MinimizeBatch::CudaCopyIn(const CudaLaneView& lane) {
  places_.resize(jobs_.size());
  for (size_t i = 0; i < jobs_.size(); ++i) {
    places_[i].output = writes_in_place_
                            ? job(i).reply.data()
                            : lane.output_device + output_.Add(job(i).reply_bytes, &job(i).reply);
  }
  int64_t scratch = AlignUp(output_.size());
  for (size_t i = 0; i < jobs_.size(); ++i) {
    places_[i].scratch_offset = scratch;
    scratch += AlignUp(SearchScratchBytes(*job(i).plan().problem, job(i).piece()));
    if (in_place_) places_[i].image = job(i).plan().image.data();
  }
  return in_place_ ? absl::OkStatus() : CopyImages(lane);
}

absl::Status MinimizeBatch::CudaRun(const CudaLaneView& lane) {
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const SearchPlan& plan = job(i).plan();
    minimize::PieceLaunch launch;
    launch.problem = plan.problem.get();
    const SearchPlan::Program* const found = plan.ProgramOn(lane.device);
    if (found == nullptr) {  // pieces keep to devices that have one: KeepToPrograms
      return absl::InternalError("a search without a program for its device");
    }
    launch.program = found->program.get();
    launch.piece = job(i).piece();
    launch.image = places_[i].image;
    launch.scratch = lane.output_device + places_[i].scratch_offset;
    launch.output = places_[i].output;
    BASEBAND_RETURN_IF_ERROR(minimize::LaunchPiece(launch, lane.stream));
  }
  return absl::OkStatus();
}

absl::Status MinimizeBatch::CudaCopyOut(const CudaLaneView& lane) {
  return CopyFromDevice(output_.Runs(lane.output_staging_host), lane);
}

}  // namespace baseband::server
