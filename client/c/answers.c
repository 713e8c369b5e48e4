/* From the ring to the caller's answers. What the server writes is believed after it was checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall, POLLRDHUP */
#endif
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client/c/connection.h"
#include "client/c/error.h"

/* How long a sleeper, or one who spins, does not look for the server. */
#define LOOK_NS 50000000U
#define MAX_CODE 16U /* of gRPC's canonical ones */
#define OUT_OF_RANGE 11U
#define UNAVAILABLE 14U
/* So often a wait lets itself be woken for nothing before it looks by itself, at this distance. A
 * server's wake-ups may come late, but of each answer only once. */
#define WAKES_FOR_NOTHING 64U
#define NAP_NS 1000000U

static void end(basebandd_connection* connection, int error, const char* text) {
  if (atomic_load_explicit(&connection->ended, memory_order_relaxed) != 0) return;
  (void)snprintf(connection->ended_text, sizeof(connection->ended_text), "%s", text);
  atomic_store_explicit(&connection->ended, error, memory_order_release);
}

/* A server that breaks the protocol is told so by the connection's end. */
static void end_broken(basebandd_connection* connection, const char* what, uint64_t value) {
  char text[160];
  (void)snprintf(text, sizeof(text),
                 "the server broke the ring's protocol: completion %llu: %s %llu",
                 (unsigned long long)connection->completed, what, (unsigned long long)value);
  end(connection, EPROTO, text);
  (void)shutdown(connection->socket, SHUT_RDWR);
}

/* Who submits may fill it at once. */
static void free_slot(basebandd_connection* connection, uint32_t number) {
  const uint64_t freed = atomic_load_explicit(&connection->freed, memory_order_relaxed);
  connection->free_slots[freed & (connection->ring.entries - 1)] = number;
  atomic_store_explicit(&connection->freed, freed + 1, memory_order_release);
}

/* The request is answered: its ticket is worth nothing any more, and what the library has lent it
 * goes back. 0: nobody wants the answer. */
static int take_answer(basebandd_connection* connection, basebandd_slot* slot,
                       const basebandd_answer* answer) {
  atomic_store_explicit(&slot->ticket, 0, memory_order_relaxed);
  if (slot->registers != NULL) {
    atomic_store_explicit(&slot->registers->number,
                          answer->code == 0 ? (uint32_t)answer->value : BASEBANDD_NO_NUMBER,
                          memory_order_release);
  }
  if (slot->header_copy != NULL) (void)basebandd_give_back(connection, slot->header_copy);
  if (!slot->is_abandoned) return 1;
  (void)basebandd_give_back(connection, slot->reply);
  return 0;
}

static basebandd_answer empty_answer(const basebandd_connection* connection,
                                     const basebandd_slot* slot) {
  basebandd_answer answer;
  memset(&answer, 0, sizeof(answer));
  answer.id = slot->id;
  answer.reply = slot->reply;
  answer.reply_bytes = slot->reply_bytes;
  if (slot->reply_bytes != 0) {
    answer.reply_offset = (uint64_t)((uint8_t*)slot->reply - connection->region);
  }
  return answer;
}

/* Whether a range of the region is inside the reply; then it is at *memory, null if it is empty. */
static int find_in_reply(const basebandd_answer* answer, uint64_t offset, uint64_t bytes,
                         const void** memory) {
  *memory = NULL;
  if (bytes == 0) return 1;
  const uint64_t begin = offset - answer->reply_offset; /* wraps to what is too much */
  if (begin > answer->reply_bytes || bytes > answer->reply_bytes - begin) return 0;
  *memory = (const char*)answer->reply + begin;
  return 1;
}

