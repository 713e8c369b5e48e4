// Sums over blocks of a frame's line, from which the line at any frequency near by is had cheaply.
#ifndef BASEBAND_KERNELS_CARRIER_LINE_BLOCKS_CUH_
#define BASEBAND_KERNELS_CARRIER_LINE_BLOCKS_CUH_

#include <cstdint>

#include "kernels/carrier/judge_math.h"
#include "kernels/carrier/line_math.h"
#include "kernels/carrier/line_symbol.cuh"
#include "kernels/carrier/recover_task.cuh"
#include "kernels/carrier/team.cuh"

namespace baseband::carrier {

inline constexpr int kStaged = 2048;               // symbols of the line in shared memory at a time
inline constexpr int kPart = 8;                    // symbols that one thread adds up, at most
inline constexpr int kMaxParts = kStaged / kPart;  // of what is staged
static_assert(kMaxParts >= kMaxLineBlocks, "parts below kPart symbols are whole blocks");

// One place more after every kPart symbols: threads that add up neighbouring parts read different
// banks.
struct StagedLine {
  float2 symbols[kStaged + kStaged / kPart];
  float2 weights[kWeightNodes];
  __device__ static unsigned At(unsigned i) { return i + i / kPart; }
};

// Copies symbols begin .. of the line into memory, as many as there are, up to kStaged.
__device__ inline void StageLine(const FrameView& frame, const LineMaker& maker, uint32_t begin,
                                 StagedLine* memory) {
  const unsigned warp = threadIdx.x / 32;
  for (unsigned tile = warp; tile < kStaged / kTile; tile += kTeamWarps) {
    const unsigned at = tile * kTile + threadIdx.x % 32;
    Iq r[kTileLanes];
    frame.samples.ReadTile(begin + at, frame.num_symbols, r);
#pragma unroll
    for (int k = 0; k < kTileLanes; ++k) {
      const uint32_t n = begin + at + 32 * static_cast<uint32_t>(k);
      if (n >= frame.num_symbols) break;
      const Iq x = maker.At(n, r[k]);
      memory->symbols[StagedLine::At(at + 32 * static_cast<unsigned>(k))] = make_float2(x.i, x.q);
    }
  }
}

// How the line is turned back: see Rotor, which steps by 32 symbols.
struct LineTurn {
  uint64_t start = 0;
  uint64_t step = 0;
  Iq onward;  // a symbol
};
__device__ inline LineTurn LineTurnOf(double nu, uint32_t num_symbols) {
  LineTurn turn;
  turn.start = Turns64(-nu * (0.5 * (num_symbols - 1.0)));
  turn.step = Turns64(nu);
  turn.onward = TurnedBack(turn.step);
  return turn;
}

// One part of a block of the line: `count` staged symbols, the first of them symbol n.
__device__ inline LineBlock PartOf(const StagedLine& memory, const LineTurn& turn, unsigned at,
                                   uint32_t n, unsigned count) {
  LineBlock part;
  Iq back = TurnedBack(turn.start + turn.step * n);
  for (unsigned i = 0; i < count; ++i) {
    const float2 x = memory.symbols[StagedLine::At(at + i)];
    const Iq y = Multiply({x.x, x.y}, back);
    back = Multiply(back, turn.onward);
    part.sum.i += y.i;
    part.sum.q += y.q;
    part.square.i = fmaf(y.i, y.i, fmaf(-y.q, y.q, part.square.i));
    part.square.q = fmaf(2.0F * y.i, y.q, part.square.q);
    part.energy = fmaf(y.i, y.i, fmaf(y.q, y.q, part.energy));
  }
  return part;
}

__device__ __forceinline__ void AddTo(LineBlock* sum, const LineBlock& part) {
  sum->sum.i += part.sum.i;
  sum->sum.q += part.sum.q;
  sum->square.i += part.square.i;
  sum->square.q += part.square.q;
  sum->energy += part.energy;
}

// Stretches of kStaged symbols, a thread block each; a block of the line that is longer than a
// stretch has its sum from several.
BASEBAND_HOST_DEVICE constexpr uint32_t NumStretches(uint32_t num_symbols) {
  return (num_symbols + kStaged - 1) / kStaged;
}
// Sums that a line of a frame has in memory: of its blocks, or of its stretches if they are more.
BASEBAND_HOST_DEVICE inline uint32_t NumLineSums(uint32_t num_symbols) {
  const uint32_t stretches = NumStretches(num_symbols);
  return stretches > static_cast<uint32_t>(kMaxLineBlocks) ? stretches
                                                           : static_cast<uint32_t>(kMaxLineBlocks);
}

// Adds up one stretch of the line, turned back by each of `turns`, into sums[line * row ..]. With
// blocks of 512 symbols and one line each thread adds up one part:
//   thread  0  | 1  | ..  | 255    then block 2 of the stretch is parts 128 .. 191: thread 2 adds
//   part    0  | 1  | ..  | 255    them up in this order
__device__ inline void SumStretch(const FrameView& frame, const LineMaker& maker, uint32_t stretch,
                                  int num_lines, const LineTurn* turns, StagedLine* memory,
                                  LineBlock* parts, LineBlock* sums, uint32_t row) {
  const auto block_length =
      static_cast<unsigned>(LineBlockLength(static_cast<int>(frame.num_symbols)));
  const unsigned length = min(block_length, static_cast<unsigned>(kStaged));
  const unsigned part_length = min(length, static_cast<unsigned>(kPart));
  const uint32_t begin = stretch * kStaged;
  const unsigned count = min(static_cast<unsigned>(kStaged), frame.num_symbols - begin);
  const unsigned num_parts = (count + part_length - 1) / part_length;
  const unsigned parts_per_sum = length / part_length;
  const unsigned num_sums = (count + length - 1) / length;
  const unsigned first_sum = begin / length;
  StageLine(frame, maker, begin, memory);
  for (int line = 0; line < num_lines; ++line) {
    __syncthreads();
    for (unsigned part = threadIdx.x; part < num_parts; part += kTeamThreads) {
      const unsigned at = part * part_length;
      parts[part] = PartOf(*memory, turns[line], at, begin + at, min(part_length, count - at));
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < num_sums; i += kTeamThreads) {
      LineBlock sum;
      for (unsigned part = i * parts_per_sum; part < min((i + 1) * parts_per_sum, num_parts);
           ++part) {
        AddTo(&sum, parts[part]);
      }
      sums[static_cast<uint32_t>(line) * row + first_sum + i] = sum;
    }
  }
}

template <int kCount>
__device__ __forceinline__ void SumDoubles(double (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {
      values[i] += __shfl_xor_sync(0xffffffffU, values[i], apart);
    }
  }
}

// What a warp does with the blocks of one peak.
class Blocks {
 public:
  __device__ Blocks(const LineBlock* blocks, int num_symbols, int points)
      : blocks_(blocks),
        num_symbols_(num_symbols),
        points_(points),
        length_(LineBlockLength(num_symbols)),
        count_((num_symbols + length_ - 1) / length_) {}

