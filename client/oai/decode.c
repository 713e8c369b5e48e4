/* A slot's code blocks to the server and back. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "client/oai/client.h"
#include "client/oai/clock.h"
#include "client/oai/llr_scale.h"
#include "client/oai/log.h"

#define INPUT_LLR_INT16 2U /* SharedChannelInput */
#define EARLY_STOP_PARITY 1U
#define EARLY_STOP_CRC 2U
#define MOST_ITERATIONS 100U
#define PAYLOAD_FIELD 15U
#define MOST_CODED_BITS 8388608U
#define HARQ_OUTCOME_LOST 4U     /* and above: there are no soft bits, .. */
#define HARQ_OUTCOME_NOT_HELD 6U /* .. nor will there be */
#define SAMPLES 2048U            /* LLRs of a block that are looked at for its scale */
#define GROUP_BYTES 128U         /* more than a group's description takes */
/* Times an earlier transmission's mean |LLR|: that was noise, and is worth less than its scale
 * costs. */
#define NOISE_MARGIN 8

/* A slot that is on its way. */
typedef struct bo_decoding {
  bo_client* client;
  bo_uplink_block* blocks;
  uint32_t count;
  bo_transmission transmissions[BO_MAX_BLOCKS];
  basebandd_decode_shared_channel_group groups[BO_MAX_SEGMENTS];
  uint8_t keys[BO_MAX_SEGMENTS][BO_KEY_BYTES];
  basebandd_block_result outcomes[BO_MAX_SEGMENTS];
  basebandd_code_block_result results[BO_MAX_SEGMENTS];
  uint32_t group_count;
  uint32_t segments;
  size_t payload_bytes;
  size_t bits_bytes;
} bo_decoding;

static bool is_asked(const bo_decoding* slot, uint32_t block) {
  return slot->blocks[block].verdict == BO_DECODED;
}

/* Whether what is sent to the server is all of a block's soft bits: those that were kept in
 * OpenAirInterface's memory, with what was received now. */
static bool has_soft(const bo_decoding* slot, const bo_uplink_block* block) {
  return slot->client->settings.harq_on_host && !block->is_first;
}

static uint32_t bits_bytes(const bo_code* code) {
  return (code->k - code->n_filler - code->crc_bits) / 8;
}

static size_t padded(size_t llrs) { return (2 * llrs + 3) / 4 * 4; }

/* What kind of group a segment is; its HARQ key apart. */
static basebandd_decode_shared_channel_group group_of(const bo_decoding* slot,
                                                      const bo_uplink_block* block, uint32_t e,
                                                      float llr_scale) {
  basebandd_decode_shared_channel_group group = {
      .count = 1,
      .input = INPUT_LLR_INT16,
      .llr_scale = llr_scale,
      .max_iterations =
          block->max_iterations < MOST_ITERATIONS ? block->max_iterations : MOST_ITERATIONS,
      /* 16 bits of CRC are looked at once. */
      .early_stop = block->code.crc_bits == 16 ? EARLY_STOP_PARITY : EARLY_STOP_CRC};
  group.block = has_soft(slot, block) ? bo_describe_block(&block->code, e, 1, 0)
                                      : bo_describe_block(&block->code, e, block->qm, block->rv);
  return group;
}

/* Transmissions that the server adds up need one scale; that of a block is chosen by its first one,
 * or by the first that was no noise, with which the block begins anew. Of others it chooses itself
 * (0), each code block's. */
static float scale_of(const bo_decoding* slot, const bo_uplink_block* block,
                      bo_transmission* transmission) {
  const bo_settings* const settings = &slot->client->settings;
  if (settings->llr_scale > 0) return settings->llr_scale;
  if (settings->harq_on_host) return 0;
  bo_magnitudes magnitudes = {0};
  for (uint32_t i = 0; i < block->count; ++i) {
    bo_add_magnitudes(block->segments[i].llrs, block->segments[i].e, 1 + SAMPLES / block->count,
                      &magnitudes);
  }
  const float mean = bo_mean(&magnitudes);
  if (transmission->number > 0 && mean <= NOISE_MARGIN * transmission->llr_mean) {
    return transmission->llr_scale;
  }
  transmission->number = 0;
  transmission->llr_mean = mean;
  const double information = block->code.k - block->code.n_filler;
  transmission->llr_scale =
      bo_llr_scale(&magnitudes, block->qm, information / block->segments[0].e);
  return transmission->llr_scale;
}

