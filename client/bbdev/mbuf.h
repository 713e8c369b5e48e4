/* Bytes of an operation's data in and out of its mbufs. */
#ifndef BASEBAND_CLIENT_BBDEV_MBUF_H_
#define BASEBAND_CLIENT_BBDEV_MBUF_H_

#include <rte_bbdev_op.h>
#include <rte_mbuf.h>
#include <stdbool.h>
#include <string.h>

/* `bytes` from byte `skip` of the data on, also out of a chain; what is beyond the data's length is
 * zeros. A single mbuf is believed to have what the operation says: applications hang buffers of
 * more than 64 KiB, which no mbuf can count, into one. False: there is no mbuf, or the chain is
 * shorter than the data. */
static inline bool bb_mbuf_read(const struct rte_bbdev_op_data* data, uint32_t skip, void* to,
                                uint32_t bytes) {
  const struct rte_mbuf* mbuf = data->data;
  if (mbuf == NULL) return false;
  const uint32_t there = skip < data->length ? RTE_MIN(bytes, data->length - skip) : 0;
  memset((uint8_t*)to + there, 0, bytes - there);
  bytes = there;
  uint64_t at = (uint64_t)data->offset + skip;
  if (mbuf->nb_segs == 1) {
    memcpy(to, rte_pktmbuf_mtod(mbuf, const uint8_t*) + at, bytes);
    return true;
  }
  uint8_t* next = to;
  for (; bytes > 0; mbuf = mbuf->next) {
    if (mbuf == NULL) return false;
    if (at >= mbuf->data_len) {
      at -= mbuf->data_len;
      continue;
    }
    const uint32_t here = RTE_MIN(bytes, (uint32_t)(mbuf->data_len - at));
    memcpy(next, rte_pktmbuf_mtod(mbuf, const uint8_t*) + at, here);
    next += here;
    bytes -= here;
    at = 0;
  }
  return true;
}

/* Where `bytes` of an operation's output go: at the data's offset in its mbuf, which then ends with
 * them, where it can count them. Null: there is no mbuf, or no room in it. */
static inline uint8_t* bb_mbuf_put(struct rte_bbdev_op_data* data, uint32_t bytes) {
  struct rte_mbuf* const mbuf = data->data;
  if (mbuf == NULL) return NULL;
  const uint64_t end = (uint64_t)data->offset + bytes;
  if (end <= (uint64_t)mbuf->buf_len - RTE_MIN(mbuf->buf_len, mbuf->data_off)) {
    mbuf->pkt_len += (uint32_t)end - mbuf->data_len;
    mbuf->data_len = (uint16_t)end;
  } else if (end > mbuf->data_len) {
    return NULL;
  }
  data->length = bytes;
  return rte_pktmbuf_mtod(mbuf, uint8_t*) + data->offset;
}

#endif /* BASEBAND_CLIENT_BBDEV_MBUF_H_ */
