// Who takes requests from the rings in regions. A region server passes on that a client wants one,
// and knows no more of them.
#ifndef BASEBAND_SERVER_SHM_RING_HOST_H_
#define BASEBAND_SERVER_SHM_RING_HOST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/device/shared_memory.h"

namespace baseband::server {

// A ring that is served until this goes, once Serve() was called. What was taken from it is
// cancelled then, and may use its memory a little longer.
class OpenRing {
 public:
  virtual ~OpenRing() = default;
  // From now on, if it is OK; called once. ResourceExhausted: there is no memory for it.
  virtual absl::Status Serve() = 0;
  // The server's bell, to be passed on; remains the ring's.
  virtual int bell_fd() const = 0;
  // Of its region, from where it was opened on.
  virtual uint64_t bytes() const = 0;
};

// Thread-safe.
class RingHost {
 public:
  virtual ~RingHost() = default;
  // Of `client`, whose region `memory` has it from `offset` on; it is not served yet.
  // InvalidArgument: none is there; ResourceExhausted: the client, or all, have too many;
  // Unavailable: the server ends.
  virtual absl::StatusOr<std::unique_ptr<OpenRing>> Open(const std::string& client,
                                                         std::shared_ptr<const SharedMemory> memory,
                                                         uint64_t offset) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_RING_HOST_H_
