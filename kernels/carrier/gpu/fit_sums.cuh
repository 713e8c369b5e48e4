// Stage S5's sums over a frame's symbols, with soft decisions in place of the sent points.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_FIT_SUMS_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_FIT_SUMS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernels/carrier/gpu/nearest_device.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/soft_table.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

// What a frame's sums are of: columns of TeamMemory. SumFit leaves all but the distance, and
// nothing of use in those from there on.
struct SumIndex {
  static constexpr int kScore = 0;
  static constexpr int kCurvature = 2;
  static constexpr int kSquare = 5;
  static constexpr int kProjection = 8;
  static constexpr int kResidue = 9;
  static constexpr int kExcess = 10;
  static constexpr int kFit = 11;
  static constexpr int kDistance = 12;  // of hard decisions, and next to it TurnedApart
  static constexpr int kCount = 16;
};

// What AddSymbol adds, but for the factor of 2 / noise of slopes, squares of which have its square.
__device__ __forceinline__ void AddSlopes(float g, float h, float along, float t,
                                          float (&sums)[SumIndex::kCount]) {
  sums[SumIndex::kScore] += g;
  const float tg = t * g;
  sums[SumIndex::kScore + 1] += tg;
  sums[SumIndex::kSquare] = fmaf(g, g, sums[SumIndex::kSquare]);
  sums[SumIndex::kSquare + 1] = fmaf(tg, g, sums[SumIndex::kSquare + 1]);
  sums[SumIndex::kSquare + 2] = fmaf(tg, tg, sums[SumIndex::kSquare + 2]);
  sums[SumIndex::kCurvature] += h;
  const float th = t * h;
  sums[SumIndex::kCurvature + 1] += th;
  sums[SumIndex::kCurvature + 2] = fmaf(t, th, sums[SumIndex::kCurvature + 2]);
  sums[SumIndex::kProjection] += along;
}

// A soft table as ReadSoft reads it, and the sums over symbols that are not known. All of it
// happens in the folded plane, z' = (|i|, |q|): there soft decision and turning are the table's
// own, and but for the sign of g nothing changes.
template <bool kShared>
class SoftPlane {
 public:
  __device__ explicit SoftPlane(const ModelView& view)
      : nodes_(kShared ? InShared(view.soft) : view.soft),
        side_(static_cast<uint32_t>(view.side)),
        sign_(view.folded != 0 ? 0x80000000U : 0U),
        nodes_per_unit_(view.facts->nodes_per_unit),
        offset_(-view.facts->origin * view.facts->nodes_per_unit),
        // Below the last node, by so little that the cell before it does for it.
        last_(0.9999999F * static_cast<float>(view.side - 1)) {}

  __device__ __forceinline__ void Add(Iq z, float t, float (&sums)[SumIndex::kCount]) const {
    const Iq a = {Unsigned(z.i), Unsigned(z.q)};
    const float node_i = fmaf(a.i, nodes_per_unit_, offset_);
    const float node_q = fmaf(a.q, nodes_per_unit_, offset_);
    const float held_i = fminf(fmaxf(node_i, 0.0F), last_);
    const float held_q = fminf(fmaxf(node_q, 0.0F), last_);
    const Floored place_i = FloorOf(held_i);
    const Floored place_q = FloorOf(held_q);
    const uint32_t cell = (place_q.whole & 0xffffU) * side_ + (place_i.whole & 0xffffU);
    const SoftNode n00 = NodeAt(cell);
    const SoftNode n01 = NodeAt(cell + 1);
    const SoftNode n10 = NodeAt(cell + side_);
    const SoftNode n11 = NodeAt(cell + side_ + 1);
    const float t_i = place_i.rest;
    const float t_q = place_q.rest;
    const auto value = [&](float v00, float v01, float v10, float v11) {
      const float below = fmaf(t_i, v01 - v00, v00);
      return fmaf(t_q, fmaf(t_i, v11 - v10, v10) - below, below);
    };
    // Also how it changes from node to node along either axis.
    const auto with_slopes = [&](float v00, float v01, float v10, float v11, float* along_i,
                                 float* along_q) {
      const float along_below = v01 - v00;
      const float below = fmaf(t_i, along_below, v00);
      const float along_above = v11 - v10;
      *along_q = fmaf(t_i, along_above, v10) - below;
      *along_i = fmaf(t_q, along_above - along_below, along_below);
      return fmaf(t_q, *along_q, below);
    };
    float i_along_i;
    float i_along_q;
    float q_along_i;
    float q_along_q;
    const float soft_i = with_slopes(n00.i, n01.i, n10.i, n11.i, &i_along_i, &i_along_q);
    const float soft_q = with_slopes(n00.q, n01.q, n10.q, n11.q, &q_along_i, &q_along_q);
    // A turn of z by a small angle moves it by (-q, i); nothing changes where it is held.
    const float turn_i = node_i == held_i ? a.q * nodes_per_unit_ : 0.0F;
    const float turn_q = node_q == held_q ? a.i * nodes_per_unit_ : 0.0F;
    const float turning_i = fmaf(turn_q, i_along_q, -turn_i * i_along_i);
    const float turning_q = fmaf(turn_q, q_along_q, -turn_i * q_along_i);
    const float along = fmaf(a.i, soft_i, a.q * soft_q);
    const float h = fmaf(a.q, turning_i, fmaf(-a.i, turning_q, along));
    const float across = fmaf(a.q, soft_i, -a.i * soft_q);
    const uint32_t mirrored = (__float_as_uint(z.i) ^ __float_as_uint(z.q)) & sign_;
    AddSlopes(__uint_as_float(__float_as_uint(across) ^ mirrored), h, along, t, sums);
    sums[SumIndex::kResidue] =
        fmaf(a.i, a.i - soft_i, fmaf(a.q, a.q - soft_q, sums[SumIndex::kResidue]));
    sums[SumIndex::kExcess] += value(n00.energy, n01.energy, n10.energy, n11.energy) - along;
    sums[SumIndex::kFit] += value(n00.fit, n01.fit, n10.fit, n11.fit);
  }

