#ifndef BASEBAND_CLIENT_OAI_CLOCK_H_
#define BASEBAND_CLIENT_OAI_CLOCK_H_

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, which deadlines go by. */
static inline uint64_t bo_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

#endif /* BASEBAND_CLIENT_OAI_CLOCK_H_ */
