#include "server/device/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/shm/region_messages.h"
#include "kernels/base/status_macros.h"
#if BASEBAND_HAS_CUDA
#include "server/device/pinned_memory.h"
#endif

namespace baseband::server {
namespace {

using shm::kRegionPage;

absl::Status NoMemory(int64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no ", bytes, " bytes of shared memory: ", std::strerror(errno)));
}

}  // namespace

#if BASEBAND_HAS_CUDA
absl::Status SharedMemory::LockPages(absl::Span<Device* const> devices) {
  absl::Status status;
  for (Device* const device : devices) {
    if (device->kind() != "cuda" || !device->healthy()) continue;
    status = device->OnDevice([this]() -> absl::Status {
      BASEBAND_ASSIGN_OR_RETURN(page_lock_,
                                PageLock::Create(region_.base, region_.bytes + kRegionPage));
      region_.is_page_locked = true;
      return absl::OkStatus();
    });
    if (status.ok()) return status;
  }
  return status.ok() ? status
                     : absl::UnavailableError(absl::StrCat("no GPU page-locks ", region_.bytes,
                                                           " bytes: ", status.message()));
}
#else
absl::Status SharedMemory::LockPages(absl::Span<Device* const>) { return absl::OkStatus(); }
#endif

SharedMemory::SharedMemory(int fd, MemoryRegion region) : fd_(fd), region_(region) {}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::Create(
    int64_t bytes, absl::Span<Device* const> devices) {
  const auto mapped = static_cast<size_t>(bytes + kRegionPage);
  const int fd = memfd_create("baseband", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return NoMemory(bytes);
  void* mapping = MAP_FAILED;
  if (ftruncate(fd, static_cast<off_t>(mapped)) == 0 &&
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0) {
    mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (mapping == MAP_FAILED) {
    const absl::Status status = NoMemory(bytes);
    close(fd);
    return status;
  }
  (void)madvise(mapping, mapped, MADV_HUGEPAGE);  // if the host gives them to shared memory
  (void)madvise(mapping, mapped, MADV_DONTFORK);
  std::unique_ptr<SharedMemory> memory(new SharedMemory(
      fd, {static_cast<uint8_t*>(mapping), bytes, /*is_page_locked=*/false, /*is_shared=*/true}));
  BASEBAND_RETURN_IF_ERROR(memory->LockPages(devices));
  return memory;
}

absl::Status SharedMemory::Seal() const {
  if (fcntl(fd_, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError("the region's file has been sealed by somebody else");
}

SharedMemory::~SharedMemory() {
  page_lock_.reset();
  munmap(region_.base, static_cast<size_t>(region_.bytes + kRegionPage));
  // Whoever still has the descriptor has none of this server's memory with it.
  (void)fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, region_.bytes + kRegionPage);
  close(fd_);
}

}  // namespace baseband::server
