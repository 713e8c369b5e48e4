// Stage S6: the corrected symbols, and what the amplitudes say of the constellation.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"

namespace baseband::carrier {

// Hard decisions at one estimate, s the nearest point or the known symbol: sums over the symbols of
// |z - s|^2, Re((z - s) conj(z)), and Im(z conj(s)) times 1 and t = (n - c) / N.
struct HardSums {
  double distance = 0.0;
  double lean = 0.0;
  double turn[2] = {};
};
// The first at another estimate near by, at which the decisions are the same; to second order of
// the angles. `power`: the sum of |z|^2.
__device__ inline double DistanceAt(const HardSums& sums, double power, const Estimate& from,
                                    const Estimate& to, int num_symbols) {
  const double gain = from.gain / to.gain;
  const double phase = kTurn * (to.phase - from.phase);
  const double slope = kTurn * (to.frequency - from.frequency) * num_symbols;
  const double less = 1.0 - gain;
  const double scaled = sums.distance + less * (less * power - 2.0 * sums.lean);
  const double turned = (phase * phase + slope * slope / 12.0) * (power - sums.lean) -
                        2.0 * (phase * sums.turn[0] + slope * sums.turn[1]);
  return fmax(scaled + gain * turned, 0.0);
}

// Writes the corrected symbols, turned back by the estimate.
__device__ inline void WriteCorrected(const Team& team, const FrameView& frame,
                                      const Estimate& estimate, const SampleWriter& corrected) {
  const Rotor rotor(estimate.frequency, estimate.phase, frame.num_symbols);
  const unsigned warps = team.threads() / 32;
  for (uint32_t begin = team.thread() / 32 * kTile; begin < frame.num_symbols;
       begin += warps * kTile) {
    const uint32_t first = begin + threadIdx.x % 32;
    Iq r[kTileLanes];
    frame.samples.ReadTile(first, frame.num_symbols, r);
    Iq back = rotor.At(first);
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const uint32_t n = first + 32 * static_cast<uint32_t>(k);
      if (n >= frame.num_symbols) break;
      corrected.Write(n, Multiply(r[k], back));
      back = rotor.Next(back);
    }
  }
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

#endif  // BASEBAND_KERNELS_CARRIER_GPU_JUDGE_CUH_
