// What has to be there before the products: taps as they are walked, the oscillators' anchors; and
// whether the samples that no product looks at are numbers.
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/gpu_launch.h"
#include "kernels/downconvert/samples.cuh"

namespace baseband::downconvert::gpu {
namespace {

// Which tap of its set slot `slot` of a walk holds; `none` if none.
constexpr uint32_t kNoTap = ~0U;
__device__ __forceinline__ uint32_t TapOf(const TapWalk& walk, uint32_t slot) {
  const uint32_t step = slot / walk.step_slots;
  const uint32_t in_step = slot % walk.step_slots;
  const uint32_t branch = step / walk.depth_steps * walk.branches + in_step / walk.depth;
  const uint32_t depth = step % walk.depth_steps * walk.depth + in_step % walk.depth;
  // Slots that fill a step up, and branches that the filter does not have.
  if (in_step >= walk.branches * walk.depth || branch >= walk.down) return kNoTap;
  return depth * walk.down + branch;
}

__device__ __forceinline__ void LayTaps(const TapTask& task, const Memory& memory) {
  const TapWalk& walk = task.walk;
  const auto* const taps = reinterpret_cast<const float*>(memory.plan + task.taps);
  for (uint32_t i = threadIdx.x; i < task.num_slots; i += kBlockThreads) {
    const uint32_t slot = task.first_slot + i;
    const uint32_t set = slot / walk.set_slots();
    const uint32_t k = TapOf(walk, slot % walk.set_slots());
    const bool is_tap = k != kNoTap && uint64_t{k} * walk.up + set < walk.num_taps;
    const float tap = is_tap ? __ldg(taps + k * walk.up + set) : 0.0F;
    const uint64_t at = uint64_t{slot} * task.group + task.column;
    if (task.is_turned) {
      const Phasor phasor = PhasorOf(task.step * k);
      if (task.is_fixed) {
        reinterpret_cast<int2*>(memory.workspace + task.target)[at] = make_int2(
            FixedTap(tap, phasor.i, task.exponent), FixedTap(tap, phasor.q, task.exponent));
        continue;
      }
      reinterpret_cast<float2*>(memory.workspace + task.target)[at] =
          make_float2(__fmul_rn(tap, phasor.i), __fmul_rn(tap, phasor.q));
    } else {
      reinterpret_cast<float*>(memory.workspace + task.target)[at] = tap;
    }
  }
}

// round(2^64 frac(num * n / den)): Frequency::PhaseWord (nco.h), of |num|.
__device__ __forceinline__ uint64_t PhaseWord(uint64_t num, uint64_t den, uint64_t n) {
  using Wide = unsigned __int128;
  const Wide remainder = Wide{num} * n % den;
  return static_cast<uint64_t>(((remainder << 64) + den / 2) / den);
}

__device__ __forceinline__ void SetAnchors(const AnchorTask& task, const Memory& memory) {
  auto* const anchors = reinterpret_cast<Anchor*>(memory.workspace + task.target);
  const int64_t first = task.first_index / kAnchorSpacing;
  for (uint32_t i = threadIdx.x; i < task.num_anchors; i += kBlockThreads) {
    Anchor anchor;
    anchor.index = i == 0 ? task.first_index : (first + i) * kAnchorSpacing;
    const uint64_t word =
        PhaseWord(task.num, task.den, static_cast<uint64_t>(anchor.index - task.origin));
    anchor.word = task.origin_word + (task.is_negative ? ~word + 1 : word);
    anchors[i] = anchor;
  }
}

__device__ __forceinline__ bool IsFinite(uint32_t bits) {
  return (bits & 0x7f800000U) != 0x7f800000U;
}

__device__ __forceinline__ void LookForNonFinite(const CheckTask& task, uint32_t block,
                                                 const Memory& memory) {
  constexpr uint32_t kVectors = kCheckFloats / 4 / kBlockThreads;  // of a thread
  const auto* const vectors = reinterpret_cast<const uint4*>(memory.samples);
  const uint64_t first = task.begin / 4 + uint64_t{block} * (kCheckFloats / 4) + threadIdx.x;
  const uint64_t whole = task.end / 4;
  bool is_finite = true;
#pragma unroll
  for (uint32_t v = 0; v < kVectors; ++v) {
    const uint64_t at = first + v * kBlockThreads;
    if (at < whole) {
      const uint4 bits = __ldg(vectors + at);
      is_finite &= IsFinite(bits.x) && IsFinite(bits.y) && IsFinite(bits.z) && IsFinite(bits.w);
    } else if (at == whole) {  // what is left of a vector
      const auto* const floats = reinterpret_cast<const uint32_t*>(memory.samples);
      for (uint64_t i = 4 * whole; i < task.end; ++i) is_finite &= IsFinite(__ldg(floats + i));
    }
  }
  if (!is_finite) memory.results[0].has_non_finite = 1;  // whoever writes it writes the same
}

// A block for each task, those of taps first, then those of anchors; the rest look at samples.
__global__ void __launch_bounds__(kBlockThreads)
    PrepareKernel(const TapTask* __restrict__ tap_tasks, uint32_t num_tap_tasks,
                  const AnchorTask* __restrict__ anchor_tasks, uint32_t num_anchor_tasks,
                  const CheckTask* __restrict__ checks, uint32_t num_checks, const Memory memory) {
  uint32_t block = blockIdx.x;
  if (block < num_tap_tasks) return LayTaps(tap_tasks[block], memory);
  block -= num_tap_tasks;
  if (block < num_anchor_tasks) return SetAnchors(anchor_tasks[block], memory);
  block -= num_anchor_tasks;
  const CheckTask& check = TaskOf(checks, num_checks, block);
  LookForNonFinite(check, block - check.first_block, memory);
}

}  // namespace

absl::Status LoadPrepare() { return cuda::LoadKernel(PrepareKernel); }

absl::Status LaunchPrepare(const GpuPlan& plan, const Memory& memory, cudaStream_t stream) {
  const uint64_t blocks =
      plan.tap_tasks().size() + plan.anchor_tasks().size() + plan.check_blocks();
  if (blocks == 0) return absl::OkStatus();
  PrepareKernel<<<static_cast<unsigned>(blocks), kBlockThreads, 0, stream>>>(
      reinterpret_cast<const TapTask*>(memory.plan + plan.layout().tap_tasks),
      static_cast<uint32_t>(plan.tap_tasks().size()),
      reinterpret_cast<const AnchorTask*>(memory.plan + plan.layout().anchor_tasks),
      static_cast<uint32_t>(plan.anchor_tasks().size()),
      reinterpret_cast<const CheckTask*>(memory.plan + plan.layout().checks),
      static_cast<uint32_t>(plan.checks().size()), memory);
  return cuda::ToStatus(cudaGetLastError(), "PrepareKernel");
}

}  // namespace baseband::downconvert::gpu
