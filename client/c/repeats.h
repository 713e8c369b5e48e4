/* Which headers the server knows by a number, of requests with `repeats`. Internal to the library.
 *
 * One that comes a second time is registered, beside the work: until its number is there, requests
 * bring it along. Those that have not come for the longest time give their places to others. All of
 * it is who submits', but the number of a place that waits for one: that who polls stores. */
#ifndef BASEBAND_CLIENT_C_REPEATS_H_
#define BASEBAND_CLIENT_C_REPEATS_H_

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "client/c/basebandd.h"

#define BASEBANDD_REPEATS 512U                 /* of 1024 numbers that a ring may have .. */
#define BASEBANDD_REPEATED_BYTES (60U * 1024U) /* .. with headers of 64 KiB together */
#define BASEBANDD_NO_NUMBER UINT32_MAX         /* the server gives it none */

typedef struct {
  uint64_t hash; /* of all that makes it; 0: the place is free */
  uint64_t used; /* by the clock of basebandd_repeats */
  uint64_t payload_bytes;
  void* header; /* null: it has come once */
  size_t header_bytes;
  _Atomic uint32_t number; /* 0: there is none yet */
  uint8_t operation;
} basebandd_repeat;

typedef struct {
  basebandd_repeat places[BASEBANDD_REPEATS];
  size_t header_bytes; /* of those that have headers here */
  uint64_t clock;
} basebandd_repeats;

/* The number of the request's header; 0: it has none. With `may_change` it gets a place, or, if it
 * has one, is to be registered: then that is `registered`. `forgotten` is a number that the server
 * need not keep any more, or 0. */
uint32_t basebandd_find_repeat(basebandd_repeats* repeats, const basebandd_request* request,
                               int may_change, basebandd_repeat** registered, uint32_t* forgotten);

/* The place is free; it waits for no number. Returns what the server knows in it, or 0. */
uint32_t basebandd_drop_repeat(basebandd_repeats* repeats, basebandd_repeat* place);

void basebandd_free_repeats(basebandd_repeats* repeats); /* may be null */

#endif /* BASEBAND_CLIENT_C_REPEATS_H_ */
