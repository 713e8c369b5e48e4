// Host memory that GPUs copy from and to at full speed, and that outlives a reset of any of them.
// CUDA builds only.
#ifndef BASEBAND_SERVER_DEVICE_PINNED_MEMORY_H_
#define BASEBAND_SERVER_DEVICE_PINNED_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/device_life.h"

namespace baseband::server {

// A part of this process's memory that is page-locked for all devices by one of them, its
// registrar. It stays when that device is reset, and only stops being page-locked until
// RegisterAgain. Nothing may copy from or to it meanwhile.
class PageLock {
 public:
  // The current device becomes the registrar. The memory outlives the lock.
  static absl::StatusOr<std::unique_ptr<PageLock>> Create(void* data, int64_t bytes);
  ~PageLock();
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

  // Of all that there are: whether `device` is the registrar of any.
  static bool HasRegistrar(int device);
  // Registers with the current device what lost its registrar to a reset.
  static absl::Status RegisterAgain();

 private:
  PageLock(void* data, int64_t bytes);
  absl::Status Register();

  void* const data_;
  const int64_t bytes_;
  bool is_registered_ = false;
  cuda::DeviceLife life_;  // of the registrar
};

// Ordinary memory of the process, page-locked. What cudaHostAlloc gives would go with the context
// that gave it, under the replies that are still being sent from it.
class PinnedMemory {
 public:
  // ResourceExhausted: there is no memory.
  static absl::StatusOr<std::unique_ptr<PinnedMemory>> Create(int64_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  uint8_t* data() const { return data_; }

 private:
  PinnedMemory(void* mapping, int64_t mapped_bytes);

  void* const mapping_;
  const int64_t mapped_bytes_;
  uint8_t* const data_;
  std::unique_ptr<PageLock> lock_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_PINNED_MEMORY_H_
