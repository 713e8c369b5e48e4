// Entry points of the GPU decoder: checks a batch and picks the kernel.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ldpc/decode_gpu.h"
#include "kernels/ldpc/decode_launch.h"

namespace baseband::ldpc {
namespace {

constexpr int kMaxBlocksPerLaunch = 1 << 20;
constexpr int kNr1Kb = 22;

enum class KernelFamily {
  kNr1,
  kNr2,
  kNrCrc1,
  kNrCrc2,
  kWimax12,
  kNrFlooding1,
  kNrFlooding2,
  kWimax12Flooding,
  kNrSumProduct1,
  kNrSumProduct2,
  kWimax12SumProduct,
  kLayered,
  kGeneral
};

using LaunchFunction = absl::Status (*)(const DecodeBatch& batch, const Engine& engine,
                                        cudaStream_t stream);
struct FamilyLaunches {
  KernelFamily family;
  LaunchFunction launch;
  LaunchFunction launch_narrow;  // of few blocks; null: there is none
};

// By KernelFamily.
constexpr FamilyLaunches kLaunches[] = {
    {KernelFamily::kNr1, LaunchNr1, LaunchNarrow1},
    {KernelFamily::kNr2, LaunchNr2, LaunchNarrow2},
    {KernelFamily::kNrCrc1, LaunchNrCrc1, LaunchNarrow1},
    {KernelFamily::kNrCrc2, LaunchNrCrc2, LaunchNarrow2},
    {KernelFamily::kWimax12, LaunchWimax12, nullptr},
    {KernelFamily::kNrFlooding1, LaunchNrFlooding1, nullptr},
    {KernelFamily::kNrFlooding2, LaunchNrFlooding2, nullptr},
    {KernelFamily::kWimax12Flooding, LaunchWimax12Flooding, nullptr},
    {KernelFamily::kNrSumProduct1, LaunchNrSumProduct1, nullptr},
    {KernelFamily::kNrSumProduct2, LaunchNrSumProduct2, nullptr},
    {KernelFamily::kWimax12SumProduct, LaunchWimax12SumProduct, nullptr},
    {KernelFamily::kLayered, LaunchLayered, nullptr},
    {KernelFamily::kGeneral, LaunchGeneral, nullptr},
};
constexpr bool EachIsAtItsFamily() {
  size_t at = 0;
  for (const FamilyLaunches& of : kLaunches) {
    if (static_cast<size_t>(of.family) != at++) return false;
  }
  return at == static_cast<size_t>(KernelFamily::kGeneral) + 1;
}
static_assert(EachIsAtItsFamily());

bool StopsByCrc(const DecodeParameters& parameters) {
  return parameters.early_termination && parameters.stop_crc.has_value();
}

KernelFamily SumProductFamilyFor(const Code& code, Schedule schedule) {
  if (schedule == Schedule::kFlooding) return KernelFamily::kGeneral;
  if (code.family() == Family::kNr) {
    return code.kb() == kNr1Kb ? KernelFamily::kNrSumProduct1 : KernelFamily::kNrSumProduct2;
  }
  return IsWimax12(code) ? KernelFamily::kWimax12SumProduct : KernelFamily::kGeneral;
}

KernelFamily FamilyFor(const Code& code, const DecodeParameters& parameters) {
  if (parameters.algorithm == Algorithm::kSumProduct) {
    return SumProductFamilyFor(code, parameters.schedule);
  }
  const bool floods = parameters.schedule == Schedule::kFlooding;
  if (code.family() == Family::kNr) {
    const bool is_first = code.kb() == kNr1Kb;
    if (floods) return is_first ? KernelFamily::kNrFlooding1 : KernelFamily::kNrFlooding2;
    if (StopsByCrc(parameters)) return is_first ? KernelFamily::kNrCrc1 : KernelFamily::kNrCrc2;
    return is_first ? KernelFamily::kNr1 : KernelFamily::kNr2;
  }
  if (IsWimax12(code)) return floods ? KernelFamily::kWimax12Flooding : KernelFamily::kWimax12;
  return LayeredFits(code, parameters) ? KernelFamily::kLayered : KernelFamily::kGeneral;
}

// Whether the batch is so small that each block may have a multiprocessor to itself, with as many
// for each of the others: then the narrow kernels are done sooner, unless the code is tiny. Without
// room they would cost throughput, for a block takes 1.2 to 2 times as much of the device so.
constexpr int kLeastNarrowZc = 16;
bool IsNarrow(const DecodeBatch& batch, const DeviceLimits& limits) {
  return batch.num_blocks <= limits.multiprocessors / batch.sharers && batch.soft == nullptr &&
         batch.code->zc() >= kLeastNarrowZc && batch.code->zc() % 2 == 0;
}

template <class T>
absl::Status OutOfRange(const char* field, T value, const char* range) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", value, " is not in ", range));
}

absl::Status CheckAligned(const char* field, const void* pointer) {
  if (pointer == nullptr) return absl::InvalidArgumentError(absl::StrCat(field, " is null"));
  if (reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is not aligned to 16 bytes"));
  }
  return absl::OkStatus();
}

absl::Status Check(const DecodeBatch& batch) {
  if (batch.code == nullptr) return absl::InvalidArgumentError("code is null");
  if (batch.num_blocks < 1 || batch.num_blocks > kMaxBlocksPerLaunch) {
    return OutOfRange("num_blocks", batch.num_blocks, "[1, 1048576]");
  }
  if (batch.sharers < 1) return OutOfRange("sharers", batch.sharers, "[1, 2^31)");
  const DecodeParameters& parameters = batch.parameters;
  if (parameters.max_iterations < 1 || parameters.max_iterations > kMaxIterations) {
    return OutOfRange("max_iterations", parameters.max_iterations, "[1, 100]");
  }
  for (const float factor : {parameters.scaling.factor, parameters.scaling.heavy_factor}) {
    if (!(factor >= 0.0f && factor <= 1.0f)) return OutOfRange("scale_factor", factor, "[0, 1]");
  }
  if (StopsByCrc(parameters)) {
    const KernelFamily family = FamilyFor(*batch.code, parameters);
    if (family != KernelFamily::kNrCrc1 && family != KernelFamily::kNrCrc2) {
      return absl::InvalidArgumentError(
          absl::StrCat("stop_crc is set for ", batch.code->name(),
                       ": only NR codes under layered min-sum or bit flipping have it"));
    }
    if (batch.soft != nullptr) {
      return absl::InvalidArgumentError("stop_crc is set beside soft");
    }
  }
  if (parameters.algorithm == Algorithm::kSumProduct &&
      !(parameters.llr_scale > 0.0f && parameters.llr_scale < INFINITY)) {
    return OutOfRange("llr_scale", parameters.llr_scale, "(0, inf)");
  }
  BASEBAND_RETURN_IF_ERROR(CheckAligned("blocks", batch.blocks));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("bits", batch.bits));
  BASEBAND_RETURN_IF_ERROR(CheckAligned("results", batch.results));
  if (batch.soft != nullptr) BASEBAND_RETURN_IF_ERROR(CheckAligned("soft", batch.soft));
  if (DecodeWorkspaceBytes(*batch.code, parameters) > 0) {
    BASEBAND_RETURN_IF_ERROR(CheckAligned("workspace", batch.workspace));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DeviceLimits> QueryDeviceLimits() {
  int device = 0;
  DeviceLimits limits;
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetDevice(&device), "cudaGetDevice"));
  BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
      cudaDeviceGetAttribute(&limits.multiprocessors, cudaDevAttrMultiProcessorCount, device),
      "cudaDeviceGetAttribute"));
  return limits;
}

