/* Whether the server answers, and what is said of that: that it does not once, with the reason,
 * that it does again once, and neither more often than every second. */
#ifndef BASEBAND_CLIENT_OAI_HEALTH_H_
#define BASEBAND_CLIENT_OAI_HEALTH_H_

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum bo_news { BO_NO_NEWS, BO_NEWS_AWAY, BO_NEWS_BACK } bo_news;

typedef struct bo_health {
  pthread_mutex_t lock;
  bool is_said_away; /* what was said last */
  uint64_t said_ns;
  uint64_t library_calls; /* since then */
  const char* server;     /* told with the first answer; then null */
} bo_health;

/* A call was answered by the server, or not. What is to be said of it. */
bo_news bo_health_note(bo_health* health, bool is_answered, uint64_t now_ns);

/* As above, and says it. `why` is why there was no answer. */
void bo_health_tell(bo_health* health, bool is_answered, const char* why);

#endif /* BASEBAND_CLIENT_OAI_HEALTH_H_ */
