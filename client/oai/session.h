/* A connection to the server that one thread uses at a time, with memory for a request and its
 * answer. */
#ifndef BASEBAND_CLIENT_OAI_SESSION_H_
#define BASEBAND_CLIENT_OAI_SESSION_H_

#include <basebandd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/oai/settings.h"

typedef struct bo_session {
  basebandd_connection* connection; /* null: there is none */
  void* payload;                    /* loans, which grow */
  void* reply;
  size_t payload_room;
  size_t reply_room;
  void* header; /* of the request that is being made */
  size_t header_room;
  uint64_t deadline_us; /* BASEBAND_DEADLINE_US, to be told */
  /* The connection has ended, or a device may write to `reply`: it can only be closed. */
  bool is_broken;
  bool is_late;      /* a run was given up whose answer is to come: bo_settle is the next call */
  bool may_run_late; /* one that was given up may still be run, or has been */
} bo_session;

/* 0, or a negative errno. Blocks for `timeout_ns` for each answer of the server. */
int bo_open_session(bo_session* session, const bo_settings* settings, uint64_t timeout_ns);
void bo_close_session(bo_session* session);

typedef struct bo_exchange {
  uint8_t operation;
  int header_bytes; /* or the negative errno of describing it */
  size_t payload_bytes;
  size_t reply_bytes;
  uint64_t deadline_ns; /* of CLOCK_MONOTONIC */
} bo_exchange;

/* Memory for what goes and comes, at session->header, `header_bytes` of it, ->payload and ->reply.
 * False: there is none; `why` says so. */
bool bo_reserve(bo_session* session, const bo_exchange* exchange, size_t header_bytes, char* why,
                size_t room);

/* Has the server do what session->header describes with session->payload, and waits for the answer,
 * until the deadline. 0: `answer` is there, and its code is 0. Otherwise a negative errno, with the
 * reason in `why`; -EINVAL: what is described is wrong. */
int bo_run(bo_session* session, const bo_exchange* exchange, basebandd_answer* answer, char* why,
           size_t room);

/* Waits for the answer to a run that was given up. If none comes by then the session is broken. */
void bo_settle(bo_session* session, uint64_t until_ns);

#endif /* BASEBAND_CLIENT_OAI_SESSION_H_ */
