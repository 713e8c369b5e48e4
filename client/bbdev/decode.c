/* Decode operations: RTE_BBDEV_OP_LDPC_DEC. */
#include <rte_bbdev_op.h>
#include <string.h>

#include "client/bbdev/checks.h"
#include "client/bbdev/mbuf.h"

#define MAX_ITERATIONS 100U /* that the server takes */
#define SOFT_FIELD 14U      /* of DecodeSharedChannelResponse */
#define PAYLOAD_FIELD 15U
#define MAX_CODE_BLOCKS 256U
#define MAX_SOFT_BITS (66U * 384U)

/* That the operation wants checked. */
static bool checked(uint32_t flags, bb_crc* crc) {
  return bb_one_crc(flags, RTE_BBDEV_LDPC_CRC_TYPE_24A_CHECK, RTE_BBDEV_LDPC_CRC_TYPE_24B_CHECK,
                    RTE_BBDEV_LDPC_CRC_TYPE_16_CHECK, crc);
}

/* The CRC is not in the output: then the server takes it off, and checks it. One that stays there
 * is the driver's to check, for the server gives back none. */
static bool is_dropped(uint32_t flags) { return bb_has(flags, RTE_BBDEV_LDPC_CRC_TYPE_24B_DROP); }

static uint32_t llr_bytes(const bb_shape* shape, uint32_t e) {
  return shape->is_packed ? (uint32_t)bb_packed_bytes(e) : e;
}

const char* bb_decode_shape(const struct rte_bbdev_op_ldpc_dec* op, bb_shape* shape) {
  const uint32_t flags = op->op_flags;
  *shape = (bb_shape){
      .n_cb = op->n_cb,
      .zc = op->z_c,
      .n_filler = op->n_filler,
      .operation = BASEBANDD_DECODE_SHARED_CHANNEL,
      .base_graph = op->basegraph,
      .rv = op->rv_index,
      .qm = bb_bits_a_symbol(op->q_m, !bb_has(flags, RTE_BBDEV_LDPC_DEINTERLEAVER_BYPASS)),
      .crc = is_dropped(flags) ? BB_CRC_24B : BB_CRC_NONE,
      .max_iterations = (uint8_t)RTE_MIN(op->iter_max, MAX_ITERATIONS),
      .is_fixed = !bb_has(flags, RTE_BBDEV_LDPC_ITERATION_STOP_ENABLE),
      .is_packed = bb_has(flags, RTE_BBDEV_LDPC_LLR_COMPRESSION),
      .soft_in =
          bb_has(flags, RTE_BBDEV_LDPC_HQ_COMBINE_IN_ENABLE) && op->harq_combined_input.length > 0,
      .soft_out = bb_has(flags, RTE_BBDEV_LDPC_HQ_COMBINE_OUT_ENABLE)};
  if (bb_has(flags, RTE_BBDEV_LDPC_SOFT_OUT_ENABLE | RTE_BBDEV_LDPC_DECODE_BYPASS)) {
    return "op_flags has SOFT_OUT_ENABLE or DECODE_BYPASS, which the device is not capable of";
  }
  bb_crc crc;
  if (!checked(flags, &crc)) return "op_flags checks more than one CRC";
  if (is_dropped(flags) && crc != BB_CRC_NONE && crc != BB_CRC_24B) {
    return "op_flags drops a CRC24B, and checks another CRC";
  }
  if (op->iter_max == 0) return "iter_max is 0";
  const char* wrong = bb_check_code(shape);
  if (wrong != NULL) return wrong;
  if (op->code_block_mode == RTE_BBDEV_CODE_BLOCK) {
    shape->count_a = 1;
    shape->e_a = op->cb_params.e;
    return NULL;
  }
  if (shape->soft_in || shape->soft_out) {
    return "HARQ combining is for code_block_mode 1 alone";
  }
  shape->e_a = op->tb_params.ea;
  shape->e_b = op->tb_params.eb;
  return bb_count_blocks(op->input.length, llr_bytes(shape, shape->e_a),
                         llr_bytes(shape, shape->e_b), op->tb_params.r, op->tb_params.cab,
                         op->tb_params.c, crc, shape);
}

/* Soft bits of earlier transmissions, n_cb of them: zeros where there were none. */
static bool read_soft_bits(const struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape,
                           const bb_harq* harq, int8_t* to) {
  const struct rte_bbdev_op_data* const data = &op->harq_combined_input;
  const bool is_packed = bb_has(op->op_flags, RTE_BBDEV_LDPC_HARQ_6BIT_COMPRESSION);
  uint8_t packed[MAX_SOFT_BITS * 3 / 4];
  const uint32_t count = (uint32_t)RTE_MIN(
      is_packed ? (uint64_t)data->length * 4 / 3 : data->length, (uint64_t)shape->n_cb);
  const uint32_t bytes = is_packed ? (uint32_t)bb_packed_bytes(count) : count;
  void* const raw = is_packed ? packed : (void*)to;
  if (harq != NULL ? !bb_harq_read(harq, data->offset, raw, bytes)
                   : !bb_mbuf_read(data, 0, raw, bytes)) {
    return false;
  }
  if (is_packed) bb_unpack_llrs(packed, count, to);
  memset(to + count, 0, shape->n_cb - count);
  return true;
}

