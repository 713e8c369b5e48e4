#include "client/bbdev/crc.h"

#include <pthread.h>

/* remainders[crc][j][byte]: of byte times x^(8 j + 24), so that four bytes take four look-ups. The
 * CRC of 16 bits is calculated as one of 24, by its polynomial times x^8. */
static uint32_t remainders[4][4][256];

static void fill(bb_crc crc, uint32_t polynomial) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte << 24;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = remainder << 1 ^ (remainder >> 31 ? polynomial << 8 : 0);
    }
    remainders[crc][0][byte] = remainder;
  }
  for (int j = 1; j < 4; ++j) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = remainders[crc][j - 1][byte];
      remainders[crc][j][byte] = before << 8 ^ remainders[crc][0][before >> 24];
    }
  }
}

static void fill_all(void) {
  fill(BB_CRC_24A, 0x864cfb);
  fill(BB_CRC_24B, 0x800063);
  fill(BB_CRC_16, 0x102100);
}

uint32_t bb_crc_bits(bb_crc crc) { return crc == BB_CRC_NONE ? 0 : crc == BB_CRC_16 ? 16 : 24; }

bool bb_crc_holds(bb_crc crc, const uint8_t* data, uint32_t bits) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, fill_all);
  const uint32_t(*const table)[256] = remainders[crc];
  uint32_t remainder = 0; /* in the upper 24 bits; the lowest 8 are 0 */
  uint32_t byte = 0;
  for (; byte + 4 <= bits / 8; byte += 4) {
    const uint32_t word = ((uint32_t)data[byte] << 24 | (uint32_t)data[byte + 1] << 16 |
                           (uint32_t)data[byte + 2] << 8 | data[byte + 3]) ^
                          remainder;
    remainder = table[3][word >> 24] ^ table[2][word >> 16 & 255] ^ table[1][word >> 8 & 255] ^
                table[0][word & 255];
  }
  for (; byte < bits / 8; ++byte) {
    remainder = remainder << 8 ^ table[0][remainder >> 24 ^ data[byte]];
  }
  for (uint32_t bit = 0; bit < bits % 8; ++bit) {
    const uint32_t next = (uint32_t)data[byte] >> (7 - bit) & 1;
    const bool carries = (remainder >> 31 ^ next) != 0;
    remainder = remainder << 1 ^ (carries ? table[0][1] : 0);
  }
  return remainder == 0;
}
