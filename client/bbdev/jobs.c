#include "client/bbdev/jobs.h"

#include <string.h>

static uint32_t hash(const bb_shape* shape) { /* FNV-1a, by words */
  uint32_t words[sizeof(*shape) / sizeof(uint32_t)];
  _Static_assert(sizeof(words) == sizeof(*shape), "a shape is whole words");
  memcpy(words, shape, sizeof(words));
  uint32_t value = 2166136261U;
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
    value = (value ^ words[i]) * 16777619U;
  }
  return value ^ value >> 16;
}

bb_job* bb_find_job(bb_jobs* jobs, const bb_shape* shape, uint32_t* forgotten) {
  bb_job* const job = &jobs->jobs[hash(shape) & (BB_JOBS - 1)];
  *forgotten = 0;
  if (job->state != BB_JOB_NONE && memcmp(&job->shape, shape, sizeof(*shape)) == 0) return job;
  if (job->state == BB_JOB_ASKED) return NULL;
  if (job->state == BB_JOB_KNOWN) *forgotten = job->number;
  job->shape = *shape;
  job->state = BB_JOB_NONE;
  job->number = 0;
  return job;
}
