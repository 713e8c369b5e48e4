// Serves the rings in memory that clients share.
#ifndef BASEBAND_SERVER_RINGS_RING_SERVER_H_
#define BASEBAND_SERVER_RINGS_RING_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/calls/call_environment.h"
#include "server/config/config.h"
#include "server/rings/ring_poller.h"
#include "server/shm/region_server.h"
#include "server/shm/ring_host.h"

namespace baseband::server {

class RingServer final : public RingHost {
 public:
  struct Options {
    int threads = 1;
    absl::Duration spin;  // see RingPoller
  };

  // Serves rings in the regions of `regions`. Both outlive it; what it has taken has ended before
  // it goes. ResourceExhausted: there is no descriptor for a thread of it.
  static absl::StatusOr<std::unique_ptr<RingServer>> Start(const Options& options,
                                                           const CallEnvironment& environment,
                                                           RegionServer* regions);
  ~RingServer() override;

  absl::StatusOr<std::unique_ptr<OpenRing>> Open(const std::string& client,
                                                 std::shared_ptr<const SharedMemory> memory,
                                                 uint64_t offset) override;

 private:
  class Served;

  RingServer(const CallEnvironment& environment, RegionServer* regions);

  const CallEnvironment& environment_;
  RegionServer* const regions_;
  const std::shared_ptr<LiveCount> rings_;  // a scrape may still ask it
  std::vector<std::unique_ptr<RingPoller>> pollers_;
};

// As `config` says; null, if there are no regions. Errors as of RingServer::Start.
absl::StatusOr<std::unique_ptr<RingServer>> StartRings(const Config& config,
                                                       const CallEnvironment& environment,
                                                       RegionServer* regions);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_RINGS_RING_SERVER_H_
