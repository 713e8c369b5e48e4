/* Into a connection, past its header. */
#ifndef BASEBAND_TESTS_UNIT_CLIENT_C_START_AT_H_
#define BASEBAND_TESTS_UNIT_CLIENT_C_START_AT_H_

#include <stdint.h>

#include "client/c/basebandd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As if `k` requests had been submitted, and answered. */
void StartAt(basebandd_connection* connection, uint64_t k);

#ifdef __cplusplus
}
#endif

#endif /* BASEBAND_TESTS_UNIT_CLIENT_C_START_AT_H_ */
