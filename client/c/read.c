/* Protobuf's wire format (protobuf.dev, "Encoding"), as far as the commonest answers need it. The
 * server may write what is read at any time, so each byte is loaded once. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "client/c/basebandd.h"
#include "client/c/error.h"
#include "client/c/wire.h"

typedef struct {
  const volatile uint8_t* at;
  const volatile uint8_t* end;
} reader;

typedef struct {
  uint32_t number;
  uint32_t type;
  uint64_t value; /* but of kBytes */
  reader bytes;   /* of kBytes */
} field;

static int get_varint(reader* in, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (in->at == in->end) return 0;
    const uint8_t byte = *in->at++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return 1;
  }
  return 0;
}

static int get_fixed(reader* in, unsigned bytes, uint64_t* value) {
  *value = 0;
  if ((size_t)(in->end - in->at) < bytes) return 0;
  for (unsigned byte = 0; byte < bytes; ++byte) *value |= (uint64_t)*in->at++ << (8 * byte);
  return 1;
}

/* 1: a field; 0: the end; -1: no message. Groups are no part of proto3. */
static int get_field(reader* in, field* found) {
  uint64_t tag;
  if (in->at == in->end) return 0;
  if (!get_varint(in, &tag) || tag > UINT32_MAX || tag >> 3 == 0) return -1;
  found->number = (uint32_t)(tag >> 3);
  found->type = (uint32_t)(tag & 7);
  switch (found->type) {
    case kVarint:
      return get_varint(in, &found->value) ? 1 : -1;
    case kFixed64:
      return get_fixed(in, 8, &found->value) ? 1 : -1;
    case kFixed32:
      return get_fixed(in, 4, &found->value) ? 1 : -1;
    case kBytes: {
      uint64_t size;
      if (!get_varint(in, &size) || size > (uint64_t)(in->end - in->at)) return -1;
      found->bytes.at = in->at;
      found->bytes.end = in->at += size;
      return 1;
    }
    default:
      return -1;
  }
}

static reader header_of(const basebandd_answer* answer) {
  reader in = {NULL, NULL};
  if (answer->code == 0 && answer->header_bytes != 0) {
    in.at = answer->header;
    in.end = in.at + answer->header_bytes;
  }
  return in;
}

static int is_no_message(void) {
  return basebandd_fail_fast(-EBADMSG, "the answer's header is no response of this operation");
}

typedef void (*store_value)(basebandd_code_block_result* result, uint64_t value);

static void store_iterations(basebandd_code_block_result* result, uint64_t value) {
  result->iterations = (uint32_t)value;
}
static void store_parity_ok(basebandd_code_block_result* result, uint64_t value) {
  result->parity_ok = value != 0;
}
static void store_crc_ok(basebandd_code_block_result* result, uint64_t value) {
  result->crc_ok = value != 0;
}

/* One of the lists that run beside each other. */
typedef struct {
  uint32_t number;
  store_value store;
  size_t count;
} list;

static void append(list* values, uint64_t value, basebandd_code_block_result* results,
                   size_t room) {
  if (values->count < room) values->store(&results[values->count], value);
  ++values->count;
}

/* Lists of numbers come packed or one by one. 0: it is no list. */
static int append_field(list* values, field* found, basebandd_code_block_result* results,
                        size_t room) {
  if (found->type == kVarint) {
    append(values, found->value, results, room);
    return 1;
  }
  if (found->type != kBytes) return 0;
  while (found->bytes.at != found->bytes.end) {
    uint64_t value;
    if (!get_varint(&found->bytes, &value)) return 0;
    append(values, value, results, room);
  }
  return 1;
}

