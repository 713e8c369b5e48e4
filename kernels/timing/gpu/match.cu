// Timing.h's stage 2: the samples turned back by the spectrum's middle, filtered where the symbols
// lie, and turned to where they were.
//
// A thread has a run of kRun symbols and its row of taps (place_math.h); what is between the row
// and the place is made up for by the slope. The samples lie in shared memory phase by phase, x[P i
// + r] at [r][i]; along a phase symbol s needs x[i + s], .. against the row's taps of that phase,
// so each sample that is read takes part in kRun symbols:
//
//   q          0    1    2  ..
//   symbol 0   x0   x1   x2            a thread's window: x[q] .. x[q + kRun - 1], of which each
//   symbol 1   x1   x2   x3            step drops the first and reads one more
//
// kRun is odd: the threads of a warp read from as many banks.
#include <algorithm>

#include "kernels/timing/gpu/timing_launch.h"
#include "kernels/timing/gpu/timing_task.cuh"

namespace baseband::timing {
namespace {

using carrier::Iq;

constexpr int kMatchThreads = 128;
// Samples that a thread reads at a time: all loads are under way before the first is used.
constexpr int kReadAtOnce = 10;

// How a tile of symbols is laid out.
struct MatchShape {
  int run = 1;   // symbols of a thread
  int runs = 0;  // of each of the Q symbols next to each other
  int tile = 0;  // symbols
  int row = 0;   // samples of a phase in shared memory; else all of them
  uint32_t inverse =
      0;  // 2^32 / P, rounded up: i inverse / 2^32 is i / P for the samples of a tile
  int threads = 0;
  size_t bytes = 0;
};

// Samples before the tile's first, for places that are rounded or drift the other way.
constexpr int kMargin = 8;

MatchShape ShapeMatch(const PulseOnDevice& pulse, double max_clock_error) {
  const int p = pulse.samples;
  const int q = pulse.symbols;
  MatchShape shape;
  shape.run = RunOf(p, q, max_clock_error);
  if (shape.run > 1) {
    // Runs of Q symbols are P / Q >= 2 samples a thread; at least a warp.
    shape.runs = std::max(2 * kMatchThreads / p, (32 + q - 1) / q);
    shape.tile = shape.run * q * shape.runs;
    const double drift = shape.tile * max_clock_error * pulse.rate;
    shape.row = shape.run * (shape.runs + 1) + pulse.columns +
                (2 * kMargin + static_cast<int>(drift)) / p + 2;
    shape.row += (24 - shape.row % 16) % 16;  // 8 more than whole turns through the banks
    shape.inverse = static_cast<uint32_t>(((uint64_t{1} << 32) + p - 1) / p);
    shape.threads = (shape.runs * q + 31) / 32 * 32;
    shape.bytes = static_cast<size_t>(shape.row) * p * sizeof(float2);
    return shape;
  }
  shape.tile = kMatchThreads;
  shape.row = static_cast<int>(shape.tile * (1.0 + max_clock_error) * pulse.rate) + pulse.taps +
              2 * kMargin;
  shape.threads = kMatchThreads;
  shape.bytes = static_cast<size_t>(shape.row) * sizeof(float2);
  return shape;
}

// The samples from `first` on, turned back by the spectrum's middle, each given to `store` with its
// index; zeros where there are none.
template <typename Store>
__device__ __forceinline__ void ReadTurned(const TimingTask& task, const TimingFrame& frame,
                                           uint64_t sample_turns, int first, int count,
                                           const Store& store) {
  const carrier::Samples samples = task.SamplesOf(frame);
  const auto threads = static_cast<int>(blockDim.x);
  const auto num_samples = static_cast<int>(frame.num_samples);
  const auto thread = static_cast<int>(threadIdx.x);
  // What `first` is before the frame's begin wraps, as turns do.
  Iq back = carrier::TurnedBack(sample_turns * static_cast<uint64_t>(int64_t{first} + thread));
  const Iq back_step = carrier::TurnedBack(sample_turns * static_cast<unsigned>(threads));
  const auto read = [&](const auto& at) {
    for (int begin = thread; begin < count; begin += kReadAtOnce * threads) {
      Iq x[kReadAtOnce];
#pragma unroll
      for (int k = 0; k < kReadAtOnce; ++k) {
        const int i = begin + k * threads;
        const int n = first + i;
        const bool is_sample = i < count && n >= 0 && n < num_samples;
        x[k] = is_sample ? at(n) : Iq{};
      }
#pragma unroll
      for (int k = 0; k < kReadAtOnce; ++k) {
        const int i = begin + k * threads;
        if (i >= count) break;
        store(i, carrier::Multiply({x[k].i * samples.scale, x[k].q * samples.scale}, back));
        back = carrier::Multiply(back, back_step);
      }
    }
  };
  if (samples.format == carrier::SampleFormat::kInt16) {
    const auto* const values = reinterpret_cast<const short2*>(samples.data);
    read([&](int n) {
      const short2 value = __ldg(values + n);
      return Iq{static_cast<float>(value.x), static_cast<float>(value.y)};
    });
  } else if (samples.format == carrier::SampleFormat::kFloat32 &&
             reinterpret_cast<uintptr_t>(samples.data) % 8 == 0) {
    const auto* const values = reinterpret_cast<const float2*>(samples.data);
    read([&](int n) {
      const float2 value = __ldg(values + n);
      return Iq{value.x, value.y};
    });
  } else {
    carrier::Samples plain = samples;
    plain.scale = 1.0F;
    read([&](int n) { return plain.Read(static_cast<uint32_t>(n)); });
  }
}

// A symbol and its slope as the filters at a row give them.
struct Filtered {
  Iq symbol;
  Iq slope;

