/* What both operations' fields are checked for before sizes follow from them. */
#ifndef BASEBAND_CLIENT_BBDEV_CHECKS_H_
#define BASEBAND_CLIENT_BBDEV_CHECKS_H_

#include <stddef.h>

#include "client/bbdev/work.h"

static inline bool bb_has(uint32_t flags, uint64_t flag) { return (flags & flag) != 0; }

/* Null, or which field is wrong. That zc is a lifting size, and the rest, the server checks. */
static inline const char* bb_check_code(const bb_shape* shape) {
  if (shape->base_graph != 1 && shape->base_graph != 2) return "basegraph is not 1 or 2";
  if (shape->zc < 2 || shape->zc > 384) return "z_c is not in [2, 384]";
  if (shape->n_cb == 0 || shape->n_cb > (shape->base_graph == 1 ? 66U : 50U) * shape->zc) {
    return "n_cb is not in [1, 66 z_c], of base graph 2 [1, 50 z_c]";
  }
  const uint32_t k = (shape->base_graph == 1 ? 22U : 10U) * shape->zc;
  if (shape->n_filler + bb_crc_bits((bb_crc)shape->crc) >= k) return "n_filler leaves no bits";
  return NULL;
}

/* The CRC that one of three flags names. False: more than one does. */
static inline bool bb_one_crc(uint32_t flags, uint64_t flag_24a, uint64_t flag_24b,
                              uint64_t flag_16, bb_crc* crc) {
  const bool is_24a = bb_has(flags, flag_24a);
  const bool is_24b = bb_has(flags, flag_24b);
  const bool is_16 = bb_has(flags, flag_16);
  *crc = is_24b ? BB_CRC_24B : is_24a ? BB_CRC_24A : is_16 ? BB_CRC_16 : BB_CRC_NONE;
  return is_24a + is_24b + is_16 <= 1;
}

/* Counts the code blocks r .. c - 1 of a transport block of which the input has at least a
 * beginning, as cards do: each takes `bytes_a`, from block cab on `bytes_b`. */
static inline const char* bb_count_blocks(uint64_t length, uint64_t bytes_a, uint64_t bytes_b,
                                          uint32_t r, uint32_t cab, uint32_t c, bb_crc crc,
                                          bb_shape* shape) {
  for (; r < c && length > 0; ++r) {
    length -= RTE_MIN(length, r < cab ? bytes_a : bytes_b);
    ++*(r < cab ? &shape->count_a : &shape->count_b);
  }
  if (bb_code_blocks(shape) == 0) return "input.length is 0, or r is not below c";
  if (c > 1 && crc != BB_CRC_NONE && crc != BB_CRC_24B) {
    return "CRC24A and CRC16 are of a transport block of one code block";
  }
  if (shape->count_a == 0) shape->e_a = 0;
  if (shape->count_b == 0) shape->e_b = 0;
  return NULL;
}

#endif /* BASEBAND_CLIENT_BBDEV_CHECKS_H_ */
