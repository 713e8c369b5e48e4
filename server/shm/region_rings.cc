#include "server/shm/region_rings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

void RegionRings::SetHost(RingHost* host) {
  const absl::MutexLock lock(&mutex_);
  host_ = host;
  if (host == nullptr) rings_.clear();
}

absl::StatusOr<int> RegionRings::Open(const std::string& client, const std::string& region,
                                      std::shared_ptr<const SharedMemory> memory, uint64_t offset) {
  const absl::MutexLock lock(&mutex_);
  if (host_ == nullptr) {
    return absl::UnavailableError("this server takes no rings: it starts, or shuts down");
  }
  const auto many = std::count_if(rings_.begin(), rings_.end(),
                                  [&](const auto& other) { return other.second.client == client; });
  if (many >= kMaxClientRings) {
    return absl::ResourceExhaustedError(
        absl::StrCat(client, " has ", many, " rings, and may have no more at a time"));
  }
  BASEBAND_ASSIGN_OR_RETURN(std::unique_ptr<OpenRing> ring,
                            host_->Open(client, std::move(memory), offset));
  const auto [first, last] = rings_.equal_range(region);
  for (auto other = first; other != last; ++other) {
    const Ring& there = other->second;
    if (offset < there.begin + there.ring->bytes() && there.begin < offset + ring->bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ring of ", ring->bytes(), " bytes from offset ", offset,
                       " on overlaps the one from offset ", there.begin, " on"));
    }
  }
  // Before the answer is sent, SetHost() may end the ring.
  const int bell_fd = fcntl(ring->bell_fd(), F_DUPFD_CLOEXEC, 0);
  if (bell_fd < 0) {
    return absl::ResourceExhaustedError("there is no descriptor for another ring");
  }
  // Last: nothing is taken from a ring that is refused.
  if (absl::Status status = ring->Serve(); !status.ok()) {
    close(bell_fd);
    return status;
  }
  rings_.emplace(region, Ring{client, offset, std::move(ring)});
  return bell_fd;
}

void RegionRings::Remove(const std::string& region) {
  const absl::MutexLock lock(&mutex_);
  rings_.erase(region);
}

}  // namespace baseband::server
