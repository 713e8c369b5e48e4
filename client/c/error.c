#include "client/c/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "client/c/basebandd.h"

static _Thread_local char formatted[512];
static _Thread_local const char* last = "";

int basebandd_fail(int error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(formatted, sizeof(formatted), format, arguments);
  va_end(arguments);
  last = formatted;
  return error;
}

int basebandd_fail_fast(int error, const char* text) {
  last = text;
  return error;
}

int basebandd_check_groups(const void* groups, size_t count) {
  if (groups == NULL) return basebandd_fail(-EINVAL, "groups is null");
  return count == 0 ? basebandd_fail(-EINVAL, "count 0 is not in [1, ..]") : 0;
}

const char* basebandd_error(void) { return last; }