const char* bb_decode_fill(const struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape,
                           const bb_harq* harq, uint8_t* payload) {
  uint32_t read = 0;
  for (uint32_t block = 0; block < bb_code_blocks(shape); ++block) {
    const uint8_t* const begin = payload;
    if (shape->soft_in) {
      if (!read_soft_bits(op, shape, harq, (int8_t*)payload)) {
        return "harq_combined_input is not in the memory, or its mbuf";
      }
      payload += shape->n_cb;
    }
    const uint32_t bytes = llr_bytes(shape, block < shape->count_a ? shape->e_a : shape->e_b);
    if (!bb_mbuf_read(&op->input, read, payload, bytes)) {
      return "the input mbuf has fewer bytes than input.length";
    }
    read += bytes;
    payload += bytes;
    while ((payload - begin) % 4 != 0) *payload++ = 0;
  }
  return NULL;
}

/* Where in the circular buffer the transmission begins: 38.212, table 5.4.2.1-2. */
static uint32_t begin_of(const bb_shape* shape) {
  static const uint32_t kStarts[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  const uint32_t columns = shape->base_graph == 1 ? 66 : 50;
  return kStarts[shape->base_graph - 1][shape->rv & 3] * shape->n_cb / (columns * shape->zc) *
         shape->zc;
}

/* Soft bits, fillers included, from the first to the last that this transmission, or an earlier
 * one, has reached. */
static uint32_t soft_bits_reached(const struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape) {
  const uint64_t end = (uint64_t)begin_of(shape) + shape->e_a + shape->n_filler;
  uint64_t earlier = 0;
  if (shape->soft_in) {
    earlier = op->harq_combined_input.length;
    if (bb_has(op->op_flags, RTE_BBDEV_LDPC_HARQ_6BIT_COMPRESSION)) earlier = earlier * 4 / 3;
  }
  return (uint32_t)RTE_MIN(RTE_ALIGN_CEIL(RTE_MAX(end, earlier), (uint64_t)64),
                           (uint64_t)shape->n_cb);
}

/* Of `soft`, in which the fillers are written first. */
static int write_soft_bits(struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape, bb_harq* harq,
                           int8_t* soft) {
  struct rte_bbdev_op_data* const data = &op->harq_combined_output;
  const uint32_t count = soft_bits_reached(op, shape);
  /* Fillers are known zeros, and no transmission has them. */
  const uint32_t fillers = (shape->base_graph == 1 ? 20U : 8U) * shape->zc - shape->n_filler;
  if (fillers < count) {
    memset(soft + fillers, INT8_MAX, RTE_MIN((uint32_t)shape->n_filler, count - fillers));
  }
  uint8_t packed[MAX_SOFT_BITS * 3 / 4];
  const void* raw = soft;
  uint32_t bytes = count;
  if (bb_has(op->op_flags, RTE_BBDEV_LDPC_HARQ_6BIT_COMPRESSION)) {
    bb_pack_llrs(soft, count, packed);
    raw = packed;
    bytes = (uint32_t)bb_packed_bytes(count);
  }
  if (harq != NULL) {
    if (!bb_harq_write(harq, data->offset, raw, bytes)) return BB_DATA_ERROR;
    data->length = bytes;
    return 0;
  }
  uint8_t* const to = bb_mbuf_put(data, bytes);
  if (to == NULL) return BB_DATA_ERROR;
  memcpy(to, raw, bytes);
  return 0;
}

/* Whether the CRCs hold that are left in the output, code block by code block. */
static bool crcs_hold(bb_crc crc, const bb_shape* shape, const uint8_t* bits) {
  const uint32_t block_bits = bb_block_bits(shape);
  for (uint32_t block = 0; block < bb_code_blocks(shape); ++block) {
    if (basebandd_crc(crc, bits, block_bits) != 0) return false;
    bits += bb_block_bytes(shape);
  }
  return true;
}

/* In place of `bytes` of decided bits: with zeros a CRC would hold, with a single one none does. */
static void put_no_word(const bb_shape* shape, uint8_t* to) {
  const uint32_t bytes = bb_block_bytes(shape);
  for (uint32_t block = 0; block < bb_code_blocks(shape); ++block, to += bytes) {
    memset(to, 0, bytes);
    to[0] = 0x80;
  }
}

void bb_decode_fail(struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape, bb_harq* harq) {
  op->iter_count = (uint8_t)RTE_MIN(op->iter_max, MAX_ITERATIONS);
  if (bb_code_blocks(shape) == 0) {
    (void)bb_mbuf_put(&op->hard_output, 0);
    return;
  }
  uint8_t* const to = bb_mbuf_put(&op->hard_output, bb_code_blocks(shape) * bb_block_bytes(shape));
  if (to != NULL) put_no_word(shape, to);
  if (!shape->soft_out) return;
  int8_t soft[MAX_SOFT_BITS] = {0};
  if (shape->soft_in && !read_soft_bits(op, shape, harq, soft)) memset(soft, 0, sizeof(soft));
  if (write_soft_bits(op, shape, harq, soft) != 0) op->harq_combined_output.length = 0;
}

int bb_decode_finish(struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape, bb_harq* harq,
                     const basebandd_answer* answer) {
  basebandd_code_block_result results[MAX_CODE_BLOCKS];
  basebandd_block_result blocks[1];
  size_t count = 0;
  const uint32_t bytes = bb_code_blocks(shape) * bb_block_bytes(shape);
  if (basebandd_read_decode_shared_channel(answer, blocks, 1, results, MAX_CODE_BLOCKS, &count) <
          0 ||
      count != bb_code_blocks(shape)) {
    return -1;
  }
  const void* bits = NULL;
  size_t bits_bytes = 0;
  if (basebandd_read_placed(answer, PAYLOAD_FIELD, &bits, &bits_bytes) < 0 || bits_bytes != bytes) {
    return -1;
  }
  const void* soft = NULL;
  size_t soft_bytes = 0;
  if (shape->soft_out && (basebandd_read_placed(answer, SOFT_FIELD, &soft, &soft_bytes) < 0 ||
                          soft_bytes != shape->n_cb)) {
    return -1;
  }

  bb_crc crc;
  (void)checked(op->op_flags, &crc);
  bool is_parity_ok = true;
  bool is_crc_ok = true;
  bool is_nothing = false; /* LLRs of 0: all bits are decided as 0, and all checks hold */
  op->iter_count = 0;
  for (size_t i = 0; i < count; ++i) {
    is_parity_ok = is_parity_ok && results[i].parity_ok;
    is_crc_ok = is_crc_ok && results[i].crc_ok;
    if (shape->crc == BB_CRC_NONE && results[i].parity_ok && !results[i].crc_ok) is_nothing = true;
    op->iter_count = (uint8_t)RTE_MAX(op->iter_count, results[i].iterations);
  }
  if (shape->crc == BB_CRC_NONE) {
    is_crc_ok = !is_nothing && (crc == BB_CRC_NONE || crcs_hold(crc, shape, bits));
  }
  int status = 0;
  if (!is_parity_ok || is_nothing) status |= 1 << RTE_BBDEV_SYNDROME_ERROR;
  if (crc != BB_CRC_NONE && !is_crc_ok) status |= 1 << RTE_BBDEV_CRC_ERROR;

  uint8_t* const to = bb_mbuf_put(&op->hard_output, bytes);
  if (to == NULL) return status | BB_DATA_ERROR;
  if (is_nothing) {
    put_no_word(shape, to);
  } else {
    memcpy(to, bits, bytes);
  }
  /* In the reply, which is the queue's until it is given back. */
  int8_t* const soft_bits = (int8_t*)(uintptr_t)soft;
  return shape->soft_out ? status | write_soft_bits(op, shape, harq, soft_bits) : status;
}

int bb_harq_loopback(struct rte_bbdev_op_ldpc_dec* op, bb_harq* harq) {
  struct rte_bbdev_op_data* const in = &op->harq_combined_input;
  struct rte_bbdev_op_data* const out = &op->harq_combined_output;
  uint8_t bytes[MAX_SOFT_BITS + 64];
  if (harq == NULL || in->length == 0 || in->length > sizeof(bytes)) return BB_DATA_ERROR;
  const bool is_read = bb_has(op->op_flags, RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_IN_ENABLE)
                           ? bb_harq_read(harq, in->offset, bytes, in->length)
                           : bb_mbuf_read(in, 0, bytes, in->length);
  if (!is_read) return BB_DATA_ERROR;
  if (bb_has(op->op_flags, RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_OUT_ENABLE)) {
    if (!bb_harq_write(harq, out->offset, bytes, in->length)) return BB_DATA_ERROR;
    out->length = in->length;
    return 0;
  }
  uint8_t* const to = bb_mbuf_put(out, in->length);
  if (to == NULL) return BB_DATA_ERROR;
  memcpy(to, bytes, in->length);
  return 0;
}
