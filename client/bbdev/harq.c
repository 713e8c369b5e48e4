#include "client/bbdev/harq.h"

#include <rte_common.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 32768U

struct bb_harq {
  uint64_t bytes;
  _Atomic(uint8_t*) pieces[]; /* each null until it is written to */
};

bb_harq* bb_harq_create(uint64_t bytes) {
  bb_harq* const harq = calloc(1, sizeof(bb_harq) + bytes / PIECE * sizeof(harq->pieces[0]));
  if (harq != NULL) harq->bytes = bytes / PIECE * PIECE;
  return harq;
}

void bb_harq_destroy(bb_harq* harq) {
  if (harq == NULL) return;
  for (uint64_t i = 0; i < harq->bytes / PIECE; ++i) free(atomic_load(&harq->pieces[i]));
  free(harq);
}

static bool contains(const bb_harq* harq, uint64_t address, size_t bytes) {
  return address <= harq->bytes && bytes <= harq->bytes - address;
}

bool bb_harq_read(const bb_harq* harq, uint64_t address, void* to, size_t bytes) {
  if (!contains(harq, address, bytes)) return false;
  uint8_t* next = to;
  while (bytes > 0) {
    const uint64_t offset = address % PIECE;
    const size_t here = RTE_MIN(bytes, (size_t)(PIECE - offset));
    const uint8_t* const piece = atomic_load_explicit(
        (_Atomic(uint8_t*)*)&harq->pieces[address / PIECE], memory_order_acquire);
    if (piece == NULL) {
      memset(next, 0, here);
    } else {
      memcpy(next, piece + offset, here);
    }
    next += here;
    address += here;
    bytes -= here;
  }
  return true;
}

/* The piece of `address`, made if it is not there. Null: no memory. */
static uint8_t* piece_of(bb_harq* harq, uint64_t address) {
  _Atomic(uint8_t*)* const place = &harq->pieces[address / PIECE];
  uint8_t* piece = atomic_load_explicit(place, memory_order_acquire);
  if (piece != NULL) return piece;
  uint8_t* const made = calloc(1, PIECE);
  if (made == NULL) return NULL;
  if (atomic_compare_exchange_strong(place, &piece, made)) return made;
  free(made); /* another thread was faster */
  return piece;
}

bool bb_harq_write(bb_harq* harq, uint64_t address, const void* from, size_t bytes) {
  if (!contains(harq, address, bytes)) return false;
  const uint8_t* next = from;
  while (bytes > 0) {
    const uint64_t offset = address % PIECE;
    const size_t here = RTE_MIN(bytes, (size_t)(PIECE - offset));
    uint8_t* const piece = piece_of(harq, address);
    if (piece == NULL) return false;
    memcpy(piece + offset, next, here);
    next += here;
    address += here;
    bytes -= here;
  }
  return true;
}

size_t bb_packed_bytes(size_t llrs) { return (llrs * 6 + 7) / 8; }

void bb_pack_llrs(const int8_t* llrs, size_t count, uint8_t* to) {
  uint32_t bits = 0;
  uint32_t held = 0; /* of `bits`, those that are not in `to` yet */
  for (size_t i = 0; i < count; ++i) {
    const int llr = RTE_MAX(-31, RTE_MIN(31, (int)llrs[i]));
    bits = bits << 6 | ((uint32_t)llr & 63);
    for (held += 6; held >= 8; held -= 8) *to++ = (uint8_t)(bits >> (held - 8));
  }
  if (held > 0) *to = (uint8_t)(bits << (8 - held));
}

void bb_unpack_llrs(const uint8_t* packed, size_t count, int8_t* to) {
  uint32_t bits = 0;
  uint32_t held = 0;
  for (size_t i = 0; i < count; ++i) {
    if (held < 6) {
      bits = bits << 8 | *packed++;
      held += 8;
    }
    held -= 6;
    const int value = (int)(bits >> held & 63);
    to[i] = (int8_t)(value < 32 ? value : value - 64);
  }
}
