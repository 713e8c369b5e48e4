/* CRCs of 38.212, clause 5.1. */
#ifndef BASEBAND_CLIENT_OAI_CRC_H_
#define BASEBAND_CLIENT_OAI_CRC_H_

#include <stddef.h>
#include <stdint.h>

/* Puts the CRC of `bytes` of `data` behind them: `crc` is CodeBlockCrc, 1 (24A), 2 (24B) or 3 (16).
 * Returns how many bytes it has. */
size_t bo_append_crc(uint32_t crc, uint8_t* data, size_t bytes);

#endif /* BASEBAND_CLIENT_OAI_CRC_H_ */
