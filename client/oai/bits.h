/* OpenAirInterface's ways to keep coded bits. */
#ifndef BASEBAND_CLIENT_OAI_BITS_H_
#define BASEBAND_CLIENT_OAI_BITS_H_

#include <stddef.h>
#include <stdint.h>

/* Bits after bits, the first one in the lowest bit of a byte. */
typedef struct bo_bit_writer {
  uint8_t* to;
  uint64_t bits; /* that are not in `to` yet */
  uint32_t held; /* how many: 0 .. 63 */
} bo_bit_writer;

/* `count` bits of `from`, where the first one is in the uppermost bit of a byte. */
void bo_write_bits(bo_bit_writer* writer, const uint8_t* from, size_t count);
/* The last byte is filled up with zeros. */
void bo_end_bits(bo_bit_writer* writer);

/* `words` of `count` <= 8 segments of `bits` bits each, upper bit first, `stride` bytes apart, side
 * by side: bit j of to[i] is bit i of segment j. Whole bytes are written: to[0 .. bits) rounded up
 * to 8. */
void bo_transpose_bits(const uint8_t* words, size_t stride, size_t count, size_t bits, uint8_t* to);

#endif /* BASEBAND_CLIENT_OAI_BITS_H_ */
