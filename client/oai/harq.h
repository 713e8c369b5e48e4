/* Where the soft bits are of the blocks that OpenAirInterface sends again, and what a transmission
 * is called towards the server. OpenAirInterface names a process and says when a block is new; a
 * block's soft bits stay where its first transmission was decoded: with the server, or with the
 * library, in OpenAirInterface's memory. A process of which nothing is known begins with whatever
 * transmission comes. Thread-safe. */
#ifndef BASEBAND_CLIENT_OAI_HARQ_H_
#define BASEBAND_CLIENT_OAI_HARQ_H_

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define BO_PROCESSES 4096U /* a power of two */
#define BO_KEY_BYTES 22U

typedef enum bo_place { BO_NOWHERE, BO_AT_SERVER, BO_AT_LIBRARY } bo_place;

/* A process: its number, which is unique in an instance, and its memory, in which instances that
 * share a program differ. */
typedef struct bo_process {
  uint32_t number;
  const void* memory;
} bo_process;

typedef struct bo_transmission {
  bo_place place;  /* who decodes it */
  bool is_alone;   /* the library has none of the earlier soft bits */
  uint32_t number; /* Harq.transmission */
  uint32_t block;  /* Harq.block */
  float llr_scale; /* the same in all transmissions that are combined; of a first one 0 */
  float llr_mean;  /* of those that it was chosen by */
} bo_transmission;

typedef struct bo_harq_entry {
  bo_process process;
  bo_place place;
  uint32_t number;
  uint32_t block;
  float llr_scale;
  float llr_mean;
} bo_harq_entry;

typedef struct bo_harq {
  pthread_mutex_t lock;
  uint8_t name[8]; /* of this program, random: the first bytes of its keys */
  /* Harq.block of blocks that begin now. A call that was given up may reach the server after the
   * next block of its process began; from then on blocks have another number, so that one is not
   * taken for the other. */
  uint32_t block;
  bo_harq_entry entries[BO_PROCESSES];
} bo_harq;

void bo_harq_init(bo_harq* harq);

/* How a transmission is decoded, if the server is there, or is not. */
bo_transmission bo_harq_begin(bo_harq* harq, bo_process process, bool is_first, bool has_server);

/* The server has answered it, and has its soft bits; or it went to the library. */
void bo_harq_end(bo_harq* harq, bo_process process, bo_transmission transmission, bo_place place);

/* A call was given up whose transmissions may still come to the server. */
void bo_harq_give_up(bo_harq* harq);

/* Harq.key of a segment's soft bits. */
void bo_harq_key(const bo_harq* harq, bo_process process, uint32_t segment,
                 uint8_t key[BO_KEY_BYTES]);

#endif /* BASEBAND_CLIENT_OAI_HARQ_H_ */
