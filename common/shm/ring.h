/* The ring by which a client of this host hands jobs to the server without a call: two arrays in
 * memory that both map, one of submissions, which the client writes, one of completions, which the
 * server writes. In C, for the client's library is (client/c); client/shm/README.md states the same
 * to the byte for other languages.
 *
 *   client                                            server
 *   baseband_ring_submit(ring, k, &submission)   ->   baseband_ring_take(ring, k, &submission)
 *   baseband_ring_next(ring, n, &completion)     <-   baseband_ring_complete(ring, n, &completion)
 *
 * Each array has one writer and one reader, and each of these knows by itself how many entries it
 * has written or read, from 0 on: entry k lies in place k modulo `entries`, and is there once its
 * `sequence` is k + 1, modulo 2^32. Neither looks at a counter of the other's, so that there is
 * none that could be wrong. A client has at most `entries` requests that it has not read the
 * completion of; then no place is written before it was read. Who submits more overwrites its own.
 *
 * Memory ordering: the writer stores `sequence` last and with release semantics; the reader loads
 * it with acquire semantics, then copies the entry, and looks at the copy alone. Who wants to sleep
 * stores 1 to its `waits`, looks once more whether an entry is there, and sleeps if none is; who
 * has written one looks at the other's `waits`, and wakes it if that was 1. These four accesses
 * (both `sequence`, both `waits`) are sequentially consistent: of "sleeps" and "does not wake" at
 * most one happens. */
#ifndef BASEBAND_COMMON_SHM_RING_H_
#define BASEBAND_COMMON_SHM_RING_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#define BASEBAND_RING_ASSERT static_assert
#else
#define BASEBAND_RING_ASSERT _Static_assert
#endif

/* How entries are read and written; a test puts its own in their place, to try every order. */
#ifndef BASEBAND_RING_ATOMICS
#define BASEBAND_RING_ATOMICS
#define BASEBAND_RING_LOAD(word) __atomic_load_n((word), __ATOMIC_SEQ_CST)
#define BASEBAND_RING_STORE(word, value) __atomic_store_n((word), (value), __ATOMIC_SEQ_CST)
#define BASEBAND_RING_EXCHANGE(word, value) __atomic_exchange_n((word), (value), __ATOMIC_SEQ_CST)
#define BASEBAND_RING_COPY(to, from, bytes) memcpy((to), (from), (bytes))
#endif

#define BASEBAND_RING_VERSION 1U
#define BASEBAND_RING_MAX_ENTRIES 4096U /* a power of two, as every number of entries is */

enum BasebandRingKind {
  BASEBAND_RING_RUN = 0,      /* the request of a registered job, or the one at `header_offset` */
  BASEBAND_RING_REGISTER = 1, /* the request at `header_offset` from now on has a number */
  BASEBAND_RING_FORGET = 2,   /* `job` may be another's number from now on */
};

/* Offsets count from the beginning of the ring's region; ranges begin at multiples of 64 there. */
typedef struct {
  uint64_t id; /* the client's name for it, given back */
  /* When it is of no use any more, in nanoseconds of CLOCK_MONOTONIC; 0: never. */
  uint64_t deadline_ns;
  uint64_t header_offset; /* of the operation's request, serialized, without its payload */
  uint64_t payload_offset;
  uint64_t reply_offset;
  uint32_t header_bytes;  /* 0 if `job` says what to do */
  uint32_t payload_bytes; /* of REGISTER: those of each submission; there is no payload yet */
  uint32_t reply_bytes;   /* a multiple of 64; see BasebandCompletion */
  uint32_t job;           /* a number that REGISTER gave; 0: none */
  uint8_t kind;           /* BasebandRingKind */
  uint8_t operation;      /* its field in baseband.v1.SubmitRequest; with a header only */
  uint8_t priority;       /* baseband.v1.Priority */
  uint8_t reserved;       /* 0 */
  uint32_t sequence;
} BasebandSubmission;
BASEBAND_RING_ASSERT(sizeof(BasebandSubmission) == 64, "a cache line");

/* An answer lies in the reply's range: first the response's bytes fields, each from a multiple of
 * 64 on, then the response without them, serialized; it says in `placed` where each of them is. Of
 * a request that was refused, the header is a text that says why, cut to what there is room for. */
typedef struct {
  uint64_t id;
  uint64_t payload_offset; /* of the first bytes field of the response */
  uint64_t payload_bytes;
  uint64_t header_offset;
  uint32_t header_bytes;
  uint32_t code; /* 0, or a canonical code of gRPC */
  /* Of REGISTER: the number of the job, from 1 on. Of RESOURCE_EXHAUSTED: after how many
   * microseconds to try again. Of OUT_OF_RANGE: how many bytes the reply has to have, for which
   * there were too few; nothing was done. Of UNAVAILABLE and INTERNAL: 1 if a device that was lost
   * may still write to the reply. */
  uint64_t value;
  uint32_t reserved[3];
  uint32_t sequence;
} BasebandCompletion;
BASEBAND_RING_ASSERT(sizeof(BasebandCompletion) == 64, "a cache line");

/* At the beginning of a ring; then the submissions, then the completions. Written by the client
 * before the ring is opened: all zeros but the first line. */
