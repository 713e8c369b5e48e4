// The rings that there are in regions, and who may have another.
#ifndef BASEBAND_SERVER_SHM_REGION_RINGS_H_
#define BASEBAND_SERVER_SHM_REGION_RINGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "server/device/shared_memory.h"
#include "server/shm/ring_host.h"

namespace baseband::server {

// Thread-safe.
class RegionRings {
 public:
  // Of one client, at a time.
  static constexpr int kMaxClientRings = 64;

  // From now on, who serves rings; null: nobody, and those that there are have ended.
  void SetHost(RingHost* host);
  // Serves the ring from `offset` on in `region`, whose memory is `memory`. Returns a copy of its
  // bell, to be closed. The errors of RingHost::Open(), and InvalidArgument: it overlaps another.
  absl::StatusOr<int> Open(const std::string& client, const std::string& region,
                           std::shared_ptr<const SharedMemory> memory, uint64_t offset);
  // Ends those in `region`.
  void Remove(const std::string& region);

 private:
  struct Ring {
    std::string client;
    uint64_t begin = 0;  // in its region
    std::unique_ptr<OpenRing> ring;
  };

  absl::Mutex mutex_;
  RingHost* host_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::multimap<std::string, Ring> rings_ ABSL_GUARDED_BY(mutex_);  // by region
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_REGION_RINGS_H_