static void add_block(bo_decoding* slot, uint32_t index) {
  bo_uplink_block* const block = &slot->blocks[index];
  const float llr_scale = scale_of(slot, block, &slot->transmissions[index]);
  const bool is_keyed = !slot->client->settings.harq_on_host;
  for (uint32_t i = 0; i < block->count; ++i) {
    const uint32_t e = has_soft(slot, block) ? bo_soft_bits(&block->code) : block->segments[i].e;
    basebandd_decode_shared_channel_group* group = &slot->groups[slot->group_count];
    if (!is_keyed && i > 0 && group[-1].block.e == e) {
      ++group[-1].count;
    } else {
      *group = group_of(slot, block, e, llr_scale);
      if (is_keyed) {
        uint8_t* const key = slot->keys[slot->group_count];
        bo_harq_key(&slot->client->harq, block->process, i, key);
        group->has_harq = 1;
        group->harq_key = key;
        group->harq_key_bytes = BO_KEY_BYTES;
        group->harq_transmission = slot->transmissions[index].number;
        group->harq_block = slot->transmissions[index].block;
      }
      ++slot->group_count;
    }
    slot->payload_bytes += padded(e);
  }
  slot->segments += block->count;
  slot->bits_bytes += (size_t)block->count * bits_bytes(&block->code);
  block->verdict = BO_DECODED;
}

/* Whether it can be looked at at all: the server says what else is wrong. */
static bool is_served(const bo_decoding* slot, const bo_uplink_block* block) {
  if (!bo_code_is_served(&block->code) || block->max_iterations == 0 || block->qm == 0 ||
      slot->segments + block->count > BO_MAX_SEGMENTS) {
    return false;
  }
  for (uint32_t i = 0; i < block->count; ++i) {
    const uint32_t e = block->segments[i].e;
    if (e == 0 || e > MOST_CODED_BITS || e % block->qm != 0) return false;
  }
  return true;
}

/* Which blocks go to the server, and how. */
static void plan(bo_decoding* slot) {
  for (uint32_t i = 0; i < slot->count; ++i) {
    bo_uplink_block* const block = &slot->blocks[i];
    bo_transmission* const next = &slot->transmissions[i];
    block->verdict = BO_LEFT;
    if (block->is_dropped) continue;
    const bool has_server = is_served(slot, block);
    if (slot->client->settings.harq_on_host) {
      next->place = has_server ? BO_AT_SERVER : BO_AT_LIBRARY;
    } else {
      *next = bo_harq_begin(&slot->client->harq, block->process, block->is_first, has_server);
    }
    if (next->place == BO_AT_SERVER) add_block(slot, i);
  }
}

/* The payload of a segment, whose earlier soft bits are in OpenAirInterface's memory. */
static void fill_soft(const bo_uplink_block* block, const bo_received* segment, int16_t* to) {
  int16_t soft[66 * 384];
  memcpy(soft, segment->soft, block->code.n_cb * sizeof(*soft));
  bo_add_received(&block->code, block->qm, block->rv, segment->llrs, segment->e, soft);
  bo_pack_soft(&block->code, soft, to);
}

static void fill(const bo_decoding* slot, uint8_t* payload) {
  for (uint32_t i = 0; i < slot->count; ++i) {
    const bo_uplink_block* const block = &slot->blocks[i];
    if (!is_asked(slot, i)) continue;
    for (uint32_t j = 0; j < block->count; ++j) {
      const bo_received* const segment = &block->segments[j];
      uint32_t llrs = segment->e;
      if (has_soft(slot, block)) {
        llrs = bo_soft_bits(&block->code);
        fill_soft(block, segment, (int16_t*)payload);
      } else {
        memcpy(payload, segment->llrs, llrs * sizeof(*segment->llrs));
      }
      if (llrs % 2 != 0) memset(payload + (size_t)llrs * 2, 0, 2);
      payload += padded(llrs);
    }
  }
}

