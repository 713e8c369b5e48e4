/* From the caller's requests to the ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/c/connection.h"
#include "client/c/error.h"

int basebandd_check_ended(basebandd_connection* connection) {
  const int ended = atomic_load_explicit(&connection->ended, memory_order_acquire);
  return ended == 0 ? 0 : basebandd_fail(-ended, "%s", connection->ended_text);
}

/* Where a range of the caller's lies in the region; `bytes` of 0, or without memory, lie at 0. */
static int place(const basebandd_connection* connection, const char* field, const void* memory,
                 size_t bytes, int is_size_alone, uint64_t* offset) {
  *offset = 0;
  if (bytes > UINT32_MAX) {
    return basebandd_fail(-EINVAL, "%s_bytes %zu is not in [0, %u]", field, bytes, UINT32_MAX);
  }
  if (bytes == 0 || is_size_alone) return 0;
  const uintptr_t begin = (uintptr_t)memory - (uintptr_t)connection->region;
  if (begin < connection->heap_offset || begin > connection->region_bytes ||
      bytes > connection->region_bytes - begin) {
    return basebandd_fail(-EINVAL, "%s, %zu bytes, is not in the memory that is lent", field,
                          bytes);
  }
  if (begin % BASEBANDD_ALIGNMENT != 0) {
    return basebandd_fail(-EINVAL, "%s does not begin at a multiple of %u bytes", field,
                          BASEBANDD_ALIGNMENT);
  }
  *offset = begin;
  return 0;
}

static int check_fields(const basebandd_request* request) {
  if (request->kind > BASEBANDD_FORGET) {
    return basebandd_fail(-EINVAL, "kind %u is not in [0, 2]", request->kind);
  }
  if (request->priority > BASEBANDD_PRIORITY_LOW) {
    return basebandd_fail(-EINVAL, "priority %u is not in [0, 3]", request->priority);
  }
  if (request->repeats > 1) {
    return basebandd_fail(-EINVAL, "repeats %u is not in [0, 1]", request->repeats);
  }
  const int has_header = request->header_bytes != 0;
  const int has_job = request->job != 0;
  if (request->kind == BASEBANDD_RUN ? has_header == has_job
                                     : has_header != (request->kind == BASEBANDD_REGISTER) ||
                                           has_job != (request->kind == BASEBANDD_FORGET)) {
    return basebandd_fail(-EINVAL, "header_bytes %zu and job %u: kind %u takes %s",
                          request->header_bytes, request->job, request->kind,
                          request->kind == BASEBANDD_RUN        ? "one of them"
                          : request->kind == BASEBANDD_REGISTER ? "a header"
                                                                : "a job");
  }
  if ((request->operation != 0) != has_header) {
    return basebandd_fail(-EINVAL, "operation %u: it is set with a header, and only then",
                          request->operation);
  }
  if (request->repeats && (request->kind != BASEBANDD_RUN || !has_header)) {
    return basebandd_fail(-EINVAL, "repeats 1 is of a header that is run");
  }
  if (request->header_bytes > UINT32_MAX) {
    return basebandd_fail(-EINVAL, "header_bytes %zu is not in [0, %u]", request->header_bytes,
                          UINT32_MAX);
  }
  if (request->header == NULL && has_header) {
    return basebandd_fail(-EINVAL, "header is null, header_bytes %zu", request->header_bytes);
  }
  if (request->reply_bytes % BASEBANDD_ALIGNMENT != 0) {
    return basebandd_fail(-EINVAL, "reply_bytes %zu is no multiple of %u", request->reply_bytes,
                          BASEBANDD_ALIGNMENT);
  }
  return 0;
}

/* The header where the server can read it: there already, or a copy. */
static int place_header(basebandd_connection* connection, const basebandd_request* request,
                        uint64_t* offset, void** copy) {
  *offset = 0;
  *copy = NULL;
  if (request->header_bytes == 0) return 0;
  const uintptr_t begin = (uintptr_t)request->header - (uintptr_t)connection->region;
  if (begin >= connection->heap_offset && begin < connection->region_bytes &&
      begin % BASEBANDD_ALIGNMENT == 0) {
    return place(connection, "header", request->header, request->header_bytes, 0, offset);
  }
  *copy = basebandd_loan(connection, request->header_bytes);
  if (*copy == NULL) return -ENOMEM;
  memcpy(*copy, request->header, request->header_bytes);
  *offset = (uint64_t)((uint8_t*)*copy - connection->region);
  return 0;
}

