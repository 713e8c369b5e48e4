// The memory that a server shares with clients of its host, as its configuration says.
#ifndef BASEBAND_SERVER_SHM_SHARED_REGIONS_H_
#define BASEBAND_SERVER_SHM_SHARED_REGIONS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/auth/access.h"
#include "server/config/config.h"
#include "server/device/device.h"
#include "server/limits/memory_steps.h"
#include "server/metrics/metrics.h"
#include "server/shm/region_server.h"
#include "server/shm/region_table.h"

namespace baseband::server {

// What a server that shares memory has of it.
struct SharedRegions {
  std::unique_ptr<RegionTable> table;
  std::unique_ptr<RegionServer> server;
};

// As `config` says: empty, if it shares none. None is granted while `memory` is scarce. `access`,
// `devices` and `metrics`, on whose page is how much is shared, outlive them; the page does not.
absl::StatusOr<SharedRegions> StartRegions(const Config& config, Access* access,
                                           const std::vector<Device*>& devices, Metrics* metrics,
                                           std::shared_ptr<const MemorySteps> memory);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_SHARED_REGIONS_H_
