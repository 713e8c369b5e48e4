/* What a queue is, for the files that it is made of: queue.c takes operations in and out, keeping.c
 * has its connection. */
#ifndef BASEBAND_CLIENT_BBDEV_QUEUE_STATE_H_
#define BASEBAND_CLIENT_BBDEV_QUEUE_STATE_H_

#include <rte_spinlock.h>
#include <stdatomic.h>
#include <time.h>

#include "client/bbdev/queue.h"
#include "client/bbdev/work.h"

typedef struct bb_slot {
  void* op; /* rte_bbdev_enc_op or rte_bbdev_dec_op */
  void* payload;
  void* reply;
  int status;
  bool is_decode;
  bool is_done;
  bb_shape shape; /* of no code blocks: the operation is so wrong that it has none */
} bb_slot;

struct bb_queue {
  rte_spinlock_t lock;          /* of what changes, but for what the keeper has */
  basebandd_connection* server; /* null: away, or not there yet */
  bool is_stale; /* a lost device may write to replies until the connection is closed */
  uint32_t head; /* slots head .. tail - 1 are taken, modulo size */
  uint32_t tail;
  uint64_t next_complaint; /* by rte_get_timer_cycles */
  uint32_t untold;         /* complaints since the last one */
  uint64_t next_look;      /* for the server */
  uint32_t watched_head;   /* the oldest operation .. */
  uint64_t watched_since;  /* .. since then, or since the queue was empty */

  /* What the threads of operations ask of the keeper, and it gives them: neither waits. */
  atomic_bool is_wanted;
  atomic_uint refused; /* operations that memory_mib had no room for: the keeper tells */
  _Atomic(basebandd_connection*) offered;
  uint64_t next_attempt_ns; /* the keeper's own */
  uint64_t pause_ns;
  uint64_t next_refusal_ns;
  int last_error;

  bb_slot* slots;
  uint32_t size; /* a power of two */
  const bb_arguments* arguments;
  bb_harq* harq;
  uint16_t id;
  uint8_t priority; /* basebandd_priority */
};

static inline bb_slot* bb_slot_of(const bb_queue* queue, uint32_t index) {
  return &queue->slots[index & (queue->size - 1)];
}

static inline uint64_t bb_now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Under the queue's lock: */

/* The operation ends undone. Who reads no more of a status than the CRC's bit sees it there. */
void bb_fail(bb_queue* queue, bb_slot* slot, int status);
/* The connection is closed: all that was on its way is done, for better or worse. */
void bb_lose(bb_queue* queue, const char* why);
/* Takes the connection that the keeper has made, or asks for one. */
void bb_renew(bb_queue* queue);
/* Of who finds no answer, now and then: whether the server is there, and at work. */
void bb_look(bb_queue* queue);

#endif /* BASEBAND_CLIENT_BBDEV_QUEUE_STATE_H_ */
