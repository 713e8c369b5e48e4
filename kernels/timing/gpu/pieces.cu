// The first kernels of timing.h's stage 1: what a frame comes to, and its pieces' spectra.
#include "kernels/carrier/math/frame_plan.h"
#include "kernels/timing/gpu/fft_team.cuh"
#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {
namespace {

using carrier::Iq;

constexpr int kPlanThreads = 128;

// The greatest common divisor of the distances between a frame's known symbols, 0 if there is none.
__device__ int DivisorOfKnown(const Iq* known, uint32_t num_symbols) {
  __shared__ uint32_t first;
  __shared__ int divisors[kPlanThreads];
  if (threadIdx.x == 0) first = num_symbols;
  __syncthreads();
  for (uint32_t n = threadIdx.x; n < num_symbols; n += kPlanThreads) {
    if (known[n].i == 0.0F && known[n].q == 0.0F) continue;
    atomicMin(&first, n);
    break;
  }
  __syncthreads();
  int divisor = 0;
  for (uint32_t n = threadIdx.x; n < num_symbols && divisor != 1; n += kPlanThreads) {
    if (known[n].i == 0.0F && known[n].q == 0.0F) continue;
    divisor = carrier::GreatestCommonDivisor(static_cast<int>(n - first), divisor);
  }
  divisors[threadIdx.x] = divisor;
  __syncthreads();
  for (const int other : divisors) divisor = carrier::GreatestCommonDivisor(other, divisor);
  return divisor;
}

// A thread block a frame.
__global__ void __launch_bounds__(kPlanThreads)
    PlanFramesKernel(const __grid_constant__ TimingTask task) {
  const uint32_t f = blockIdx.x;
  const TimingFrame frame = task.frames[f];
  const PulseOnDevice& pulse = task.pulse;
  const auto num_symbols = static_cast<uint32_t>(
      NumSymbols(pulse.samples, pulse.symbols, task.parameters.max_clock_error, frame.num_samples));
  const Iq* const known = frame.known_offset == carrier::kNoKnown
                              ? nullptr
                              : reinterpret_cast<const Iq*>(task.known + frame.known_offset);
  const int divisor = known == nullptr ? 0 : DivisorOfKnown(known, num_symbols);
  if (threadIdx.x != 0) return;
  const carrier::Reach reach = carrier::ReachOfDivisor(task.carrier, task.model.symmetry, divisor);
  TimingState state;
  state.plan =
      PlanLine(pulse.facts.rolloff, pulse.samples, pulse.symbols, task.parameters.max_clock_error,
               reach.frequency, static_cast<int>(frame.num_samples));
  state.modulo = reach.modulo;
  state.num_symbols = num_symbols;
  task.states[f] = state;
  carrier::RecoverFrame symbols;
  symbols.symbols_offset = f * task.symbols_row * static_cast<uint32_t>(sizeof(float2));
  symbols.num_symbols = num_symbols;
  symbols.curve_offset = frame.curve_offset;
  symbols.known_offset = frame.known_offset;
  symbols.result_index = frame.result_index;
  task.symbol_frames[f] = symbols;
}

// Samples first + kStride r, r < 16; zero from `first` + end on. All loads are under way before the
// first is used.
template <int kStride>
__device__ __forceinline__ void LoadStrided(const carrier::Samples& samples, int64_t first, int end,
                                            Iq (&v)[kFftValues]) {
  const auto load = [&](const auto& at) {
#pragma unroll
    for (int r = 0; r < kFftValues; ++r) v[r] = r * kStride < end ? at(r * kStride) : Iq{};
  };
  const float scale = samples.scale;
  if (samples.format == carrier::SampleFormat::kInt16) {
    const auto* const values = reinterpret_cast<const short2*>(samples.data) + first;
    load([&](int n) {
      const short2 value = __ldg(values + n);
      return Iq{static_cast<float>(value.x) * scale, static_cast<float>(value.y) * scale};
    });
  } else if (samples.format == carrier::SampleFormat::kFloat32 &&
             reinterpret_cast<uintptr_t>(samples.data) % 8 == 0) {
    const auto* const values = reinterpret_cast<const float2*>(samples.data) + first;
    load([&](int n) {
      const float2 value = __ldg(values + n);
      return Iq{value.x * scale, value.y * scale};
    });
  } else {
    load([&](int n) { return samples.Read(static_cast<uint32_t>(first + n)); });
  }
}

// Has the sample brought to the second cache.
__device__ __forceinline__ void FetchSample(const carrier::Samples& samples, int64_t n) {
  const uint8_t* const at =
      samples.data + n * (samples.format == carrier::SampleFormat::kFloat32 ? 8 : 4);
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(at)));
}

