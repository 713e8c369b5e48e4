#include "client/oai/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/oai/clock.h"

#define GRACE_NS 10000000U /* for the answer that says that it is too late */
#define ID_OF_RUN 0U
#define ID_OF_FORGET UINT64_MAX /* those in between ask for the number of a job */

int bo_open_session(bo_session* session, const bo_settings* settings, uint64_t timeout_ns) {
  const basebandd_options options = {.memory_bytes = settings->memory_bytes,
                                     .entries = 64,
                                     .spin_ns = settings->spin_ns,
                                     .open_timeout_ns = timeout_ns};
  return basebandd_open(settings->socket, &options, &session->connection);
}

void bo_close_session(bo_session* session) {
  basebandd_close(session->connection);
  bo_clear_jobs(&session->jobs);
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

/* The server need not keep a number; nobody waits for its answer. */
static void forget(bo_session* session, uint32_t number) {
  if (number == 0) return;
  const basebandd_request request = {.id = ID_OF_FORGET, .kind = BASEBANDD_FORGET, .job = number};
  basebandd_submit(session->connection, &request);
}

/* Of a description that has come again; the number will come with a later answer. */
static void ask_number(bo_session* session, bo_job* job) {
  uint32_t forgotten;
  const bool is_asked = bo_ask_job(&session->jobs, job, &forgotten);
  forget(session, forgotten);
  if (!is_asked) return;
  const basebandd_request request = {.id = 1 + (uint64_t)(job - session->jobs.jobs),
                                     .kind = BASEBANDD_REGISTER,
                                     .operation = job->operation,
                                     .header = job->header,
                                     .header_bytes = job->header_bytes,
                                     .payload_bytes = job->payload_bytes};
  if (basebandd_submit(session->connection, &request) < 0) bo_answer_job(&session->jobs, job, 0);
}

static int fail(bo_session* session, int error, char* why, size_t room) {
  snprintf(why, room, "%s", basebandd_error());
  session->is_broken = true;
  session->may_run_late = basebandd_in_flight(session->connection) > 0;
  return error;
}

/* The answer to the run that is in flight; those to other requests are noted. */
static int await(bo_session* session, uint64_t until_ns, basebandd_answer* answer, char* why,
                 size_t room) {
  for (;;) {
    const int count = basebandd_poll(session->connection, answer, 1);
    if (count < 0) return fail(session, count, why, room);
    if (count > 0) {
      if (answer->id == ID_OF_RUN) return 0;
      if (answer->id == ID_OF_FORGET) continue;
      bo_answer_job(&session->jobs, &session->jobs.jobs[answer->id - 1],
                    answer->code == 0 ? (uint32_t)answer->value : 0);
      continue;
    }
    const uint64_t now = bo_now_ns();
    if (now >= until_ns) {
      snprintf(why, room, "it does not answer within BASEBAND_DEADLINE_US");
      session->is_broken = true;
      session->may_run_late = true;
      return -ETIMEDOUT;
    }
    const int waited = basebandd_wait(session->connection, (int64_t)(until_ns - now));
    if (waited < 0) return fail(session, waited, why, room);
  }
}

int bo_run(bo_session* session, const bo_exchange* exchange, basebandd_answer* answer, char* why,
           size_t room) {
  if (exchange->header_bytes < 0) {
    snprintf(why, room, "%s", basebandd_error());
    return exchange->header_bytes;
  }
  const size_t header_bytes = (size_t)exchange->header_bytes;
  bool is_new;
  uint32_t forgotten;
  bo_job* const job = bo_find_job(&session->jobs, exchange->operation, session->header,
                                  header_bytes, exchange->payload_bytes, &is_new, &forgotten);
  forget(session, forgotten);
  basebandd_request request = {.id = ID_OF_RUN,
                               .payload = session->payload,
                               .payload_bytes = exchange->payload_bytes,
                               .reply = session->reply,
                               .reply_bytes = exchange->reply_bytes,
                               .deadline_ns = exchange->deadline_ns};
  if (job != NULL && job->state == BO_JOB_KNOWN) {
    request.job = job->number;
  } else {
    request.operation = exchange->operation;
    request.header = session->header;
    request.header_bytes = header_bytes;
  }
  int error = basebandd_submit(session->connection, &request);
  if (error < 0) return fail(session, error, why, room);
  error = await(session, exchange->deadline_ns + GRACE_NS, answer, why, room);
  if (error < 0) return error;
  if (answer->code != 0) {
    snprintf(why, room, "code %u: %.*s", answer->code, (int)answer->text_bytes, answer->text);
    /* A lost device may write to the reply: nothing else can lie there. */
    if ((answer->code == 13 || answer->code == 14) && answer->value == 1) session->is_broken = true;
    return -EIO;
  }
  if (job != NULL && job->state == BO_JOB_SEEN && !is_new) ask_number(session, job);
  return 0;
}
