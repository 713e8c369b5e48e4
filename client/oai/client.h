/* What all calls of OpenAirInterface share: settings, connections, soft bits; and what they ask of
 * the server, in words of ours, so that none of it depends on OpenAirInterface's headers. */
#ifndef BASEBAND_CLIENT_OAI_CLIENT_H_
#define BASEBAND_CLIENT_OAI_CLIENT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/oai/code.h"
#include "client/oai/harq.h"
#include "client/oai/health.h"
#include "client/oai/pool.h"
#include "client/oai/settings.h"

/* Of a call: of more a slot is decoded in parts, and encoded by the library. */
#define BO_MAX_BLOCKS 64U    /* transport blocks */
#define BO_MAX_SEGMENTS 512U /* code blocks */

typedef struct bo_client {
  bo_settings settings;
  bo_pool pool;
  bo_harq harq;
  bo_health health;
} bo_client;

/* Started by the first call; there is one in a program. Null: there are no threads. */
bo_client* bo_start(void);
/* Connections are closed, after calls that use them; the next call starts again. */
void bo_stop(void);

/* ---- decode.c */

typedef struct bo_received {
  const int16_t* llrs; /* e of them, as they were sent */
  uint32_t e;
  int16_t* soft; /* OpenAirInterface's memory of earlier transmissions: n_cb, with fillers */
  uint8_t* bits; /* answer: k / 8 bytes, CRC included; zeros if they are wrong */
  bool is_right; /* answer */
} bo_received;

typedef enum bo_verdict {
  BO_LEFT,        /* the library has to decode it, with the soft bits that it has */
  BO_LEFT_ALONE,  /* so, but `soft` has nothing of earlier transmissions: to be cleared */
  BO_DECODED,     /* is_right and bits of each segment say what came of it */
  BO_DECODED_SOFT /* so; and `soft` has the soft bits of this transmission as well */
} bo_verdict;

typedef struct bo_uplink_block {
  bo_code code;
  bo_process process;
  uint32_t qm;
  uint32_t rv;
  uint32_t max_iterations;
  bool is_first;   /* whatever soft bits there are, they are another block's */
  bool is_dropped; /* nobody wants it any more */
  bo_received* segments;
  uint32_t count;
  bo_verdict verdict; /* answer */
} bo_uplink_block;

/* A slot, in one request; if that is refused, each block in one of its own. Never fails: what could
 * not be decoded is left to the library. */
void bo_decode_slot(bo_client* client, bo_uplink_block* blocks, uint32_t count);

/* ---- encode.c */

typedef struct bo_sent {
  const uint8_t* bits; /* k - n_filler, CRC included */
  uint32_t e;
} bo_sent;

typedef struct bo_downlink_block {
  bo_code code;
  uint32_t qm;
  uint32_t rv;
  const bo_sent* segments;
  uint32_t count;
  uint8_t* output; /* all segments' bits behind each other, the first in the lowest bit of a byte */
} bo_downlink_block;

/* A slot, in one request. False: it is the library's. */
bool bo_encode_slot(bo_client* client, const bo_downlink_block* blocks, uint32_t count);

/* ---- code_word.c: single code blocks, without rate matching */

typedef struct bo_code_word {
  uint32_t base_graph;
  uint32_t zc;
  uint32_t max_iterations;
  uint32_t llr_count; /* from the first bit that is sent on */
} bo_code_word;

/* `bits`: k / 8 bytes, rounded up. Iterations that it took, or max_iterations if it failed; below
 * 0: it is the library's. */
int bo_decode_word(bo_client* client, const bo_code_word* word, const int8_t* llrs, uint8_t* bits);

/* `words`, at most 8, of `segments`, are encoded side by side: bit j of output[i] is bit i that is
 * sent of segment j. False: it is the library's. */
bool bo_encode_words(bo_client* client, uint32_t base_graph, uint32_t zc,
                     const uint8_t* const* segments, uint32_t words, uint8_t* output);

#endif /* BASEBAND_CLIENT_OAI_CLIENT_H_ */