typedef struct {
  uint32_t version; /* BASEBAND_RING_VERSION */
  uint32_t entries; /* of each array: a power of two */
  uint32_t reserved_config[14];
  uint32_t server_waits; /* 1: wants the bell, an eventfd, to be rung */
  uint32_t reserved_server[15];
  uint32_t client_waits; /* 1: wants to be woken; a futex, not a private one */
  uint32_t reserved_client[15];
} BasebandRingHeader;
BASEBAND_RING_ASSERT(sizeof(BasebandRingHeader) == 3 * 64, "cache lines");

/* One side's view of a ring that is mapped at `header`. `entries` is a copy that was checked. */
typedef struct {
  BasebandRingHeader* header;
  BasebandSubmission* submissions;
  BasebandCompletion* completions;
  uint32_t entries;
} BasebandRing;

static inline int baseband_ring_is_size(uint32_t entries) {
  return entries >= 1 && entries <= BASEBAND_RING_MAX_ENTRIES && (entries & (entries - 1)) == 0;
}

/* Bytes that a ring takes, from a multiple of 64 on. */
static inline uint64_t baseband_ring_bytes(uint32_t entries) {
  return sizeof(BasebandRingHeader) +
         (uint64_t)entries * (sizeof(BasebandSubmission) + sizeof(BasebandCompletion));
}

static inline BasebandRing baseband_ring_at(void* memory, uint32_t entries) {
  BasebandRing ring;
  ring.header = (BasebandRingHeader*)memory;
  ring.submissions = (BasebandSubmission*)(ring.header + 1);
  ring.completions = (BasebandCompletion*)(ring.submissions + entries);
  ring.entries = entries;
  return ring;
}

static inline uint32_t baseband_ring_sequence(uint64_t k) { return (uint32_t)(k + 1); }

/* The other side was asleep, as its `waits` said, and has to be woken now: once. */
static inline int baseband_ring_wakes(uint32_t* waits) {
  return BASEBAND_RING_LOAD(waits) == 1 && BASEBAND_RING_EXCHANGE(waits, 0) == 1;
}

/* Whether the reader may sleep until its `waits` is 0: entry k is not there. */
static inline int baseband_ring_may_sleep(uint32_t* waits, uint32_t* sequence, uint64_t k) {
  BASEBAND_RING_STORE(waits, 1);
  if (BASEBAND_RING_LOAD(sequence) != baseband_ring_sequence(k)) return 1;
  BASEBAND_RING_STORE(waits, 0);
  return 0;
}

/* ---- the client's: k and n count what it has submitted, and what it has read */

/* 1: the server's bell has to be rung. */
static inline int baseband_ring_submit(const BasebandRing* ring, uint64_t k,
                                       const BasebandSubmission* submission) {
  BasebandSubmission* const place = &ring->submissions[k & (ring->entries - 1)];
  BASEBAND_RING_COPY(place, submission, offsetof(BasebandSubmission, sequence));
  BASEBAND_RING_STORE(&place->sequence, baseband_ring_sequence(k));
  return baseband_ring_wakes(&ring->header->server_waits);
}

/* 0: it is not there. */
static inline int baseband_ring_next(const BasebandRing* ring, uint64_t n,
                                     BasebandCompletion* completion) {
  BasebandCompletion* const place = &ring->completions[n & (ring->entries - 1)];
  if (BASEBAND_RING_LOAD(&place->sequence) != baseband_ring_sequence(n)) return 0;
  BASEBAND_RING_COPY(completion, place, sizeof(*place));
  return 1;
}

/* 1: no completion n is there; the client may wait on the futex `client_waits` while it is 1. */
static inline int baseband_ring_client_may_sleep(const BasebandRing* ring, uint64_t n) {
  return baseband_ring_may_sleep(&ring->header->client_waits,
                                 &ring->completions[n & (ring->entries - 1)].sequence, n);
}

/* ---- the server's: k and n count what it has taken, and what it has completed */

/* 0: it is not there. */
static inline int baseband_ring_take(const BasebandRing* ring, uint64_t k,
                                     BasebandSubmission* submission) {
  BasebandSubmission* const place = &ring->submissions[k & (ring->entries - 1)];
  if (BASEBAND_RING_LOAD(&place->sequence) != baseband_ring_sequence(k)) return 0;
  BASEBAND_RING_COPY(submission, place, sizeof(*place));
  return 1;
}

/* 1: the client has to be woken, by the futex `client_waits`. */
static inline int baseband_ring_complete(const BasebandRing* ring, uint64_t n,
                                         const BasebandCompletion* completion) {
  BasebandCompletion* const place = &ring->completions[n & (ring->entries - 1)];
  BASEBAND_RING_COPY(place, completion, offsetof(BasebandCompletion, sequence));
  BASEBAND_RING_STORE(&place->sequence, baseband_ring_sequence(n));
  return baseband_ring_wakes(&ring->header->client_waits);
}

/* 1: no submission k is there; the server may wait for the bell. */
static inline int baseband_ring_server_may_sleep(const BasebandRing* ring, uint64_t k) {
  return baseband_ring_may_sleep(&ring->header->server_waits,
                                 &ring->submissions[k & (ring->entries - 1)].sequence, k);
}

#endif /* BASEBAND_COMMON_SHM_RING_H_ */
