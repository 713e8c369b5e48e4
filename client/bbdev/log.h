/* The driver's lines in EAL's log. */
#ifndef BASEBAND_CLIENT_BBDEV_LOG_H_
#define BASEBAND_CLIENT_BBDEV_LOG_H_

#include <rte_log.h>

extern int bb_log_type; /* pmd.baseband.offload: --log-level=pmd.baseband.offload,debug */

#define BB_LOG(level, ...) \
  rte_log(RTE_LOG_##level, (uint32_t)bb_log_type, "baseband_offload: " __VA_ARGS__)

#endif /* BASEBAND_CLIENT_BBDEV_LOG_H_ */
