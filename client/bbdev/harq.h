/* The device's HARQ memory: soft bits of code blocks between their transmissions, named by an
 * address of the application's, of which bbdev's convention spends 32 KiB a code block. It is the
 * driver's own, so that a server that is started anew loses nothing. */
#ifndef BASEBAND_CLIENT_BBDEV_HARQ_H_
#define BASEBAND_CLIENT_BBDEV_HARQ_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bb_harq bb_harq;

/* Of addresses below `bytes`; takes memory only where something is written. Null: no memory. */
bb_harq* bb_harq_create(uint64_t bytes);
void bb_harq_destroy(bb_harq* harq);

/* What was never written is zeros. False: the range is not in the memory; of writing also: there is
 * no memory left. Different ranges by any threads at a time. */
bool bb_harq_read(const bb_harq* harq, uint64_t address, void* to, size_t bytes);
bool bb_harq_write(bb_harq* harq, uint64_t address, const void* from, size_t bytes);

/* LLRs saturated to 6 bits, +-31, four of them in three bytes, the first in the upper bits; what
 * fills up the last byte is zeros. */
size_t bb_packed_bytes(size_t llrs);
void bb_pack_llrs(const int8_t* llrs, size_t count, uint8_t* to);
void bb_unpack_llrs(const uint8_t* packed, size_t count, int8_t* to);

#endif /* BASEBAND_CLIENT_BBDEV_HARQ_H_ */