// LinePlan::PieceStart of one piece after the other, without its division.
class PieceWalk {
 public:
  __device__ PieceWalk(const LinePlan& plan, int piece)
      : start_(plan.PieceStart(piece)), gaps_(max(plan.num_pieces - 1, 1)) {
    const int room = plan.num_samples - plan.window;
    hop_ = plan.num_pieces == 1 ? 0 : room / gaps_;
    rest_ = plan.num_pieces == 1 ? 0 : room % gaps_;
    left_ = static_cast<int>(int64_t{piece} * rest_ % gaps_);
  }
  __device__ int64_t start() const { return start_; }
  __device__ void Step() {
    start_ += hop_;
    left_ += rest_;
    if (left_ >= gaps_) {
      left_ -= gaps_;
      ++start_;
    }
  }

 private:
  int64_t start_;
  int gaps_;
  int hop_;
  int rest_;
  int left_;
};

// A team a slot of pieces.
template <int kPoints>
__global__ void __launch_bounds__(FftTeam<kPoints>::kBlock)
    TransformKernel(const __grid_constant__ TimingTask task) {
  using Fft = FftTeam<kPoints>;
  constexpr int kThreads = Fft::kThreads;
  __shared__ float2 memory[Fft::kTeams][Fft::kMemory];
  const int team = static_cast<int>(threadIdx.x) / kThreads;
  const int t = static_cast<int>(threadIdx.x) % kThreads;
  const uint64_t number = uint64_t{blockIdx.x} * Fft::kTeams + static_cast<unsigned>(team);
  const auto f = static_cast<uint32_t>(number / task.slots_row);
  const auto slot = static_cast<uint32_t>(number % task.slots_row);
  const bool has_frame = f < task.num_frames;
  LinePlan plan;
  carrier::Samples samples;
  if (has_frame) {
    plan = task.states[f].plan;
    samples = task.SamplesOf(task.frames[f]);
  }
  const int slot_pieces = SlotPieces(plan.num_pieces);
  const int begin = static_cast<int>(slot) * slot_pieces;
  const int end = has_frame ? min(begin + slot_pieces, plan.num_pieces) : 0;
  float weights[kFftValues];
  float power[kFftValues] = {};
#pragma unroll
  for (int r = 0; r < kFftValues; ++r) weights[r] = PieceWeight(t + kThreads * r, plan.window);
  uint32_t greatest = 0;  // squared magnitude, as bits: those of NaN are above all others'
  Fft fft(memory[team], t);
  PieceWalk walk(plan, min(begin, plan.num_pieces - 1));
  for (int s = begin; Fft::Any(s < end); ++s, walk.Step()) {
    Iq v[kFftValues] = {};
    if (s < end) {
      // Longer FFTs are of whole windows.
      LoadStrided<kThreads>(samples, walk.start() + t,
                            kPoints == kMinLinePoints ? plan.window - t : kPoints, v);
      // What the next piece has and this one has not.
      const int64_t next = walk.start() + kPoints + t * (kPoints / 2 / kThreads);
      if (next < plan.num_samples) FetchSample(samples, next);
#pragma unroll
      for (int r = 0; r < kFftValues; ++r) {
        const float square = fmaf(v[r].i, v[r].i, v[r].q * v[r].q);
        greatest = max(greatest, __float_as_uint(square));
        v[r] = {weights[r] * v[r].i, weights[r] * v[r].q};
      }
    }
    fft.Transform(v);
#pragma unroll
    for (int m = 0; m < kFftValues; ++m) {
      power[m] = fmaf(v[m].i, v[m].i, fmaf(v[m].q, v[m].q, power[m]));
    }
    if (s < end) {
      float2* const groups =
          task.groups +
          (uint64_t{f} * task.pieces_row + static_cast<unsigned>(s)) * task.groups_row;
      for (int g = t; g < plan.num_groups; g += kThreads) {
        const int low = plan.first_bin + g * plan.group_bins;
        float2 sum = make_float2(0.0F, 0.0F);
        for (int i = 0; i < plan.group_bins; ++i) {
          const Iq a = fft.At((low + i + plan.rate_bins) & (kPoints - 1));
          const Iq b = fft.At((low + i) & (kPoints - 1));
          sum.x = fmaf(a.i, b.i, fmaf(a.q, b.q, sum.x));
          sum.y = fmaf(a.q, b.i, fmaf(-a.i, b.q, sum.y));
        }
        groups[g] = sum;
      }
    }
    Fft::Sync();  // the spectrum was read
  }
  if (begin >= end) return;
  // Parts of the mean: sums of the greatest magnitudes' powers would be beyond float32.
  const float share = 1.0F / static_cast<float>(plan.num_pieces);
  float* const sums = task.power + (uint64_t{f} * task.slots_row + slot) * kPoints;
#pragma unroll
  for (int m = 0; m < kFftValues; ++m) sums[t + kThreads * m] = share * power[m];
  constexpr float kMost = carrier::kMaxMagnitude * carrier::kMaxMagnitude;
  const uint32_t seen =
      (greatest > 0 ? kSeenEnergy : 0U) | (greatest > __float_as_uint(kMost) ? kSeenBad : 0U);
  if (seen != 0) atomicOr(&task.states[f].seen, seen);
}

