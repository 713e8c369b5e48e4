// Stage S4, first part: which of the frequencies and phases of a line are left when a part of the
// symbols has been looked at. See hypothesis_math.h.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_ALIASES_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_ALIASES_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/hypothesis_math.h"

namespace baseband::carrier {

// Fits at every turn, apart for each n modulo `branches`: by_turn[turn * branches + n % branches],
// in whole parts of 2^-20 nats, for sums that come out the same in whatever order they are made. In
// a block's shared memory, that of its symbols; of up to kSlotBranches branches they lie where the
// team's sums have their slots.
using TurnSum = unsigned long long;
inline constexpr double kTurnSumsPerNat = 1048576.0;
inline constexpr int kSlotBranches = 32;
static_assert(kSlotBranches * kSlotBranches * sizeof(TurnSum) <= sizeof(TeamMemory::slots));
BASEBAND_HOST_DEVICE constexpr int64_t TurnSumBytes(int branches) {
  return branches > kSlotBranches
             ? static_cast<int64_t>(branches) * branches * static_cast<int64_t>(sizeof(TurnSum))
             : 0;
}

// The hypotheses of a frame, in shared memory.
struct Hypotheses {
  uint64_t start[kKnownPeaks];  // turns of symbol 0 of alias 0, branch 0 of a line
  uint64_t step[kKnownPeaks];   // a symbol
  uint64_t turn = 0;            // from branch to branch
  double score[kMaxHypotheses];
  int16_t alias[kMaxHypotheses];
  uint8_t peak[kMaxHypotheses];
  uint8_t branch[kMaxHypotheses];
  int count = 0;   // that are left; those dropped are no longer listed
  int passes = 0;  // that their scores are of
  double rival = 0.0;
  double elsewhere = 0.0;  // how much likelier a line is out of range
  // While a line's are being sorted out, h = residue * branches + branch:
  int16_t aliases[kMaxPower];
  bool in_range[kMaxPower];
  unsigned best_fit = 0;   // in range, OrderedBits
  unsigned other_fit = 0;  // and out of it
  int best = 0;            // h
  int left = 0;            // in range, and no further behind than asked for
};
// What is done next goes by these: the same for all threads.
struct Ranked {
  float best = 0.0F;
  float elsewhere = 0.0F;
  int left = 0;
};

__device__ inline uint32_t NumFitGroups(const FrameView& frame) {
  return (frame.num_symbols + kFitGroup - 1) / kFitGroup;
}
// Symbols of a pass are dealt to the threads as if they lay side by side:
//   place  0 .. 63 | 64 .. 127 | 128 .. 191 | ..      in pass 3:
//   group     3    |    19     |     35     | ..      symbol 192 + place, 1216 + place - 64, ..
__device__ inline uint32_t PlacesOfPass(const FrameView& frame, int pass) {
  return ((NumFitGroups(frame) - static_cast<uint32_t>(pass) + kFitPasses - 1) / kFitPasses) *
         static_cast<uint32_t>(kFitGroup);
}
__device__ inline uint32_t SymbolAt(uint32_t place, int pass) {
  return (place / kFitGroup * kFitPasses + static_cast<uint32_t>(pass)) * kFitGroup +
         place % kFitGroup;
}

// Adds the fits of a pass at every turn of line `peak`.
template <bool kShared>
__device__ void AddTurns(const Team& team, const FrameView& frame, const SoftTable<kShared>& table,
                         double gain, int pass, int peak, int branches,
                         const Hypotheses& hypotheses, TurnSum* by_turn) {
  const auto inverse_gain = static_cast<float>(1.0 / gain);
  const ModelView view = table.view();
  const float two_over_noise = table.two_over_noise();
  const uint32_t places = PlacesOfPass(frame, pass);
  for (uint32_t place = team.thread(); place < places; place += team.threads()) {
    const uint32_t n = SymbolAt(place, pass);
    if (n >= frame.num_symbols) continue;
    const Iq received = frame.samples.Read(n);
    const Iq r = {received.i * inverse_gain, received.q * inverse_gain};
    const Iq known = frame.known.At(n);
    const bool is_known = known.i != 0.0F || known.q != 0.0F;
    const uint64_t turns = hypotheses.start[peak] + hypotheses.step[peak] * n;
    TurnSum* const sums = by_turn + n % static_cast<uint32_t>(branches);
    for (int turn = 0; turn < branches; ++turn) {
      const Iq z = Multiply(r, TurnedBack(turns + hypotheses.turn * static_cast<uint64_t>(turn)));
      const float fit = is_known ? CoarseFitKnown(two_over_noise, z, known) : CoarseFit(view, 0, z);
      const long long whole = __double2ll_rn(static_cast<double>(fit) * kTurnSumsPerNat);
      atomicAdd(sums + turn * branches, static_cast<TurnSum>(whole));
    }
  }
}

// The fit of one hypothesis, from the sums of all blocks of the team.
__device__ inline float FitOfTurns(const Team& team, TurnSum* by_turn, int residue, int branch,
                                   int branches) {
  long long sum = 0;
  for (unsigned block = 0; block < team.size(); ++block) {
    const TurnSum* const sums = team.Of(by_turn, block);
    for (int n = 0; n < branches; ++n) {
      const int turn = TurnOfSymbol(residue, branch, n, branches);
      sum += static_cast<long long>(sums[turn * branches + n]);
    }
  }
  return static_cast<float>(static_cast<double>(sum) / kTurnSumsPerNat);
}

// Calls use(h, fit) for the thread's share of the hypotheses.
template <typename Use>
__device__ __forceinline__ void ForTurns(const Team& team, TurnSum* by_turn, int branches,
                                         const Use& use) {
  for (int h = static_cast<int>(threadIdx.x); h < branches * branches; h += kTeamThreads) {
    use(h, FitOfTurns(team, by_turn, h / branches, h % branches, branches));
  }
}

// An order of floats that atomicMax keeps, 0 below all of them.
__device__ inline unsigned OrderedBits(float x) {
  const unsigned bits = __float_as_uint(x);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ inline float OfOrderedBits(unsigned bits) {
  return __uint_as_float((bits & 0x80000000U) != 0 ? bits & 0x7fffffffU : ~bits);
}

// Finds the best fits, and how many are less than `gap` behind. By all threads of the team; what
// the blocks added before is seen by all.
__device__ inline Ranked RankTurns(const Team& team, TurnSum* by_turn, int branches, float gap,
                                   Hypotheses* hypotheses) {
  if (threadIdx.x == 0) {
    hypotheses->best_fit = 0;
    hypotheses->other_fit = 0;
    hypotheses->best = INT32_MAX;
    hypotheses->left = 0;
  }
  team.Sync();
  ForTurns(team, by_turn, branches, [&](int h, float fit) {
    const bool in_range = hypotheses->in_range[h / branches];
    atomicMax(in_range ? &hypotheses->best_fit : &hypotheses->other_fit, OrderedBits(fit));
  });
  __syncthreads();
  Ranked ranked;
  ranked.best = OfOrderedBits(hypotheses->best_fit);
  ranked.elsewhere = hypotheses->other_fit == 0 ? -1e30F : OfOrderedBits(hypotheses->other_fit);
  ForTurns(team, by_turn, branches, [&](int h, float fit) {
    if (!hypotheses->in_range[h / branches]) return;
    if (fit == ranked.best) atomicMin(&hypotheses->best, h);
    if (ranked.best - fit < gap) atomicAdd(&hypotheses->left, 1);
  });
  team.Sync();  // sums that are read here may grow
  ranked.left = hypotheses->left;
  __syncthreads();  // and it be counted again
  return ranked;
}

// Lists those in range that are less than `gap` behind the best, in ascending order of h, and
// remembers how far other aliases were behind that are not. By one warp.
__device__ inline void ListTurns(const Team& team, TurnSum* by_turn, int branches, float best,
                                 float gap, int peak, uint32_t num_symbols,
                                 Hypotheses* hypotheses) {
  const unsigned lane = threadIdx.x % 32;
  const int count = branches * branches;
  const int best_residue = hypotheses->best / branches;
  float rival = 1e30F;
  int listed = hypotheses->count;
  const int room = listed + kMaxOfLine;
  for (int from = 0; from < count; from += 32) {
    const int h = from + static_cast<int>(lane);
    const int residue = h / branches;
    const bool counts = h < count && hypotheses->in_range[residue];
    float behind = 1e30F;
    if (counts) behind = best - FitOfTurns(team, by_turn, residue, h % branches, branches);
    const bool is_near = behind < gap;
    const unsigned who = __ballot_sync(0xffffffffU, is_near);
    const int at = listed + __popc(who & ((1U << lane) - 1));
    if (is_near && at < room) {
      hypotheses->score[at] = static_cast<double>(best - behind);
      hypotheses->alias[at] = hypotheses->aliases[residue];
      hypotheses->branch[at] = static_cast<uint8_t>(h % branches);
      hypotheses->peak[at] = static_cast<uint8_t>(peak);
    } else if (counts && residue != best_residue) {
      rival = fminf(rival, behind);
    }
    listed = min(listed + __popc(who), room);
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    rival = fminf(rival, __shfl_xor_sync(0xffffffffU, rival, apart));
  }
  if (lane != 0) return;
  hypotheses->count = listed;
  hypotheses->rival =
      fmin(hypotheses->rival,
           WholeGap(static_cast<double>(rival), hypotheses->passes, static_cast<int>(num_symbols)));
}

// Lists the hypotheses of a line after they have been sorted out. By all threads of the team; each
// block keeps its own list, and all are alike.
template <bool kShared>
__device__ void ListHypotheses(const Team& team, const FrameView& frame, const FramePlan& plan,
                               const SoftTable<kShared>& table, double gain, double nu, int peak,
                               TurnSum* by_turn, Hypotheses* hypotheses) {
  const int branches = plan.branches;
  if (branches == 1) {
    if (threadIdx.x == 0) {
      const int at = hypotheses->count++;
      hypotheses->score[at] = 0.0;
      hypotheses->alias[at] = 0;
      hypotheses->branch[at] = 0;
      hypotheses->peak[at] = static_cast<uint8_t>(peak);
    }
    __syncthreads();
    return;
  }
  if (threadIdx.x == 0) {
    bool any = false;
    for (int residue = 0; residue < branches; ++residue) {
      bool in_range = false;
      hypotheses->aliases[residue] = static_cast<int16_t>(AliasOf(plan, nu, residue, &in_range));
      hypotheses->in_range[residue] = in_range;
      any = any || in_range;
    }
    if (!any) hypotheses->in_range[0] = true;
  }
  for (int k = static_cast<int>(threadIdx.x); k < branches * branches; k += kTeamThreads) {
    by_turn[k] = 0;
  }
  __syncthreads();
  const int num_passes = static_cast<int>(min(NumFitGroups(frame), kFitPasses + 0U));
  float gap = kDropped;
  Ranked ranked;
  for (int pass = 0; pass < num_passes; ++pass) {
    AddTurns(team, frame, table, gain, pass, peak, branches, *hypotheses, by_turn);
    ranked = RankTurns(team, by_turn, branches, gap, hypotheses);
    if (threadIdx.x == 0) hypotheses->passes = pass + 1;
    if (ranked.left <= branches && fabsf(ranked.best - ranked.elsewhere) >= kDropped) break;
  }
  // If all are alike, no gap is narrow enough: ListTurns stops where there is no room.
  for (int round = 0; round < 16 && ranked.left > kMaxOfLine; ++round) {
    gap *= 0.75F;
    ranked = RankTurns(team, by_turn, branches, gap, hypotheses);
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    ListTurns(team, by_turn, branches, ranked.best, gap, peak, frame.num_symbols, hypotheses);
  }
  if (threadIdx.x == 0) {
    hypotheses->elsewhere =
        fmax(hypotheses->elsewhere, static_cast<double>(ranked.elsewhere - ranked.best));
  }
  team.Sync();  // the sums' memory may serve others
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_ALIASES_CUH_
