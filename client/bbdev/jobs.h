/* Which shapes the server knows by a number. A shape that comes a second time is registered,
 * without waiting; until the number is there, and where the server has no more, requests bring
 * their header. One that has not come for long gives its place to another. Not thread-safe. */
#ifndef BASEBAND_CLIENT_BBDEV_JOBS_H_
#define BASEBAND_CLIENT_BBDEV_JOBS_H_

#include "client/bbdev/work.h"

#define BB_JOBS 512U     /* of 1024 that a ring may have; a power of two */
#define BB_JOB_PLACES 4U /* where a shape may lie */

typedef enum bb_job_state {
  BB_JOB_NONE,
  BB_JOB_SEEN,
  BB_JOB_ASKED,
  BB_JOB_KNOWN,
  BB_JOB_REFUSED
} bb_job_state;

typedef struct bb_job {
  bb_shape shape;
  bb_job_state state;
  uint32_t number; /* of BB_JOB_KNOWN */
} bb_job;

typedef struct bb_jobs {
  bb_job jobs[BB_JOBS];
} bb_jobs;

/* The place of `shape`, which is new there (BB_JOB_NONE) if another lies in it, or nothing does:
 * then `forgotten` is the number that the server need not keep, or 0. Null: what lies there waits
 * for its number. */
bb_job* bb_find_job(bb_jobs* jobs, const bb_shape* shape, uint32_t* forgotten);

#endif /* BASEBAND_CLIENT_BBDEV_JOBS_H_ */
