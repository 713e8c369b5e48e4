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
  float factor;
};

constexpr Step kBaseGraph1[] = {{5, 0.77f}, {10, 0.74f}, {27, 0.68f}, {kMaxRows, 0.62f}};
constexpr Step kBaseGraph2[] = {{4, 0.82f}, {7, 0.78f}, {24, 0.73f}, {kMaxRows, 0.68f}};
constexpr Step kIeee[] = {{8, 0.77f}, {kMaxRows, 0.82f}};  // 12 rows: rate 1/2
constexpr float kCustom = 0.75f;

float Lookup(absl::Span<const Step> steps, int rows) {
  for (const Step& step : steps) {
    if (rows <= step.rows) return step.factor;
  }
  return kCustom;
}

}  // namespace

// tests/bench/ldpc_quantisation_bench finds the same optimum for both schedules, as flat as 0.03 on
// either side.
float DefaultScaleFactor(const Code& code, Schedule /*schedule*/) {
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
  const float scale = parameters.scale_factor > 0.0f
                          ? parameters.scale_factor
                          : DefaultScaleFactor(code, parameters.schedule);
  // The odd integer nearest to scale * 2048.
  const int half = static_cast<int>(std::floor(scale * 1024.0f));
  engine.factor = std::clamp(2 * half + 1, 1, 2047);
  engine.magnitude_limit = MagnitudeLimit(MessageLimit(code.max_column_degree()), engine.factor);
  return engine;
}

}  // namespace baseband::ldpc