  // The line `delta` bins from where the blocks were added up.
  __device__ LineAt At(double delta) const {
    LineAt at;
    const double per_point = 1.0 / points_;
    for (int b = static_cast<int>(threadIdx.x % 32); b < count_; b += 32) {
      const double tau = LineBlockCentre(b, length_, num_symbols_) * per_point;
      at.Add(Block(b).sum, Turn(delta * tau), tau);
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

  __device__ Covariance CovarianceAt(double delta, double phase, int power) const {
    LineSpread spread;
    const Turned turned = Turn(phase);
    for (int b = static_cast<int>(threadIdx.x % 32); b < count_; b += 32) {
      const double centre = LineBlockCentre(b, length_, num_symbols_);
      spread.Add(Block(b), Turn(delta * centre / points_), turned, centre / num_symbols_);
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
  __device__ LineBlock Block(int b) const {
    if (length_ <= kStaged) return blocks_[b];
    LineBlock sum;
    const int stretches = length_ / kStaged;
    const int last = static_cast<int>(NumStretches(static_cast<uint32_t>(num_symbols_)));
    for (int i = b * stretches; i < min((b + 1) * stretches, last); ++i) AddTo(&sum, blocks_[i]);
    return sum;
  }

  const LineBlock* blocks_;
  int num_symbols_;
  int points_;
  int length_;
  int count_;
};

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_LINE_BLOCKS_CUH_
