// Models in a device's memory. Host header; CUDA builds only.
#ifndef BASEBAND_KERNELS_CARRIER_GPU_DEVICE_MODELS_H_
#define BASEBAND_KERNELS_CARRIER_GPU_DEVICE_MODELS_H_

#include <cstdint>
#include <list>

#include "absl/status/statusor.h"
#include "kernels/carrier/model.h"
#include "kernels/cuda/resources.h"

namespace baseband::carrier {

// Copies of models in the memory of one device. The kMaxDeviceModels that were asked for last stay.
// Not thread-safe.
inline constexpr size_t kMaxDeviceModels = 64;

class DeviceModels {
 public:
  DeviceModels() = default;
  // On the current device, which Find() must then be called on.
  static absl::StatusOr<DeviceModels> Create();

  // The model's arrays in device memory. The first time a model is asked for they are copied there,
  // and Find() waits for that copy, though not for other work of the device; if an older model must
  // go, its memory is freed, which waits for all work.
  absl::StatusOr<ModelView> Find(const Model& model);

 private:
  struct Entry {
    uint64_t id = 0;
    cuda::DeviceBuffer<uint8_t> memory;
    ModelView view;
  };
  std::list<Entry> entries_;  // last asked for first
  cuda::Stream stream_;
};

// The copy of `model` on the current device that LaunchRecover uses: for kernels that work along
// with its own, and launched before another model is asked for. FailedPrecondition before
// PrepareRecover. One thread at a time a device, LaunchRecover included.
absl::StatusOr<ModelView> ModelOnDevice(const Model& model);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_GPU_DEVICE_MODELS_H_
