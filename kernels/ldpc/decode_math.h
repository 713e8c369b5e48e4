// The integers of decode.h's engine, for both devices. No state, no includes beyond <cstdint>.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_MATH_H_
#define BASEBAND_KERNELS_LDPC_DECODE_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::ldpc {

// Bits after the binary point of Engine's factors.
inline constexpr int kFactorBits = 11;

// The least degree of a heavy check. In NR the checks of the dense rows are heavy, and in base
// graph 1 most of the first half of the extension rows.
inline constexpr int kHeavyDegree = 6;

// The largest check message that keeps |app| <= 1919 in a column of `max_column_degree` blocks.
BASEBAND_HOST_DEVICE constexpr int MessageLimit(int max_column_degree) {
  const int limit = (1919 - 127) / max_column_degree;
  return limit < 127 ? limit : 127;
}

// The largest magnitude that `factor` and `offset` turn into no more than `message_limit`.
BASEBAND_HOST_DEVICE constexpr int MagnitudeLimit(int message_limit, int factor, int offset) {
  const int limit = ((message_limit + offset) << kFactorBits) / factor;
  return limit < 127 ? limit : 127;
}

// max(0, round(magnitude * factor / 2048) - offset); no ties for an odd factor and a magnitude
// below 1024.
BASEBAND_HOST_DEVICE constexpr int ScaleMagnitude(int magnitude, int factor, int offset) {
  const int scaled = ((magnitude * factor + (1 << (kFactorBits - 1))) >> kFactorBits) - offset;
  return scaled > 0 ? scaled : 0;
}

// The channel value of one received LLR.
BASEBAND_HOST_DEVICE constexpr int ChannelValue(int llr, bool hard_input) {
  if (hard_input) return (llr > 0) - (llr < 0);
  return llr < -127 ? -127 : llr;
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_MATH_H_