int64_t DecodeWorkspaceBytes(const Code& code, const DecodeParameters& parameters) {
  switch (FamilyFor(code, parameters)) {
    case KernelFamily::kNrSumProduct1:
      return NrSumProductWorkspaceBytes1();
    case KernelFamily::kNrSumProduct2:
      return NrSumProductWorkspaceBytes2();
    case KernelFamily::kGeneral:
      return GeneralWorkspaceBytes(code, parameters);
    default:
      return 0;
  }
}

absl::Status PrepareDecodeKernels() {
  for (const auto prepare :
       {PrepareNr1, PrepareNr2, PrepareNrLargest, PrepareNarrow1, PrepareNarrow2, PrepareNrCrc1,
        PrepareNrCrc2, PrepareWimax12, PrepareNrFlooding, PrepareNrSumProduct, PrepareLayered,
        PrepareGeneral}) {
    BASEBAND_RETURN_IF_ERROR(prepare());
  }
  return absl::OkStatus();
}

absl::Status LaunchDecode(const DecodeBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  const Engine engine = MakeEngine(*batch.code, batch.parameters);
  const absl::StatusOr<DeviceLimits> limits = QueryDeviceLimits();
  if (!limits.ok()) return limits.status();
  const FamilyLaunches& launches =
      kLaunches[static_cast<size_t>(FamilyFor(*batch.code, batch.parameters))];
  const bool is_narrow = launches.launch_narrow != nullptr && IsNarrow(batch, *limits);
  return (is_narrow ? launches.launch_narrow : launches.launch)(batch, engine, stream);
}

}  // namespace baseband::ldpc
