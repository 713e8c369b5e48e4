#include "client/c/repeats.h"

#include <stdlib.h>
#include <string.h>

#define WAYS 4U /* places in which a header may be */

static uint64_t hash_of(const basebandd_request* request) { /* FNV-1a, by words */
  const uint8_t* const header = request->header;
  uint64_t value = 14695981039346656037U ^ (request->payload_bytes * 64 + request->operation);
  for (size_t at = 0; at < request->header_bytes; at += 8) {
    const size_t left = request->header_bytes - at;
    uint64_t word = 0;
    memcpy(&word, header + at, left < 8 ? left : 8);
    value = (value ^ word) * 1099511628211U;
    value ^= value >> 29;
  }
  return value == 0 ? 1 : value;
}

static uint32_t number_of(basebandd_repeat* place) {
  return atomic_load_explicit(&place->number, memory_order_acquire);
}

static int is_waiting(basebandd_repeat* place) {
  return place->header != NULL && number_of(place) == 0;
}

static int is_same(const basebandd_repeat* place, const basebandd_request* request) {
  return place->operation == request->operation && place->payload_bytes == request->payload_bytes &&
         place->header_bytes == request->header_bytes &&
         memcmp(place->header, request->header, request->header_bytes) == 0;
}

uint32_t basebandd_drop_repeat(basebandd_repeats* repeats, basebandd_repeat* place) {
  const uint32_t number = number_of(place);
  if (place->header != NULL) repeats->header_bytes -= place->header_bytes;
  free(place->header);
  place->header = NULL;
  place->hash = 0;
  place->used = 0;
  atomic_store_explicit(&place->number, 0, memory_order_relaxed);
  return number == BASEBANDD_NO_NUMBER ? 0 : number;
}

/* Of what takes room, and waits for nothing; but what came lately stays, or those that are too many
 * together would push each other out at each turn. */
static uint32_t drop_oldest(basebandd_repeats* repeats) {
  basebandd_repeat* oldest = NULL;
  for (basebandd_repeat* place = repeats->places; place < repeats->places + BASEBANDD_REPEATS;
       ++place) {
    if (place->header == NULL || number_of(place) == 0) continue;
    if (oldest == NULL || place->used < oldest->used) oldest = place;
  }
  if (oldest == NULL || repeats->clock - oldest->used < BASEBANDD_REPEATS) return 0;
  return basebandd_drop_repeat(repeats, oldest);
}

/* It has come again. If there is no room for its header that is made, for the next time. */
static basebandd_repeat* keep(basebandd_repeats* repeats, basebandd_repeat* place,
                              const basebandd_request* request, uint32_t* forgotten) {
  const size_t bytes = request->header_bytes;
  if (bytes > BASEBANDD_REPEATED_BYTES / 2) return NULL; /* it would push out all others */
  if (repeats->header_bytes + bytes > BASEBANDD_REPEATED_BYTES) {
    *forgotten = drop_oldest(repeats);
    return NULL;
  }
  place->header = malloc(bytes);
  if (place->header == NULL) return NULL;
  memcpy(place->header, request->header, bytes);
  place->header_bytes = bytes;
  place->payload_bytes = request->payload_bytes;
  place->operation = request->operation;
  repeats->header_bytes += bytes;
  return place;
}

uint32_t basebandd_find_repeat(basebandd_repeats* repeats, const basebandd_request* request,
                               int may_change, basebandd_repeat** registered, uint32_t* forgotten) {
  const uint64_t hash = hash_of(request);
  basebandd_repeat* oldest = NULL; /* a free place is the oldest */
  *registered = NULL;
  *forgotten = 0;
  for (uint64_t way = 0; way < WAYS; ++way) {
    basebandd_repeat* const place =
        &repeats->places[((hash >> 32) + way) & (BASEBANDD_REPEATS - 1)];
    if (place->hash == hash) {
      place->used = ++repeats->clock;
      if (place->header == NULL) {
        if (may_change) *registered = keep(repeats, place, request, forgotten);
        return 0;
      }
      const uint32_t number = number_of(place);
      return number != BASEBANDD_NO_NUMBER && number != 0 && is_same(place, request) ? number : 0;
    }
    if (!is_waiting(place) && (oldest == NULL || place->used < oldest->used)) oldest = place;
  }
  if (!may_change || oldest == NULL) return 0;
  *forgotten = basebandd_drop_repeat(repeats, oldest);
  oldest->hash = hash;
  oldest->used = ++repeats->clock;
  return 0;
}

void basebandd_free_repeats(basebandd_repeats* repeats) {
  if (repeats == NULL) return;
  for (uint32_t i = 0; i < BASEBANDD_REPEATS; ++i) free(repeats->places[i].header);
  free(repeats);
}
