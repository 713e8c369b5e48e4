#include "server/shm/shared_regions.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/device/shared_memory.h"

namespace baseband::server {

absl::StatusOr<SharedRegions> StartRegions(const Config& config, Access* access,
                                           const std::vector<Device*>& devices, Metrics* metrics,
                                           std::shared_ptr<const MemorySteps> memory) {
  SharedRegions regions;
  if (config.shm_listen.empty()) return regions;
  RegionTable::Limits limits;
  limits.bytes = MibToBytes(config.shm_mib);
  limits.client_bytes = MibToBytes(std::min(config.client_shm_mib, config.shm_mib));
  regions.table = std::make_unique<RegionTable>(
      limits, [devices](int64_t bytes) { return SharedMemory::Create(bytes, devices); });
  BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(config.shm_listen));
  RegionServer::Options options;
  options.socket_mode = config.socket_mode;
  options.memory = std::move(memory);
  auto server =
      RegionServer::Start(address.unix_path, std::move(options), access, regions.table.get());
  if (!server.ok()) {
    return absl::Status(server.status().code(),
                        absl::StrCat("cannot listen at shm_listen ", config.shm_listen, ": ",
                                     server.status().message()));
  }
  regions.server = *std::move(server);
  const int pool = metrics->AddPool("shared", limits.bytes);
  metrics->BeforeScrape([table = regions.table.get(), pool](Metrics& sampled) {
    const RegionTable::Usage usage = table->usage();
    sampled.SetPoolUsed(pool, usage.bytes);
    sampled.SetSharedRegions(usage.regions);
  });
  spdlog::info("sharing memory at {}", config.shm_listen);
  return regions;
}

}  // namespace baseband::server
