#include "client/gnuradio/lib/bits.h"

#include <algorithm>
#include <cstring>

namespace gr::baseband_offload {

void Pack(const uint8_t* in, int bits, uint8_t* out) {
  int bit = 0;
  for (; bit + 8 <= bits; bit += 8) {
    unsigned byte = 0;
    for (int i = 0; i < 8; ++i) byte = byte << 1 | (in[bit + i] & 1u);
    *out++ = static_cast<uint8_t>(byte);
  }
  if (bit == bits) return;
  unsigned byte = 0;
  for (int i = 0; i < 8; ++i) byte = byte << 1 | (bit + i < bits ? in[bit + i] & 1u : 0);
  *out = static_cast<uint8_t>(byte);
}

void Unpack(const uint8_t* in, int bits, uint8_t* out) {
  for (int bit = 0; bit < bits; ++bit) {
    out[bit] = static_cast<uint8_t>(in[bit / 8] >> (7 - bit % 8) & 1);
  }
}

void PutFrames(const std::string& payload, int bits, int first, int frames, bool packed,
               void* out) {
  const int bytes = PackedBytes(bits);
  const auto* in = reinterpret_cast<const uint8_t*>(payload.data()) + int64_t{first} * bytes;
  auto* to = static_cast<uint8_t*>(out);
  if (packed) {
    std::copy_n(in, int64_t{frames} * bytes, to);
    return;
  }
  for (int i = 0; i < frames; ++i) Unpack(in + int64_t{i} * bytes, bits, to + int64_t{i} * bits);
}

// Compiled without traps of floating point (CMakeLists.txt), or the choices would be branches,
// which clipping makes hard to predict.
#if defined(__x86_64__)
__attribute__((target_clones("avx2", "default")))
#endif
void ToLlrs(const float* in, int64_t count, float scale, int8_t* out) {
  // Added to a float of less than 2^22, it leaves the nearest integer in the lowest bits.
  constexpr float kRound = 12582912;  // 1.5 * 2^23
  for (int64_t i = 0; i < count; ++i) {
    float llr = in[i] * scale;
    llr = llr == llr ? llr : 0;
    llr = llr < 127 ? llr : 127;
    llr = llr > -127 ? llr : -127;
    const float rounded = llr + kRound;
    int32_t bits = 0;
    std::memcpy(&bits, &rounded, sizeof bits);
    out[i] = static_cast<int8_t>(bits);
  }
}

}  // namespace gr::baseband_offload
