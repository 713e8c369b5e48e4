/* Shapes: what both operations have in common. */
#include <errno.h>

#include "client/bbdev/work.h"

/* Of proto/baseband/v1/baseband.proto. */
enum { kLlrInt8 = 1, kLlrInt6 = 4 };               /* SharedChannelInput */
enum { kEarlyStopParity = 1, kEarlyStopNone = 3 }; /* EarlyStop */

uint32_t bb_block_bits(const bb_shape* shape) {
  return (shape->base_graph == 1 ? 22U : 10U) * shape->zc - shape->n_filler -
         bb_crc_bits((bb_crc)shape->crc);
}

uint32_t bb_block_bytes(const bb_shape* shape) { return (bb_block_bits(shape) + 7) / 8; }

uint32_t bb_code_blocks(const bb_shape* shape) { return shape->count_a + shape->count_b; }

static uint64_t input_bytes(const bb_shape* shape, uint32_t e) {
  const uint64_t llrs = shape->is_packed ? bb_packed_bytes(e) : e;
  return ((shape->soft_in ? shape->n_cb : 0) + llrs + 3) / 4 * 4;
}

uint64_t bb_payload_bytes(const bb_shape* shape) {
  if (shape->operation == BASEBANDD_ENCODE_SHARED_CHANNEL) {
    return (uint64_t)bb_code_blocks(shape) * bb_block_bytes(shape);
  }
  return shape->count_a * input_bytes(shape, shape->e_a) +
         shape->count_b * input_bytes(shape, shape->e_b);
}

uint64_t bb_encoded_bytes(const bb_shape* shape) {
  return shape->count_a * (((uint64_t)shape->e_a + 7) / 8) +
         shape->count_b * (((uint64_t)shape->e_b + 7) / 8);
}

uint64_t bb_reply_bytes(const bb_shape* shape) {
  const uint64_t blocks = bb_code_blocks(shape);
  const uint64_t bulk =
      shape->operation == BASEBANDD_ENCODE_SHARED_CHANNEL
          ? bb_encoded_bytes(shape)
          : blocks * (bb_block_bytes(shape) + (shape->soft_out ? shape->n_cb : 0));
  return BASEBANDD_REPLY_BYTES(bulk, blocks);
}

static basebandd_shared_channel_block block_of(const bb_shape* shape, uint32_t e) {
  return (basebandd_shared_channel_block){.is_code_block = 1,
                                          .base_graph = shape->base_graph,
                                          .zc = shape->zc,
                                          .n_filler = shape->n_filler,
                                          .n_cb = shape->n_cb,
                                          .e = e,
                                          .crc = shape->crc,
                                          .rv = shape->rv,
                                          .qm = shape->qm};
}

static int describe_encode(const bb_shape* shape, void* to, size_t room) {
  basebandd_encode_shared_channel_group groups[2] = {0};
  size_t count = 0;
  if (shape->count_a > 0) {
    groups[count].block = block_of(shape, shape->e_a);
    groups[count++].count = shape->count_a;
  }
  if (shape->count_b > 0) {
    groups[count].block = block_of(shape, shape->e_b);
    groups[count++].count = shape->count_b;
  }
  return basebandd_describe_encode_shared_channel(groups, count, to, room);
}

static int describe_decode(const bb_shape* shape, void* to, size_t room) {
  basebandd_decode_shared_channel_group groups[2] = {0};
  size_t count = 0;
  for (int b = 0; b < 2; ++b) {
    const uint32_t blocks = b == 0 ? shape->count_a : shape->count_b;
    if (blocks == 0) continue;
    groups[count++] = (basebandd_decode_shared_channel_group){
        .block = block_of(shape, b == 0 ? shape->e_a : shape->e_b),
        .count = blocks,
        .input = shape->is_packed ? kLlrInt6 : kLlrInt8,
        .llr_scale = shape->is_packed ? 1.0F : 0.0F,
        .max_iterations = shape->max_iterations,
        .early_stop = shape->is_fixed ? kEarlyStopNone : kEarlyStopParity,
        .has_harq = shape->soft_in || shape->soft_out,
        .harq_soft_in = shape->soft_in,
        .harq_soft_out = shape->soft_out};
  }
  return basebandd_describe_decode_shared_channel(groups, count, to, room);
}

int bb_describe(const bb_shape* shape, void* to, size_t room) {
  return shape->operation == BASEBANDD_ENCODE_SHARED_CHANNEL ? describe_encode(shape, to, room)
                                                             : describe_decode(shape, to, room);
}
