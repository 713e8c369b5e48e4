// Stages S1 and S2: a frame's mean square, amplitudes and SNR, and the line that is left when the
// modulation is taken off, ready for the FFT.
#include "kernels/carrier/gpu/line_symbol.cuh"
#include "kernels/carrier/gpu/recover_launch.h"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {
namespace {

// What the threads of a block share.
struct LineMemory {
  TeamMemory team;
  uint32_t counted[kAmplitudeBins];  // by this block
  uint32_t histogram[kAmplitudeBins];
  double log_likelihood[kMaxSnrs];
  Estimate estimate;
  WeightNode weights[kWeightNodes];
  uint32_t first_known;
  int divisors[kTeamThreads];
};

// Mean square of the symbols; whether one of them is bad.
__device__ __forceinline__ double MeanSquare(Team* team, const FrameView& frame, bool* bad) {
  double totals[2];
  team->Sum(
      frame.num_symbols,
      [&](uint32_t first, float(&sums)[2]) {
        Iq r[kTileLanes];
        frame.samples.ReadTile(first, frame.num_symbols, r);
        bool is_bad = false;
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const float square = fmaf(r[k].i, r[k].i, r[k].q * r[k].q);
          sums[0] += square;
          is_bad = is_bad || !(square <= kMaxMagnitude * kMaxMagnitude);  // NaN too
        }
        if (is_bad) sums[1] = 1.0F;
      },
      totals);
  *bad = totals[1] > 0.0;
  return totals[0] / frame.num_symbols;
}

// The histogram of |r| / rms over the frame, in each block's memory.
__device__ void CountAmplitudes(Team* team, const FrameView& frame, double mean_square,
                                LineMemory* memory) {
  for (unsigned bin = threadIdx.x; bin < kAmplitudeBins; bin += kTeamThreads) {
    memory->counted[bin] = 0;
  }
  __syncthreads();
  // As AmplitudeBin.
  const auto per_bin =
      static_cast<float>(1.0 / sqrt(mean_square)) * (kAmplitudeBins / kAmplitudeExtent);
  const uint32_t num_tiles = (frame.num_symbols + kTile - 1) / kTile;
  for (uint32_t tile = team->thread() / 32; tile < num_tiles; tile += team->threads() / 32) {
    Iq r[kTileLanes];
    const uint32_t first = tile * kTile + threadIdx.x % 32;
    frame.samples.ReadTile(first, frame.num_symbols, r);
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      if (first + 32 * static_cast<uint32_t>(k) >= frame.num_symbols) break;
      const Iq u = {r[k].i * per_bin, r[k].q * per_bin};
      const float bin = FastRoot(fmaf(u.i, u.i, u.q * u.q));
      const Floored place = FloorOf(fminf(bin, kAmplitudeBins - 1.0F));
      atomicAdd(&memory->counted[place.whole & (kAmplitudeBins - 1)], 1U);
    }
  }
  team->Sync();
  for (unsigned bin = threadIdx.x; bin < kAmplitudeBins; bin += kTeamThreads) {
    uint32_t count = 0;
    for (unsigned block = 0; block < team->size(); ++block) {
      count += *team->Of(&memory->counted[bin], block);
    }
    memory->histogram[bin] = count;
  }
  team->Sync();  // `counted` may change again
}

// What makes these amplitudes likeliest, in memory->log_likelihood.
__device__ void CompareAmplitudes(const ModelView& model, LineMemory* memory) {
  const unsigned lane = threadIdx.x % 32;
  for (int k = static_cast<int>(threadIdx.x / 32); k < model.num_snrs; k += kTeamWarps) {
    double sum = 0.0;
    for (unsigned bin = lane; bin < kAmplitudeBins; bin += 32) {
      sum += static_cast<double>(memory->histogram[bin]) *
             static_cast<double>(model.amplitude[k * kAmplitudeBins + static_cast<int>(bin)]);
    }
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      sum += __shfl_xor_sync(0xffffffffU, sum, apart);
    }
    if (lane == 0) memory->log_likelihood[k] = sum;
  }
}

