/* OpenAirInterface's own library, which does the work when the server does not. */
#ifndef BASEBAND_CLIENT_OAI_LIBRARY_H_
#define BASEBAND_CLIENT_OAI_LIBRARY_H_

#include <stdbool.h>
#include <stddef.h>

/* Functions by their names, null where a library has none: nrLDPC_coding_.. of slots, LDPC.. of
 * segments. They have the types of OpenAirInterface's headers. */
typedef void (*bo_function)(void);

typedef struct bo_library {
  char path[512]; /* where it was found; empty: nowhere */
  bo_function slot_init;
  bo_function slot_shutdown;
  bo_function slot_decoder;
  bo_function slot_encoder;
  bo_function init;
  bo_function shutdown;
  bo_function decoder;
  bo_function encoder;
  bool encodes_one; /* its encoder takes a single segment: libldpc_orig.so */
} bo_library;

typedef enum bo_part { BO_SLOTS, BO_SEGMENTS } bo_part;

/* The first library that has a part, of `named`, if that is not empty, or else libldpc.so and
 * libldpc_orig.so: beside this library, beside the program, where the loader looks. If there is
 * none, says so. It is looked for once; of all calls the same one is returned, or null. */
const bo_library* bo_library_for(bo_part part, const char* named);

/* One was looked for, and is not there. */
bool bo_library_is_missing(void);

/* Of bo_library_for: opens one library. False: it cannot be opened, or lacks the part. */
bool bo_open_library(bo_library* library, bo_part part, const char* path);

#endif /* BASEBAND_CLIENT_OAI_LIBRARY_H_ */
