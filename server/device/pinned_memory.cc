#include "server/device/pinned_memory.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::server {
namespace {

// Huge pages, where the host has them to give, are registered several times as fast.
constexpr int64_t kHugePage = 2 << 20;

// All that exist.
struct Everything {
  absl::Mutex mutex;
  std::vector<PageLock*> all ABSL_GUARDED_BY(mutex);
};
Everything& All() {
  static auto& everything = *new Everything;
  return everything;
}

uint8_t* AlignUp(void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return reinterpret_cast<uint8_t*>((address + kHugePage - 1) / kHugePage * kHugePage);
}

}  // namespace

PageLock::PageLock(void* data, int64_t bytes) : data_(data), bytes_(bytes) {
  const absl::MutexLock lock(&All().mutex);
  All().all.push_back(this);
}

absl::StatusOr<std::unique_ptr<PageLock>> PageLock::Create(void* data, int64_t bytes) {
  std::unique_ptr<PageLock> page_lock(new PageLock(data, bytes));
  absl::Status registered;
  {
    const absl::MutexLock lock(&All().mutex);
    registered = page_lock->Register();
  }
  BASEBAND_RETURN_IF_ERROR(registered);
  return page_lock;
}

PageLock::~PageLock() {
  {
    const absl::MutexLock lock(&All().mutex);
    auto& all = All().all;
    all.erase(std::find(all.begin(), all.end(), this));
  }
  if (is_registered_) life_.IfNotOver([this] { (void)cudaHostUnregister(data_); });
}

absl::Status PageLock::Register() {
  is_registered_ = false;
  life_ = cuda::DeviceLife::Current();
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaHostRegister(data_, static_cast<size_t>(bytes_), cudaHostRegisterPortable),
                     "cudaHostRegister"));
  is_registered_ = true;
  return absl::OkStatus();
}

bool PageLock::HasRegistrar(int device) {
  const absl::MutexLock lock(&All().mutex);
  return std::any_of(All().all.begin(), All().all.end(), [device](const PageLock* page_lock) {
    return page_lock->is_registered_ && page_lock->life_.device() == device;
  });
}

absl::Status PageLock::RegisterAgain() {
  const absl::MutexLock lock(&All().mutex);
  for (PageLock* const page_lock : All().all) {
    if (page_lock->life_.is_over()) BASEBAND_RETURN_IF_ERROR(page_lock->Register());
  }
  return absl::OkStatus();
}

PinnedMemory::PinnedMemory(void* mapping, int64_t mapped_bytes)
    : mapping_(mapping), mapped_bytes_(mapped_bytes), data_(AlignUp(mapping)) {}

absl::StatusOr<std::unique_ptr<PinnedMemory>> PinnedMemory::Create(int64_t bytes) {
  const int64_t mapped_bytes = bytes + kHugePage;
  void* const mapping = mmap(nullptr, static_cast<size_t>(mapped_bytes), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("no ", bytes, " bytes of host memory"));
  }
  std::unique_ptr<PinnedMemory> memory(new PinnedMemory(mapping, mapped_bytes));
  (void)madvise(memory->data_, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // if it can be had
  BASEBAND_ASSIGN_OR_RETURN(memory->lock_, PageLock::Create(memory->data_, bytes));
  return memory;
}

PinnedMemory::~PinnedMemory() {
  lock_.reset();
  munmap(mapping_, static_cast<size_t>(mapped_bytes_));
}

}  // namespace baseband::server