/* Nobody wants the answer where the library asks for itself: `registers` then gets its number. */
static int put(basebandd_connection* connection, const basebandd_request* request, int is_own,
               basebandd_repeat* registers, basebandd_slot** slot, int* wakes) {
  const uint64_t k = atomic_load_explicit(&connection->submitted, memory_order_relaxed);
  /* Slots are taken in the order in which they were freed: the k-th that was is for request k. */
  if (atomic_load_explicit(&connection->freed, memory_order_acquire) == k) {
    return basebandd_fail_fast(-EAGAIN, "as many requests as entries are in flight");
  }
  BasebandSubmission submission = {0};
  void* header_copy;
  int error = check_fields(request);
  if (error == 0) {
    error = place(connection, "payload", request->payload, request->payload_bytes,
                  request->kind == BASEBANDD_REGISTER, &submission.payload_offset);
  }
  if (error == 0) {
    error = place(connection, "reply", request->reply, request->reply_bytes, 0,
                  &submission.reply_offset);
  }
  if (error == 0) {
    error = place_header(connection, request, &submission.header_offset, &header_copy);
  }
  if (error < 0) return error;

  const uint32_t number = connection->free_slots[k & (connection->ring.entries - 1)];
  basebandd_slot* const taken = &connection->slots[number];
  taken->id = request->id;
  taken->reply = request->reply;
  taken->reply_bytes = request->reply_bytes;
  taken->header_copy = header_copy;
  taken->kind = request->kind;
  taken->is_abandoned = (uint8_t)is_own;
  taken->registers = registers;
  submission.id = (k + 1) << BASEBANDD_TICKET_SHIFT | number;
  submission.deadline_ns = request->deadline_ns;
  submission.header_bytes = (uint32_t)request->header_bytes;
  submission.payload_bytes = (uint32_t)request->payload_bytes;
  submission.reply_bytes = (uint32_t)request->reply_bytes;
  submission.job = request->job;
  submission.kind = request->kind;
  submission.operation = request->operation;
  submission.priority = request->priority;
  atomic_store_explicit(&connection->submitted, k + 1, memory_order_relaxed);
  /* From here on the slot is that of who polls, whatever the server answers and when. */
  atomic_store_explicit(&taken->ticket, submission.id, memory_order_release);
  *slot = taken;
  *wakes |= baseband_ring_submit(&connection->ring, k, &submission);
  return 0;
}

/* By its number, if its header has one. */
static int put_repeated(basebandd_connection* connection, const basebandd_request* request,
                        basebandd_slot** slot, int* wakes) {
  const uint32_t entries = connection->ring.entries;
  basebandd_repeats* const repeats = connection->repeats;
  basebandd_slot* own;
  basebandd_repeat* registered;
  uint32_t forgotten;
  int error = check_fields(request);
  if (error < 0) return error;
  basebandd_request sent = *request;
  sent.repeats = 0;
  sent.job = basebandd_find_repeat(repeats, request, basebandd_in_flight(connection) < entries / 2,
                                   &registered, &forgotten);
  if (sent.job != 0) {
    sent.header_bytes = 0;
    sent.operation = 0;
  }
  error = put(connection, &sent, 0, NULL, slot, wakes);
  if (registered != NULL) {
    const basebandd_request registers = {.header = registered->header,
                                         .header_bytes = registered->header_bytes,
                                         .payload_bytes = registered->payload_bytes,
                                         .kind = BASEBANDD_REGISTER,
                                         .operation = registered->operation};
    if (error < 0 || put(connection, &registers, 1, registered, &own, wakes) < 0) {
      (void)basebandd_drop_repeat(repeats, registered);
    }
  }
  if (forgotten != 0) {
    const basebandd_request forgets = {.job = forgotten, .kind = BASEBANDD_FORGET};
    (void)put(connection, &forgets, 1, NULL, &own, wakes);
  }
  return error;
}

int basebandd_put(basebandd_connection* connection, const basebandd_request* request,
                  basebandd_slot** slot, int* wakes) {
  if (request->repeats && connection->repeats == NULL) {
    connection->repeats = calloc(1, sizeof(*connection->repeats));
  }
  return request->repeats && connection->repeats != NULL
             ? put_repeated(connection, request, slot, wakes)
             : put(connection, request, 0, NULL, slot, wakes);
}

void basebandd_ring_bell(const basebandd_connection* connection) {
  const uint64_t once = 1;
  ssize_t written;
  do {
    written = write(connection->bell, &once, sizeof(once));
  } while (written < 0 && errno == EINTR); /* EAGAIN: it has been rung, and not been heard yet */
}

int basebandd_submit_many(basebandd_connection* connection, const basebandd_request* requests,
                          size_t count) {
  int error = basebandd_check_owner(connection);
  if (error == 0) error = basebandd_check_ended(connection);
  if (error < 0) return error;
  int wakes = 0;
  int taken = 0;
  for (size_t i = 0; i < count && error == 0; ++i) {
    basebandd_slot* slot;
    error = basebandd_put(connection, &requests[i], &slot, &wakes);
    taken += error == 0;
  }
  if (wakes) basebandd_ring_bell(connection);
  return taken > 0 ? taken : error;
}

int basebandd_submit(basebandd_connection* connection, const basebandd_request* request) {
  const int taken = basebandd_submit_many(connection, request, 1);
  return taken < 0 ? taken : 0;
}

uint32_t basebandd_in_flight(const basebandd_connection* connection) {
  const uint64_t freed = atomic_load_explicit(&connection->freed, memory_order_acquire);
  const uint64_t submitted = atomic_load_explicit(&connection->submitted, memory_order_acquire);
  return (uint32_t)(submitted + connection->ring.entries - freed);
}
