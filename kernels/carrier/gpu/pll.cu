// Fine::kPll: the decision-directed loop, serial along a frame. One thread a frame and one warp a
// thread block, so that few frames still spread over the device. The warp reads 32 symbols of each
// of its frames, a frame at a time and side by side, and hands them out through shared memory:
//   read:  lane l loads symbol n + l of frame 0, then of frame 1, ..
//   loop:  lane l steps through symbols n .. n + 31 of frame l
#include "kernels/carrier/gpu/nearest_device.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/math/pll_math.h"

namespace baseband::carrier {
namespace {

constexpr unsigned kFrames = 32;
constexpr unsigned kSteps = 32;

struct PllMemory {
  // One place more in a row: lanes that read a column read different banks.
  float2 symbols[kFrames][kSteps + 1];
};

// What a lane keeps of its frame.
struct Loop {
  Samples samples;
  const Iq* known = nullptr;
  uint32_t num_symbols = 0;  // 0: no frame, or none to recover
  float inverse_gain = 1.0F;
  double start_frequency = 0.0;
  PllState state;
  PllAverage average;
};

__device__ Loop LoopOf(const RecoverTask& task, uint32_t f) {
  Loop loop;
  if (f >= task.num_frames) return loop;
  const FrameState& state = task.states[f];
  if (state.bad != 0 || state.silent != 0) return loop;
  const FrameView frame(task, f);
  loop.samples = frame.samples;
  loop.num_symbols = frame.num_symbols;
  loop.inverse_gain = static_cast<float>(1.0 / state.estimate.gain);
  loop.start_frequency = state.estimate.frequency;
  loop.state.frequency = state.estimate.frequency;
  loop.known = frame.known.symbols;
  // Blind, the paper's baseline begins at phase 0 and pulls in; with known symbols it would do so
  // to any of the constellation's symmetries.
  if (frame.known) loop.state.turns = state.estimate.TurnsAt(-frame.centre());
  return loop;
}

// PllState::Step with gains in turns: no quotient in a chain that every symbol waits for.
__device__ __forceinline__ void Step(const PllGains& gains_in_turns, Iq z, Iq nearest,
                                     float inverse_energy, PllState* state) {
  const double error = fmaf(z.q, nearest.i, -z.i * nearest.q) * inverse_energy;
  state->frequency += gains_in_turns.integral * error;
  state->turns += state->frequency + gains_in_turns.proportional * error;
}

// One symbol; returns it turned back.
__device__ Iq StepLoop(const PllGains& gains, const NearestView& nearest, uint32_t n, Iq r,
                       Loop* loop) {
  PllState& state = loop->state;
  const Iq turned = Multiply(r, TurnedBack(Turns64(state.turns)));
  const Iq z = {turned.i * loop->inverse_gain, turned.q * loop->inverse_gain};
  if (n >= loop->num_symbols / 2) {
    loop->average.Add(state, static_cast<int>(n), static_cast<int>(loop->num_symbols),
                      loop->start_frequency);
  }
  Iq sent;
  if (loop->known != nullptr) sent = loop->known[n];
  if (sent.i != 0.0F || sent.q != 0.0F) {
    Step(gains, z, sent, 1.0F / fmaf(sent.i, sent.i, sent.q * sent.q), &state);
  } else {
    float inverse_energy = 0.0F;
    const Iq decided = NearestPoint(nearest, z, &inverse_energy);
    Step(gains, z, decided, inverse_energy, &state);
  }
  return turned;
}

template <SearchKind kKind>
__global__ void __launch_bounds__(32)
    PllKernel(const __grid_constant__ RecoverTask task, unsigned nearest_bytes) {
  extern __shared__ uint4 nearest_memory[];
  __shared__ PllMemory memory;
  const unsigned lane = threadIdx.x;
  const uint32_t f = blockIdx.x * kFrames + lane;
  Loop loop = LoopOf(task, f);
  NearestView nearest = task.model.nearest;
  if (nearest_bytes != 0) nearest = CopyNearest<kKind>(nearest, nearest_memory, 32);
  PllGains gains = PllGainsOf(task.parameters.pll_bandwidth, task.parameters.pll_damping);
  gains.proportional /= kTurn;
  gains.integral /= kTurn;
  uint32_t longest = loop.num_symbols;
  for (int apart = 16; apart > 0; apart /= 2) {
    longest = max(longest, __shfl_xor_sync(0xffffffffU, longest, apart));
  }
  __syncwarp();
  for (uint32_t begin = 0; begin < longest; begin += kSteps) {
    // Unrolled, so that many loads are under way.
#pragma unroll 16
    for (unsigned i = 0; i < kFrames; ++i) {
      Samples samples;
      samples.data = reinterpret_cast<const uint8_t*>(
          __shfl_sync(0xffffffffU, reinterpret_cast<unsigned long long>(loop.samples.data),
                      static_cast<int>(i)));
      samples.format = task.parameters.format;
      samples.scale = task.parameters.scale;
      const uint32_t count = __shfl_sync(0xffffffffU, loop.num_symbols, static_cast<int>(i));
      const uint32_t n = begin + lane;
      const Iq r = n < count ? samples.Read(n) : Iq{};
      memory.symbols[i][lane] = make_float2(r.i, r.q);
    }
    __syncwarp();
    const uint32_t end = min(begin + kSteps, loop.num_symbols);
    for (uint32_t n = begin; n < end; ++n) {
      float2* const symbol = &memory.symbols[lane][n - begin];
      const Iq turned = StepLoop(gains, nearest, n, {symbol->x, symbol->y}, &loop);
      *symbol = make_float2(turned.i, turned.q);
    }
    __syncwarp();
    for (unsigned i = 0; i < kFrames; ++i) {
      const uint32_t count = __shfl_sync(0xffffffffU, loop.num_symbols, static_cast<int>(i));
      const uint32_t n = begin + lane;
      float2* const row =
          task.turned + static_cast<size_t>(blockIdx.x * kFrames + i) * task.turned_row;
      if (n < count) row[n] = memory.symbols[i][lane];
    }
    __syncwarp();
  }
  if (loop.num_symbols == 0) return;
  FrameState* const state = task.states + f;
  state->loop = loop.average.Found(loop.start_frequency, static_cast<int>(loop.num_symbols));
  // From here on the frame is the loop's output, which needs no more turning.
  state->estimate.frequency = 0.0;
  state->estimate.phase = 0.0;
}

constexpr int64_t kMaxNearestBytes = 96 << 10;

}  // namespace

absl::Status PreparePll() {
  return cuda::ToStatus(
      cudaFuncSetAttribute(PllKernel<SearchKind::kGrid>,
                           cudaFuncAttributeMaxDynamicSharedMemorySize, kMaxNearestBytes),
      "cudaFuncSetAttribute");
}

absl::Status LaunchPll(const RecoverTask& task, cudaStream_t stream) {
  const unsigned blocks = (task.num_frames + kFrames - 1) / kFrames;
  const NearestView& nearest = task.model.nearest;
  if (nearest.slices > 0) {
    const auto bytes = static_cast<unsigned>(NearestSharedBytes(nearest, SearchKind::kSliced));
    PllKernel<SearchKind::kSliced><<<blocks, 32, bytes, stream>>>(task, bytes);
  } else {
    const auto bytes = static_cast<unsigned>(NearestSharedBytes(nearest, SearchKind::kGrid));
    PllKernel<SearchKind::kGrid><<<blocks, 32, bytes, stream>>>(task, bytes);
  }
  return cuda::ToStatus(cudaGetLastError(), "PllKernel");
}

}  // namespace baseband::carrier
