#include "client/oai/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/oai/log.h"

static const char* value_of(const char* name) {
  const char* const value = getenv(name);
  return value == NULL || value[0] == '\0' ? NULL : value;
}

static double number_of(const char* name, double low, double high, double otherwise) {
  const char* const value = value_of(name);
  if (value == NULL) return otherwise;
  char* end;
  errno = 0;
  const double number = strtod(value, &end);
  if (errno == 0 && *end == '\0' && number >= low && number <= high) return number;
  if (otherwise < low) {
    bo_log("%s=%s is not in [%g, %g]: it is chosen", name, value, low, high);
  } else {
    bo_log("%s=%s is not in [%g, %g]: %g is taken", name, value, low, high, otherwise);
  }
  return otherwise;
}

/* Whether the value is `special`; `usual` is the other one that there is. */
static bool is_chosen(const char* name, const char* special, const char* usual) {
  const char* const value = value_of(name);
  if (value == NULL || strcmp(value, usual) == 0) return false;
  if (strcmp(value, special) == 0) return true;
  bo_log("%s=%s is neither %s nor %s: %s is taken", name, value, usual, special, usual);
  return false;
}

static void text_of(const char* name, const char* otherwise, char* to, size_t room) {
  const char* value = value_of(name);
  if (value != NULL && strlen(value) >= room) {
    bo_log("%s has %zu bytes, of which there may be %zu: %s%s", name, strlen(value), room - 1,
           otherwise[0] == '\0' ? "it is looked for" : otherwise,
           otherwise[0] == '\0' ? "" : " is taken");
    value = NULL;
  }
  strcpy(to, value == NULL ? otherwise : value);
}

void bo_read_settings(bo_settings* settings) {
  text_of("BASEBAND_SOCKET", "/run/basebandd/shm.sock", settings->socket, sizeof(settings->socket));
  text_of("BASEBAND_LIBRARY", "", settings->library, sizeof(settings->library));
  settings->harq_on_host = is_chosen("BASEBAND_HARQ", "host", "server");
  settings->is_flooding = is_chosen("BASEBAND_SCHEDULE", "flooding", "layered");
  settings->llr_scale = (float)number_of("BASEBAND_LLR_SCALE", 1e-6, 1e6, 0);
  settings->deadline_ns = (uint64_t)(1e3 * number_of("BASEBAND_DEADLINE_US", 100, 1e7, 1e5));
  settings->spin_ns = (uint64_t)(1e3 * number_of("BASEBAND_SPIN_US", 0, 1e7, 20));
  settings->memory_bytes = (uint64_t)number_of("BASEBAND_MEMORY_MIB", 1, 4096, 32) << 20;
}
