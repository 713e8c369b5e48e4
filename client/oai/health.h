/* Whether the server answers, and what is said of that: that it does not once, with the reason,
 * that it does again once, that it refuses a request, and none more often than every second. */
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
  uint64_t refused_ns;    /* when it was last said that a request was refused */
  uint64_t library_calls; /* since then */
  const char* server;     /* told with the first answer; then null */
} bo_health;

/* A call was answered by the server, or not. What is to be said of it. */
bo_news bo_health_note(bo_health* health, bool is_answered, uint64_t now_ns);

/* As above, and says it: `error` is 0 or negative, `why` says of what. With -EINVAL the server
 * answers, but refuses this request, of which that is said, too. */
void bo_health_tell(bo_health* health, int error, const char* why);

#endif /* BASEBAND_CLIENT_OAI_HEALTH_H_ */
