/* Single code blocks, for LDPCdecoder and LDPCencoder. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/oai/bits.h"
#include "client/oai/client.h"
#include "client/oai/clock.h"

#define FLOODING 2U /* DecodeSchedule */
#define PAYLOAD_FIELD 15U
#define HEADER_BYTES 128U
#define MOST_ITERATIONS 100U

static uint32_t k_of(uint32_t base_graph, uint32_t zc) { return (base_graph == 1 ? 22 : 10) * zc; }

/* With the payload in place: the answer's bits, or null. */
static const uint8_t* run(bo_session* session, const bo_exchange* exchange, size_t bytes,
                          basebandd_answer* answer, char* why, size_t room) {
  if (bo_run(session, exchange, answer, why, room) < 0) return NULL;
  const void* data = NULL;
  size_t data_bytes = 0;
  if (basebandd_read_placed(answer, PAYLOAD_FIELD, &data, &data_bytes) == 0 &&
      data_bytes == bytes) {
    return data;
  }
  snprintf(why, room, "its answer is none to what was asked");
  return NULL;
}

static bo_exchange exchange_of(const bo_client* client, uint8_t operation,
                               const basebandd_sizes* sizes) {
  return (bo_exchange){.operation = operation,
                       .payload_bytes = sizes->payload_bytes,
                       .reply_bytes = sizes->reply_bytes,
                       .deadline_ns = bo_now_ns() + client->settings.deadline_ns};
}

int bo_decode_word(bo_client* client, const bo_code_word* word, const int8_t* llrs, uint8_t* bits) {
  basebandd_decode_group group = {.code = {.base_graph = word->base_graph, .zc = word->zc},
                                  .count = 1,
                                  .llr_count = word->llr_count,
                                  .max_iterations = word->max_iterations};
  if (client->settings.is_flooding) { /* as OpenAirInterface's own: it counts from 0 on */
    group.schedule = FLOODING;
    group.scale_factor = 1;
    ++group.max_iterations;
  }
  if (group.max_iterations > MOST_ITERATIONS) group.max_iterations = MOST_ITERATIONS;
  basebandd_sizes sizes;
  if (basebandd_size_decode(&group, 1, &sizes) < 0) return -1;
  bo_exchange exchange = exchange_of(client, BASEBANDD_DECODE, &sizes);

  char why[256] = "";
  int iterations = -1;
  bo_session* const session = bo_take(&client->pool, exchange.deadline_ns, why, sizeof(why));
  if (session != NULL && bo_reserve(session, &exchange, HEADER_BYTES, why, sizeof(why))) {
    memcpy(session->payload, llrs, sizes.payload_bytes);
    exchange.header_bytes = basebandd_describe_decode(&group, 1, session->header, HEADER_BYTES);
    const size_t bytes = (k_of(word->base_graph, word->zc) + 7) / 8;
    basebandd_answer answer;
    const uint8_t* const decided = run(session, &exchange, bytes, &answer, why, sizeof(why));
    basebandd_code_block_result result;
    if (decided != NULL && basebandd_read_decode(&answer, &result, 1) == 1) {
      memcpy(bits, decided, bytes);
      iterations = (int)word->max_iterations;
      if (result.parity_ok && result.iterations <= word->max_iterations) {
        iterations = (int)result.iterations - 1; /* as OpenAirInterface counts */
      }
    }
  }
  if (session != NULL) bo_give_back(&client->pool, session);
  bo_health_tell(&client->health, iterations >= 0 ? 0 : -EIO, why);
  return iterations;
}

bool bo_encode_words(bo_client* client, uint32_t base_graph, uint32_t zc,
                     const uint8_t* const* segments, uint32_t words, uint8_t* output) {
  const basebandd_encode_group group = {.code = {.base_graph = base_graph, .zc = zc},
                                        .count = words,
                                        .output = BASEBANDD_OUTPUT_CODEWORD};
  basebandd_sizes sizes;
  if (basebandd_size_encode(&group, 1, &sizes) < 0) return false;
  bo_exchange exchange = exchange_of(client, BASEBANDD_ENCODE, &sizes);

  char why[256] = "";
  bool is_answered = false;
  bo_session* const session = bo_take(&client->pool, exchange.deadline_ns, why, sizeof(why));
  if (session != NULL && bo_reserve(session, &exchange, HEADER_BYTES, why, sizeof(why))) {
    const size_t payload_bytes = (k_of(base_graph, zc) + 7) / 8;
    for (uint32_t i = 0; i < words; ++i) {
      memcpy((uint8_t*)session->payload + i * payload_bytes, segments[i], payload_bytes);
    }
    exchange.header_bytes = basebandd_describe_encode(&group, 1, session->header, HEADER_BYTES);
    const size_t bits = (size_t)(base_graph == 1 ? 66 : 50) * zc;
    const size_t bytes = (bits + 7) / 8;
    basebandd_answer answer;
    const uint8_t* const coded = run(session, &exchange, words * bytes, &answer, why, sizeof(why));
    is_answered = coded != NULL;
    if (is_answered) bo_transpose_bits(coded, bytes, words, bits, output);
  }
  if (session != NULL) bo_give_back(&client->pool, session);
  bo_health_tell(&client->health, is_answered ? 0 : -EIO, why);
  return is_answered;
}