 private:
  __device__ __forceinline__ SoftNode NodeAt(uint32_t k) const {
    if constexpr (kShared) {
      return nodes_[k];
    } else {
      const float4 node = __ldg(reinterpret_cast<const float4*>(nodes_) + k);
      return {node.x, node.y, node.z, node.w};
    }
  }
  __device__ __forceinline__ float Unsigned(float x) const {
    return __uint_as_float(__float_as_uint(x) & ~sign_);
  }

  const SoftNode* nodes_;
  uint32_t side_;
  uint32_t sign_;
  float nodes_per_unit_;
  float offset_;
  float last_;
};

// A known symbol's part. A call: they are few, and their logarithms long.
__device__ __noinline__ float KnownFit(float two_over_noise, Iq z, Iq known) {
  return ReadKnown(two_over_noise, z, known).fit;
}
__device__ __forceinline__ void AddKnown(float two_over_noise, Iq z, Iq known, float t,
                                         float (&sums)[SumIndex::kCount]) {
  const float along = fmaf(z.i, known.i, z.q * known.q);
  AddSlopes(fmaf(z.q, known.i, -z.i * known.q), along, along, t, sums);
  sums[SumIndex::kResidue] =
      fmaf(z.i, z.i - known.i, fmaf(z.q, z.q - known.q, sums[SumIndex::kResidue]));
  sums[SumIndex::kExcess] += fmaf(known.i, known.i, known.q * known.q) - along;
  sums[SumIndex::kFit] += KnownFit(two_over_noise, z, known);
}

// The sums of a frame at an estimate, `table` being the estimate's. In shared memory until the
// team's next sum.
template <bool kShared>
__device__ __noinline__ const double* SumFit(Team* team, const FrameView& frame,
                                             const Estimate& estimate,
                                             const SoftTable<kShared>& table) {
  // All that the loop reads, where a store to memory cannot change it.
  const Team mates = *team;
  const Samples samples = frame.samples;
  const uint32_t num_symbols = frame.num_symbols;
  const KnownView known_symbols = frame.known;
  const double centre = frame.centre();
  const Rotor rotor(estimate.frequency, estimate.phase, num_symbols);
  const SoftPlane<kShared> plane(table.view());
  const float two_over_noise = table.two_over_noise();
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  const double inverse_length = 1.0 / num_symbols;
  const auto per_32 = static_cast<float>(32.0 * inverse_length);
  const uint32_t onward = mates.Onward(num_symbols);
  return mates.SumShared<SumIndex::kCount>(
      num_symbols, [&](uint32_t first, float(&sums)[SumIndex::kCount]) {
        Iq back = rotor.At(first);
        back = {back.i * inverse_gain, back.q * inverse_gain};
        auto t = static_cast<float>((first - centre) * inverse_length);
        KnownOfTile known = known_symbols.Tile(first, num_symbols);
        if (first + (kTile - 32) < num_symbols) {
          Iq r[kTileLanes];
          samples.ReadTile(first, num_symbols, r);
          samples.FetchTile(first - threadIdx.x % 32 + onward, num_symbols);
          const float t_first = t;
          const auto add_others = [&](auto some_are_known) {
#pragma unroll
            for (int k = 0; k < kTileLanes; ++k) {
              if (!decltype(some_are_known)::value || (known.bits >> k & 1U) == 0) {
                plane.Add(Multiply(r[k], back), t, sums);
              }
              back = rotor.Next(back);
              t += per_32;
            }
          };
          if (!known.any) {
            add_others(std::false_type());
            return;
          }
          add_others(std::true_type());
          while (known.bits != 0) {
            const uint32_t n = known.Take(first);
            back = rotor.At(n);
            const Iq z = Multiply(samples.Read(n), {back.i * inverse_gain, back.q * inverse_gain});
            t = fmaf(static_cast<float>((n - first) / 32), per_32, t_first);
            AddKnown(two_over_noise, z, known_symbols.symbols[n], t, sums);
          }
          return;
        }
#pragma unroll 1
        for (uint32_t n = first; n < num_symbols; n += 32) {
          const Iq z = Multiply(samples.Read(n), back);
          if ((known.bits & 1U) != 0) {
            AddKnown(two_over_noise, z, known_symbols.symbols[n], t, sums);
          } else {
            plane.Add(z, t, sums);
          }
          known.bits >>= 1;
          back = rotor.Next(back);
          t += per_32;
        }
      });
}

// SumFit's totals as FitSums.
__device__ inline FitSums<double> FitSumsOf(const double* totals, float two_over_noise) {
  const auto factor = static_cast<double>(two_over_noise);
  FitSums<double> sums;
  for (int i = 0; i < 2; ++i) sums.score[i] = factor * totals[SumIndex::kScore + i];
  for (int i = 0; i < 3; ++i) sums.curvature[i] = factor * totals[SumIndex::kCurvature + i];
  for (int i = 0; i < 3; ++i) sums.square[i] = factor * factor * totals[SumIndex::kSquare + i];
  sums.projection = totals[SumIndex::kProjection];
  sums.residue = totals[SumIndex::kResidue];
  sums.excess = totals[SumIndex::kExcess];
  sums.fit = totals[SumIndex::kFit];
  return sums;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_FIT_SUMS_CUH_
