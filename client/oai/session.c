#include "client/oai/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/oai/clock.h"

#define INVALID_ARGUMENT 3U /* of gRPC's codes */
#define DEADLINE_EXCEEDED 4U

int bo_open_session(bo_session* session, const bo_settings* settings, uint64_t timeout_ns) {
  const basebandd_options options = {.memory_bytes = settings->memory_bytes,
                                     .entries = 64,
                                     .spin_ns = settings->spin_ns,
                                     .open_timeout_ns = timeout_ns};
  session->deadline_us = settings->deadline_ns / 1000;
  return basebandd_open(settings->socket, &options, &session->connection);
}

void bo_close_session(bo_session* session) {
  basebandd_close(session->connection);
  free(session->header);
  memset(session, 0, sizeof(*session));
}

static int grow(bo_session* session, void** loan, size_t* room, size_t bytes) {
  if (bytes <= *room) return 0;
  if (*loan != NULL) basebandd_give_back(session->connection, *loan);
  *room = 0;
  *loan = basebandd_loan(session->connection, bytes);
  if (*loan == NULL) return -ENOMEM;
  *room = bytes;
  return 0;
}

static int grow_header(bo_session* session, size_t bytes) {
  if (bytes <= session->header_room) return 0;
  void* const larger = realloc(session->header, bytes);
  if (larger == NULL) return -ENOMEM;
  session->header = larger;
  session->header_room = bytes;
  return 0;
}

bool bo_reserve(bo_session* session, const bo_exchange* exchange, size_t header_bytes, char* why,
                size_t room) {
  if (grow_header(session, header_bytes) == 0 &&
      grow(session, &session->payload, &session->payload_room, exchange->payload_bytes) == 0 &&
      grow(session, &session->reply, &session->reply_room, exchange->reply_bytes) == 0) {
    return true;
  }
  snprintf(why, room, "BASEBAND_MEMORY_MIB has no room for %zu bytes",
           exchange->payload_bytes + exchange->reply_bytes);
  return false;
}

static int fail(bo_session* session, int error, char* why, size_t room) {
  snprintf(why, room, "%s", basebandd_error());
  session->is_broken = true;
  session->may_run_late = basebandd_in_flight(session->connection) > 0;
  return error;
}

static void tell_of_late(const bo_session* session, char* why, size_t room) {
  snprintf(why, room, "its answer is late, after BASEBAND_DEADLINE_US=%llu",
           (unsigned long long)session->deadline_us);
}

/* The answer to the run that is in flight. */
static int await(bo_session* session, uint64_t until_ns, basebandd_answer* answer, char* why,
                 size_t room) {
  for (;;) {
    const int count = basebandd_poll(session->connection, answer, 1);
    if (count < 0) return fail(session, count, why, room);
    if (count > 0) return 0;
    const uint64_t now = bo_now_ns();
    if (now >= until_ns) {
      tell_of_late(session, why, room);
      session->is_late = true;
      session->may_run_late = true;
      return -ETIMEDOUT;
    }
    const int waited = basebandd_wait(session->connection, (int64_t)(until_ns - now));
    if (waited < 0) return fail(session, waited, why, room);
  }
}

/* A device that was lost may write to the reply: nothing else can lie there. */
static bool is_of_lost_device(const basebandd_answer* answer) {
  return (answer->code == 13 || answer->code == 14) && answer->value == 1;
}

void bo_settle(bo_session* session, uint64_t until_ns) {
  basebandd_answer answer;
  char why[256];
  session->is_broken =
      await(session, until_ns, &answer, why, sizeof(why)) < 0 || is_of_lost_device(&answer);
  session->is_late = false;
  session->may_run_late = false;
}

int bo_run(bo_session* session, const bo_exchange* exchange, basebandd_answer* answer, char* why,
           size_t room) {
  if (exchange->header_bytes < 0) {
    snprintf(why, room, "%s", basebandd_error());
    return exchange->header_bytes;
  }
  const basebandd_request request = {.header = session->header,
                                     .header_bytes = (size_t)exchange->header_bytes,
                                     .payload = session->payload,
                                     .payload_bytes = exchange->payload_bytes,
                                     .reply = session->reply,
                                     .reply_bytes = exchange->reply_bytes,
                                     .deadline_ns = exchange->deadline_ns,
                                     .operation = exchange->operation,
                                     .repeats = 1};
  int error = basebandd_submit(session->connection, &request);
  if (error == -EINVAL || error == -EAGAIN || error == -ENOMEM) { /* nothing is on its way */
    snprintf(why, room, "%s", basebandd_error());
    return error;
  }
  if (error < 0) return fail(session, error, why, room);
  error = await(session, exchange->deadline_ns, answer, why, room);
  if (error < 0) return error;
  if (answer->code != 0) {
    if (answer->code == DEADLINE_EXCEEDED) {
      tell_of_late(session, why, room);
    } else {
      snprintf(why, room, "code %u: %.*s", answer->code, (int)answer->text_bytes, answer->text);
    }
    session->is_broken = is_of_lost_device(answer);
    return answer->code == INVALID_ARGUMENT ? -EINVAL : -EIO;
  }
  return 0;
}
