#include <algorithm>
#include <cmath>

#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_math.h"

namespace baseband::ldpc {
namespace {

// The factor of codes with up to so many parity rows. Steps, not a line: with LLRs in quarters, the
// messages of a weak word are a few units, and what matters is how those round (2 rounds up from
// 0.75 on, 5 from 0.70, 4 from 0.625).
struct Step {
  int rows;
  Scaling scaling;
};

constexpr Step kBaseGraph1[] = {
    {5, {0.77f, 0}}, {7, {0.74f, 0}}, {12, {0.83f, 1}}, {kMaxRows, {0.77f, 1}}};
constexpr Step kBaseGraph2[] = {{4, {0.82f, 0}},
                                {6, {0.78f, 0}},
                                {12, {0.83f, 1}},
                                {26, {0.80f, 1}},
                                {kMaxRows, {0.77f, 1}}};
constexpr Step kIeee[] = {{8, {0.77f, 0}}, {kMaxRows, {0.82f, 0}}};  // 12 rows: rate 1/2
constexpr Scaling kCustom = {0.75f, 0};

Scaling Lookup(absl::Span<const Step> steps, int rows) {
  for (const Step& step : steps) {
    if (rows <= step.rows) return step.scaling;
  }
  return kCustom;
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
    engine.factor = 2047;
    engine.magnitude_limit = 1;
    engine.hard_input = true;
    return engine;
  }
  const Scaling scaling = parameters.scale_factor > 0.0f
                              ? Scaling{parameters.scale_factor, parameters.offset}
                              : DefaultScaling(code, parameters.schedule);
  // The odd integer nearest to the factor times 2048.
  const int half = static_cast<int>(std::floor(scaling.factor * 1024.0f));
  engine.factor = std::clamp(2 * half + 1, 1, 2047);
  engine.offset = engine.factor > 1024 ? scaling.offset : 0;
  engine.magnitude_limit =
      MagnitudeLimit(MessageLimit(code.max_column_degree()), engine.factor, engine.offset);
  return engine;
}

}  // namespace baseband::ldpc
