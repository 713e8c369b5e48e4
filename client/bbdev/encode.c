/* Encode operations: RTE_BBDEV_OP_LDPC_ENC. */
#include <rte_bbdev_op.h>
#include <string.h>

#include "client/bbdev/checks.h"
#include "client/bbdev/mbuf.h"

const char* bb_encode_shape(const struct rte_bbdev_op_ldpc_enc* op, bb_shape* shape) {
  *shape = (bb_shape){
      .n_cb = op->n_cb,
      .zc = op->z_c,
      .n_filler = op->n_filler,
      .operation = BASEBANDD_ENCODE_SHARED_CHANNEL,
      .base_graph = op->basegraph,
      .rv = op->rv_index,
      /* One bit a symbol: what is interleaved so stays as it is. */
      .qm = bb_bits_a_symbol(op->q_m, !bb_has(op->op_flags, RTE_BBDEV_LDPC_INTERLEAVER_BYPASS))};
  bb_crc crc;
  if (!bb_one_crc(op->op_flags, RTE_BBDEV_LDPC_CRC_24A_ATTACH, RTE_BBDEV_LDPC_CRC_24B_ATTACH,
                  RTE_BBDEV_LDPC_CRC_16_ATTACH, &crc)) {
    return "op_flags attaches more than one CRC";
  }
  shape->crc = (uint8_t)crc;
  const char* wrong = bb_check_code(shape);
  if (wrong != NULL) return wrong;
  if (op->code_block_mode == RTE_BBDEV_CODE_BLOCK) {
    shape->count_a = 1;
    shape->e_a = op->cb_params.e;
  } else {
    shape->e_a = op->tb_params.ea;
    shape->e_b = op->tb_params.eb;
    const uint32_t bytes = bb_block_bytes(shape);
    wrong = bb_count_blocks(op->input.length, bytes, bytes, op->tb_params.r, op->tb_params.cab,
                            op->tb_params.c, crc, shape);
    if (wrong != NULL) return wrong;
  }
  return op->input.length < bb_payload_bytes(shape) ? "input.length is less than the bits take"
                                                    : NULL;
}

const char* bb_encode_fill(const struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape,
                           uint8_t* payload) {
  return bb_mbuf_read(&op->input, 0, payload, (uint32_t)bb_payload_bytes(shape))
             ? NULL
             : "input has no mbuf, or a chain that is shorter than input.length";
}

/* Appends `bits` bits, each block's own from a byte on, to the `at` bits that lie at `to`. */
static void append_bits(uint8_t* to, uint64_t at, const uint8_t* from, uint32_t bits) {
  const uint32_t shift = at % 8;
  uint8_t* next = to + at / 8;
  if (shift == 0) {
    memcpy(next, from, (bits + 7) / 8);
    return;
  }
  for (uint32_t byte = 0; byte < (bits + 7) / 8; ++byte, ++next) {
    *next = (uint8_t)(*next | from[byte] >> shift);
    if (8 * byte + (8 - shift) < bits) next[1] = (uint8_t)(from[byte] << (8 - shift));
  }
}

/* What the operation's output has: of each code block whole bytes, or bits one after the other. */
static uint32_t output_bytes(const struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape) {
  if (bb_has(op->op_flags, RTE_BBDEV_LDPC_ENC_CONCATENATION)) {
    const uint64_t bits =
        (uint64_t)shape->count_a * shape->e_a + (uint64_t)shape->count_b * shape->e_b;
    return (uint32_t)((bits + 7) / 8);
  }
  return (uint32_t)bb_encoded_bytes(shape);
}

void bb_encode_fail(struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape) {
  const uint32_t bytes = bb_code_blocks(shape) > 0 ? output_bytes(op, shape) : 0;
  uint8_t* const to = bb_mbuf_put(&op->output, bytes);
  if (to == NULL) return;
  /* xorshift (Marsaglia, 2003): a receiver's CRC does not hold with it, as it does with zeros. */
  uint32_t state = 0x9e3779b9;
  for (uint32_t i = 0; i < bytes; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    to[i] = (uint8_t)(state >> 24);
  }
}

int bb_encode_finish(struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape,
                     const basebandd_answer* answer) {
  if (answer->payload_bytes != bb_encoded_bytes(shape)) return -1;
  uint8_t* const to = bb_mbuf_put(&op->output, output_bytes(op, shape));
  if (to == NULL) return BB_DATA_ERROR;
  if (!bb_has(op->op_flags, RTE_BBDEV_LDPC_ENC_CONCATENATION)) {
    memcpy(to, answer->payload, answer->payload_bytes);
    return 0;
  }
  const uint8_t* from = answer->payload;
  uint64_t at = 0;
  for (uint32_t block = 0; block < bb_code_blocks(shape); ++block) {
    const uint32_t e = block < shape->count_a ? shape->e_a : shape->e_b;
    append_bits(to, at, from, e);
    at += e;
    from += (e + 7) / 8;
  }
  return 0;
}
