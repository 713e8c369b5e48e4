#include "client/bbdev/jobs.h"

#include <string.h>

static uint32_t hash(const bb_shape* shape) { /* FNV-1a by words, its bits mixed as Murmur's */
  uint32_t words[sizeof(*shape) / sizeof(uint32_t)];
  _Static_assert(sizeof(words) == sizeof(*shape), "a shape is whole words");
  memcpy(words, shape, sizeof(words));
  uint32_t value = 2166136261U;
  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
    value = (value ^ words[i]) * 16777619U;
  }
  value = (value ^ value >> 16) * 0x85ebca6bU;
  return (value ^ value >> 13) * 0xc2b2ae35U >> 16;
}

bb_job* bb_find_job(bb_jobs* jobs, const bb_shape* shape, uint32_t* forgotten) {
  *forgotten = 0;
  const uint32_t first = hash(shape);
  bb_job* taken = NULL; /* the place that the shape gets if it has none */
  for (uint32_t i = 0; i < BB_JOB_PLACES; ++i) {
    bb_job* const job = &jobs->jobs[(first + i) & (BB_JOBS - 1)];
    if (job->state == BB_JOB_NONE) {
      if (taken == NULL || taken->state != BB_JOB_NONE) taken = job;
    } else if (memcmp(&job->shape, shape, sizeof(*shape)) == 0) {
      return job;
    } else if (job->state != BB_JOB_ASKED && (taken == NULL || job->state < taken->state)) {
      taken = job;
    }
  }
  if (taken == NULL) return NULL;
  if (taken->state == BB_JOB_KNOWN) *forgotten = taken->number;
  taken->shape = *shape;
  taken->state = BB_JOB_NONE;
  taken->number = 0;
  return taken;
}
