/* What an operation asks of the server: the request that describes it, which bytes go there, and
 * what an answer makes of the operation. */
#ifndef BASEBAND_CLIENT_BBDEV_WORK_H_
#define BASEBAND_CLIENT_BBDEV_WORK_H_

#include <rte_bbdev_op.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/bbdev/harq.h"
#include "client/c/basebandd.h"

/* Room for what bb_describe writes. */
#define BB_HEADER_BYTES 256U

/* CodeBlockCrc of baseband.proto. */
typedef enum bb_crc {
  BB_CRC_NONE = 0,
  BB_CRC_24A = BASEBANDD_CRC_24A,
  BB_CRC_24B = BASEBANDD_CRC_24B,
  BB_CRC_16 = BASEBANDD_CRC_16
} bb_crc;

static inline uint32_t bb_crc_bits(bb_crc crc) {
  return crc == BB_CRC_NONE ? 0 : crc == BB_CRC_16 ? 16 : 24;
}

/* All that a request's header says. */
typedef struct bb_shape {
  uint32_t count_a; /* code blocks of e_a bits, then of e_b */
  uint32_t e_a;
  uint32_t count_b;
  uint32_t e_b;
  uint32_t n_cb;
  uint16_t zc;
  uint16_t n_filler;
  uint8_t operation; /* basebandd_operation */
  uint8_t base_graph;
  uint8_t rv;
  uint8_t qm;
  uint8_t crc; /* that the server attaches, or checks and drops: bb_crc */
  uint8_t max_iterations;
  uint8_t is_fixed;  /* all iterations are run */
  uint8_t is_packed; /* LLRs have 6 bits */
  uint8_t soft_in;
  uint8_t soft_out;
} bb_shape;

/* Of one code block, bits: what goes in or comes out, without the CRC that the server makes. */
uint32_t bb_block_bits(const bb_shape* shape);
uint32_t bb_block_bytes(const bb_shape* shape);
uint32_t bb_code_blocks(const bb_shape* shape);
/* Of the request; a payload has soft bits and LLRs of each code block, filled up to 4 bytes. */
uint64_t bb_payload_bytes(const bb_shape* shape);
uint64_t bb_reply_bytes(const bb_shape* shape);
/* Of an encode operation's answer: each code block's bits from a byte on. */
uint64_t bb_encoded_bytes(const bb_shape* shape);
/* The request, serialized; its bytes, or -ENOSPC. */
int bb_describe(const bb_shape* shape, void* to, size_t room);

/* bbdev has pi/2-BPSK as 1 bit a symbol, and applications as 0; what is not interleaved is as if it
 * had one. */
static inline uint8_t bb_bits_a_symbol(uint8_t q_m, bool is_interleaved) {
  return q_m == 0 || !is_interleaved ? 1 : q_m;
}

/* Null, or what is wrong with the operation: its status is then a bit of data error. */
const char* bb_encode_shape(const struct rte_bbdev_op_ldpc_enc* op, bb_shape* shape);
const char* bb_decode_shape(const struct rte_bbdev_op_ldpc_dec* op, bb_shape* shape);

/* Fills `payload`. `harq` is the device's memory, null where soft bits lie in mbufs. Null, or what
 * is wrong. */
const char* bb_encode_fill(const struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape,
                           uint8_t* payload);
const char* bb_decode_fill(const struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape,
                           const bb_harq* harq, uint8_t* payload);

/* Takes an answer of code 0 to the operation's mbufs, and returns the status; -1: it is no such
 * answer. */
int bb_encode_finish(struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape,
                     const basebandd_answer* answer);
int bb_decode_finish(struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape, bb_harq* harq,
                     const basebandd_answer* answer);

/* What an operation has that was not done: outputs of the full length, lest what lay there before
 * be taken for its result. Of encoding bits that are no code word, for zeros are one; of decoding
 * bits with which no code block's CRC holds, and soft bits as they were before this transmission,
 * so that the next one finds them. Of a shape without code blocks, outputs of no length. */
void bb_encode_fail(struct rte_bbdev_op_ldpc_enc* op, const bb_shape* shape);
void bb_decode_fail(struct rte_bbdev_op_ldpc_dec* op, const bb_shape* shape, bb_harq* harq);

/* RTE_BBDEV_LDPC_INTERNAL_HARQ_MEMORY_LOOPBACK: between mbufs and the device's memory, without the
 * server. Returns the status. */
int bb_harq_loopback(struct rte_bbdev_op_ldpc_dec* op, bb_harq* harq);

#define BB_DATA_ERROR (1 << RTE_BBDEV_DATA_ERROR)
#define BB_DRIVER_ERROR (1 << RTE_BBDEV_DRV_ERROR)

#endif /* BASEBAND_CLIENT_BBDEV_WORK_H_ */
