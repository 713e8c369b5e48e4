#include "client/oai/crc.h"

#include <pthread.h>

#define STEP 8 /* bytes at a time */

/* tables[crc][n][byte]: what is left of the byte when n more have gone by; the CRC is the upper
 * bits of 32. */
static uint32_t tables[3][STEP][256];
static pthread_once_t are_made = PTHREAD_ONCE_INIT;

static void make_tables(void) {
  static const uint32_t kPolynomials[3] = {0x864cfbU << 8, 0x800063U << 8, 0x1021U << 16};
  for (int crc = 0; crc < 3; ++crc) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t rest = byte << 24;
      for (int bit = 0; bit < 8; ++bit) {
        rest = rest << 1 ^ (rest & 0x80000000U ? kPolynomials[crc] : 0);
      }
      tables[crc][0][byte] = rest;
    }
    for (int step = 1; step < STEP; ++step) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        const uint32_t rest = tables[crc][step - 1][byte];
        tables[crc][step][byte] = rest << 8 ^ tables[crc][0][rest >> 24];
      }
    }
  }
}

size_t bo_append_crc(uint32_t crc, uint8_t* data, size_t bytes) {
  pthread_once(&are_made, make_tables);
  uint32_t(*const table)[256] = tables[crc - 1];
  const uint8_t* from = data;
  const uint8_t* const end = data + bytes;
  uint32_t rest = 0;
  for (; end - from >= STEP; from += STEP) {
    const uint32_t first = rest ^ ((uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
                                   (uint32_t)from[2] << 8 | from[3]);
    rest = table[7][first >> 24] ^ table[6][first >> 16 & 255] ^ table[5][first >> 8 & 255] ^
           table[4][first & 255] ^ table[3][from[4]] ^ table[2][from[5]] ^ table[1][from[6]] ^
           table[0][from[7]];
  }
  for (; from < end; ++from) rest = rest << 8 ^ table[0][rest >> 24 ^ *from];
  const size_t length = crc == 3 ? 2 : 3;
  for (size_t i = 0; i < length; ++i) data[bytes + i] = (uint8_t)(rest >> (24 - 8 * i));
  return length;
}
