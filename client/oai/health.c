#include "client/oai/health.h"

#include "client/oai/clock.h"
#include "client/oai/library.h"
#include "client/oai/log.h"

#define BETWEEN_NS 1000000000U

bo_news bo_health_note(bo_health* health, bool is_answered, uint64_t now_ns) {
  if (!is_answered) ++health->library_calls;
  if (is_answered != health->is_said_away) return BO_NO_NEWS;
  if (health->said_ns != 0 && now_ns - health->said_ns < BETWEEN_NS) return BO_NO_NEWS;
  health->is_said_away = !is_answered;
  health->said_ns = now_ns;
  return is_answered ? BO_NEWS_BACK : BO_NEWS_AWAY;
}

void bo_health_tell(bo_health* health, bool is_answered, const char* why) {
  pthread_mutex_lock(&health->lock);
  /* The usual case looks at no clock. */
  const char* const server = is_answered ? health->server : NULL;
  if (server != NULL) health->server = NULL;
  const bool is_usual = is_answered && !health->is_said_away;
  const bo_news news = is_usual ? BO_NO_NEWS : bo_health_note(health, is_answered, bo_now_ns());
  const unsigned long long calls = health->library_calls;
  if (news == BO_NEWS_BACK) health->library_calls = 0;
  pthread_mutex_unlock(&health->lock);
  if (server != NULL) bo_log("served by %s", server);
  if (news == BO_NEWS_AWAY) {
    bo_log("not served: %s; %s", why,
           bo_library_is_missing() ? "and there is no library: calls fail"
                                   : "OpenAirInterface's own library works instead");
  } else if (news == BO_NEWS_BACK) {
    bo_log("the server is back, after %llu calls that went to the library", calls);
  }
}
