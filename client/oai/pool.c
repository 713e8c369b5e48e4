#include "client/oai/pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/oai/clock.h"

#define RETRY_NS 1000000000U
#define OPEN_TIMEOUT_NS 1000000000U
#define LATE_NS 100000000U /* so much later an answer may be before the connection is given up */

static struct timespec at(uint64_t time_ns) {
  return (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000U),
                           .tv_nsec = (long)(time_ns % 1000000000U)};
}

/* One that the keeper has to do something with; -1: none. */
static int find(const bo_pool* pool, bo_slot_state state, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    if (pool->states[i] == state) return (int)i;
  }
  return -1;
}

/* With the lock held, which is left meanwhile; nobody else touches a session that is closed. */
static bool open_one(bo_pool* pool, int index) {
  bo_session* const session = &pool->sessions[index];
  pthread_mutex_unlock(&pool->lock);
  const int error = bo_open_session(session, pool->settings, OPEN_TIMEOUT_NS);
  const char* const why = error < 0 ? basebandd_error() : "";
  pthread_mutex_lock(&pool->lock);
  const bool is_nobody_there = error == -ENOENT || error == -ECONNREFUSED;
  snprintf(pool->why, sizeof(pool->why), "%.180s%s", why,
           is_nobody_there ? " (basebandd --shm-listen=.., BASEBAND_SOCKET)" : "");
  if (error < 0) return false;
  pool->states[index] = BO_IDLE;
  pthread_cond_broadcast(&pool->given_back);
  return true;
}

static void close_one(bo_pool* pool, int index) {
  pthread_mutex_unlock(&pool->lock);
  bo_close_session(&pool->sessions[index]);
  pthread_mutex_lock(&pool->lock);
  pool->states[index] = BO_CLOSED;
}

static void settle_one(bo_pool* pool, int index) {
  bo_session* const session = &pool->sessions[index];
  pthread_mutex_unlock(&pool->lock);
  bo_settle(session, bo_now_ns() + LATE_NS);
  pthread_mutex_lock(&pool->lock);
  pool->states[index] = session->is_broken ? BO_BROKEN : BO_IDLE;
  pthread_cond_broadcast(&pool->given_back);
}

/* A connection that nobody uses does not see that the server has left. */
static void look_at_idle(bo_pool* pool) {
  for (uint32_t i = 0; i < pool->count; ++i) {
    if (pool->states[i] != BO_IDLE) continue;
    if (basebandd_wait(pool->sessions[i].connection, 0) < 0) pool->states[i] = BO_BROKEN;
  }
}

static void* keep(void* argument) {
  bo_pool* const pool = argument;
  uint64_t next_try_ns = 0;
  pthread_mutex_lock(&pool->lock);
  while (!pool->is_stopping) {
    const int broken = find(pool, BO_BROKEN, BO_SESSIONS);
    if (broken >= 0) {
      close_one(pool, broken);
      continue;
    }
    const int late = find(pool, BO_LATE, BO_SESSIONS);
    if (late >= 0) {
      settle_one(pool, late);
      continue;
    }
    uint64_t now = bo_now_ns();
    const int closed = find(pool, BO_CLOSED, pool->count);
    if (closed >= 0 && now >= next_try_ns) {
      if (!open_one(pool, closed)) next_try_ns = bo_now_ns() + RETRY_NS;
      continue;
    }
    const struct timespec until = at(closed >= 0 ? next_try_ns : now + RETRY_NS);
    pthread_cond_timedwait(&pool->wanted, &pool->lock, &until);
    look_at_idle(pool);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

static void end(bo_pool* pool) {
  pthread_mutex_lock(&pool->lock);
  pool->is_stopping = true;
  while (find(pool, BO_BUSY, BO_SESSIONS) >= 0) {
    pthread_cond_wait(&pool->given_back, &pool->lock);
  }
  for (uint32_t i = 0; i < BO_SESSIONS; ++i) {
    bo_close_session(&pool->sessions[i]);
    pool->states[i] = BO_CLOSED;
  }
  pthread_mutex_unlock(&pool->lock);
}

void bo_init_pool(bo_pool* pool, const bo_settings* settings) {
  memset(pool, 0, sizeof(*pool));
  pool->settings = settings;
  pool->is_stopping = true;
  pthread_condattr_t by_steady_clock;
  pthread_condattr_init(&by_steady_clock);
  pthread_condattr_setclock(&by_steady_clock, CLOCK_MONOTONIC);
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->given_back, &by_steady_clock);
  pthread_cond_init(&pool->wanted, &by_steady_clock);
  pthread_condattr_destroy(&by_steady_clock);
}

int bo_start_pool(bo_pool* pool) {
  pthread_mutex_lock(&pool->lock);
  pool->is_stopping = false;
  pool->count = 2;
  for (int i = 0; i < (int)pool->count && open_one(pool, i); ++i) {
  }
  pthread_mutex_unlock(&pool->lock);
  const int error = pthread_create(&pool->keeper, NULL, keep, pool);
  if (error != 0) end(pool);
  return -error;
}

void bo_stop_pool(bo_pool* pool) {
  pthread_mutex_lock(&pool->lock);
  pool->is_stopping = true;
  pthread_cond_broadcast(&pool->wanted);
  pthread_cond_broadcast(&pool->given_back);
  pthread_mutex_unlock(&pool->lock);
  pthread_join(pool->keeper, NULL);
  end(pool);
}

bo_session* bo_take(bo_pool* pool, uint64_t until_ns, char* why, size_t room) {
  bo_session* session = NULL;
  snprintf(why, room, "the connections are being closed");
  pthread_mutex_lock(&pool->lock);
  while (!pool->is_stopping) {
    const int idle = find(pool, BO_IDLE, BO_SESSIONS);
    if (idle >= 0) {
      pool->states[idle] = BO_BUSY;
      session = &pool->sessions[idle];
      break;
    }
    if (find(pool, BO_BUSY, BO_SESSIONS) < 0) {
      snprintf(why, room, "%s",
               find(pool, BO_LATE, BO_SESSIONS) >= 0 ? "its last answer is late"
               : pool->why[0] != '\0'                ? pool->why
                                                     : "the connection was lost");
      break;
    }
    if (pool->count < BO_SESSIONS && find(pool, BO_CLOSED, pool->count) < 0) {
      ++pool->count; /* for the next call */
      pthread_cond_signal(&pool->wanted);
    }
    const struct timespec until = at(until_ns);
    if (pthread_cond_timedwait(&pool->given_back, &pool->lock, &until) == ETIMEDOUT) {
      snprintf(why, room, "all connections are busy");
      break;
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return session;
}

void bo_give_back(bo_pool* pool, bo_session* session) {
  pthread_mutex_lock(&pool->lock);
  pool->states[session - pool->sessions] = session->is_broken ? BO_BROKEN
                                           : session->is_late ? BO_LATE
                                                              : BO_IDLE;
  if (session->is_broken || session->is_late) pthread_cond_signal(&pool->wanted);
  pthread_cond_broadcast(&pool->given_back);
  pthread_mutex_unlock(&pool->lock);
}
