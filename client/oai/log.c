#include "client/oai/log.h"

#include <stdarg.h>
#include <stdio.h>

void bo_log(const char* format, ...) {
  char line[768];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  fprintf(stderr, "libldpc_baseband: %s\n", line); /* one write: lines of threads do not mix */
}
