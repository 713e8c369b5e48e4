/* The text of the calling thread's last error. Internal to the library. */
#ifndef BASEBAND_CLIENT_C_ERROR_H_
#define BASEBAND_CLIENT_C_ERROR_H_

/* Each returns `error`, a negative errno. */
int basebandd_fail(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Without formatting: for what happens often. `text` lasts. */
int basebandd_fail_fast(int error, const char* text);

#endif /* BASEBAND_CLIENT_C_ERROR_H_ */
