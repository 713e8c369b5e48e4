/* The text of the calling thread's last error. Internal to the library. */
#ifndef BASEBAND_CLIENT_C_ERROR_H_
#define BASEBAND_CLIENT_C_ERROR_H_

#include <stddef.h>

/* Each returns `error`, a negative errno. */
int basebandd_fail(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Without formatting: for what happens often. `text` lasts. */
int basebandd_fail_fast(int error, const char* text);
/* 0; -EINVAL, with its text: there are no groups. */
int basebandd_check_groups(const void* groups, size_t count);

#endif /* BASEBAND_CLIENT_C_ERROR_H_ */