/* Null: it is no completion of a request that is in flight, and the connection has ended. */
static basebandd_slot* check(basebandd_connection* connection, const BasebandCompletion* completion,
                             basebandd_answer* answer) {
  const uint32_t number = (uint32_t)(completion->id & BASEBANDD_TICKET_SLOT);
  basebandd_slot* const slot = &connection->slots[number & (connection->ring.entries - 1)];
  if (completion->id == 0 || number >= connection->ring.entries ||
      atomic_load_explicit(&slot->ticket, memory_order_acquire) != completion->id) {
    end_broken(connection, "nothing in flight has id", completion->id);
    return NULL;
  }
  *answer = empty_answer(connection, slot);
  const void* header;
  if (completion->code > MAX_CODE) {
    end_broken(connection, "there is no code", completion->code);
  } else if (!find_in_reply(answer, completion->payload_offset, completion->payload_bytes,
                            &answer->payload)) {
    end_broken(connection, "not in the reply is the payload at", completion->payload_offset);
  } else if (!find_in_reply(answer, completion->header_offset, completion->header_bytes, &header)) {
    end_broken(connection, "not in the reply is the header at", completion->header_offset);
  } else if (slot->kind == BASEBANDD_REGISTER && completion->code == 0 &&
             (completion->value == 0 || completion->value > UINT32_MAX)) {
    end_broken(connection, "a job has no number", completion->value);
  } else if (completion->code == OUT_OF_RANGE && completion->value > BASEBANDD_MAX_REGION) {
    end_broken(connection, "in no memory is room for a reply of", completion->value);
  } else {
    answer->code = completion->code;
    answer->payload_bytes = (size_t)completion->payload_bytes;
    answer->value = completion->value;
    if (completion->code == 0) {
      answer->header = header;
      answer->header_bytes = completion->header_bytes;
    } else {
      answer->text = header == NULL ? "" : header;
      answer->text_bytes = completion->header_bytes;
    }
    return slot;
  }
  return NULL;
}

/* After an end the ring is read as far as it goes, once; it is not where its protocol was broken.
 */
static int is_readable(const basebandd_connection* connection) {
  return !connection->has_lost &&
         atomic_load_explicit(&connection->ended, memory_order_relaxed) != EPROTO;
}

/* In the place of the next completion. */
static uint32_t next_sequence(const basebandd_connection* connection) {
  const uint64_t place = connection->completed & (connection->ring.entries - 1);
  return BASEBAND_RING_LOAD(&connection->ring.completions[place].sequence);
}

/* The next answer that somebody wants, whose slot is not freed yet. 0: none is there. */
static int next_answer(basebandd_connection* connection, basebandd_answer* answer,
                       uint32_t* number) {
  BasebandCompletion completion;
  while (is_readable(connection)) {
    if (!baseband_ring_next(&connection->ring, connection->completed, &completion)) {
      if (connection->seen > connection->completed) {
        end_broken(connection, "was there, and its place has sequence", next_sequence(connection));
      }
      break;
    }
    basebandd_slot* const slot = check(connection, &completion, answer);
    if (slot == NULL) break;
    ++connection->completed;
    *number = (uint32_t)(slot - connection->slots);
    if (take_answer(connection, slot, answer)) return 1;
    free_slot(connection, *number);
  }
  if (atomic_load_explicit(&connection->ended, memory_order_relaxed) == 0) return 0;
  /* All that has a ticket is lost. Who submits may just have put one more, so none is the last. */
  connection->has_lost = 1;
  for (uint32_t looked = 0; looked < connection->ring.entries; ++looked) {
    *number = connection->next_lost++ & (connection->ring.entries - 1);
    basebandd_slot* const slot = &connection->slots[*number];
    if (atomic_load_explicit(&slot->ticket, memory_order_acquire) == 0) continue;
    *answer = empty_answer(connection, slot);
    answer->code = UNAVAILABLE;
    answer->text = connection->ended_text;
    answer->text_bytes = strlen(connection->ended_text);
    if (take_answer(connection, slot, answer)) return 1;
    free_slot(connection, *number);
  }
  return 0;
}