static int read_block(reader in, basebandd_block_result* result) {
  field found;
  int is_field;
  memset(result, 0, sizeof(*result));
  while ((is_field = get_field(&in, &found)) > 0) {
    if (found.number > 4) continue;
    if (found.type != kVarint) return 0;
    if (found.number == 1) result->crc_ok = found.value != 0;
    if (found.number == 2) result->code_blocks = (uint32_t)found.value;
    if (found.number == 3) result->unusable = (uint32_t)found.value;
    if (found.number == 4)
      result->harq = found.value > UINT8_MAX ? UINT8_MAX : (uint8_t)found.value;
  }
  return is_field == 0;
}

int basebandd_read_decode(const basebandd_answer* answer, basebandd_code_block_result* results,
                          size_t room) {
  reader in = header_of(answer);
  list lists[] = {{2, store_iterations, 0}, {3, store_parity_ok, 0}};
  field found;
  int is_field;
  if (room > 0) memset(results, 0, room * sizeof(*results));
  while ((is_field = get_field(&in, &found)) > 0) {
    for (size_t i = 0; i < 2; ++i) {
      if (found.number == lists[i].number && !append_field(&lists[i], &found, results, room)) {
        return is_no_message();
      }
    }
  }
  if (is_field < 0 || lists[0].count != lists[1].count || lists[0].count > INT_MAX) {
    return is_no_message();
  }
  return (int)lists[0].count;
}

int basebandd_read_decode_shared_channel(const basebandd_answer* answer,
                                         basebandd_block_result* blocks, size_t blocks_room,
                                         basebandd_code_block_result* code_blocks,
                                         size_t code_blocks_room, size_t* num_code_blocks) {
  reader in = header_of(answer);
  list lists[] = {{3, store_crc_ok, 0}, {4, store_parity_ok, 0}, {5, store_iterations, 0}};
  size_t num_blocks = 0;
  uint64_t sum = 0; /* of the blocks' code blocks */
  field found;
  int is_field;
  if (code_blocks_room > 0) memset(code_blocks, 0, code_blocks_room * sizeof(*code_blocks));
  while ((is_field = get_field(&in, &found)) > 0) {
    if (found.number == 2) {
      basebandd_block_result block;
      if (found.type != kBytes || !read_block(found.bytes, &block)) return is_no_message();
      if (num_blocks < blocks_room) blocks[num_blocks] = block;
      sum += block.code_blocks;
      ++num_blocks;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (found.number == lists[i].number &&
          !append_field(&lists[i], &found, code_blocks, code_blocks_room)) {
        return is_no_message();
      }
    }
  }
  if (is_field < 0 || num_blocks > INT_MAX || lists[0].count != sum || lists[1].count != sum ||
      lists[2].count != sum) {
    return is_no_message();
  }
  if (num_code_blocks != NULL) *num_code_blocks = lists[0].count;
  return (int)num_blocks;
}

int basebandd_read_placed(const basebandd_answer* answer, uint32_t number, const void** data,
                          size_t* bytes) {
  enum { kPlaced = 100 };
  reader in = header_of(answer);
  field found;
  int is_field;
  while ((is_field = get_field(&in, &found)) > 0) {
    if (found.number != kPlaced) continue;
    if (found.type != kBytes) return is_no_message();
    uint64_t placed[4] = {0}; /* by its fields' numbers: which, offset, bytes */
    field part;
    int is_part;
    while ((is_part = get_field(&found.bytes, &part)) > 0) {
      if (part.number > 3) continue;
      if (part.type != kVarint) return is_no_message();
      placed[part.number] = part.value;
    }
    if (is_part < 0) return is_no_message();
    if (placed[1] != number || placed[3] == 0) continue;
    const uint64_t begin = placed[2] - answer->reply_offset; /* wraps to what is too much */
    if (begin > answer->reply_bytes || placed[3] > answer->reply_bytes - begin) {
      return is_no_message();
    }
    *data = (const char*)answer->reply + begin;
    *bytes = (size_t)placed[3];
    return 0;
  }
  if (is_field < 0) return is_no_message();
  return basebandd_fail_fast(-ENOENT, "the response has no such field, or it is empty");
}
