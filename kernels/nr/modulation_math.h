// The constellations of TS 38.211 clause 5.1 and where symbols lie, for both devices.
//
// From QPSK on, the even bits of a symbol make I and the odd ones Q by the same rule. An axis with
// h = qm / 2 bits has M = 2^h levels, the odd integers -(M - 1) .. M - 1 times a unit that makes
// the mean energy one: the first bit is the sign (0: positive), the others a Gray code of the
// magnitude. pi/2-BPSK has one bit for both axes and turns by a quarter every other symbol.
#ifndef BASEBAND_KERNELS_NR_MODULATION_MATH_H_
#define BASEBAND_KERNELS_NR_MODULATION_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/nr/float_math.h"
#include "kernels/nr/symbols.h"

namespace baseband::nr {

// The unit: 1 / sqrt(2), or 1 / sqrt(2 (M^2 - 1) / 3).
BASEBAND_HOST_DEVICE constexpr double AxisUnit(int qm) {
  return qm <= 2   ? 0.70710678118654752440
         : qm == 4 ? 0.31622776601683793320
         : qm == 6 ? 0.15430334996209191026
         : qm == 8 ? 0.07669649888473704420
                   : 0.03829197905337830393;
}

// The level of an axis from its `h` bits (1 .. 5), the first the most significant.
BASEBAND_HOST_DEVICE constexpr int PamLevel(int h, uint32_t bits) {
  int level = 1;
  for (int i = 0; i < h - 1; ++i) level = (2 << i) - ((bits >> i & 1) != 0 ? -level : level);
  return (bits >> (h - 1) & 1) != 0 ? -level : level;
}

// Every other of the 2 h lowest bits of `symbol`: bits 2 h - 2, .., 0. The bits of Q if bit 0 is
// the symbol's last; those of I of symbol >> 1.
BASEBAND_HOST_DEVICE constexpr uint32_t AxisBits(int h, uint32_t symbol) {
  uint32_t bits = symbol & 0x155 & ((1u << 2 * h) - 1);
  bits = (bits | bits >> 1) & 0x133;
  bits = (bits | bits >> 2) & 0x10f;
  return (bits | bits >> 4) & 0x1f;
}

// In units. `symbol` holds the qm bits, the first the most significant; `index` is the symbol's
// place in the code word, of which pi/2-BPSK needs the parity.
struct PointLevels {
  int i;
  int q;
};
BASEBAND_HOST_DEVICE constexpr PointLevels LevelsOf(int qm, uint32_t symbol, uint64_t index) {
  if (qm == 1) {
    const int level = (symbol & 1) != 0 ? -1 : 1;
    return {index % 2 != 0 ? -level : level, level};
  }
  const int h = qm / 2;
  return {PamLevel(h, AxisBits(h, symbol >> 1)), PamLevel(h, AxisBits(h, symbol))};
}

// A level as a float: the product, rounded once. `unit` is AxisUnit(qm) as a float.
BASEBAND_HOST_DEVICE inline float Amplitude(int level, float unit) {
  return MulRn(static_cast<float>(level), unit);
}

// An amplitude in the integer formats: times `scale`, rounded, held inside the format.
BASEBAND_HOST_DEVICE inline int16_t ToInt16(float amplitude, float scale) {
  return static_cast<int16_t>(
      static_cast<int>(RoundRn(Clamp(MulRn(amplitude, scale), -32768.0f, 32767.0f))));
}
BASEBAND_HOST_DEVICE inline int8_t ToInt8(float amplitude, float scale) {
  return static_cast<int8_t>(
      static_cast<int>(RoundRn(Clamp(MulRn(amplitude, scale), -128.0f, 127.0f))));
}

// Where symbol `index` of the code word lies in its buffer, in symbols.
BASEBAND_HOST_DEVICE inline uint64_t PlaceOfSymbol(const SymbolLayout& layout, uint64_t index) {
  if (layout.num_layers == 1 || !layout.by_layer) return index;
  const auto layers = static_cast<uint64_t>(layout.num_layers);
  return index % layers * static_cast<uint64_t>(layout.symbols_per_layer) + index / layers;
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_MODULATION_MATH_H_
