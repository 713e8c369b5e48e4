#include "client/oai/code.h"

#include <string.h>

#define MAX_TB_BITS_CRC16 3824U

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

bo_code bo_code_of(uint32_t base_graph, uint32_t zc, uint32_t k, uint32_t n_filler, uint32_t a,
                   uint32_t c, uint32_t tbs_lbrm) {
  bo_code code = {.base_graph = base_graph, .zc = zc, .k = k, .n_filler = n_filler};
  code.n_cb = (base_graph == 1 ? 66 : 50) * zc;
  if (tbs_lbrm > 0 && c > 0) {
    const uint64_t limit = (uint64_t)tbs_lbrm * 3 / (2 * (uint64_t)c); /* R_LBRM is 2/3 */
    if (limit < code.n_cb) code.n_cb = (uint32_t)limit;
  }
  code.crc = c > 1 ? 2 : a > MAX_TB_BITS_CRC16 ? 1 : 3; /* CRC24B, CRC24A, CRC16 */
  code.crc_bits = code.crc == 3 ? 16 : 24;
  return code;
}

static uint32_t filler_begin(const bo_code* code) {
  return smaller(code->k - code->n_filler - 2 * code->zc, code->n_cb);
}

static uint32_t filler_end(const bo_code* code) {
  return smaller(code->k - 2 * code->zc, code->n_cb);
}

bool bo_code_is_served(const bo_code* code) {
  return (code->base_graph == 1 || code->base_graph == 2) && code->zc >= 2 && code->zc <= 384 &&
         code->k == (code->base_graph == 1 ? 22 : 10) * code->zc && code->n_filler < code->k &&
         code->k - code->n_filler > 2 * code->zc + code->crc_bits &&
         (code->k - code->n_filler) % 8 == 0 && code->n_cb > 0;
}

uint32_t bo_soft_bits(const bo_code* code) {
  return code->n_cb - (filler_end(code) - filler_begin(code));
}

basebandd_shared_channel_block bo_describe_block(const bo_code* code, uint32_t e, uint32_t qm,
                                                 uint32_t rv) {
  return (basebandd_shared_channel_block){.is_code_block = 1,
                                          .base_graph = code->base_graph,
                                          .zc = code->zc,
                                          .n_filler = code->n_filler,
                                          .n_cb = code->n_cb,
                                          .e = e,
                                          .crc = code->crc,
                                          .rv = rv,
                                          .qm = qm};
}

/* Where in the buffer a transmission begins: table 5.4.2.1-2. */
static uint32_t begin_of(const bo_code* code, uint32_t rv) {
  static const uint32_t kStarts[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  const uint32_t columns = code->base_graph == 1 ? 66 : 50;
  return kStarts[code->base_graph - 1][rv & 3] * code->n_cb / (columns * code->zc) * code->zc;
}

static int16_t sum_of(int16_t a, int16_t b) {
  const int32_t sum = (int32_t)a + b;
  return (int16_t)(sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum);
}

void bo_add_received(const bo_code* code, uint32_t qm, uint32_t rv, const int16_t* llrs, uint32_t e,
                     int16_t* soft) {
  const uint32_t from = filler_begin(code);
  const uint32_t to = filler_end(code);
  const uint32_t symbols = e / qm;
  uint32_t at = begin_of(code, rv);
  for (uint32_t row = 0; row < qm; ++row) { /* the interleaver writes by rows, sends by columns */
    for (uint32_t i = 0; i < symbols; ++i) {
      if (at >= from && at < to) at = to;
      if (at >= code->n_cb) at = from > 0 ? 0 : to;
      soft[at] = sum_of(soft[at], llrs[(uint64_t)i * qm + row]);
      ++at;
    }
  }
}

void bo_pack_soft(const bo_code* code, const int16_t* soft, int16_t* packed) {
  const uint32_t from = filler_begin(code);
  const uint32_t to = filler_end(code);
  memcpy(packed, soft, from * sizeof(*soft));
  memcpy(packed + from, soft + to, (code->n_cb - to) * sizeof(*soft));
}

void bo_unpack_soft(const bo_code* code, const int16_t* packed, int16_t* soft) {
  const uint32_t from = filler_begin(code);
  const uint32_t to = filler_end(code);
  memcpy(soft, packed, from * sizeof(*soft));
  memcpy(soft + to, packed + from, (code->n_cb - to) * sizeof(*soft));
}
