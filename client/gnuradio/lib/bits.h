// Bits as bytes of eight, the first in the most significant, and as bytes of one.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_BITS_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_BITS_H_

#include <cstdint>
#include <string>

namespace gr::baseband_offload {

constexpr int PackedBytes(int bits) { return (bits + 7) / 8; }

// `bits` bytes, of which the least significant bit counts, to PackedBytes(bits); the last one is
// filled up with zeros.
void Pack(const uint8_t* in, int bits, uint8_t* out);
// .. and back, to bytes 0 and 1.
void Unpack(const uint8_t* in, int bits, uint8_t* out);

// Of a payload of frames of PackedBytes(bits) each those from `first` on, to `out`: as they are if
// `packed`, else `bits` bytes each.
void PutFrames(const std::string& payload, int bits, int first, int frames, bool packed, void* out);

// The server's LLRs: round(scale * in[i]), within +-127; of a NaN 0. `scale` is finite.
void ToLlrs(const float* in, int64_t count, float scale, int8_t* out);

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_BITS_H_
