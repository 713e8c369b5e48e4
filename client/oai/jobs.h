/* Which descriptions a connection's server knows by a number. A description that comes a second
 * time is registered, beside the work: until its number is there, requests bring it along. Those
 * that have not come for the longest time give their places to others. Not thread-safe. */
#ifndef BASEBAND_CLIENT_OAI_JOBS_H_
#define BASEBAND_CLIENT_OAI_JOBS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BO_JOBS 64U                /* of 1024 that a ring may have .. */
#define BO_JOB_BYTES (60U * 1024U) /* .. with headers of 64 KiB together */

typedef enum bo_job_state {
  BO_JOB_NONE,
  BO_JOB_SEEN,
  BO_JOB_ASKED,
  BO_JOB_KNOWN,
  BO_JOB_REFUSED
} bo_job_state;

typedef struct bo_job {
  bo_job_state state;
  uint8_t operation;
  uint32_t number; /* of BO_JOB_KNOWN */
  uint64_t hash;
  uint64_t used; /* by bo_jobs.clock */
  uint64_t payload_bytes;
  size_t header_bytes;
  size_t room; /* of `header` */
  void* header;
} bo_job;

typedef struct bo_jobs {
  bo_job jobs[BO_JOBS];
  size_t header_bytes; /* of those asked for and known */
  uint64_t clock;
} bo_jobs;

/* The place of a description. In BO_JOB_KNOWN it has a number; in BO_JOB_SEEN it is here for the
 * first time. Null: no place is free. `forgotten` is a number that the server need not keep, or 0.
 */
bo_job* bo_find_job(bo_jobs* jobs, uint8_t operation, const void* header, size_t header_bytes,
                    uint64_t payload_bytes, bool* is_new, uint32_t* forgotten);

/* Whether there is room to ask for the number of `job`; then it is BO_JOB_ASKED. If not, room is
 * made for the next time: `forgotten` as above. */
bool bo_ask_job(bo_jobs* jobs, bo_job* job, uint32_t* forgotten);

/* The answer to that; number 0: it was refused. */
void bo_answer_job(bo_jobs* jobs, bo_job* job, uint32_t number);

/* No job is known any more. */
void bo_clear_jobs(bo_jobs* jobs);

#endif /* BASEBAND_CLIENT_OAI_JOBS_H_ */
