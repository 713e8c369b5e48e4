#include <algorithm>
#include <cmath>

#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_math.h"

namespace baseband::ldpc {
namespace {

// The scaling of codes with up to so many parity rows. Steps, not a line: with LLRs in quarters,
// the messages of a weak word are a few units, and what matters is how those round (2 rounds up
// from 0.75 on, 5 from 0.70, 4 from 0.625). At the highest rates an offset gains nothing.
struct Step {
  int rows;
  Scaling scaling;
};

constexpr Step kBaseGraph1[] = {{5, {0.77f}},
                                {8, {0.77f, 0.83f, 1}},
                                {12, {0.77f, 0.80f, 1}},
                                {26, {0.72f, 0.80f, 1}},
                                {kMaxRows, {0.70f, 0.77f, 1}}};
constexpr Step kBaseGraph2[] = {{4, {0.82f}},
                                {5, {0.78f}},
                                {11, {0.77f, 0.83f, 1}},
                                {26, {0.72f, 0.80f, 1}},
                                {kMaxRows, {0.67f, 0.77f, 1}}};
constexpr Step kIeee[] = {{8, {0.77f}}, {kMaxRows, {0.82f}}};  // 12 rows: rate 1/2
constexpr Scaling kCustom = {0.75f};

// Rows without a column of their own, all of them heavy.
constexpr int kNrDenseRows = 4;

Scaling Lookup(absl::Span<const Step> steps, int rows) {
  for (const Step& step : steps) {
    if (rows <= step.rows) return step.scaling;
  }
  return kCustom;
}

// The odd integer nearest to 2048 times `factor`.
int OddMultiple(float factor) {
  return std::clamp(2 * static_cast<int>(std::floor(factor * 1024.0f)) + 1, 1, 2047);
}

}  // namespace

// tests/bench/ldpc_quantisation_bench finds the same optimum for both schedules, as flat as 0.03 on
// either side, of factors alone; ldpc_scaling_bench found those beside an offset, layered.
Scaling DefaultScaling(const Code& code, Schedule /*schedule*/) {
  switch (code.family()) {
    case Family::kNr:
      // The base graphs differ in kb: 22 and 10.
      return Lookup(code.kb() == 22 ? absl::MakeSpan(kBaseGraph1) : absl::MakeSpan(kBaseGraph2),
                    code.rows());
    case Family::kWimax:
    case Family::kWifi:
      return Lookup(kIeee, code.rows());
    case Family::kCustom:
      break;
  }
  return kCustom;
}

Engine MakeEngine(const Code& code, const DecodeParameters& parameters) {
  Engine engine;
  if (parameters.algorithm == Algorithm::kBitFlipping) {
    engine.magnitude_limit = 1;
    engine.hard_input = true;
    return engine;
  }
  const Scaling scaling = parameters.scaling.factor > 0.0f
                              ? parameters.scaling
                              : DefaultScaling(code, parameters.schedule);
  engine.factor = OddMultiple(scaling.factor);
  engine.heavy_factor = engine.factor;
  if (code.family() == Family::kNr && code.rows() > kNrDenseRows) {
    if (scaling.heavy_factor > 0.0f) engine.heavy_factor = OddMultiple(scaling.heavy_factor);
    engine.offset = engine.heavy_factor > 1024 ? scaling.offset : 0;
  }
  const int message_limit = MessageLimit(code.max_column_degree());
  engine.magnitude_limit =
      std::min(MagnitudeLimit(message_limit, engine.factor, /*offset=*/0),
               MagnitudeLimit(message_limit, engine.heavy_factor, engine.offset));
  return engine;
}

}  // namespace baseband::ldpc
