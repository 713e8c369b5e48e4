// Moving runs of packed bits. Bit 0 of a buffer is the most significant bit of its first byte.
#ifndef BASEBAND_KERNELS_BASE_BITS_H_
#define BASEBAND_KERNELS_BASE_BITS_H_

#include <cstdint>
#include <cstring>

namespace baseband {

// The bytes that hold `bits` bits.
constexpr int64_t BytesForBits(int64_t bits) { return (bits + 7) / 8; }

// Copies bits [source_bit, source_bit + count) of `source` to [target_bit, ..) of `target` and
// leaves all other bits of `target` as they are. Reads no byte of `source` that holds none of the
// bits. The buffers must not overlap.
inline void CopyBits(uint8_t* target, int64_t target_bit, const uint8_t* source, int64_t source_bit,
                     int64_t count) {
  const auto source_at = [&](int64_t bit) { return source[bit / 8] >> (7 - bit % 8) & 1; };
  // Bit by bit to the target's next byte.
  for (; count > 0 && target_bit % 8 != 0; --count, ++target_bit, ++source_bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> target_bit % 8);
    uint8_t& byte = target[target_bit / 8];
    byte = static_cast<uint8_t>(source_at(source_bit) ? byte | mask : byte & ~mask);
  }
  uint8_t* out = target + target_bit / 8;
  const uint8_t* in = source + source_bit / 8;
  const int shift = static_cast<int>(source_bit % 8);
  const int64_t whole = count / 8;
  if (shift == 0) {
    std::memcpy(out, in, static_cast<size_t>(whole));
  } else {
    int64_t i = 0;
    // Eight bytes of output come from nine of input; the ninth holds wanted bits as shift > 0.
    for (; i + 8 <= whole; i += 8) {
      uint64_t word;
      std::memcpy(&word, in + i, 8);
      word = __builtin_bswap64(word) << shift | in[i + 8] >> (8 - shift);
      word = __builtin_bswap64(word);
      std::memcpy(out + i, &word, 8);
    }
    for (; i < whole; ++i) {
      out[i] = static_cast<uint8_t>(in[i] << shift | in[i + 1] >> (8 - shift));
    }
  }
  target_bit += 8 * whole;
  source_bit += 8 * whole;
  for (int64_t left = count % 8; left > 0; --left, ++target_bit, ++source_bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> target_bit % 8);
    uint8_t& byte = target[target_bit / 8];
    byte = static_cast<uint8_t>(source_at(source_bit) ? byte | mask : byte & ~mask);
  }
}

// Sets bits [bit, bit + count) to zero and leaves all others as they are.
inline void ClearBits(uint8_t* target, int64_t bit, int64_t count) {
  for (; count > 0 && bit % 8 != 0; --count, ++bit) {
    target[bit / 8] = static_cast<uint8_t>(target[bit / 8] & ~(0x80 >> bit % 8));
  }
  std::memset(target + bit / 8, 0, static_cast<size_t>(count / 8));
  bit += count / 8 * 8;
  for (int64_t left = count % 8; left > 0; --left, ++bit) {
    target[bit / 8] = static_cast<uint8_t>(target[bit / 8] & ~(0x80 >> bit % 8));
  }
}

}  // namespace baseband

#endif  // BASEBAND_KERNELS_BASE_BITS_H_
