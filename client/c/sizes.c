/* What a described request and its answer take, as the server counts it. */
#include <errno.h>

#include "client/c/basebandd.h"
#include "client/c/error.h"

/* A code's blocks of zc bits: 3GPP TS 38.212, clause 5.3.2. */
typedef struct {
  uint32_t information; /* columns */
  uint32_t rows;
  uint32_t zc;
} shape;

enum { kLeastRows = 4, kPunctured = 2 };

static uint64_t packed(uint64_t bits) { return (bits + 7) / 8; }

static uint64_t k_of(const shape* of) { return (uint64_t)of->information * of->zc; }

/* Columns * zc, as `rows` leaves them. */
static uint64_t full_of(const shape* of) { return (uint64_t)(of->information + of->rows) * of->zc; }

static uint64_t sent_of(const shape* of) { return full_of(of) - (uint64_t)kPunctured * of->zc; }

static int out_of_range(size_t group, const char* field, uint32_t value, uint64_t low,
                        uint64_t high) {
  return basebandd_fail(-EINVAL, "groups[%zu].%s %u is not in [%llu, %llu]", group, field, value,
                        (unsigned long long)low, (unsigned long long)high);
}

/* The shape of a group's code, whose `count` and `n_filler` are looked at, too. */
static int shape_of(size_t group, const basebandd_nr_code* code, uint32_t count, uint32_t n_filler,
                    shape* of) {
  if (code->base_graph != 1 && code->base_graph != 2) {
    return out_of_range(group, "code.base_graph", code->base_graph, 1, 2);
  }
  if (code->zc < 2 || code->zc > 384) return out_of_range(group, "code.zc", code->zc, 2, 384);
  of->information = code->base_graph == 1 ? 22 : 10;
  of->rows = code->base_graph == 1 ? 46 : 42;
  of->zc = code->zc;
  if (code->parity_rows != 0) {
    if (code->parity_rows < kLeastRows || code->parity_rows > of->rows) {
      return out_of_range(group, "code.parity_rows", code->parity_rows, kLeastRows, of->rows);
    }
    of->rows = code->parity_rows;
  }
  if (count == 0) return out_of_range(group, "count", count, 1, UINT32_MAX);
  if (n_filler >= k_of(of)) return out_of_range(group, "n_filler", n_filler, 0, k_of(of) - 1);
  return 0;
}

/* What groups take, group by group. */
typedef struct {
  uint64_t payload;
  uint64_t output;
  uint64_t blocks;
} sums;

static int finish(int error, const sums* all, basebandd_sizes* sizes) {
  if (error != 0) return error;
  if (all->blocks > UINT32_MAX) { /* of fewer no sum is too large */
    return basebandd_fail(-EINVAL, "the groups' counts are together %llu, which is not in [1, %u]",
                          (unsigned long long)all->blocks, UINT32_MAX);
  }
  sizes->payload_bytes = all->payload;
  sizes->reply_bytes = BASEBANDD_REPLY_BYTES(all->output, all->blocks);
  return 0;
}

static int add_encode(size_t i, const basebandd_encode_group* group, sums* all) {
  shape code = {0, 0, 0};
  const int error = shape_of(i, &group->code, group->count, group->n_filler, &code);
  if (error != 0) return error;
  if (group->output > BASEBANDD_OUTPUT_FULL_CODEWORD) {
    return out_of_range(i, "output", group->output, 0, BASEBANDD_OUTPUT_FULL_CODEWORD);
  }
  const uint64_t bits = group->output == BASEBANDD_OUTPUT_FULL_CODEWORD ? full_of(&code)
                        : group->output == BASEBANDD_OUTPUT_CODEWORD    ? sent_of(&code)
                                                                     : full_of(&code) - k_of(&code);
  all->payload += group->count * packed(k_of(&code) - group->n_filler);
  all->output += group->count * packed(bits);
  all->blocks += group->count;
  return 0;
}

int basebandd_size_encode(const basebandd_encode_group* groups, size_t count,
                          basebandd_sizes* sizes) {
  sums all = {0, 0, 0};
  int error = basebandd_check_groups(groups, count);
  for (size_t i = 0; i < count && error == 0; ++i) error = add_encode(i, &groups[i], &all);
  return finish(error, &all, sizes);
}

static int add_decode(size_t i, const basebandd_decode_group* group, sums* all) {
  shape code = {0, 0, 0};
  const int error = shape_of(i, &group->code, group->count, group->n_filler, &code);
  if (error != 0) return error;
  if (group->llr_count > sent_of(&code)) {
    return out_of_range(i, "llr_count", group->llr_count, 0, sent_of(&code));
  }
  const uint64_t soft = group->soft_output ? full_of(&code) : 0;
  all->payload += group->count * (group->llr_count != 0 ? group->llr_count : sent_of(&code));
  all->output += group->count * (packed(k_of(&code) - group->n_filler) + soft);
  all->blocks += group->count;
  return 0;
}

int basebandd_size_decode(const basebandd_decode_group* groups, size_t count,
                          basebandd_sizes* sizes) {
  sums all = {0, 0, 0};
  int error = basebandd_check_groups(groups, count);
  for (size_t i = 0; i < count && error == 0; ++i) error = add_decode(i, &groups[i], &all);
  return finish(error, &all, sizes);
}