template <int kPoints>
absl::Status LaunchTransform(const TimingTask& task, cudaStream_t stream) {
  constexpr uint64_t kTeams = FftTeam<kPoints>::kTeams;
  const uint64_t slots = uint64_t{task.num_frames} * task.slots_row;
  return LaunchKernel(TransformKernel<kPoints>, "TransformKernel", task,
                      static_cast<unsigned>((slots + kTeams - 1) / kTeams),
                      FftTeam<kPoints>::kBlock, 0, stream);
}

}  // namespace

absl::Status PlanFrames(const TimingTask& task, cudaStream_t stream) {
  return LaunchKernel(PlanFramesKernel, "PlanFramesKernel", task, task.num_frames, kPlanThreads, 0,
                      stream);
}

absl::Status TransformPieces(const TimingTask& task, cudaStream_t stream) {
  static_assert(kMinLinePoints == 64 && kMaxLinePoints == 4096, "every length has its kernel");
  switch (task.points) {
    case 64:
      return LaunchTransform<64>(task, stream);
    case 128:
      return LaunchTransform<128>(task, stream);
    case 256:
      return LaunchTransform<256>(task, stream);
    case 512:
      return LaunchTransform<512>(task, stream);
    case 1024:
      return LaunchTransform<1024>(task, stream);
    case 2048:
      return LaunchTransform<2048>(task, stream);
    default:
      return LaunchTransform<4096>(task, stream);
  }
}

absl::Status PreparePieces() {
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(PlanFramesKernel));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<64>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<128>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<256>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<512>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<1024>));
  BASEBAND_RETURN_IF_ERROR(cuda::LoadKernel(TransformKernel<2048>));
  return cuda::LoadKernel(TransformKernel<4096>);
}

}  // namespace baseband::timing
