/* Protobuf's wire format (protobuf.dev, "Encoding"), as far as the commonest requests need it. What
 * is written is what protobuf's own serializer would write. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/c/basebandd.h"
#include "client/c/error.h"
#include "client/c/wire.h"

/* Counts on when there is no room left. */
typedef struct {
  uint8_t* to;
  size_t room;
  size_t used;
} writer;

static void put_byte(writer* out, uint8_t byte) {
  if (out->used < out->room) out->to[out->used] = byte;
  ++out->used;
}

static void put_varint(writer* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) put_byte(out, (uint8_t)(value | 0x80));
  put_byte(out, (uint8_t)value);
}

static void put_tag(writer* out, uint32_t field, uint32_t type) {
  put_varint(out, (uint64_t)field << 3 | type);
}

static void put_present_uint(writer* out, uint32_t field, uint32_t value) {
  put_tag(out, field, kVarint);
  put_varint(out, value);
}

static void put_uint(writer* out, uint32_t field, uint32_t value) {
  if (value != 0) put_present_uint(out, field, value);
}

static void put_bool(writer* out, uint32_t field, uint32_t value) {
  put_uint(out, field, value != 0);
}

/* Enums are signed: one that is negative as such takes ten bytes. */
static void put_enum(writer* out, uint32_t field, uint32_t value) {
  if (value == 0) return;
  put_tag(out, field, kVarint);
  put_varint(out, (uint64_t)(int64_t)(int32_t)value);
}

static void put_present_float(writer* out, uint32_t field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  put_tag(out, field, kFixed32);
  for (int byte = 0; byte < 4; ++byte) put_byte(out, (uint8_t)(bits >> (8 * byte)));
}

static void put_float(writer* out, uint32_t field, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if (bits != 0) put_present_float(out, field, value); /* -0 is not 0 */
}

static void put_bytes(writer* out, uint32_t field, const void* bytes, size_t size) {
  put_tag(out, field, kBytes);
  put_varint(out, size);
  for (size_t i = 0; i < size; ++i) put_byte(out, ((const uint8_t*)bytes)[i]);
}

typedef void (*put_message)(writer* out, const void* message);

/* A message has its length before it: it is counted first. */
static void put_nested(writer* out, uint32_t field, put_message put, const void* message) {
  writer count = {NULL, 0, 0};
  put(&count, message);
  put_tag(out, field, kBytes);
  put_varint(out, count.used);
  put(out, message);
}

static void put_nr(writer* out, const void* message) {
  const basebandd_nr_code* const code = message;
  put_uint(out, 1, code->base_graph);
  put_uint(out, 2, code->zc);
}

static void put_code(writer* out, const void* message) {
  const basebandd_nr_code* const code = message;
  put_nested(out, 1, put_nr, code);
  put_uint(out, 5, code->parity_rows);
}

static void put_encode_group(writer* out, const void* message) {
  const basebandd_encode_group* const group = message;
  put_nested(out, 1, put_code, &group->code);
  put_uint(out, 2, group->count);
  put_uint(out, 3, group->n_filler);
  put_enum(out, 4, group->output);
}

static void put_decode_group(writer* out, const void* message) {
  const basebandd_decode_group* const group = message;
  put_nested(out, 1, put_code, &group->code);
  put_uint(out, 2, group->count);
  put_uint(out, 3, group->n_filler);
  put_uint(out, 4, group->llr_count);
  put_enum(out, 5, group->algorithm);
  put_enum(out, 6, group->schedule);
  put_uint(out, 7, group->max_iterations);
  put_bool(out, 8, group->fixed_iterations);
  put_float(out, 9, group->scale_factor);
  put_float(out, 10, group->llr_scale);
  put_bool(out, 11, group->soft_output);
}

static void put_transport_block(writer* out, const void* message) {
  const basebandd_shared_channel_block* const block = message;
  put_uint(out, 1, block->tb_bytes);
  put_uint(out, 2, block->base_graph);
  put_float(out, 3, block->code_rate);
  put_uint(out, 4, block->g);
  put_uint(out, 5, block->tbs_lbrm);
}

