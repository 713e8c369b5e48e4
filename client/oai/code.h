/* What a code block is to rate matching: 38.212, clauses 5.4.2.1 and 5.4.2.2. */
#ifndef BASEBAND_CLIENT_OAI_CODE_H_
#define BASEBAND_CLIENT_OAI_CODE_H_

#include <basebandd.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct bo_code {
  uint32_t base_graph;
  uint32_t zc;
  uint32_t k; /* fillers and CRC included */
  uint32_t n_filler;
  uint32_t n_cb;     /* of the circular buffer */
  uint32_t crc_bits; /* of each code block: 24 or 16 */
  uint32_t crc;      /* CodeBlockCrc */
} bo_code;

/* Of a transport block of `a` bits in `c` code blocks; `tbs_lbrm` in bits, 0: no limit. */
bo_code bo_code_of(uint32_t base_graph, uint32_t zc, uint32_t k, uint32_t n_filler, uint32_t a,
                   uint32_t c, uint32_t tbs_lbrm);

/* Whether code blocks of it can go to the server: their bits are whole bytes, for one. */
bool bo_code_is_served(const bo_code* code);

/* Bits of the buffer that are sent at all: without fillers. */
uint32_t bo_soft_bits(const bo_code* code);

basebandd_shared_channel_block bo_describe_block(const bo_code* code, uint32_t e, uint32_t qm,
                                                 uint32_t rv);

/* `soft[i]`, of the i-th bit of the buffer, fillers counted, gets what was received of it added,
 * held to 16 bits. `llrs` are as they were sent, interleaved. */
void bo_add_received(const bo_code* code, uint32_t qm, uint32_t rv, const int16_t* llrs, uint32_t e,
                     int16_t* soft);

/* From a buffer with fillers to bo_soft_bits LLRs without, which is what comes of a transmission of
 * all of the buffer with rv 0 and qm 1; and back. */
void bo_pack_soft(const bo_code* code, const int16_t* soft, int16_t* packed);
void bo_unpack_soft(const bo_code* code, const int16_t* packed, int16_t* soft);

#endif /* BASEBAND_CLIENT_OAI_CODE_H_ */