// The known symbols' moments and, for the passes from here on, their places; and what half a bin
// off leaves of a line of them, if that is the line.
__device__ KnownMoments MomentsOf(Team* team, const RecoverTask& task, const FrameView& frame,
                                  HalfBin* half) {
  KnownMoments known;
  if (!frame.known) return known;
  const double centre = frame.centre();
  const double inverse_length = 1.0 / frame.num_symbols;
  const uint64_t half_bin_step = Turns64(0.5 / (1 << task.log2_line));
  double totals[8];
  team->Sum(
      frame.num_symbols,
      [&](uint32_t first, float(&sums)[8]) {
        KnownOfTile found = frame.known.Look(first, frame.num_symbols);
        frame.known.Keep(first, found.bits);
        while (found.bits != 0) {
          const uint32_t n = found.Take(first);
          const Iq s = frame.known.symbols[n];
          const float energy = fmaf(s.i, s.i, s.q * s.q);
          const auto t = static_cast<float>((n - centre) * inverse_length);
          sums[0] += energy;
          sums[1] = fmaf(t, energy, sums[1]);
          sums[2] = fmaf(t * t, energy, sums[2]);
          sums[3] += 1.0F;
          const Iq back = TurnedBack(half_bin_step * n);
          sums[4] = fmaf(energy, back.i, sums[4]);
          sums[5] = fmaf(energy, -back.q, sums[5]);
          sums[6] += logf(energy);
        }
      },
      totals);
  known.energy[0] = totals[0];
  known.energy[1] = totals[1];
  known.energy[2] = totals[2];
  known.count = static_cast<int>(totals[3]);
  known.log_energy = totals[6];
  if (LineIsKnown(task, frame)) *half = HalfBinOfKnown(totals[4], totals[5], totals[0]);
  return known;
}

// The greatest common divisor of the distances between the known symbols, 0 if there is none. Each
// block by itself, a tile a warp at a time: one thread that comes to 1 ends it.
__device__ int KnownDivisor(const FrameView& frame, LineMemory* memory) {
  if (threadIdx.x == 0) memory->first_known = frame.num_symbols;
  __syncthreads();
  const uint32_t lane_of_tile = threadIdx.x / 32 * kTile + threadIdx.x % 32;
  int divisor = 0;
  for (uint32_t begin = 0; begin < frame.num_symbols; begin += kTeamWarps * kTile) {
    const uint32_t first = begin + lane_of_tile;
    KnownOfTile found = frame.known.Look(first, frame.num_symbols);
    // Of later tiles none comes before those of the first that have some.
    if (found.bits != 0) atomicMin(&memory->first_known, KnownOfTile(found).Take(first));
    __syncthreads();
    while (found.bits != 0 && divisor != 1) {
      const uint32_t n = found.Take(first);
      divisor = GreatestCommonDivisor(static_cast<int>(n - memory->first_known), divisor);
    }
    if (__syncthreads_or(divisor == 1 ? 1 : 0) != 0) return 1;
  }
  memory->divisors[threadIdx.x] = divisor;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (const int other : memory->divisors) divisor = GreatestCommonDivisor(other, divisor);
    memory->divisors[0] = divisor;
  }
  __syncthreads();
  return memory->divisors[0];
}

__device__ FrequencyRange RangeOf(const RecoverTask& task, const FrameView& frame,
                                  LineMemory* memory) {
  const Parameters& parameters = task.parameters;
  const bool divides = frame.known && parameters.coarse != Coarse::kNone;
  const int divisor = divides ? KnownDivisor(frame, memory) : 0;
  FrequencyRange range;
  range.limit = LimitOfFrequency(parameters.coarse, task.model.symmetry, divisor);
  range.known_limit = LimitOfKnown(divisor);
  range.most = parameters.max_frequency > 0.0 ? parameters.max_frequency : range.limit;
  return range;
}

// What of the line's spectrum is searched. (Of a known line the half bin is not known yet.)
__device__ SpectrumSearch SearchOf(const RecoverTask& task, const FrameView& frame,
                                   const FrequencyRange& range) {
  const auto num_symbols = static_cast<int>(frame.num_symbols);
  const int points = 1 << task.log2_line;
  const FramePlan plan = PlanFrame(task.model, task.parameters, range,
                                   static_cast<bool>(frame.known), num_symbols, points);
  SpectrumSearch search;
  search.low = -plan.last_half_bin;
  search.high = min(plan.last_half_bin, points - 1);
  search.points = points;
  search.reach = PeakReach(num_symbols, points, plan.known_line);
  search.max_peaks = plan.max_peaks;
  if (!plan.known_line) search.half = HalfBinOf(num_symbols, points);
  return search;
}

