/* A queue's connection to the server: made by the keeper, lost by whoever finds that it is. */
#include <errno.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <string.h>

#include "client/bbdev/log.h"
#include "client/bbdev/queue_state.h"

#define SPARE_ENTRIES 64U           /* for requests that register and forget jobs */
#define OPEN_TIMEOUT_NS 5000000000U /* the server's own patience is shorter */
#define LOOKS_A_SECOND 50U          /* of who waits for answers, whether the server is there */

/* Between two attempts to connect: where nobody listens, and where somebody refuses. */
#define ATTEMPT_NS 20000000U
#define FIRST_REFUSAL_NS 250000000U
#define LAST_REFUSAL_NS 4000000000U

static int connect_to(const bb_queue* queue, basebandd_connection** server) {
  const basebandd_options options = {.memory_bytes = (uint64_t)queue->arguments->memory_mib << 20,
                                     .entries = rte_align32pow2(queue->size + SPARE_ENTRIES),
                                     .open_timeout_ns = OPEN_TIMEOUT_NS};
  return basebandd_open(queue->arguments->socket, &options, server);
}

void bb_lose(bb_queue* queue, const char* why) {
  BB_LOG(ERR, "queue %u: %s: %s; operations fail until there is another connection\n", queue->id,
         queue->arguments->socket, why);
  basebandd_close(queue->server);
  queue->server = NULL;
  queue->is_stale = false;
  for (uint32_t i = queue->head; i != queue->tail; ++i) {
    if (!bb_slot_of(queue, i)->is_done) bb_fail(queue, bb_slot_of(queue, i), BB_DRIVER_ERROR);
  }
}

void bb_renew(bb_queue* queue) {
  if (queue->is_stale && queue->head == queue->tail) {
    bb_lose(queue, "a device was lost that may still write to this memory");
  }
  if (queue->server != NULL) return;
  queue->server = atomic_exchange(&queue->offered, NULL);
  atomic_store_explicit(&queue->is_wanted, queue->server == NULL, memory_order_release);
}

void bb_look(bb_queue* queue) {
  const uint64_t now = rte_get_timer_cycles();
  if (now < queue->next_look) return;
  queue->next_look = now + rte_get_timer_hz() / LOOKS_A_SECOND;
  if (basebandd_wait(queue->server, 0) < 0) {
    bb_lose(queue, basebandd_error());
    return;
  }
  if (queue->head != queue->watched_head) {
    queue->watched_head = queue->head;
    queue->watched_since = now;
  } else if (now - queue->watched_since >
             rte_get_timer_hz() / 1000U * queue->arguments->timeout_ms) {
    bb_lose(queue, "no answer for timeout_ms");
  }
}

static bool is_nobody_there(int error) {
  return error == -ENOENT || error == -ECONNREFUSED || error == -EPIPE;
}

static void tell_of_connection(const bb_queue* queue, int error) {
  if (error == -EINVAL || error == -ENOMEM) {
    BB_LOG(ERR, "queue %u: %s: memory_mib %u: %s\n", queue->id, queue->arguments->socket,
           queue->arguments->memory_mib, basebandd_error());
  } else {
    BB_LOG(ERR, "queue %u: %s: %s\n", queue->id, queue->arguments->socket, basebandd_error());
  }
}

/* A line a second. */
static void tell_of_refused(bb_queue* queue) {
  if (atomic_load_explicit(&queue->refused, memory_order_relaxed) == 0) return;
  const uint64_t now = bb_now_ns();
  if (now < queue->next_refusal_ns) return;
  queue->next_refusal_ns = now + 1000000000U;
  atomic_store_explicit(&queue->refused, 0, memory_order_relaxed);
  BB_LOG(WARNING, "queue %u: memory_mib %u is full\n", queue->id, queue->arguments->memory_mib);
}

int bb_queue_tend(bb_queue* queue) {
  tell_of_refused(queue);
  if (!atomic_load_explicit(&queue->is_wanted, memory_order_acquire) ||
      atomic_load(&queue->offered) != NULL || bb_now_ns() < queue->next_attempt_ns) {
    return 0;
  }
  basebandd_connection* server;
  const int error = connect_to(queue, &server);
  if (error == 0) {
    if (queue->last_error != 0) BB_LOG(NOTICE, "queue %u: the server is there\n", queue->id);
    queue->last_error = 0;
    queue->pause_ns = 0;
    atomic_store(&queue->offered, server);
    return 0;
  }
  if (error != queue->last_error) tell_of_connection(queue, error);
  queue->last_error = error;
  queue->pause_ns = is_nobody_there(error)
                        ? ATTEMPT_NS
                        : RTE_MIN(RTE_MAX(2 * queue->pause_ns, (uint64_t)FIRST_REFUSAL_NS),
                                  (uint64_t)LAST_REFUSAL_NS);
  queue->next_attempt_ns = bb_now_ns() + queue->pause_ns;
  return error;
}

int bb_queue_open(bb_queue* queue) {
  basebandd_connection* server;
  const int error = connect_to(queue, &server);
  if (error < 0) {
    tell_of_connection(queue, error);
    return error;
  }
  rte_spinlock_lock(&queue->lock);
  if (queue->server == NULL) {
    queue->server = server;
    server = NULL;
  }
  rte_spinlock_unlock(&queue->lock);
  basebandd_close(server);
  return 0;
}
