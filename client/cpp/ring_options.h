// How a client's ring is made.
#ifndef BASEBAND_CLIENT_CPP_RING_OPTIONS_H_
#define BASEBAND_CLIENT_CPP_RING_OPTIONS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace baseband::client {

struct RingOptions {
  // For the payloads and answers of all requests in flight: 1 .. what the server grants.
  int64_t memory_bytes = 64 << 20;
  uint32_t entries = 256;  // most requests in flight: a power of two, 1 .. 4096
  // The thread that takes answers looks for so long before it sleeps; infinite: it never does.
  absl::Duration spin = absl::Microseconds(50);
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_RING_OPTIONS_H_