  __device__ __forceinline__ void Add(Iq x, float value, float slope_tap) {
    symbol.i = fmaf(value, x.i, symbol.i);
    symbol.q = fmaf(value, x.q, symbol.q);
    slope.i = fmaf(slope_tap, x.i, slope.i);
    slope.q = fmaf(slope_tap, x.q, slope.q);
  }
  // `rest` symbols later (place_math.h), and turned.
  __device__ __forceinline__ Filtered Moved(float rest, float bandwidth, Iq turn) const {
    const float bend = -rest * bandwidth;
    const Iq there = {fmaf(rest, slope.i, symbol.i), fmaf(rest, slope.q, symbol.q)};
    const Iq slope_there = {fmaf(bend, symbol.i, slope.i), fmaf(bend, symbol.q, slope.q)};
    return {carrier::Multiply(there, turn), carrier::Multiply(slope_there, turn)};
  }
};

// exp(j 2 pi turns / 2^64).
__device__ __forceinline__ Iq TurnedOn(uint64_t turns) {
  const Iq back = carrier::TurnedBack(turns);
  return {back.i, -back.q};
}

__device__ __forceinline__ Iq LoadIq(const float2* at) {
  const float2 value = *at;
  return {value.x, value.y};
}

// Symbols of frames that have none.
__device__ void WriteNothing(const TimingTask& task, uint32_t f, const TimingState& state,
                             uint32_t begin, uint32_t end) {
  // A bad frame's symbols are bad.
  const float value = state.is_bad() ? __int_as_float(0x7fffffff) : 0.0F;
  float2* const symbols = task.symbols + uint64_t{f} * task.symbols_row;
  float2* const slopes = task.slopes + uint64_t{f} * task.symbols_row;
  for (uint32_t k = begin + threadIdx.x; k < end; k += blockDim.x) {
    symbols[k] = make_float2(value, value);
    slopes[k] = make_float2(0.0F, 0.0F);
  }
}

// Runs of symbols, see above. Thread c runs + b of the tile has its symbols c + Q (kRun b + s).
template <int kRun>
__global__ void __launch_bounds__(kMatchThreads)
    MatchRunsKernel(const __grid_constant__ TimingTask task, const MatchShape shape,
                    unsigned tiles) {
  extern __shared__ float2 match_memory[];
  const uint32_t f = blockIdx.x / tiles;
  const uint32_t begin = (blockIdx.x - f * tiles) * static_cast<uint32_t>(shape.tile);
  const TimingState& state = task.states[f];
  const uint32_t num_symbols = state.num_symbols;
  if (begin >= num_symbols) return;
  const uint32_t end = min(begin + static_cast<uint32_t>(shape.tile), num_symbols);
  if (state.is_lost()) {
    WriteNothing(task, f, state, begin, end);
    return;
  }
  const PulseOnDevice& pulse = task.pulse;
  const int p = pulse.samples;
  const SymbolPlaces places = state.places;
  constexpr int kMiddle = kRun / 2;
  const TapPlace begin_place = places.OfMiddle(static_cast<int>(begin) + kMiddle * pulse.symbols);
  const int first = static_cast<int>(begin_place.first) - kMiddle * p - kMargin;
  ReadTurned(task, task.frames[f], state.sample_turns, first, shape.row * p, [&](int i, Iq x) {
    const int along = static_cast<int>(__umulhi(static_cast<unsigned>(i), shape.inverse));
    match_memory[(i - along * p) * shape.row + along] = make_float2(x.i, x.q);
  });
  __syncthreads();

  const auto thread = static_cast<int>(threadIdx.x);
  const int c = thread / shape.runs;
  const int from = c + pulse.symbols * kRun * (thread - c * shape.runs);  // in the tile
  const bool has_run = c < pulse.symbols && begin + static_cast<unsigned>(from) < num_symbols;
  Filtered sums[kRun] = {};
  if (has_run) {
    const TapPlace place =
        places.OfMiddle(static_cast<int>(begin) + from + kMiddle * pulse.symbols);
    // Of the run's first symbol.
    const int at = static_cast<int>(place.first) - first - kMiddle * p;
    int along = static_cast<int>(__umulhi(static_cast<unsigned>(at), shape.inverse));
    int phase = at - along * p;
    const float2* taps = pulse.by_phase + int64_t{place.row} * p * pulse.columns;
    for (int r = 0; r < p; ++r) {
      const float2* x = match_memory + phase * shape.row + along;
      Iq window[kRun];
#pragma unroll
      for (int s = 0; s + 1 < kRun; ++s) window[s] = LoadIq(x + s);
      x += kRun - 1;
      for (int q0 = 0; q0 < pulse.columns; q0 += 2 * kRun) {
#pragma unroll
        for (int u = 0; u < 2 * kRun; u += 2) {
          if (q0 + u >= pulse.columns) break;
          const float4 two = __ldg(reinterpret_cast<const float4*>(taps + q0 + u));
          window[(u + kRun - 1) % kRun] = LoadIq(x + q0 + u);
#pragma unroll
          for (int s = 0; s < kRun; ++s) sums[s].Add(window[(u + s) % kRun], two.x, two.y);
          window[u % kRun] = LoadIq(x + q0 + u + 1);
#pragma unroll
          for (int s = 0; s < kRun; ++s) sums[s].Add(window[(u + 1 + s) % kRun], two.z, two.w);
        }
      }
      taps += pulse.columns;
      if (++phase == p) {
        phase = 0;
        ++along;
      }
    }
    Iq turn =
        TurnedOn(state.first_turns + state.symbol_turns * (begin + static_cast<unsigned>(from)));
    const Iq turn_step = TurnedOn(state.symbol_turns * static_cast<unsigned>(pulse.symbols));
#pragma unroll
    for (int s = 0; s < kRun; ++s) {
      const float rest = places.RestInRun(place.rest, s - kMiddle);
      sums[s] = sums[s].Moved(rest, static_cast<float>(pulse.facts.bandwidth), turn);
      turn = carrier::Multiply(turn, turn_step);
    }
  }
  __syncthreads();  // the samples were read: their place is the symbols' now
  if (has_run) {
#pragma unroll
    for (int s = 0; s < kRun; ++s) {
      const int at = from + pulse.symbols * s;
      match_memory[at] = make_float2(sums[s].symbol.i, sums[s].symbol.q);
      match_memory[shape.tile + at] = make_float2(sums[s].slope.i, sums[s].slope.q);
    }
  }
  __syncthreads();
  float2* const symbols = task.symbols + uint64_t{f} * task.symbols_row + begin;
  float2* const slopes = task.slopes + uint64_t{f} * task.symbols_row + begin;
  for (uint32_t k = threadIdx.x; k < end - begin; k += blockDim.x) {
    symbols[k] = match_memory[k];
    slopes[k] = match_memory[static_cast<unsigned>(shape.tile) + k];
  }
}

// Runs of one: a thread a symbol.
__global__ void __launch_bounds__(kMatchThreads)
    MatchRowsKernel(const __grid_constant__ TimingTask task, const MatchShape shape,
                    unsigned tiles) {
  extern __shared__ float2 match_memory[];
  const uint32_t f = blockIdx.x / tiles;
  const uint32_t begin = (blockIdx.x - f * tiles) * static_cast<uint32_t>(shape.tile);
  const TimingState& state = task.states[f];
  const uint32_t num_symbols = state.num_symbols;
  if (begin >= num_symbols) return;
  if (state.is_lost()) {
    WriteNothing(task, f, state, begin,
                 min(begin + static_cast<uint32_t>(shape.tile), num_symbols));
    return;
  }
  const PulseOnDevice& pulse = task.pulse;
  const SymbolPlaces places = state.places;
  const auto first = static_cast<int>(places.At(static_cast<int>(begin)).first) - kMargin;
  ReadTurned(task, task.frames[f], state.sample_turns, first, shape.row,
             [&](int i, Iq x) { match_memory[i] = make_float2(x.i, x.q); });
  __syncthreads();
  const uint32_t k = begin + threadIdx.x;
  if (k >= num_symbols) return;
  const TapPlace place = places.At(static_cast<int>(k));
  const float2* const x = match_memory + (place.first - first);
  Filtered sum;
  if (pulse.columns > 0) {
    const float2* const taps = pulse.by_phase + int64_t{place.row} * pulse.samples * pulse.columns;
    for (int r = 0; r < pulse.samples; ++r) {
      for (int j = r, q = 0; j < pulse.taps; j += pulse.samples, ++q) {
        const float2 tap = __ldg(taps + r * pulse.columns + q);
        sum.Add(LoadIq(x + j), tap.x, tap.y);
      }
    }
  } else {
    const float2* const taps = pulse.by_tap + place.row;
#pragma unroll 4
    for (int j = 0; j < pulse.taps; ++j) {
      const float2 tap = __ldg(taps + static_cast<int64_t>(j) * pulse.rows);
      sum.Add(LoadIq(x + j), tap.x, tap.y);
    }
  }
  const Iq turn = TurnedOn(state.first_turns + state.symbol_turns * k);
  sum = sum.Moved(place.rest, static_cast<float>(pulse.facts.bandwidth), turn);
  const uint64_t at = uint64_t{f} * task.symbols_row + k;
  task.symbols[at] = make_float2(sum.symbol.i, sum.symbol.q);
  task.slopes[at] = make_float2(sum.slope.i, sum.slope.q);
}

// Of the longest pulse at 16 samples a symbol; the other kernels need less.
constexpr int kMostMatchBytes = 64 << 10;

}  // namespace

absl::Status MatchSymbols(const TimingTask& task, uint32_t longest, cudaStream_t stream) {
  const MatchShape shape = ShapeMatch(task.pulse, task.parameters.max_clock_error);
  const auto tile = static_cast<uint32_t>(shape.tile);
  const unsigned tiles = (longest + tile - 1) / tile;
  auto* const kernel = shape.run == kLongRun    ? MatchRunsKernel<kLongRun>
                       : shape.run == kShortRun ? MatchRunsKernel<kShortRun>
                                                : MatchRowsKernel;
  return LaunchKernel(kernel, "MatchKernel", task, task.num_frames * tiles,
                      static_cast<unsigned>(shape.threads), shape.bytes, stream, shape, tiles);
}

absl::Status PrepareMatch() {
  for (auto* const kernel :
       {MatchRunsKernel<kLongRun>, MatchRunsKernel<kShortRun>, MatchRowsKernel}) {
    BASEBAND_RETURN_IF_ERROR(cuda::ToStatus(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostMatchBytes),
        "cudaFuncSetAttribute"));
  }
  return absl::OkStatus();
}

}  // namespace baseband::timing
