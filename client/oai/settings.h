/* What the environment says. */
#ifndef BASEBAND_CLIENT_OAI_SETTINGS_H_
#define BASEBAND_CLIENT_OAI_SETTINGS_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct bo_settings {
  char socket[108];  /* BASEBAND_SOCKET: the server's --shm-listen */
  char library[512]; /* BASEBAND_LIBRARY: OpenAirInterface's own; empty: it is looked for */
  bool harq_on_host; /* BASEBAND_HARQ=host: soft bits are kept in OpenAirInterface's memory */
  bool is_flooding;  /* BASEBAND_SCHEDULE=flooding: LDPCdecoder decodes as OpenAirInterface's own */
  float llr_scale;   /* BASEBAND_LLR_SCALE; 0: chosen */
  uint64_t deadline_ns; /* BASEBAND_DEADLINE_US: what a call may take, before it is the library's */
  uint64_t spin_ns;     /* BASEBAND_SPIN_US: looks for an answer so long, then sleeps */
  uint64_t memory_bytes; /* BASEBAND_MEMORY_MIB: of a connection */
} bo_settings;

/* A value that cannot be is said on stderr, and its default taken. */
void bo_read_settings(bo_settings* settings);

#endif /* BASEBAND_CLIENT_OAI_SETTINGS_H_ */
