// Memory of the server that a process of its host may map as well: a region for a client.
#ifndef BASEBAND_SERVER_DEVICE_SHARED_MEMORY_H_
#define BASEBAND_SERVER_DEVICE_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/device/device.h"
#include "server/device/payload.h"

namespace baseband::server {

// What is in it is whatever others write, at any moment: who looks at something twice may see two
// things. Whoever has the descriptor can neither shrink nor grow it: that an access of the server's
// ends in SIGBUS takes a host that has no page left and overcommits nothing. Ordinary pages: those
// of a hugetlbfs could be punched out of the file, and none be left when the server touches them.
class SharedMemory {
 public:
  // `bytes`: whole pages, of shm::kRegionPage, one or more; zeros. Page-locked for all GPUs by one
  // of `devices`, if any of them is a GPU. ResourceExhausted: there is no memory; Unavailable: no
  // GPU locks it.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Create(int64_t bytes,
                                                              absl::Span<Device* const> devices);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // To be passed on; remains the memory's.
  int fd() const { return fd_; }
  // Whoever has mapped it keeps that; nobody else maps it for writing any more, writes to the file,
  // or takes pages out of it: a thread of this process that touched it would wait as long as that
  // takes. Itself waits for who does it now. FailedPrecondition: somebody sealed it otherwise.
  absl::Status Seal() const;
  // A page of the server's follows it, which kernels that read ahead may touch.
  const MemoryRegion& region() const { return region_; }

 private:
  SharedMemory(int fd, MemoryRegion region);
  absl::Status LockPages(absl::Span<Device* const> devices);

  const int fd_;
  MemoryRegion region_;
  std::shared_ptr<const void> page_lock_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_SHARED_MEMORY_H_
