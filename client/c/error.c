#include "client/c/error.h"

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

const char* basebandd_error(void) { return last; }