/* What the next transmission of a block needs, where OpenAirInterface's memory has it; also where
 * the server has no room for it, and the next one is the library's. Where all
 * segments are right at once it is nothing, and what is left of an older block goes: a UE counts
 * the same block again, if its acknowledgement was lost, as no first one. `sent` is the block's
 * payload. */
static void keep_soft(const bo_decoding* slot, bo_uplink_block* block, const uint8_t* sent) {
  bool is_right = true;
  for (uint32_t i = 0; i < block->count; ++i) is_right = is_right && block->segments[i].is_right;
  if (is_right) {
    for (uint32_t i = 0; i < block->count && block->is_first; ++i) {
      memset(block->segments[i].soft, 0, block->code.n_cb * sizeof(*block->segments[i].soft));
    }
    return;
  }
  for (uint32_t i = 0; i < block->count; ++i) {
    const bo_received* const segment = &block->segments[i];
    if (has_soft(slot, block)) {
      bo_unpack_soft(&block->code, (const int16_t*)sent, segment->soft);
      sent += padded(bo_soft_bits(&block->code));
    } else {
      memset(segment->soft, 0, block->code.n_cb * sizeof(*segment->soft));
      bo_add_received(&block->code, block->qm, block->rv, segment->llrs, segment->e, segment->soft);
    }
  }
  block->verdict = BO_DECODED_SOFT;
}

static void append_crc(const bo_code* code, uint8_t* bits, size_t bytes) {
  const uint32_t crc = basebandd_crc(code->crc, bits, 8 * bytes);
  for (uint32_t left = code->crc_bits; left > 0; left -= 8)
    bits[bytes++] = (uint8_t)(crc >> (left - 8));
}

static void read_segment(const bo_code* code, const basebandd_code_block_result* result,
                         const uint8_t* from, bo_received* segment) {
  const size_t bytes = bits_bytes(code);
  segment->is_right = result->crc_ok;
  memset(segment->bits, 0, code->k / 8);
  if (!segment->is_right) return;
  memcpy(segment->bits, from, bytes);
  append_crc(code, segment->bits, bytes); /* which holds: the server has looked */
}

/* Whether the server holds the soft bits of a block, whose segments are those from `first` on. */
static bool is_held(const bo_decoding* slot, const bo_uplink_block* block, uint32_t first) {
  for (uint32_t i = 0; i < block->count; ++i) {
    if (slot->outcomes[first + i].harq == HARQ_OUTCOME_NOT_HELD) return false;
  }
  return true;
}

/* Once: it is the server's metrics that count. */
static void tell_of_lost(uint32_t outcome) {
  static atomic_bool is_told;
  if (atomic_exchange(&is_told, true)) return;
  bo_log(
      "the server does not hold all soft bits (HarqOutcome %u): its --client-object-mib, or "
      "--object-lifetime, is too small, or BASEBAND_HARQ=host the better choice",
      outcome);
}

static int read(bo_decoding* slot, const basebandd_answer* answer, const uint8_t* payload) {
  const void* data = NULL;
  size_t bytes = 0;
  size_t count = 0;
  const int outcomes = basebandd_read_decode_shared_channel(answer, slot->outcomes, BO_MAX_SEGMENTS,
                                                            slot->results, BO_MAX_SEGMENTS, &count);
  if (outcomes < 0 || basebandd_read_placed(answer, PAYLOAD_FIELD, &data, &bytes) < 0 ||
      count != slot->segments || bytes != slot->bits_bytes) {
    return -EBADMSG;
  }
  for (int i = 0; i < outcomes && i < (int)BO_MAX_SEGMENTS; ++i) {
    if (slot->outcomes[i].harq >= HARQ_OUTCOME_LOST) tell_of_lost(slot->outcomes[i].harq);
  }
  const uint8_t* from = data;
  const bool is_on_host = slot->client->settings.harq_on_host;
  uint32_t done = 0;
  for (uint32_t i = 0; i < slot->count; ++i) {
    bo_uplink_block* const block = &slot->blocks[i];
    if (!is_asked(slot, i)) continue;
    const uint8_t* const sent = payload;
    for (uint32_t j = 0; j < block->count; ++j) {
      read_segment(&block->code, &slot->results[done + j], from, &block->segments[j]);
      from += bits_bytes(&block->code);
      payload += padded(has_soft(slot, block) ? bo_soft_bits(&block->code) : block->segments[j].e);
    }
    if (is_on_host || !is_held(slot, block, done)) keep_soft(slot, block, sent);
    done += block->count;
  }
  return 0;
}

