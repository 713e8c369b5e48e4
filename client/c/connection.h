/* A connection from the inside. Internal to the library. */
#ifndef BASEBAND_CLIENT_C_CONNECTION_H_
#define BASEBAND_CLIENT_C_CONNECTION_H_

#include <stdatomic.h>
#include <stdint.h>

#include "client/c/basebandd.h"
#include "client/c/heap.h"
#include "client/c/repeats.h"
#include "common/shm/ring.h"

/* A request that is in flight: written by who submits, until `ticket` is stored; then by who polls,
 * until the slot is freed. On the ring its id is the ticket, so that an answer is found at once,
 * and one that nobody waits for is told. */
typedef struct {
  _Atomic uint64_t ticket; /* 0: not in flight; else its number, from 1 on, and the slot's */
  uint64_t id;
  void* reply;
  size_t reply_bytes;
  void* header_copy; /* a loan, or null */
  uint8_t kind;
  uint8_t is_abandoned; /* nobody wants the answer; the reply is the library's loan, or null */
  basebandd_repeat* registers; /* whose number the answer is, or null */
} basebandd_slot;

/* Bits of a ticket that are the slot's number: BASEBANDD_MAX_ENTRIES - 1. */
#define BASEBANDD_TICKET_SLOT 4095U
#define BASEBANDD_TICKET_SHIFT 12

/* Bytes that the region of any connection has at most. */
#define BASEBANDD_MAX_REGION ((uint64_t)1 << 36)

struct basebandd_connection {
  /* Set up by open. */
  int socket;
  int bell;
  uint8_t server_id[16];
  uint8_t* region;
  size_t region_bytes;
  uint64_t heap_offset; /* in the region */
  basebandd_heap* heap;
  BasebandRing ring;
  uint64_t spin_ns;
  const uint8_t* is_ours; /* a page that is zeros in a child that was forked */
  basebandd_slot* slots;
  /* Free slots go from who polls to who submits in a ring of their own. */
  uint32_t* free_slots;
  basebandd_answer* kept; /* that _call has set aside for _poll; their slots are not freed yet */
  uint32_t* kept_slots;

  /* 0, EPIPE or EPROTO; who polls stores it, after the text. */
  _Atomic int ended;
  char ended_text[256];

  /* Who submits: */
  _Alignas(64) _Atomic uint64_t submitted;
  basebandd_repeats* repeats; /* null: nothing has been said to repeat */
  /* Who polls: */
  _Alignas(64) _Atomic uint64_t freed;
  uint64_t completed; /* completions that were read from the ring */
  uint64_t seen;      /* completions that were there once: `completed`, or one more */
  uint64_t kept_begin;
  uint64_t kept_end;
  uint64_t server_seen_ns; /* when it was looked for last */
  uint32_t next_lost;      /* the slot to look at next for what an end has lost */
  uint8_t has_lost;
};

/* -EBADF in a child of the process that has opened it. */
int basebandd_check_owner(const basebandd_connection* connection);
/* The error that ended it, with its text, or 0. */
int basebandd_check_ended(basebandd_connection* connection);
uint64_t basebandd_now_ns(void);
/* What a server says that refuses, as an error. */
int basebandd_refused(uint32_t code, const char* text, size_t text_bytes);

/* As basebandd_submit; the slot goes to `slot`. The bell is the caller's to ring if *wakes
 * becomes 1. */
int basebandd_put(basebandd_connection* connection, const basebandd_request* request,
                  basebandd_slot** slot, int* wakes);
void basebandd_ring_bell(const basebandd_connection* connection);

#endif /* BASEBAND_CLIENT_C_CONNECTION_H_ */