// Writes the line if it is to be transformed, zero-padded to `points`. Returns its energy.
__device__ double WriteLine(Team* team, const RecoverTask& task, const FrameView& frame,
                            const Estimate& estimate, LineMemory* memory, float2* line) {
  const LineMaker maker(task, frame, estimate, kTeamThreads, memory->weights);
  double totals[1];
  team->Sum(
      frame.num_symbols,
      [&](uint32_t first, float(&sums)[1]) {
        Iq r[kTileLanes];
        Iq x[kTileLanes];
        frame.samples.ReadTile(first, frame.num_symbols, r);
        maker.MakeTile(first, frame.num_symbols, r, x);
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const uint32_t n = first + 32 * static_cast<uint32_t>(k);
          sums[0] = fmaf(x[k].i, x[k].i, fmaf(x[k].q, x[k].q, sums[0]));
          if (line != nullptr && n < frame.num_symbols) {
            __stcs(line + n, make_float2(x[k].i, x[k].q));  // read by other kernels only
          }
        }
      },
      totals);
  if (line != nullptr) {
    for (uint32_t n = frame.num_symbols + team->thread(); n < 1U << task.log2_line;
         n += team->threads()) {
      line[n] = make_float2(0.0F, 0.0F);
    }
  }
  return totals[0];
}

__global__ void __launch_bounds__(kTeamThreads)
    LineKernel(const __grid_constant__ RecoverTask task) {
  __shared__ alignas(16) unsigned char bytes[sizeof(LineMemory)];
  auto& memory = *reinterpret_cast<LineMemory*>(bytes);
  Team team(&memory.team);
  LetNextKernelCome();
  AwaitKernelBefore();
  const unsigned num_teams = gridDim.x / team.size();
  for (uint32_t f = blockIdx.x / team.size(); f < task.num_frames; f += num_teams) {
    const FrameView frame(task, f);
    FrameState* const state = task.states + f;
    float2* const line =
        task.line == nullptr ? nullptr : task.line + (static_cast<size_t>(f) << task.log2_line);
    bool bad = false;
    const double mean_square = MeanSquare(&team, frame, &bad);
    const bool silent = !bad && !(mean_square > 0.0);
    Estimate estimate;
    KnownMoments known;
    HalfBin half;
    double energy = 0.0;
    const FrequencyRange range = RangeOf(task, frame, &memory);
    if (!bad && !silent) {
      CountAmplitudes(&team, frame, mean_square, &memory);
      const bool expects = task.parameters.has_expected_snr;
      const bool compares = !expects || frame.known;
      if (compares) CompareAmplitudes(task.model, &memory);
      __syncthreads();
      if (threadIdx.x == 0) {
        const double first_snr_db =
            compares ? SnrOfAmplitudes(task.model, memory.log_likelihood) : 0.0;
        if (team.rank() == 0) state->first_snr_db = first_snr_db;
        Estimate start;
        SetSnr(task.model, mean_square,
               expects ? static_cast<double>(task.parameters.expected_snr_db) : first_snr_db,
               &start);
        memory.estimate = start;
      }
      // Meanwhile, for they take as long.
      if (threadIdx.x == 32 && team.rank() == 0 && line != nullptr) {
        state->search = SearchOf(task, frame, range);
      }
      __syncthreads();
      estimate = memory.estimate;
      known = MomentsOf(&team, task, frame, &half);
      energy = WriteLine(&team, task, frame, estimate, &memory, line);
    } else {
      // Its FFT is computed with the others', and kernels read it before they know.
      for (uint32_t n = team.thread(); line != nullptr && n < 1U << task.log2_line;
           n += team.threads()) {
        line[n] = make_float2(0.0F, 0.0F);
      }
      if (frame.known) frame.known.KeepNone(team.thread(), team.threads(), frame.num_symbols);
    }
    if (team.rank() == 0) {
      if (!bad && !silent) {
        for (unsigned bin = threadIdx.x; bin < kAmplitudeBins; bin += kTeamThreads) {
          state->histogram[bin] = memory.histogram[bin];
        }
      }
      if (threadIdx.x == 0) {
        state->estimate = estimate;
        state->range = range;
        state->received_rms = sqrt(mean_square);
        state->bad = bad ? 1 : 0;
        state->silent = silent ? 1 : 0;
        state->known = known;
        if (LineIsKnown(task, frame)) state->search.half = half;
        state->line_energy = fmax(energy, kLeastLineEnergy);
        state->num_peaks = 0;
        state->coarse_frequency = 0.0;
      }
    }
    __syncthreads();  // `memory` may change again
  }
}

}  // namespace

absl::Status PrepareLine(TeamLimits* limits) { return PrepareTeams(LineKernel, 0, limits); }

absl::Status LaunchLine(const RecoverTask& task, int cluster, int max_blocks, cudaStream_t stream) {
  return LaunchTeams(LineKernel, "LineKernel", task, task.num_frames, cluster, max_blocks, 0,
                     stream);
}

}  // namespace baseband::carrier
