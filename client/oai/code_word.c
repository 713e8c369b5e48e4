/* Single code blocks, for LDPCdecoder and LDPCencoder. */
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

typedef struct bo_word_call {
  basebandd_sizes sizes;
  basebandd_decode_group decode;
  basebandd_encode_group encode; /* of count 0: it is not one */
} bo_word_call;

static bool reserve(const bo_word_call* call, bo_session* session, char* why, size_t room) {
  if (bo_reserve_header(session, HEADER_BYTES) == 0 &&
      bo_reserve(session, call->sizes.payload_bytes, call->sizes.reply_bytes) == 0) {
    return true;
  }
  snprintf(why, room, "BASEBAND_MEMORY_MIB has no room for a code block");
  return false;
}

/* With the payload in place: the answer's bits, or null. */
static const uint8_t* run(const bo_word_call* call, bo_session* session, uint64_t deadline_ns,
                          size_t bytes, basebandd_answer* answer, char* why, size_t room) {
  const bool is_encode = call->encode.count > 0;
  const int header_bytes =
      is_encode ? basebandd_describe_encode(&call->encode, 1, session->header, HEADER_BYTES)
                : basebandd_describe_decode(&call->decode, 1, session->header, HEADER_BYTES);
  if (header_bytes < 0) return NULL;
  const bo_exchange exchange = {.operation = is_encode ? BASEBANDD_ENCODE : BASEBANDD_DECODE,
                                .header_bytes = (size_t)header_bytes,
                                .payload_bytes = call->sizes.payload_bytes,
                                .reply_bytes = call->sizes.reply_bytes,
                                .deadline_ns = deadline_ns};
  if (bo_run(session, &exchange, answer, why, room) < 0) return NULL;
  const void* data = NULL;
  size_t data_bytes = 0;
  if (basebandd_read_placed(answer, PAYLOAD_FIELD, &data, &data_bytes) == 0 &&
      data_bytes == bytes) {
    return data;
  }
  snprintf(why, room, "its answer is none to what was asked");
  return NULL;
}

int bo_decode_word(bo_client* client, const bo_code_word* word, const int8_t* llrs, uint8_t* bits) {
  bo_word_call call = {.decode = {.code = {.base_graph = word->base_graph, .zc = word->zc},
                                  .count = 1,
                                  .llr_count = word->llr_count,
                                  .max_iterations = word->max_iterations}};
  if (client->settings.is_flooding) { /* as OpenAirInterface's own: it counts from 0 on */
    call.decode.schedule = FLOODING;
    call.decode.scale_factor = 1;
    ++call.decode.max_iterations;
  }
  if (call.decode.max_iterations > MOST_ITERATIONS) call.decode.max_iterations = MOST_ITERATIONS;
  if (basebandd_size_decode(&call.decode, 1, &call.sizes) < 0) return -1;

  char why[256] = "";
  int iterations = -1;
  const uint64_t deadline_ns = bo_now_ns() + client->settings.deadline_ns;
  bo_session* const session = bo_take(&client->pool, deadline_ns, why, sizeof(why));
  if (session != NULL && reserve(&call, session, why, sizeof(why))) {
    memcpy(session->payload, llrs, call.sizes.payload_bytes);
    const size_t bytes = (k_of(word->base_graph, word->zc) + 7) / 8;
    basebandd_answer answer;
    const uint8_t* const decided =
        run(&call, session, deadline_ns, bytes, &answer, why, sizeof(why));
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
  bo_health_tell(&client->health, iterations >= 0, why);
  return iterations;
}

bool bo_encode_words(bo_client* client, uint32_t base_graph, uint32_t zc,
                     const uint8_t* const* segments, uint32_t words, uint8_t* output) {
  bo_word_call call = {.encode = {.code = {.base_graph = base_graph, .zc = zc},
                                  .count = words,
                                  .output = BASEBANDD_OUTPUT_CODEWORD}};
  if (basebandd_size_encode(&call.encode, 1, &call.sizes) < 0) return false;

  char why[256] = "";
  bool is_answered = false;
  const uint64_t deadline_ns = bo_now_ns() + client->settings.deadline_ns;
  bo_session* const session = bo_take(&client->pool, deadline_ns, why, sizeof(why));
  if (session != NULL && reserve(&call, session, why, sizeof(why))) {
    const size_t payload_bytes = (k_of(base_graph, zc) + 7) / 8;
    for (uint32_t i = 0; i < words; ++i) {
      memcpy((uint8_t*)session->payload + i * payload_bytes, segments[i], payload_bytes);
    }
    const size_t bits = (size_t)(base_graph == 1 ? 66 : 50) * zc;
    const size_t bytes = (bits + 7) / 8;
    basebandd_answer answer;
    const uint8_t* const coded =
        run(&call, session, deadline_ns, words * bytes, &answer, why, sizeof(why));
    is_answered = coded != NULL;
    if (is_answered) bo_transpose_bits(coded, bytes, words, bits, output);
  }
  if (session != NULL) bo_give_back(&client->pool, session);
  bo_health_tell(&client->health, is_answered, why);
  return is_answered;
}
