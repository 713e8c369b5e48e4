#include "client/oai/health.h"

#include <errno.h>

#include "client/oai/clock.h"
#include "client/oai/library.h"
#include "client/oai/log.h"

#define BETWEEN_NS 1000000000U

static bool is_to_be_said(uint64_t* said_ns, uint64_t now_ns) {
  if (*said_ns != 0 && now_ns - *said_ns < BETWEEN_NS) return false;
  *said_ns = now_ns;
  return true;
}

bo_news bo_health_note(bo_health* health, bool is_answered, uint64_t now_ns) {
  if (!is_answered) ++health->library_calls;
  if (is_answered != health->is_said_away) return BO_NO_NEWS;
  if (!is_to_be_said(&health->said_ns, now_ns)) return BO_NO_NEWS;
  health->is_said_away = !is_answered;
  return is_answered ? BO_NEWS_BACK : BO_NEWS_AWAY;
}

void bo_health_tell(bo_health* health, int error, const char* why) {
  const bool is_answered = error == 0 || error == -EINVAL;
  pthread_mutex_lock(&health->lock);
  /* The usual case looks at no clock. */
  const char* const server = is_answered ? health->server : NULL;
  if (server != NULL) health->server = NULL;
  const bool is_usual = is_answered && !health->is_said_away;
  const bo_news news = is_usual ? BO_NO_NEWS : bo_health_note(health, is_answered, bo_now_ns());
  const bool is_refused = error == -EINVAL && is_to_be_said(&health->refused_ns, bo_now_ns());
  const unsigned long long calls = health->library_calls;
  if (news == BO_NEWS_BACK) health->library_calls = 0;
  pthread_mutex_unlock(&health->lock);
  const char* const instead = bo_library_is_missing()
                                  ? "and there is no library: calls fail"
                                  : "OpenAirInterface's own library works instead";
  if (server != NULL) bo_log("served by %s", server);
  if (news == BO_NEWS_AWAY) {
    bo_log("not served: %s; %s", why, instead);
  } else if (news == BO_NEWS_BACK) {
    bo_log("the server is back, after %llu calls that went to the library", calls);
  }
  if (is_refused) bo_log("refused: %s; %s", why, instead);
}
