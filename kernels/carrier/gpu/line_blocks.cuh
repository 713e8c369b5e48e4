// Sums over blocks of a frame's line, from which the line at any frequency near by is had cheaply.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_LINE_BLOCKS_CUH_
#define BASEBAND_KERNELS_CARRIER_GPU_LINE_BLOCKS_CUH_

#include <cstdint>

#include "kernels/carrier/gpu/line_symbol.cuh"
#include "kernels/carrier/gpu/recover_task.cuh"
#include "kernels/carrier/gpu/team.cuh"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"

namespace baseband::carrier {

// How the line is turned back: see Rotor.
struct LineTurn {
  uint64_t start = 0;
  uint64_t step = 0;
  Iq onward;  // 32 symbols
};
__device__ inline LineTurn LineTurnOf(double nu, uint32_t num_symbols) {
  LineTurn turn;
  turn.start = Turns64(-nu * (0.5 * (num_symbols - 1.0)));
  turn.step = Turns64(nu);
  turn.onward = TurnedBack(32 * turn.step);
  return turn;
}

__device__ __forceinline__ void AddTo(LineBlock* sum, const LineBlock& part) {
  sum->sum.i += part.sum.i;
  sum->sum.q += part.sum.q;
  sum->square.i += part.square.i;
  sum->square.q += part.square.q;
  sum->energy += part.energy;
}

// The sums that are in memory are those of blocks or, where these are longer than a tile, of tiles.
BASEBAND_HOST_DEVICE inline uint32_t LineSumLength(uint32_t num_symbols) {
  const auto length = static_cast<uint32_t>(LineBlockLength(static_cast<int>(num_symbols)));
  return length < static_cast<uint32_t>(kTile) ? length : static_cast<uint32_t>(kTile);
}
// How many a line of a frame of up to `num_symbols` has.
BASEBAND_HOST_DEVICE inline uint32_t MostLineSums(uint32_t num_symbols) {
  const uint32_t tiles = (num_symbols + kTile - 1) / kTile;
  return tiles > static_cast<uint32_t>(kMaxLineBlocks) ? tiles
                                                       : static_cast<uint32_t>(kMaxLineBlocks);
}

// Adds up `sum` over each `lanes` lanes and stores what they get. The first of them has symbol n.
template <bool kSpread>
__device__ __forceinline__ void StoreLineSum(LineBlock sum, unsigned lanes, uint32_t n,
                                             const FrameView& frame, uint32_t length,
                                             LineBlock* sums) {
  for (unsigned apart = lanes / 2; apart > 0; apart /= 2) {
    sum.sum.i += __shfl_xor_sync(0xffffffffU, sum.sum.i, apart);
    sum.sum.q += __shfl_xor_sync(0xffffffffU, sum.sum.q, apart);
    if constexpr (kSpread) {
      sum.square.i += __shfl_xor_sync(0xffffffffU, sum.square.i, apart);
      sum.square.q += __shfl_xor_sync(0xffffffffU, sum.square.q, apart);
      sum.energy += __shfl_xor_sync(0xffffffffU, sum.energy, apart);
    }
  }
  if (threadIdx.x % lanes == 0 && n < frame.num_symbols) sums[n / length] = sum;
}

// Adds up one tile of a line, turned back by `turn`, into the frame's sums of that line; squares
// and energies too if kSpread. `x`: the lane's symbols of the line, first + 32 k. By one warp.
template <bool kSpread>
__device__ __forceinline__ void SumLineTile(const FrameView& frame, const Iq (&x)[kTileLanes],
                                            uint32_t first, const LineTurn& turn, uint32_t length,
                                            LineBlock* sums) {
  LineBlock sum;
  Iq back = TurnedBack(turn.start + turn.step * first);
  const unsigned lanes = min(length, 32U);
  const unsigned rows = max(length / 32, 1U);  // of 32 symbols, that a sum has
#pragma unroll
  for (int k = 0; k < kTileLanes; ++k) {
    const Iq y = Multiply(x[k], back);
    back = Multiply(back, turn.onward);
    sum.sum.i += y.i;
    sum.sum.q += y.q;
    if constexpr (kSpread) {
      sum.square.i = fmaf(y.i, y.i, fmaf(-y.q, y.q, sum.square.i));
      sum.square.q = fmaf(2.0F * y.i, y.q, sum.square.q);
      sum.energy = fmaf(y.i, y.i, fmaf(y.q, y.q, sum.energy));
    }
    const auto done = static_cast<unsigned>(k + 1);
    if (rows < static_cast<unsigned>(kTileLanes) && done % rows == 0) {
      StoreLineSum<kSpread>(sum, lanes, first + 32 * (done - rows), frame, length, sums);
      sum = LineBlock();
    }
  }
  if (rows == static_cast<unsigned>(kTileLanes)) {
    StoreLineSum<kSpread>(sum, lanes, first, frame, length, sums);
  }
}

// What a warp does with the blocks of one line: a lane has blocks lane and lane + 32.
class Blocks {
 public:
  // `sums`: the line's, as SumLineTile leaves them.
  __device__ Blocks(const LineBlock* sums, int num_symbols, int points)
      : num_symbols_(num_symbols),
        points_(points),
        length_(LineBlockLength(num_symbols)),
        count_(NumLineBlocks(num_symbols, length_)) {
    const auto of_sum = static_cast<int>(LineSumLength(static_cast<uint32_t>(num_symbols)));
    const int num_sums = (num_symbols + of_sum - 1) / of_sum;
    const int sums_of_block = length_ / of_sum;
    // All loads of a round are under way before the first is waited for.
    constexpr int kAtOnce = 2;
    for (int from = 0; from < sums_of_block; from += kAtOnce) {
      LineBlock parts[kOfLane][kAtOnce];
#pragma unroll
      for (int i = 0; i < kOfLane; ++i) {
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          const int k = BlockOf(i) * sums_of_block + from + j;
          if (from + j < sums_of_block && k < num_sums) parts[i][j] = sums[k];
        }
      }
#pragma unroll
      for (int i = 0; i < kOfLane; ++i) {
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) AddTo(blocks_ + i, parts[i][j]);
      }
    }
  }

  // The line `delta` bins from where the blocks were added up.
  __device__ LineAt At(double delta) const {
    LineAt at;
    const double per_point = 1.0 / points_;
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int b = BlockOf(i);
      if (b >= count_) break;
      const double tau = LineBlockCentre(b, length_, num_symbols_) * per_point;
      at.Add(blocks_[i].sum, Turn(delta * tau), tau);
    }
    double sums[6] = {at.re, at.im, at.re1, at.im1, at.re2, at.im2};
    SumDoubles(sums);
    at.re = sums[0];
    at.im = sums[1];
    at.re1 = sums[2];
    at.im1 = sums[3];
    at.re2 = sums[4];
    at.im2 = sums[5];
    return at;
  }

  // The carrier's, if the line has this phase where the blocks were added up.
  __device__ Covariance CovarianceAt(double phase, int power) const {
    LineSpread spread;
    const Turned turned = Turn(phase);
#pragma unroll
    for (int i = 0; i < kOfLane; ++i) {
      const int b = BlockOf(i);
      if (b >= count_) break;
      spread.Add(blocks_[i], Turned(), turned,
                 LineBlockCentre(b, length_, num_symbols_) / num_symbols_);
    }
    double sums[6] = {spread.information.phase, spread.information.cross, spread.information.slope,
                      spread.square[0],         spread.square[1],         spread.square[2]};
    SumDoubles(sums);
    spread.information = {sums[0], sums[1], sums[2]};
    spread.square[0] = sums[3];
    spread.square[1] = sums[4];
    spread.square[2] = sums[5];
    return spread.OfCarrier(power);
  }

 private:
  static constexpr int kOfLane = kMaxLineBlocks / 32;
  __device__ static int BlockOf(int i) { return static_cast<int>(threadIdx.x % 32) + 32 * i; }

  LineBlock blocks_[kOfLane];
  int num_symbols_;
  int points_;
  int length_;
  int count_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_LINE_BLOCKS_CUH_
