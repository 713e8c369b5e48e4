/* What is said over the socket of --shm-listen, for C: common/shm/region_messages.h has the words,
 * a test holds both against each other. Internal to the library. */
#ifndef BASEBAND_CLIENT_C_REGION_WIRE_H_
#define BASEBAND_CLIENT_C_REGION_WIRE_H_

#include <stdint.h>

#define BASEBANDD_REGION_VERSION 1U
#define BASEBANDD_REGION_PAGE 4096U

enum basebandd_region_kind { BASEBANDD_REGION_GRANT = 1, BASEBANDD_REGION_RING = 3 };

typedef struct {
  uint32_t version;
  uint32_t kind;
  uint64_t bytes;
  uint8_t name[16];
} basebandd_region_request;

typedef struct {
  uint32_t version;
  uint32_t code;
  uint64_t bytes;
  uint8_t name[16];
  uint8_t server_id[16];
  char message[208];
} basebandd_region_answer;

#endif /* BASEBAND_CLIENT_C_REGION_WIRE_H_ */
