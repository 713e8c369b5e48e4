// Mixing sample by sample, for windows that hold a retune and for study.
#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/downconvert/gpu_launch.h"
#include "kernels/downconvert/samples.cuh"
#include "kernels/downconvert/study_math.h"

namespace baseband::downconvert::gpu {
namespace {

// To the nearest 2^-63 turns.
__device__ __forceinline__ uint64_t WordOfRadians(double radians) {
  const double turns = radians / kRadiansPerTurn;
  return static_cast<uint64_t>(static_cast<int64_t>((turns - rint(turns)) * 0x1p63)) * 2;
}

// kFloat's phase is a product and needs no history.
__device__ __forceinline__ uint64_t FloatWord(const MixTask& task, int64_t n) {
  const auto step = static_cast<float>(kRadiansPerTurn * task.cycles_per_sample);
  const auto initial = static_cast<float>(
      static_cast<double>(static_cast<int64_t>(task.initial_word)) * (kRadiansPerTurn * 0x1p-64));
  return WordOfRadians(FloatPhase(step, n, initial));
}

// The phases of a study's other methods follow from each other: a thread for each channel.
__global__ void __launch_bounds__(kBlockThreads)
    StudyKernel(const StudyTask* __restrict__ tasks, uint32_t num_tasks, const Memory memory) {
  const uint32_t i = blockIdx.x * kBlockThreads + threadIdx.x;
  if (i >= num_tasks) return;
  const StudyTask& task = tasks[i];
  auto* const words = reinterpret_cast<uint64_t*>(memory.workspace + task.target);
  StudyOscillator oscillator(task.nco, task.cycles_per_sample, task.segment);
  for (int64_t n = 0; n < task.num_samples; ++n) {
    words[n] = WordOfRadians(oscillator.phase()) + task.initial_word;
    oscillator.Advance();
  }
}

template <InputFormat kFormat>
__device__ __forceinline__ auto ReadAs(const uint8_t* samples, int64_t n) {
  return ToFloat(__ldg(reinterpret_cast<const typename RawOf<kFormat>::Type*>(samples) + n));
}

// Sample n of the block; Q of a real one is 0.
__device__ __forceinline__ float2 ReadSample(InputFormat format, const uint8_t* samples,
                                             int64_t n) {
  switch (format) {
    case InputFormat::kInt8:
      return ReadAs<InputFormat::kInt8>(samples, n);
    case InputFormat::kInt16:
      return ReadAs<InputFormat::kInt16>(samples, n);
    case InputFormat::kFloat32:
      return ReadAs<InputFormat::kFloat32>(samples, n);
    case InputFormat::kRealInt8:
      return make_float2(ReadAs<InputFormat::kRealInt8>(samples, n), 0.0F);
    case InputFormat::kRealInt16:
      return make_float2(ReadAs<InputFormat::kRealInt16>(samples, n), 0.0F);
    default:
      return make_float2(ReadAs<InputFormat::kRealFloat32>(samples, n), 0.0F);
  }
}

// One thread has consecutive samples kBlockThreads apart.
__global__ void __launch_bounds__(kBlockThreads)
    MixKernel(const MixTask* __restrict__ tasks, uint32_t num_tasks, const Memory memory) {
  const MixTask& task = TaskOf(tasks, num_tasks, blockIdx.x);
  const int64_t first = static_cast<int64_t>(blockIdx.x - task.first_block) * kMixSamples;
  const int64_t end = min(task.num_samples, first + kMixSamples);
  auto* const target = reinterpret_cast<float2*>(memory.workspace + task.target);
  Oscillator oscillator;
  oscillator.anchors = reinterpret_cast<const Anchor*>(memory.workspace + task.phases);
  oscillator.first_anchor = task.first_anchor;
  oscillator.step = task.step;
  const auto* const words = reinterpret_cast<const uint64_t*>(memory.workspace + task.phases);
  for (int64_t i = first + threadIdx.x; i < end; i += kBlockThreads) {
    const int64_t n = task.first_index + i;
    const uint64_t word = task.nco == NcoMethod::kExact   ? oscillator.Word(n)
                          : task.nco == NcoMethod::kFloat ? FloatWord(task, n)
                                                          : __ldg(words + n);
    target[i] =
        Turn(ReadSample(task.format, memory.samples, task.first_sample + i), word, task.amplitude);
  }
}

}  // namespace

absl::Status LoadMix() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(StudyKernel));
  return cuda::LoadKernel(MixKernel);
}

absl::Status LaunchMix(const GpuPlan& plan, const Memory& memory, cudaStream_t stream) {
  if (!plan.studies().empty()) {
    const auto tasks = static_cast<uint32_t>(plan.studies().size());
    StudyKernel<<<(tasks + kBlockThreads - 1) / kBlockThreads, kBlockThreads, 0, stream>>>(
        reinterpret_cast<const StudyTask*>(memory.plan + plan.layout().studies), tasks, memory);
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(cudaGetLastError(), "StudyKernel"));
  }
  if (plan.mixes().empty()) return absl::OkStatus();
  MixKernel<<<plan.mix_blocks(), kBlockThreads, 0, stream>>>(
      reinterpret_cast<const MixTask*>(memory.plan + plan.layout().mixes),
      static_cast<uint32_t>(plan.mixes().size()), memory);
  return cuda::ToStatus(cudaGetLastError(), "MixKernel");
}

}  // namespace baseband::downconvert::gpu
