// The sweep as the paper has it, one optimisation after the other, to be timed beside ours: every
// candidate and symbol is a thread that turns the symbol back with a sine and a cosine of its own,
// compares it with the points, and writes equation 8's term to memory; a reduction adds them up.
// Source: Gao, Yang, Fu, sections 3.1 and 3.2.
#ifndef BASEBAND_TESTS_BENCH_CARRIER_SWEEP_FORMS_H_
#define BASEBAND_TESTS_BENCH_CARRIER_SWEEP_FORMS_H_

#include <cuda_runtime_api.h>

#include <vector>

#include "kernels/carrier/constellation.h"

namespace baseband::bench {

enum class PointsIn { kGlobal, kConstant, kConstantFolded };
enum class Reduction { kBase, kNoDivergence, kSeveralAThread };

// One frame after the other, as the paper's two-dimensional grid: x symbols, y candidates.
struct PaperSweep {
  const float2* symbols = nullptr;    // [num_frames][num_symbols], of unit gain
  const double* turns = nullptr;      // [num_frames][num_candidates]: phase at symbol 0
  const double* frequency = nullptr;  // [num_frames]: of the first candidate
  double step = 0.0;
  int num_symbols = 0;
  int num_candidates = 0;
  int num_frames = 0;
  float* terms = nullptr;     // scratch [frames at a time][num_candidates][num_symbols]
  float* partials = nullptr;  // scratch [frames at a time][num_candidates][blocks of the reduction]
  float* sums = nullptr;      // [num_frames][num_candidates]: of equation 8
};
inline constexpr int kPaperFramesAtATime = 8;
inline constexpr int kPaperBlock = 256;
inline constexpr int kPaperSeveral = 8;  // M of the paper's figure 9

// To be called before the forms, with all points and those of the first quadrant.
bool SetPaperPoints(const std::vector<carrier::Iq>& points);

// Enqueues both steps for all frames.
void RunPaperSweep(const PaperSweep& sweep, PointsIn points, Reduction reduction,
                   cudaStream_t stream);
// The reduction alone, of `count` rows of num_symbols terms each.
void RunPaperReduction(const PaperSweep& sweep, Reduction reduction, int rows, float* sums,
                       cudaStream_t stream);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CARRIER_SWEEP_FORMS_H_
