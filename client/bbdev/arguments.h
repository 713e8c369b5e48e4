/* What stands behind the device's name: --vdev=baseband_offload0,socket=PATH,.. README.md lists it.
 */
#ifndef BASEBAND_CLIENT_BBDEV_ARGUMENTS_H_
#define BASEBAND_CLIENT_BBDEV_ARGUMENTS_H_

#include <stdint.h>

#define BB_ARGUMENTS                                                                        \
  "socket=<path> queues=<1..256> memory_mib=<1..1024> harq_mib=<0..4096> deadline_us=<0..>" \
  " timeout_ms=<10..600000> class=<high|normal|low> wait_s=<0..3600>"

#define BB_MAX_QUEUES 256U /* of each operation */

typedef struct bb_arguments {
  char socket[108];     /* a Unix socket's path; the default is the one of deploy/ */
  uint32_t queues;      /* most of each operation */
  uint32_t memory_mib;  /* of each queue, shared with the server */
  uint32_t harq_mib;    /* most that the device's HARQ memory may take; 0: it has none */
  uint32_t deadline_us; /* of each operation, from its enqueueing on; 0: none */
  uint32_t timeout_ms;  /* after which a server that gives no answer is taken for gone */
  uint32_t wait_s;      /* for a server that is not there yet */
  uint8_t first_class;  /* basebandd_priority of queues of priority 0 */
} bb_arguments;

/* Of `text`, which may be null. -EINVAL: the log says which argument is wrong, and why. */
int bb_parse_arguments(const char* text, bb_arguments* arguments);

#endif /* BASEBAND_CLIENT_BBDEV_ARGUMENTS_H_ */
