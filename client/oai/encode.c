/* A slot's code blocks to be sent. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/oai/bits.h"
#include "client/oai/client.h"
#include "client/oai/clock.h"

#define OUTPUT_BITS 1U /* SharedChannelOutput */
#define PAYLOAD_FIELD 15U
#define MOST_CODED_BITS 8388608U
#define GROUP_BYTES 96U /* more than a group's description takes */

typedef struct bo_encoding {
  const bo_downlink_block* blocks;
  uint32_t count;
  basebandd_encode_shared_channel_group groups[BO_MAX_SEGMENTS];
  uint32_t group_count;
  uint32_t segments;
  size_t payload_bytes;
  size_t output_bytes;
} bo_encoding;

static size_t bits_bytes(const bo_code* code) { return (code->k - code->n_filler + 7) / 8; }

/* Segments of a block that are as long are a group. */
static bool add_block(bo_encoding* slot, const bo_downlink_block* block) {
  if (!bo_code_is_served(&block->code) || block->qm == 0 ||
      slot->segments + block->count > BO_MAX_SEGMENTS) {
    return false;
  }
  bo_code as_it_is = block->code; /* CRCs are among the bits already */
  as_it_is.crc = 0;
  for (uint32_t i = 0; i < block->count; ++i) {
    basebandd_encode_shared_channel_group* const group = &slot->groups[slot->group_count];
    const uint32_t e = block->segments[i].e;
    if (e == 0 || e > MOST_CODED_BITS) return false;
    if (i > 0 && group[-1].block.e == e) {
      ++group[-1].count;
    } else {
      *group = (basebandd_encode_shared_channel_group){
          .block = bo_describe_block(&as_it_is, e, block->qm, block->rv),
          .count = 1,
          .output = OUTPUT_BITS};
      ++slot->group_count;
    }
    slot->output_bytes += (e + 7) / 8;
  }
  slot->segments += block->count;
  slot->payload_bytes += block->count * bits_bytes(&block->code);
  return true;
}

static void fill(const bo_encoding* slot, uint8_t* payload) {
  for (uint32_t i = 0; i < slot->count; ++i) {
    const bo_downlink_block* const block = &slot->blocks[i];
    const size_t bytes = bits_bytes(&block->code);
    for (uint32_t j = 0; j < block->count; ++j, payload += bytes) {
      memcpy(payload, block->segments[j].bits, bytes);
    }
  }
}

static int read(const bo_encoding* slot, const basebandd_answer* answer) {
  const void* data = NULL;
  size_t bytes = 0;
  if (basebandd_read_placed(answer, PAYLOAD_FIELD, &data, &bytes) < 0 ||
      bytes != slot->output_bytes) {
    return -EBADMSG;
  }
  const uint8_t* from = data;
  for (uint32_t i = 0; i < slot->count; ++i) {
    const bo_downlink_block* const block = &slot->blocks[i];
    bo_bit_writer writer = {.to = block->output};
    for (uint32_t j = 0; j < block->count; ++j) {
      bo_write_bits(&writer, from, block->segments[j].e);
      from += (block->segments[j].e + 7) / 8;
    }
    bo_end_bits(&writer);
  }
  return 0;
}

static int ask(const bo_encoding* slot, bo_session* session, uint64_t deadline_ns, char* why,
               size_t room) {
  bo_exchange exchange = {.operation = BASEBANDD_ENCODE_SHARED_CHANNEL,
                          .payload_bytes = slot->payload_bytes,
                          .reply_bytes = BASEBANDD_REPLY_BYTES(slot->output_bytes, slot->segments),
                          .deadline_ns = deadline_ns};
  if (!bo_reserve(session, &exchange, slot->group_count * GROUP_BYTES, why, room)) return -ENOMEM;
  exchange.header_bytes = basebandd_describe_encode_shared_channel(
      slot->groups, slot->group_count, session->header, session->header_room);
  fill(slot, session->payload);
  basebandd_answer answer;
  int error = bo_run(session, &exchange, &answer, why, room);
  if (error < 0) return error;
  error = read(slot, &answer);
  if (error < 0) snprintf(why, room, "its answer is none to what was asked");
  return error;
}

bool bo_encode_slot(bo_client* client, const bo_downlink_block* blocks, uint32_t count) {
  bo_encoding slot;
  slot.blocks = blocks;
  slot.count = count;
  slot.group_count = 0;
  slot.segments = 0;
  slot.payload_bytes = 0;
  slot.output_bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!add_block(&slot, &blocks[i])) return false;
  }
  if (slot.segments == 0) return true;
  char why[256] = "";
  int error = -ENOTCONN;
  const uint64_t deadline_ns = bo_now_ns() + client->settings.deadline_ns;
  bo_session* const session = bo_take(&client->pool, deadline_ns, why, sizeof(why));
  if (session != NULL) {
    error = ask(&slot, session, deadline_ns, why, sizeof(why));
    bo_give_back(&client->pool, session);
  }
  bo_health_tell(&client->health, error, why);
  return error == 0;
}
