// Owners of CUDA streams, events and memory. Each is move-only; a moved-from one holds nothing and
// may only be destroyed or assigned to. Create is the only way in. Destructors never wait and never
// fail: what a reset of the device has taken with it (device_life.h) they let go of.
#ifndef BASEBAND_KERNELS_CUDA_RESOURCES_H_
#define BASEBAND_KERNELS_CUDA_RESOURCES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/device_life.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {

// Gives what it is called with back to CUDA by `Give`, unless that is gone.
template <typename T, cudaError_t (*Give)(T*)>
struct GiveBack {
  DeviceLife life;
  template <typename U>
  void operator()(U* thing) const noexcept {
    life.IfNotOver([thing] { (void)Give(thing); });
  }
};

// A non-blocking stream: not ordered with the default stream, which is never used. Destroying it
// does not wait for the work on it.
class Stream {
 public:
  Stream() = default;
  // Blocks of kernels on a stream that is not `background` start before those of streams that are.
  static absl::StatusOr<Stream> Create(bool background = false) {
    int least = 0;
    int greatest = 0;
    BASEBAND_RETURN_IF_ERROR(ToStatus(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                                      "cudaDeviceGetStreamPriorityRange"));
    cudaStream_t raw = nullptr;
    BASEBAND_RETURN_IF_ERROR(ToStatus(
        cudaStreamCreateWithPriority(&raw, cudaStreamNonBlocking, background ? least : greatest),
        "cudaStreamCreateWithPriority"));
    Stream stream;
    stream.handle_ = {raw, {DeviceLife::Current()}};
    return stream;
  }
  cudaStream_t get() const { return handle_.get(); }

 private:
  std::unique_ptr<CUstream_st, GiveBack<CUstream_st, &cudaStreamDestroy>> handle_;
};

// An event that records the time. A thread that waits for it sleeps.
class Event {
 public:
  Event() = default;
  static absl::StatusOr<Event> Create(unsigned flags = cudaEventBlockingSync) {
    cudaEvent_t raw = nullptr;
    BASEBAND_RETURN_IF_ERROR(ToStatus(cudaEventCreateWithFlags(&raw, flags), "cudaEventCreate"));
    Event event;
    event.handle_ = {raw, {DeviceLife::Current()}};
    return event;
  }
  cudaEvent_t get() const { return handle_.get(); }

 private:
  std::unique_ptr<CUevent_st, GiveBack<CUevent_st, &cudaEventDestroy>> handle_;
};

// `Free` is the only difference between page-locked and device memory.
template <typename T, typename Free>
class Buffer {
 public:
  static_assert(std::is_trivially_copyable_v<T>);
  Buffer() = default;
  // `data` was made just now, on the current device.
  Buffer(T* data, size_t size) : data_(data, Free{DeviceLife::Current()}), size_(size) {}
  T* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<T[], Free> data_;
  size_t size_ = 0;
};

template <typename T>
using DeviceBuffer = Buffer<T, GiveBack<void, &cudaFree>>;
template <typename T>
using PinnedBuffer = Buffer<T, GiveBack<void, &cudaFreeHost>>;

// `size` elements on the current device, not cleared.
template <typename T>
absl::StatusOr<DeviceBuffer<T>> CreateDeviceBuffer(size_t size) {
  void* raw = nullptr;
  BASEBAND_RETURN_IF_ERROR(ToStatus(cudaMalloc(&raw, size * sizeof(T)), "cudaMalloc"));
  return DeviceBuffer<T>(static_cast<T*>(raw), size);
}

// `size` elements of page-locked memory that every device of the host can read and write.
template <typename T>
absl::StatusOr<PinnedBuffer<T>> CreatePinnedBuffer(size_t size) {
  void* raw = nullptr;
  BASEBAND_RETURN_IF_ERROR(
      ToStatus(cudaHostAlloc(&raw, size * sizeof(T), cudaHostAllocPortable), "cudaHostAlloc"));
  return PinnedBuffer<T>(static_cast<T*>(raw), size);
}

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_RESOURCES_H_
