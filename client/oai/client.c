#include "client/oai/client.h"

#include <stdatomic.h>

#include "client/oai/log.h"

/* Never freed: who calls while another stops finds no connection, and no more. */
static bo_client the_client;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_made;
static atomic_bool is_running;

static bool run(void) {
  if (!is_made) {
    bo_read_settings(&the_client.settings);
    bo_harq_init(&the_client.harq);
    pthread_mutex_init(&the_client.health.lock, NULL);
    the_client.health.server = the_client.settings.socket;
    bo_init_pool(&the_client.pool, &the_client.settings);
    is_made = true;
  }
  if (bo_start_pool(&the_client.pool) == 0) return true;
  bo_log("no thread can be started: OpenAirInterface's own library works");
  return false;
}

bo_client* bo_start(void) {
  if (atomic_load(&is_running)) return &the_client;
  pthread_mutex_lock(&lock);
  if (!atomic_load(&is_running)) atomic_store(&is_running, run());
  pthread_mutex_unlock(&lock);
  return atomic_load(&is_running) ? &the_client : NULL;
}

void bo_stop(void) {
  pthread_mutex_lock(&lock);
  if (atomic_exchange(&is_running, false)) bo_stop_pool(&the_client.pool);
  pthread_mutex_unlock(&lock);
}
