// The stages of recover_math.h on the CPU device, each over all symbols of a frame with SIMD. What
// is done between them: recover_cpu.cc.
#ifndef BASEBAND_KERNELS_CARRIER_CPU_STAGES_CPU_H_
#define BASEBAND_KERNELS_CARRIER_CPU_STAGES_CPU_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "kernels/carrier/math/judge_math.h"
#include "kernels/carrier/math/line_math.h"
#include "kernels/carrier/math/recover_math.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"

namespace baseband::carrier {

// Symbols are worked off so many at a time. A multiple of kFitGroup and of any vector's lanes.
inline constexpr size_t kBlock = 128;
constexpr size_t PaddedToBlock(size_t count) { return (count + kBlock - 1) / kBlock * kBlock; }

// Complex numbers, real and imaginary parts apart; aligned for vectors.
struct Split {
  float* re = nullptr;
  float* im = nullptr;
};

// Symbols of a frame, with zeros after the last to a whole block.
struct FrameCpu {
  int num_symbols = 0;
  Split symbols;
  Split known;  // null: none are
  double centre() const { return 0.5 * (num_symbols - 1); }
};

// S1. Symbols as received to frame->symbols, scaled. False if one is NaN, infinite or greater than
// kMaxMagnitude. Adds up |r|^2.
bool ReadSymbols(SampleFormat format, float scale, absl::Span<const uint8_t> symbols,
                 FrameCpu* frame, double* sum_of_squares);
void ReadKnown(absl::Span<const Iq> known, FrameCpu* frame);
// histogram[kAmplitudeBins] of |r| * inverse_rms.
void CountAmplitudes(const FrameCpu& frame, float inverse_rms, uint32_t* histogram);

// S2. The line of a frame, to x, zeros behind it up to `points`; x has room for whole blocks, too.
// Returns sum |x|^2.
double LineOfPower(const ModelView& view, int table, double gain, const FrameCpu& frame,
                   size_t points, Split x);
double LineOfKnown(double gain, const FrameCpu& frame, size_t points, Split x);

// S3. Greatest half bins of the spectrum F of `points` bins (F[points] = F[0] is written here), by
// signed half bin h, |h| <= last_half_bin: frequency h / (2 points). Returns how many were found.
struct Peak {
  int half_bin = 0;
  float power = 0.0F;
};
struct PeakSearch {
  int points = 0;
  int last_half_bin = 0;  // <= points; that itself is -points
  int reach = 0;          // PeakReach
  HalfBin half;
  float* scratch = nullptr;  // [points / kPeakGroup]
};
inline constexpr int kPeakGroup = 32;  // bins whose greatest power is remembered
int FindPeaks(const PeakSearch& search, Split spectrum, int max_peaks, Peak* peaks);
// Greatest power of the half bins of each group, of all points / kPeakGroup.
void GroupPeaks(const HalfBin& half, int points, Split spectrum, float* greatest);
// Power of one half bin.
float HalfBinPower(const PeakSearch& search, Split spectrum, int half_bin);

// Sums of the line x over blocks of `length` (a power of two) symbols, turned back by nu cycles per
// symbol. `squares`: whether square and energy are wanted, too. Returns their number; there is room
// for LineBlocksRoom of them.
constexpr int LineBlocksRoom(int num_symbols, int length) {
  return (static_cast<int>(PaddedToBlock(static_cast<size_t>(num_symbols))) + length - 1) / length;
}
int SumLineBlocks(const FrameCpu& frame, Split x, double nu, int length, bool squares,
                  LineBlock* blocks);

// S4. Sum of CoarseFit, or CoarseFitKnown, over the symbols of one pass.
double SumCoarseFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                    int pass);
// The same, added to sums[n modulo `residues`].
void AddCoarseFits(const ModelView& view, const FrameCpu& frame, const Estimate& estimate, int pass,
                   int residues, double* sums);

// S5. One round's sums, over the frame and, to stretches[kMaxStretches], over parts of it.
FitSums<double> SumFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                       Stretch* stretches);

// S6. Sums over the symbols of the squared distance to the nearest point, or the known one, and
// over the known ones of TurnedApart.
struct DecisionSums {
  double square = 0.0;
  double apart = 0.0;
};
DecisionSums SumHardDistance(const ModelView& view, const FrameCpu& frame,
                             const Estimate& estimate);
// The symbols turned back by the estimate, as samples.
void WriteCorrected(SampleFormat format, float scale, const FrameCpu& frame,
                    const Estimate& estimate, absl::Span<uint8_t> corrected);

// Sweep: the sum of equation 8 for one candidate.
double SumEvm(const ModelView& view, const FrameCpu& frame, const Estimate& estimate);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CPU_STAGES_CPU_H_
