#include "client/oai/bits.h"

#include <string.h>

/* The bits of each byte the other way round. */
static uint64_t reverse(uint64_t word) {
  word = (word >> 1 & 0x5555555555555555U) | (word & 0x5555555555555555U) << 1;
  word = (word >> 2 & 0x3333333333333333U) | (word & 0x3333333333333333U) << 2;
  return (word >> 4 & 0x0f0f0f0f0f0f0f0fU) | (word & 0x0f0f0f0f0f0f0f0fU) << 4;
}

/* Appends the lowest `count` <= 64 bits of `bits`, which has no others. */
static void put(bo_bit_writer* writer, uint64_t bits, uint32_t count) {
  writer->bits |= bits << writer->held;
  if (writer->held + count < 64) {
    writer->held += count;
    return;
  }
  memcpy(writer->to, &writer->bits, 8); /* little endian, as the ring's hosts are */
  writer->to += 8;
  writer->bits = writer->held == 0 ? 0 : bits >> (64 - writer->held);
  writer->held = writer->held + count - 64;
}

void bo_write_bits(bo_bit_writer* writer, const uint8_t* from, size_t count) {
  for (; count > 0; from += 8) {
    const uint32_t here = count < 64 ? (uint32_t)count : 64;
    uint64_t word = 0;
    memcpy(&word, from, (here + 7) / 8);
    word = reverse(word);
    if (here < 64) word &= (UINT64_C(1) << here) - 1;
    put(writer, word, here);
    count -= here;
  }
}

void bo_end_bits(bo_bit_writer* writer) {
  memcpy(writer->to, &writer->bits, (writer->held + 7) / 8);
  writer->to += (writer->held + 7) / 8;
  writer->bits = 0;
  writer->held = 0;
}

/* Of an 8 by 8 matrix, a row a byte: its transpose (Hacker's Delight, 7-3). */
static uint64_t transpose(uint64_t rows) {
  uint64_t swap = (rows ^ rows >> 7) & 0x00aa00aa00aa00aaU;
  rows ^= swap ^ swap << 7;
  swap = (rows ^ rows >> 14) & 0x0000cccc0000ccccU;
  rows ^= swap ^ swap << 14;
  swap = (rows ^ rows >> 28) & 0x00000000f0f0f0f0U;
  return rows ^ swap ^ swap << 28;
}

void bo_transpose_bits(const uint8_t* words, size_t stride, size_t count, size_t bits,
                       uint8_t* to) {
  for (size_t byte = 0; byte < (bits + 7) / 8; ++byte, to += 8) {
    uint64_t rows = 0;
    for (size_t j = 0; j < count; ++j) rows |= (uint64_t)words[j * stride + byte] << (8 * j);
    rows = transpose(reverse(rows)); /* bit j of byte i: bit i, from the upper end, of segment j */
    memcpy(to, &rows, 8);
  }
}
