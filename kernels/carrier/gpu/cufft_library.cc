#include "kernels/carrier/gpu/cufft_library.h"

#include <cufft.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/dynamic_library.h"
#include "kernels/base/status_macros.h"

namespace baseband::carrier {
namespace {

constexpr char kNoun[] = "cuFFT";

// Names by which cuFFT of CUDA 13 and 12, then of 11 and 10, is found. What is used of it has not
// changed between them.
constexpr const char* kLibraryNames[] = {"libcufft.so.12", "libcufft.so.11"};

// The functions of cuFFT that are called, with the types that its header gives them.
struct CufftFunctions {
  decltype(&cufftCreate) create = nullptr;
  decltype(&cufftSetAutoAllocation) set_auto_allocation = nullptr;
  decltype(&cufftMakePlanMany) make_plan_many = nullptr;
  decltype(&cufftSetStream) set_stream = nullptr;
  decltype(&cufftSetWorkArea) set_work_area = nullptr;
  decltype(&cufftExecC2C) exec_c2c = nullptr;
};

absl::StatusOr<CufftFunctions> Load() {
  BASEBAND_ASSIGN_OR_RETURN(void* const library, LoadLibrary(kNoun, kLibraryNames));
  CufftFunctions found;
  BASEBAND_RETURN_IF_ERROR(FindFunction(library, kNoun, "cufftCreate", &found.create));
  BASEBAND_RETURN_IF_ERROR(
      FindFunction(library, kNoun, "cufftSetAutoAllocation", &found.set_auto_allocation));
  BASEBAND_RETURN_IF_ERROR(
      FindFunction(library, kNoun, "cufftMakePlanMany", &found.make_plan_many));
  BASEBAND_RETURN_IF_ERROR(FindFunction(library, kNoun, "cufftSetStream", &found.set_stream));
  BASEBAND_RETURN_IF_ERROR(FindFunction(library, kNoun, "cufftSetWorkArea", &found.set_work_area));
  BASEBAND_RETURN_IF_ERROR(FindFunction(library, kNoun, "cufftExecC2C", &found.exec_c2c));
  return found;
}

// Loaded once a process and never unloaded.
const absl::StatusOr<CufftFunctions>& Cufft() {
  static const auto* const kFunctions = new absl::StatusOr<CufftFunctions>(Load());
  return *kFunctions;
}

absl::Status ToStatus(cufftResult result, const char* call) {
  if (result == CUFFT_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat(call, ": cuFFT error ", static_cast<int>(result));
  return result == CUFFT_ALLOC_FAILED ? absl::ResourceExhaustedError(message)
                                      : absl::InternalError(message);
}

constexpr int64_t BatchSize(int index) { return int64_t{1} << index; }

// The largest batch size that the plans of a length have.
int LargestBatch(int log2_line) {
  int index = kNumBatchSizes - 1;
  while (index > 0 && BatchSize(index) << log2_line > kMaxPlanPoints) --index;
  return index;
}

// The plan that takes the first of `num_frames` frames: the largest that they fill, or the next one
// if they fill more than 3/4 of that. 23 frames are 16 + 7 of 8.
int NextBatch(int log2_line, int64_t num_frames) {
  int index = LargestBatch(log2_line);
  while (index > 0 && 4 * num_frames <= 3 * BatchSize(index)) --index;
  return index;
}

absl::StatusOr<int> MakePlan(const CufftFunctions& cufft, int log2_line, int64_t batch) {
  cufftHandle plan = 0;
  BASEBAND_RETURN_IF_ERROR(ToStatus(cufft.create(&plan), "cufftCreate"));
  BASEBAND_RETURN_IF_ERROR(ToStatus(cufft.set_auto_allocation(plan, 0), "cufftSetAutoAllocation"));
  int length = 1 << log2_line;
  size_t work_bytes = 0;
  BASEBAND_RETURN_IF_ERROR(
      ToStatus(cufft.make_plan_many(plan, 1, &length, nullptr, 1, length, nullptr, 1, length,
                                    CUFFT_C2C, static_cast<int>(batch), &work_bytes),
               "cufftMakePlanMany"));
  if (static_cast<int64_t>(work_bytes) > FftPlans::WorkBytes(log2_line, batch)) {
    return absl::InternalError(absl::StrCat("cuFFT wants ", work_bytes, " bytes of scratch for ",
                                            batch, " transforms of ", length, " points"));
  }
  return plan;
}

}  // namespace

absl::StatusOr<FftPlans> FftPlans::Create() {
  BASEBAND_ASSIGN_OR_RETURN(const CufftFunctions cufft, Cufft());
  FftPlans plans;
  for (int log2_line = kMinLog2Line; log2_line <= kMaxLog2Line; ++log2_line) {
    auto& of_length = plans.plans_[static_cast<size_t>(log2_line - kMinLog2Line)];
    of_length.fill(kNoPlan);
    for (int index = 0; index <= LargestBatch(log2_line); ++index) {
      BASEBAND_ASSIGN_OR_RETURN(of_length[static_cast<size_t>(index)],
                                MakePlan(cufft, log2_line, BatchSize(index)));
    }
  }
  return plans;
}

int64_t FftPlans::Room(int log2_line, int64_t num_frames) {
  int64_t room = 0;
  while (room < num_frames) room += BatchSize(NextBatch(log2_line, num_frames - room));
  return room;
}

int64_t FftPlans::WorkBytes(int log2_line, int64_t num_frames) {
  const int64_t largest = BatchSize(LargestBatch(log2_line));
  return std::min(Room(log2_line, num_frames), largest) << (log2_line + 3);
}

absl::Status FftPlans::Forward(int log2_line, int64_t num_frames, float2* frames, void* work,
                               cudaStream_t stream) const {
  BASEBAND_ASSIGN_OR_RETURN(const CufftFunctions cufft, Cufft());
  const auto& of_length = plans_[static_cast<size_t>(log2_line - kMinLog2Line)];
  while (num_frames > 0) {
    const int index = NextBatch(log2_line, num_frames);
    const cufftHandle plan = of_length[static_cast<size_t>(index)];
    BASEBAND_RETURN_IF_ERROR(ToStatus(cufft.set_stream(plan, stream), "cufftSetStream"));
    BASEBAND_RETURN_IF_ERROR(ToStatus(cufft.set_work_area(plan, work), "cufftSetWorkArea"));
    auto* const data = reinterpret_cast<cufftComplex*>(frames);
    BASEBAND_RETURN_IF_ERROR(
        ToStatus(cufft.exec_c2c(plan, data, data, CUFFT_FORWARD), "cufftExecC2C"));
    frames += BatchSize(index) << log2_line;
    num_frames -= BatchSize(index);
  }
  return absl::OkStatus();
}

}  // namespace baseband::carrier
