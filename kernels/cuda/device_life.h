// Which context of a device something was made in. A device that has faulted is reset: its context
// is destroyed with all that was made in it, and another takes its place. What is left of the old
// one must then be let go of without any call, for a handle or an address of it may be something
// new by then.
//
//   const DeviceLife life = DeviceLife::Current();     // with what is made now
//   ...
//   life.IfNotOver([&] { (void)cudaFree(memory); });   // else it is gone already
#ifndef BASEBAND_KERNELS_CUDA_DEVICE_LIFE_H_
#define BASEBAND_KERNELS_CUDA_DEVICE_LIFE_H_

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/synchronization/mutex.h"

namespace baseband::cuda {

// Thread-safe. A default one belongs to no device, and is not over.
class DeviceLife {
 public:
  DeviceLife() = default;
  // Of the current device, as it lives now.
  static DeviceLife Current() {
    DeviceLife life;
    if (cudaGetDevice(&life.device_) == cudaSuccess && IsCounted(life.device_)) {
      life.number_ = Of(life.device_).number.load(std::memory_order_acquire);
    } else {
      life.device_ = -1;
    }
    return life;
  }

  int device() const { return device_; }  // -1: none
  bool is_over() const {
    return device_ >= 0 && Of(device_).number.load(std::memory_order_acquire) != number_;
  }
  // Calls `f` if it is not over, and keeps it from ending meanwhile. Not from within f itself.
  template <typename F>
  void IfNotOver(F f) const {
    if (device_ < 0) {
      f();
      return;
    }
    const absl::ReaderMutexLock lock(&Of(device_).mutex);
    if (!is_over()) f();
  }

  // Ends the life of `device`: waits for those in IfNotOver, and destroys the context. From then on
  // all that was made in it is gone. Errors of the old context do not count.
  // A device beyond kMaxDevices is left as it is: nobody would know that what was made in it is
  // gone.
  static void End(int device) {
    if (!IsCounted(device)) return;
    const absl::WriterMutexLock lock(&Of(device).mutex);
    Of(device).number.fetch_add(1, std::memory_order_acq_rel);
    (void)cudaSetDevice(device);
    (void)cudaDeviceReset();
    (void)cudaGetLastError();
  }

 private:
  static constexpr int kMaxDevices = 64;
  static bool IsCounted(int device) { return device >= 0 && device < kMaxDevices; }
  struct Count {
    absl::Mutex mutex;
    std::atomic<uint64_t> number{0};
  };
  // Never destroyed: what is destroyed with the process still asks.
  static Count& Of(int device) {
    static auto& counts = *new std::array<Count, kMaxDevices>;
    return counts[static_cast<size_t>(device)];
  }

  int device_ = -1;
  uint64_t number_ = 0;
};

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_DEVICE_LIFE_H_
