#include "client/oai/jobs.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const void* header, size_t bytes, uint64_t seed) { /* FNV-1a, by words */
  const uint8_t* from = header;
  uint64_t value = 14695981039346656037U ^ seed;
  for (; bytes > 0; bytes -= bytes < 8 ? bytes : 8, from += 8) {
    uint64_t word = 0;
    memcpy(&word, from, bytes < 8 ? bytes : 8);
    value = (value ^ word) * 1099511628211U;
    value ^= value >> 29;
  }
  return value;
}

static bool has_number(const bo_job* job) {
  return job->state == BO_JOB_ASKED || job->state == BO_JOB_KNOWN;
}

/* The place is free; what the server knew in it is returned. */
static uint32_t drop(bo_jobs* jobs, bo_job* job) {
  const uint32_t number = job->state == BO_JOB_KNOWN ? job->number : 0;
  if (has_number(job)) jobs->header_bytes -= job->header_bytes;
  job->state = BO_JOB_NONE;
  return number;
}

bo_job* bo_find_job(bo_jobs* jobs, uint8_t operation, const void* header, size_t header_bytes,
                    uint64_t payload_bytes, bool* is_new, uint32_t* forgotten) {
  const uint64_t hash = hash_of(header, header_bytes, payload_bytes * 64 + operation);
  bo_job* oldest = NULL;
  *forgotten = 0;
  *is_new = false;
  for (bo_job* job = jobs->jobs; job < jobs->jobs + BO_JOBS; ++job) {
    if (job->state == BO_JOB_NONE) {
      if (oldest == NULL || oldest->state != BO_JOB_NONE) oldest = job;
      continue;
    }
    if (job->hash == hash && job->operation == operation && job->payload_bytes == payload_bytes &&
        job->header_bytes == header_bytes && memcmp(job->header, header, header_bytes) == 0) {
      job->used = ++jobs->clock;
      return job;
    }
    if (job->state == BO_JOB_ASKED) continue; /* its answer will come */
    if (oldest == NULL || (oldest->state != BO_JOB_NONE && job->used < oldest->used)) oldest = job;
  }
  if (oldest == NULL) return NULL;
  *forgotten = drop(jobs, oldest);
  if (oldest->room < header_bytes) {
    void* const larger = realloc(oldest->header, header_bytes);
    if (larger == NULL) return NULL;
    oldest->header = larger;
    oldest->room = header_bytes;
  }
  memcpy(oldest->header, header, header_bytes);
  oldest->header_bytes = header_bytes;
  oldest->payload_bytes = payload_bytes;
  oldest->operation = operation;
  oldest->hash = hash;
  oldest->used = ++jobs->clock;
  oldest->state = BO_JOB_SEEN;
  *is_new = true;
  return oldest;
}

bool bo_ask_job(bo_jobs* jobs, bo_job* job, uint32_t* forgotten) {
  *forgotten = 0;
  if (job->header_bytes > BO_JOB_BYTES / 2) return false; /* it would push out all others */
  if (jobs->header_bytes + job->header_bytes > BO_JOB_BYTES) {
    bo_job* oldest = NULL;
    for (bo_job* other = jobs->jobs; other < jobs->jobs + BO_JOBS; ++other) {
      if (other->state != BO_JOB_KNOWN) continue;
      if (oldest == NULL || other->used < oldest->used) oldest = other;
    }
    if (oldest != NULL) *forgotten = drop(jobs, oldest);
    return false;
  }
  job->state = BO_JOB_ASKED;
  jobs->header_bytes += job->header_bytes;
  return true;
}

void bo_answer_job(bo_jobs* jobs, bo_job* job, uint32_t number) {
  if (job->state != BO_JOB_ASKED) return;
  job->number = number;
  if (number == 0) jobs->header_bytes -= job->header_bytes;
  job->state = number == 0 ? BO_JOB_REFUSED : BO_JOB_KNOWN;
}

void bo_clear_jobs(bo_jobs* jobs) {
  for (bo_job* job = jobs->jobs; job < jobs->jobs + BO_JOBS; ++job) {
    free(job->header);
  }
  memset(jobs, 0, sizeof(*jobs));
}