int basebandd_poll(basebandd_connection* connection, basebandd_answer* answers, size_t max) {
  const int error = basebandd_check_owner(connection);
  if (error < 0) return error;
  const uint64_t mask = connection->ring.entries - 1;
  size_t count = 0;
  uint32_t number;
  if (max > INT_MAX) max = INT_MAX;
  for (; count < max && connection->kept_begin != connection->kept_end; ++count) {
    answers[count] = connection->kept[connection->kept_begin & mask];
    free_slot(connection, connection->kept_slots[connection->kept_begin++ & mask]);
  }
  for (; count < max && next_answer(connection, &answers[count], &number); ++count) {
    free_slot(connection, number);
  }
  return count > 0 || max == 0 ? (int)count : basebandd_check_ended(connection);
}

/* ---- waiting */

static int has_completion(const basebandd_connection* connection) {
  return next_sequence(connection) == baseband_ring_sequence(connection->completed);
}

/* Before completion n is there its place has that of `entries` before, or, in the first round, 0.
 */
static void check_sequence(basebandd_connection* connection) {
  const uint64_t n = connection->completed;
  const uint32_t entries = connection->ring.entries;
  const uint32_t seen = next_sequence(connection);
  const uint32_t before = n < entries ? 0 : baseband_ring_sequence(n - entries);
  if (seen != before && seen != baseband_ring_sequence(n)) {
    end_broken(connection, "its place has sequence", seen);
  }
}

/* A server that has left closes its end of the socket, whatever way it went. */
static void look_for_server(basebandd_connection* connection, uint64_t now_ns) {
  struct pollfd polled = {connection->socket, POLLRDHUP, 0};
  connection->server_seen_ns = now_ns;
  if (poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))) {
    end(connection, EPIPE, "the server has left");
    return;
  }
  check_sequence(connection);
}

static struct timespec timespec_of(uint64_t ns) {
  const struct timespec time = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U)};
  return time;
}

/* Until the server wakes us: 1; or `ns` have passed, or for no reason. */
static int sleep_on(const basebandd_connection* connection, uint64_t ns) {
  const struct timespec timeout = timespec_of(ns);
  return syscall(SYS_futex, &connection->ring.header->client_waits, FUTEX_WAIT, 1, &timeout, NULL,
                 0) == 0 ||
         errno == EAGAIN;
}

