// Stage S6: hard decisions with the last estimate, the corrected symbols, the frame's Result.
#ifndef BASEBAND_KERNELS_CARRIER_JUDGE_CUH_
#define BASEBAND_KERNELS_CARRIER_JUDGE_CUH_

#include <cstdint>

#include "kernels/carrier/branches.cuh"
#include "kernels/carrier/nearest_device.cuh"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/remodulate.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {

// Sum over the symbols of the squared distance to the nearest point, or to the known one. Writes
// the corrected symbols, turned back by `further` more, if `corrected` has a place for them.
template <SearchKind kKind>
__device__ double HardDistances(Team* team, const FrameView& frame, const Estimate& estimate,
                                const NearestView& nearest, const SampleWriter& corrected,
                                Iq further) {
  const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
  const auto inverse_gain = static_cast<float>(1.0 / estimate.gain);
  double totals[1];
  team->Sum(
      frame.num_symbols,
      [&](uint32_t first, float(&sums)[1]) {
        Iq r[kTileLanes];
        frame.samples.ReadTile(first, frame.num_symbols, r);
        Iq back = rotor.At(first);
#pragma unroll
        for (int k = 0; k < kTileLanes; ++k) {
          const uint32_t n = first + 32 * static_cast<uint32_t>(k);
          if (n >= frame.num_symbols) break;
          const Iq turned = Multiply(r[k], back);
          back = rotor.Next(back);
          if (corrected.data != nullptr) corrected.Write(n, Multiply(turned, further));
          const Iq z = {turned.i * inverse_gain, turned.q * inverse_gain};
          Iq point;
          if (frame.known != nullptr) point = frame.known[n];
          Iq place = z;
          if (point.i == 0.0F && point.q == 0.0F) {
            if (nearest.folded != 0) place = {fabsf(z.i), fabsf(z.q)};
            const SearchPoint found = FindNearest<kKind>(nearest, place.i, place.q);
            point = {found.i, found.q};
          }
          const float di = place.i - point.i;
          const float dq = place.q - point.q;
          sums[0] = fmaf(di, di, fmaf(dq, dq, sums[0]));
        }
      },
      totals);
  return totals[0];
}

// Misfit of judge_math.h, a thread for each class of amplitudes. By all threads of a block, of
// which the first is given the result.
__device__ inline double MisfitOfBlock(const ModelView& model, const uint32_t* histogram,
                                       int num_symbols, double snr_db, double rms_ratio,
                                       double* of_class) {
  const double place = (snr_db - model.facts[0].snr_db) / kSnrStepDb;
  if (!(place >= 0.0 && place < model.num_snrs - 1)) return 0.0;
  const int k = static_cast<int>(place);
  const double t = place - k;
  const float* const low = model.amplitude + k * kAmplitudeBins;
  const float* const high = low + kAmplitudeBins;
  constexpr int kBins = kAmplitudeBins / kMisfitClasses;
  const auto c = static_cast<int>(threadIdx.x);
  if (c < kMisfitClasses) {
    double seen = 0.0;
    double expected = 0.0;
    for (int bin = c * kBins; bin < (c + 1) * kBins; ++bin) {
      seen += histogram[bin];
      expected +=
          (1.0 - t) * ExpectedShare(low, bin, rms_ratio) + t * ExpectedShare(high, bin, rms_ratio);
    }
    expected *= num_symbols;
    of_class[c] = (seen - expected) * (seen - expected) / (expected + 1.0);
  }
  __syncthreads();
  double chi_squared = 0.0;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kMisfitClasses; ++i) chi_squared += of_class[i];
  }
  const double chance = kMisfitClasses + 4.0 * sqrt(2.0 * kMisfitClasses);
  return fmax(chi_squared - chance, 0.0) / num_symbols;
}

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_JUDGE_CUH_
