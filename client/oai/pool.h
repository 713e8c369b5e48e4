/* The connections to the server. A thread of the pool's opens them, again and again where that
 * fails, at most once a second, closes those that are broken, and takes answers that come late; who
 * wants one never waits for that. */
#ifndef BASEBAND_CLIENT_OAI_POOL_H_
#define BASEBAND_CLIENT_OAI_POOL_H_

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/oai/session.h"
#include "client/oai/settings.h"

#define BO_SESSIONS 4U /* as many calls at a time; two to begin with: one up, one down */

/* BO_LATE: an answer is to come for which nobody waits any more. */
typedef enum bo_slot_state { BO_CLOSED, BO_IDLE, BO_BUSY, BO_LATE, BO_BROKEN } bo_slot_state;

typedef struct bo_pool {
  const bo_settings* settings;
  pthread_mutex_t lock;
  pthread_cond_t given_back;
  pthread_cond_t wanted; /* the thread has something to do */
  pthread_t keeper;
  bool is_stopping;
  uint32_t count; /* of sessions that there should be */
  bo_slot_state states[BO_SESSIONS];
  bo_session sessions[BO_SESSIONS];
  char why[256]; /* there is none */
} bo_pool;

void bo_init_pool(bo_pool* pool, const bo_settings* settings); /* once */

/* Tries once to connect, and leaves it to the thread if there is no server. 0, or a negative errno:
 * there is no thread. */
int bo_start_pool(bo_pool* pool);
void bo_stop_pool(bo_pool* pool); /* waits for those that are busy */

/* A session of the caller's own; null, at once: no server is connected, `why` says why; or all are
 * busy until `until_ns`. */
bo_session* bo_take(bo_pool* pool, uint64_t until_ns, char* why, size_t room);
void bo_give_back(bo_pool* pool, bo_session* session);

#endif /* BASEBAND_CLIENT_OAI_POOL_H_ */
