// Known answers that a device must give before it serves.
#ifndef BASEBAND_SERVER_OPERATIONS_SELF_TEST_H_
#define BASEBAND_SERVER_OPERATIONS_SELF_TEST_H_

#include <memory>

#include "absl/status/status.h"
#include "server/device/device.h"
#include "server/device/host_pool.h"

namespace baseband::server {

// Encodes and decodes a known 38.212 code block, finds a known carrier, and takes a tone apart by
// channels whose outputs are known, on every lane of `device`, which must be idle. Internal names
// the lane and what was wrong. Takes a little memory of both pools and gives it back.
absl::Status RunSelfTest(const Device& device, HostPool& staging, HostPool& reply);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SELF_TEST_H_
