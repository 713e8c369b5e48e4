#include <algorithm>
#include <cmath>

#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/decode_math.h"

namespace baseband::ldpc {
namespace {

// A scale factor that falls linearly with the logarithm of the number of parity rows.
struct ScaleLine {
  float few;   // at 4 rows
  float many;  // at all rows of the base graph
  int all_rows;
};

float At(const ScaleLine& line, int rows) {
  const float position = std::log(static_cast<float>(rows) / 4.0f) /
                         std::log(static_cast<float>(line.all_rows) / 4.0f);
  return line.few + (line.many - line.few) * std::clamp(position, 0.0f, 1.0f);
}

}  // namespace

float DefaultScaleFactor(const Code& code, Schedule schedule) {
  (void)schedule;
  if (code.family() != Family::kNr) return 0.75f;
  // The two base graphs differ in kb: 22 and 10.
  return code.kb() == 22 ? At({0.79f, 0.65f, 46}, code.rows())
                         : At({0.86f, 0.69f, 42}, code.rows());
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
