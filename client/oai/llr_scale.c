#include "client/oai/llr_scale.h"

#include <math.h>

void bo_add_magnitudes(const int16_t* llrs, size_t count, size_t samples,
                       bo_magnitudes* magnitudes) {
  /* Odd, so that all bits of a symbol are seen in turn. */
  const size_t step = count <= samples ? 1 : count / samples | 1U;
  for (size_t i = 0; i < count; i += step) {
    const int32_t llr = llrs[i];
    magnitudes->sum += (uint64_t)(llr < 0 ? -llr : llr);
    magnitudes->count += llr != 0;
  }
}

float bo_mean(const bo_magnitudes* magnitudes) {
  return magnitudes->count == 0 ? 0 : (float)magnitudes->sum / (float)magnitudes->count;
}

/* The decoder's mean |LLR| where blocks begin to be decoded, at rates 0.2, 0.35, .. 0.95: a part of
 * ten times the natural one. Blocks that are sent again were received some dB worse, where that
 * would be twenty times and more, and their sums are held to 127: so the part is the less, the more
 * they lose by that. High rates lose the least by small LLRs. */
static double mean_for(uint32_t qm, double code_rate) {
  enum { kRates = 6 };
  static const double kMeans[5][kRates] = {{13, 21, 30, 42, 62, 122},
                                           {12, 21, 34, 55, 88, 196},
                                           {11, 24, 44, 81, 154, 380},
                                           {11, 28, 65, 138, 311, 917},
                                           {12, 37, 107, 284, 734, 2313}};
  static const double kParts[kRates] = {0.6, 0.55, 0.5, 0.4, 0.35, 0.3};
  const double place = (fmin(fmax(code_rate, 0.2), 0.95) - 0.2) / 0.15;
  const int i = place < kRates - 2 ? (int)place : kRates - 2;
  const double* const means = kMeans[qm <= 2 ? 0 : qm / 2 - 1];
  return (means[i] + (means[i + 1] - means[i]) * (place - i)) *
         (kParts[i] + (kParts[i + 1] - kParts[i]) * (place - i));
}

float bo_llr_scale(const bo_magnitudes* magnitudes, uint32_t qm, double code_rate) {
  if (magnitudes->sum == 0) return 1;
  const double exact =
      mean_for(qm <= 10 ? qm : 10, code_rate) * magnitudes->count / (double)magnitudes->sum;
  return (float)exp2(round(2 * log2(fmin(fmax(exact, 1e-5), 1e5))) / 2);
}