static void nap(uint64_t ns) {
  const struct timespec time = timespec_of(ns < NAP_NS ? ns : NAP_NS);
  (void)nanosleep(&time, NULL);
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

/* 1: there is something in the ring, or lost; 0: nothing more ever is, for the connection has
 * ended; -1: not yet. */
static int look(basebandd_connection* connection) {
  if (is_readable(connection) && has_completion(connection)) {
    connection->seen = connection->completed + 1;
    return 1;
  }
  if (atomic_load_explicit(&connection->ended, memory_order_relaxed) == 0) return -1;
  return basebandd_in_flight(connection) > connection->kept_end - connection->kept_begin;
}

/* Until look() says something else than "not yet", which is returned, or `timeout_ns` have passed.
 */
static int wait_for_more(basebandd_connection* connection, int64_t timeout_ns) {
  enum { kLooksBetweenClocks = 64 };
  uint32_t woken = 0;
  int state = look(connection);
  if (state < 0 && timeout_ns == 0) {
    look_for_server(connection, basebandd_now_ns());
    return look(connection);
  }
  const uint64_t begin = state < 0 ? basebandd_now_ns() : 0;
  for (uint64_t now = begin; state < 0; now = basebandd_now_ns()) {
    const uint64_t waited = now - begin;
    if (timeout_ns > 0 && waited >= (uint64_t)timeout_ns) break;
    if (now - connection->server_seen_ns >= LOOK_NS) look_for_server(connection, now);
    if (waited < connection->spin_ns) {
      for (int i = 0; i < kLooksBetweenClocks && !has_completion(connection); ++i) pause_briefly();
    } else if (baseband_ring_client_may_sleep(&connection->ring, connection->completed)) {
      uint64_t slice = LOOK_NS;
      if (timeout_ns > 0 && (uint64_t)timeout_ns - waited < slice) {
        slice = (uint64_t)timeout_ns - waited;
      }
      if (woken < WAKES_FOR_NOTHING) {
        woken += (uint32_t)sleep_on(connection, slice);
      } else {
        nap(slice);
      }
      /* Nobody has to wake us now. If the server was about to, it does so in vain. */
      BASEBAND_RING_STORE(&connection->ring.header->client_waits, 0);
    }
    state = look(connection);
  }
  return state;
}

int basebandd_wait(basebandd_connection* connection, int64_t timeout_ns) {
  const int error = basebandd_check_owner(connection);
  if (error < 0) return error;
  if (connection->kept_begin != connection->kept_end) return 1;
  const int state = wait_for_more(connection, timeout_ns);
  return state > 0 ? 1 : state < 0 ? 0 : basebandd_check_ended(connection);
}

/* ---- with its answer */

/* As basebandd_call; of -ETIMEDOUT *slot is the request's. */
static int call(basebandd_connection* connection, const basebandd_request* request,
                basebandd_answer* answer, int64_t timeout_ns, basebandd_slot** slot) {
  const uint64_t mask = connection->ring.entries - 1;
  const uint64_t begin = basebandd_now_ns();
  int wakes = 0;
  int error = basebandd_check_ended(connection);
  if (error == 0) error = basebandd_put(connection, request, slot, &wakes);
  if (error < 0) return error;
  if (wakes) basebandd_ring_bell(connection);
  for (;;) {
    uint32_t number;
    while (next_answer(connection, answer, &number)) {
      if (*slot == &connection->slots[number]) {
        free_slot(connection, number);
        return 0;
      }
      connection->kept[connection->kept_end & mask] = *answer;
      connection->kept_slots[connection->kept_end++ & mask] = number;
    }
    const uint64_t waited = basebandd_now_ns() - begin;
    if (timeout_ns >= 0 && waited >= (uint64_t)timeout_ns) {
      return basebandd_fail(-ETIMEDOUT, "no answer came within %lld ns", (long long)timeout_ns);
    }
    (void)wait_for_more(connection, timeout_ns < 0 ? -1 : timeout_ns - (int64_t)waited);
  }
}

int basebandd_call(basebandd_connection* connection, const basebandd_request* request,
                   basebandd_answer* answer, int64_t timeout_ns) {
  basebandd_slot* slot;
  const int error = basebandd_check_owner(connection);
  return error < 0 ? error : call(connection, request, answer, timeout_ns, &slot);
}

/* A job's number comes and goes by requests of their own, with room for what the server may say. */
static int call_for_job(basebandd_connection* connection, basebandd_request* request,
                        int64_t timeout_ns, uint64_t* value) {
  enum { kTextBytes = 512 };
  int error = basebandd_check_owner(connection);
  if (error < 0) return error;
  request->reply = basebandd_loan(connection, kTextBytes);
  request->reply_bytes = kTextBytes;
  if (request->reply == NULL) return -ENOMEM;
  basebandd_answer answer;
  basebandd_slot* slot;
  error = call(connection, request, &answer, timeout_ns, &slot);
  if (error == -ETIMEDOUT) {
    slot->is_abandoned = 1; /* the reply is the server's until the answer comes */
    return error;
  }
  if (error == 0 && answer.code != 0) {
    error = basebandd_refused(answer.code, answer.text, answer.text_bytes);
  }
  if (error == 0) *value = answer.value;
  (void)basebandd_give_back(connection, request->reply);
  return error;
}

int basebandd_register(basebandd_connection* connection, uint8_t operation, const void* header,
                       size_t header_bytes, size_t payload_bytes, int64_t timeout_ns,
                       uint32_t* job) {
  basebandd_request request = {0};
  uint64_t value = 0;
  request.kind = BASEBANDD_REGISTER;
  request.operation = operation;
  request.header = header;
  request.header_bytes = header_bytes;
  request.payload_bytes = payload_bytes;
  const int error = call_for_job(connection, &request, timeout_ns, &value);
  *job = (uint32_t)value;
  return error;
}

int basebandd_forget(basebandd_connection* connection, uint32_t job, int64_t timeout_ns) {
  basebandd_request request = {0};
  uint64_t value;
  request.kind = BASEBANDD_FORGET;
  request.job = job;
  return call_for_job(connection, &request, timeout_ns, &value);
}
