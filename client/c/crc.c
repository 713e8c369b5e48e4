#include <pthread.h>

#include "client/c/basebandd.h"

#define STEP 8 /* bytes at a time */

/* tables[crc][n][byte]: what is left of the byte when n more have gone by; the CRC is the upper
 * bits of 32. */
static uint32_t tables[3][STEP][256];

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

uint32_t basebandd_crc(uint32_t crc, const void* data, size_t bits) {
  static pthread_once_t are_made = PTHREAD_ONCE_INIT;
  if (crc < BASEBANDD_CRC_24A || crc > BASEBANDD_CRC_16) return 0;
  (void)pthread_once(&are_made, make_tables);
  uint32_t(*const table)[256] = tables[crc - 1];
  const uint8_t* from = data;
  const uint8_t* const end = from + bits / 8;
  uint32_t rest = 0;
  for (; end - from >= STEP; from += STEP) {
    const uint32_t first = rest ^ ((uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
                                   (uint32_t)from[2] << 8 | from[3]);
    rest = table[7][first >> 24] ^ table[6][first >> 16 & 255] ^ table[5][first >> 8 & 255] ^
           table[4][first & 255] ^ table[3][from[4]] ^ table[2][from[5]] ^ table[1][from[6]] ^
           table[0][from[7]];
  }
  for (; from < end; ++from) rest = rest << 8 ^ table[0][rest >> 24 ^ *from];
  for (uint32_t bit = 0; bit < bits % 8; ++bit) {
    const uint32_t next = (uint32_t)*from >> (7 - bit) & 1;
    rest = rest << 1 ^ ((rest >> 31 ^ next) != 0 ? table[0][1] : 0);
  }
  return rest >> (crc == BASEBANDD_CRC_16 ? 16 : 8);
}
