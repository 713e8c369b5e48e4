#include "kernels/downconvert/taps_cpu.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace baseband::downconvert {
namespace {

constexpr size_t kVectorFloats = 16;  // of the longest vectors
constexpr size_t kTurnsAtOnce = 8;

size_t WindowOf(const Stage& stage) { return static_cast<size_t>(stage.history()) + 1; }

TapTable ShapeOf(const Stage& stage, bool in_is_real) {
  TapTable table;
  table.floats = WindowOf(stage) * (in_is_real ? 1 : 2);
  table.row = (table.floats + kVectorFloats - 1) / kVectorFloats * kVectorFloats;
  return table;
}

// Calls write(row, position, tap, samples back) for every place of the table that has a tap.
template <typename Write>
void ForEachTap(const Stage& stage, const Write& write) {
  const size_t window = WindowOf(stage);
  const auto up = static_cast<size_t>(stage.up);
  for (size_t branch = 0; branch < up; ++branch) {
    for (size_t tap = branch, back = 0; tap < stage.taps.size(); tap += up, ++back) {
      write(branch, window - 1 - back, stage.taps[tap], back);
    }
  }
}

// exp(j 2 pi f k), k = 0 .. count - 1, as cosines and sines. Eight at a time are turned by f * 8:
// after 2^16 that has added up to 2^13 roundings, below 2e-12.
void WriteTurns(uint64_t frequency_word, size_t count, double* cosines, double* sines) {
  constexpr double kRadians = 6.283185307179586 / 18446744073709551616.0;
  const auto radians = [&](size_t k) {
    return static_cast<double>(static_cast<int64_t>(frequency_word * k)) * kRadians;
  };
  const size_t exact = std::min(count, kTurnsAtOnce);
  for (size_t k = 0; k < exact; ++k) {
    cosines[k] = std::cos(radians(k));
    sines[k] = std::sin(radians(k));
  }
  const double cosine = std::cos(radians(kTurnsAtOnce));
  const double sine = std::sin(radians(kTurnsAtOnce));
  for (size_t k = exact; k < count; ++k) {
    const double i = cosines[k - kTurnsAtOnce];
    const double q = sines[k - kTurnsAtOnce];
    cosines[k] = i * cosine - q * sine;
    sines[k] = q * cosine + i * sine;
  }
}

}  // namespace

size_t TableFloats(const Stage& stage, bool in_is_real) {
  return ShapeOf(stage, in_is_real).row * static_cast<size_t>(stage.up);
}

TapTable WriteTaps(const Stage& stage, float* re) {
  TapTable table = ShapeOf(stage, false);
  std::fill_n(re, TableFloats(stage, false), 0.0F);
  ForEachTap(stage, [&](size_t branch, size_t position, float tap, size_t /*back*/) {
    float* const at = re + branch * table.row + 2 * position;
    at[0] = at[1] = tap;
  });
  table.re = re;
  return table;
}

TapTable WriteTurnedTaps(const Stage& stage, bool in_is_real, uint64_t frequency_word,
                         double* turns, float* re, float* im) {
  const size_t window = WindowOf(stage);
  double* const cosines = turns;
  double* const sines = turns + window;
  WriteTurns(frequency_word, window, cosines, sines);
  TapTable table = ShapeOf(stage, in_is_real);
  std::fill_n(re, TableFloats(stage, in_is_real), 0.0F);
  std::fill_n(im, TableFloats(stage, in_is_real), 0.0F);
  ForEachTap(stage, [&](size_t branch, size_t position, float tap, size_t back) {
    const auto tap_re = static_cast<float>(tap * cosines[back]);
    const auto tap_im = static_cast<float>(tap * sines[back]);
    const size_t at = branch * table.row + (in_is_real ? 1 : 2) * position;
    re[at] = tap_re;
    im[at] = tap_im;
    if (in_is_real) return;
    re[at + 1] = tap_re;
    im[at + 1] = -tap_im;
  });
  table.re = re;
  table.im = im;
  return table;
}

FirTask MakeFirTask(const Stage& stage, const TapTable& taps, int64_t first_output) {
  FirTask task;
  task.taps = taps;
  task.up = stage.up;
  task.down = stage.down;
  task.branch = stage.TapPhase(first_output);
  return task;
}

}  // namespace baseband::downconvert