static void put_code_block(writer* out, const void* message) {
  const basebandd_shared_channel_block* const block = message;
  put_uint(out, 1, block->base_graph);
  put_uint(out, 2, block->zc);
  put_uint(out, 3, block->n_filler);
  put_uint(out, 4, block->n_cb);
  put_uint(out, 5, block->e);
  put_enum(out, 6, block->crc);
}

static void put_block(writer* out, const void* message) {
  const basebandd_shared_channel_block* const block = message;
  if (block->is_code_block) {
    put_nested(out, 2, put_code_block, block);
  } else {
    put_nested(out, 1, put_transport_block, block);
  }
  put_uint(out, 3, block->rv);
  put_uint(out, 4, block->qm);
  put_uint(out, 5, block->layers);
  if (block->is_scrambled) put_present_uint(out, 6, block->c_init);
}

static void put_encode_shared_channel_group(writer* out, const void* message) {
  const basebandd_encode_shared_channel_group* const group = message;
  put_nested(out, 1, put_block, &group->block);
  put_uint(out, 2, group->count);
  put_enum(out, 3, group->output);
  put_float(out, 4, group->scale);
}

static void put_harq(writer* out, const void* message) {
  const basebandd_decode_shared_channel_group* const group = message;
  put_bool(out, 1, group->harq_soft_in);
  put_bool(out, 2, group->harq_soft_out);
  if (group->harq_key_bytes != 0) put_bytes(out, 3, group->harq_key, group->harq_key_bytes);
  put_uint(out, 4, group->harq_transmission);
  put_uint(out, 5, group->harq_block);
  put_uint(out, 6, group->harq_llr_size);
}

static void put_decode_shared_channel_group(writer* out, const void* message) {
  const basebandd_decode_shared_channel_group* const group = message;
  put_nested(out, 1, put_block, &group->block);
  put_uint(out, 2, group->count);
  put_enum(out, 3, group->input);
  put_float(out, 4, group->llr_scale);
  put_float(out, 5, group->symbol_scale);
  if (group->has_noise_variance) put_present_float(out, 6, group->noise_variance);
  put_bool(out, 7, group->log_sum);
  if (group->has_harq) put_nested(out, 8, put_harq, group);
  put_uint(out, 9, group->max_iterations);
  put_float(out, 10, group->scale_factor);
  put_enum(out, 11, group->early_stop);
}

/* All requests have their groups in field 1. */
static int describe(const void* groups, size_t group_bytes, size_t count, put_message put, void* to,
                    size_t room) {
  writer out = {to, to == NULL ? 0 : room, 0};
  const int error = basebandd_check_groups(groups, count);
  if (error != 0) return error;
  for (size_t i = 0; i < count && out.used <= INT_MAX; ++i) {
    put_nested(&out, 1, put, (const char*)groups + i * group_bytes);
  }
  if (out.used > INT_MAX) return basebandd_fail(-EINVAL, "count %zu takes more than 2 GiB", count);
  if (to != NULL && out.used > room) {
    return basebandd_fail(-ENOSPC,
                          "room %zu: the description of these groups (count %zu) has %zu bytes, "
                          "which `to` needs room for",
                          room, count, out.used);
  }
  return (int)out.used;
}

int basebandd_describe_encode(const basebandd_encode_group* groups, size_t count, void* to,
                              size_t room) {
  return describe(groups, sizeof(*groups), count, put_encode_group, to, room);
}

int basebandd_describe_decode(const basebandd_decode_group* groups, size_t count, void* to,
                              size_t room) {
  return describe(groups, sizeof(*groups), count, put_decode_group, to, room);
}

int basebandd_describe_encode_shared_channel(const basebandd_encode_shared_channel_group* groups,
                                             size_t count, void* to, size_t room) {
  return describe(groups, sizeof(*groups), count, put_encode_shared_channel_group, to, room);
}

int basebandd_describe_decode_shared_channel(const basebandd_decode_shared_channel_group* groups,
                                             size_t count, void* to, size_t room) {
  for (size_t i = 0; groups != NULL && i < count; ++i) {
    if (groups[i].has_harq && groups[i].harq_key_bytes != 0 && groups[i].harq_key == NULL) {
      return basebandd_fail(-EINVAL, "groups[%zu].harq_key is null, harq_key_bytes %u", i,
                            groups[i].harq_key_bytes);
    }
  }
  return describe(groups, sizeof(*groups), count, put_decode_shared_channel_group, to, room);
}
