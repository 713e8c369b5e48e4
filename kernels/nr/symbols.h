// Modulation symbols in memory: formats, and the layers of TS 38.211 clause 7.3.1.3.
#ifndef BASEBAND_KERNELS_NR_SYMBOLS_H_
#define BASEBAND_KERNELS_NR_SYMBOLS_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

// A symbol is I, then Q, each a little-endian number of this type. Its values stand for y with
//   value = y * scale,
// where y has unit mean energy without noise; see SymbolLayout::scale.
enum class SymbolFormat : uint8_t {
  kFloat32,
  kFloat16,  // IEEE binary16
  kInt16,
  kInt8,
};

BASEBAND_HOST_DEVICE constexpr int BytesPerSymbol(SymbolFormat format) {
  return format == SymbolFormat::kFloat32 ? 8 : format == SymbolFormat::kInt8 ? 2 : 4;
}

inline constexpr float kMinSymbolScale = 1e-9f;
inline constexpr float kMaxSymbolScale = 1e9f;

// How the symbols of a code word lie in a buffer, without gaps.
struct SymbolLayout {
  SymbolFormat format = SymbolFormat::kFloat32;
  float scale = 1.0f;  // kMinSymbolScale .. kMaxSymbolScale
  // Symbol i of a code word is symbol i / num_layers of layer i mod num_layers.
  int num_layers = 1;
  // false: in the code word's order, that is, the layers of one resource element side by side.
  // true: layer 0 whole, then layer 1, ..
  bool by_layer = false;
  int64_t symbols_per_layer = 0;  // read only if by_layer
};

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_SYMBOLS_H_
