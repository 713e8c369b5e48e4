/* The CRCs of code blocks that stay in a decoder's output: TS 38.212, clause 5.1. */
#ifndef BASEBAND_CLIENT_BBDEV_CRC_H_
#define BASEBAND_CLIENT_BBDEV_CRC_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CodeBlockCrc of baseband.proto. */
typedef enum bb_crc { BB_CRC_NONE = 0, BB_CRC_24A = 1, BB_CRC_24B = 2, BB_CRC_16 = 3 } bb_crc;

uint32_t bb_crc_bits(bb_crc crc);

/* Whether the first `bits` bits at `data`, the CRC their last, are a word of `crc`. */
bool bb_crc_holds(bb_crc crc, const uint8_t* data, uint32_t bits);

#endif /* BASEBAND_CLIENT_BBDEV_CRC_H_ */
