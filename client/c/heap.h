/* Which pieces of a range are on loan: two-level segregated fit (Masmano, Ripoll, Crespo, Real:
 * TLSF, ECRTS 2004). What it knows lies outside of the range, which others write. Internal to the
 * library. */
#ifndef BASEBAND_CLIENT_C_HEAP_H_
#define BASEBAND_CLIENT_C_HEAP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Offsets are multiples of BASEBANDD_ALIGNMENT, from 0 on. Thread-safe. */
typedef struct basebandd_heap basebandd_heap;

#define BASEBANDD_HEAP_NONE UINT64_MAX

/* For `bytes`, a multiple of BASEBANDD_ALIGNMENT below 2^36. Null: no memory. */
basebandd_heap* basebandd_heap_create(uint64_t bytes);
void basebandd_heap_destroy(basebandd_heap* heap);

/* BASEBANDD_HEAP_NONE: no free piece is as large as `bytes`, which are 1 or more. */
uint64_t basebandd_heap_take(basebandd_heap* heap, uint64_t bytes);
/* -1: nothing that is taken begins at `offset`. */
int basebandd_heap_give(basebandd_heap* heap, uint64_t offset);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* BASEBAND_CLIENT_C_HEAP_H_ */