static int ask(bo_decoding* slot, bo_session* session, uint64_t deadline_ns, char* why,
               size_t room) {
  bo_exchange exchange = {.operation = BASEBANDD_DECODE_SHARED_CHANNEL,
                          .payload_bytes = slot->payload_bytes,
                          .reply_bytes = BASEBANDD_REPLY_BYTES(slot->bits_bytes, slot->segments),
                          .deadline_ns = deadline_ns};
  if (!bo_reserve(session, &exchange, slot->group_count * GROUP_BYTES, why, room)) return -ENOMEM;
  exchange.header_bytes = basebandd_describe_decode_shared_channel(
      slot->groups, slot->group_count, session->header, session->header_room);
  fill(slot, session->payload);
  basebandd_answer answer;
  int error = bo_run(session, &exchange, &answer, why, room);
  if (error < 0) return error;
  error = read(slot, &answer, session->payload);
  if (error < 0) snprintf(why, room, "its answer is none to what was asked");
  return error;
}

/* Of a slot that the server has answered, or not. */
static void note(bo_decoding* slot, bool is_answered) {
  for (uint32_t i = 0; i < slot->count; ++i) {
    bo_uplink_block* const block = &slot->blocks[i];
    bo_transmission* const done = &slot->transmissions[i];
    if (block->is_dropped) continue;
    if (block->verdict != BO_LEFT && !is_answered) {
      block->verdict = BO_LEFT;
      done->is_alone = !slot->client->settings.harq_on_host && !block->is_first;
    }
    if (slot->client->settings.harq_on_host) continue;
    const bo_place place = block->verdict == BO_DECODED ? BO_AT_SERVER : BO_AT_LIBRARY;
    if (block->verdict == BO_LEFT && done->is_alone) block->verdict = BO_LEFT_ALONE;
    bo_harq_end(&slot->client->harq, block->process, *done, place);
  }
}

/* False: the request was refused as it is; blocks alone may not be. */
static bool decode(bo_client* client, bo_uplink_block* blocks, uint32_t count,
                   uint64_t deadline_ns) {
  bo_decoding slot;
  slot.client = client;
  slot.blocks = blocks;
  slot.count = count;
  slot.group_count = 0;
  slot.segments = 0;
  slot.payload_bytes = 0;
  slot.bits_bytes = 0;
  plan(&slot);
  int error = -ENOTCONN;
  if (slot.segments > 0) {
    char why[256] = "";
    bo_session* const session = bo_take(&client->pool, deadline_ns, why, sizeof(why));
    if (session != NULL) {
      error = ask(&slot, session, deadline_ns, why, sizeof(why));
      if (session->may_run_late) bo_harq_give_up(&client->harq);
      bo_give_back(&client->pool, session);
    }
    if ((error == -EINVAL || error == -ENOMEM) && count > 1) return false;
    bo_health_tell(&client->health, error, why);
  }
  note(&slot, error == 0);
  return true;
}

void bo_decode_slot(bo_client* client, bo_uplink_block* blocks, uint32_t count) {
  const uint64_t deadline_ns = bo_now_ns() + client->settings.deadline_ns;
  if (decode(client, blocks, count, deadline_ns)) return;
  for (uint32_t i = 0; i < count; ++i) decode(client, &blocks[i], 1, deadline_ns);
}
