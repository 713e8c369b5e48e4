// Pulses in a device's memory. Host header; CUDA builds only.
#ifndef BASEBAND_KERNELS_TIMING_GPU_DEVICE_PULSES_H_
#define BASEBAND_KERNELS_TIMING_GPU_DEVICE_PULSES_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <list>

#include "absl/status/statusor.h"
#include "kernels/cuda/resources.h"
#include "kernels/timing/math/place_math.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

// A pulse as the kernels read it; taps are (value, slope). Rates of at most kMaxPhases
// (place_math.h) have those of one filter side by side, phase by phase; others those of all rows.
struct PulseOnDevice {
  PulseFacts facts;
  int samples = 2;  // P
  int symbols = 1;  // Q
  double rate = 2.0;
  int rows = 1;
  int taps = 0;
  int before = 0;
  // P <= kMaxPhases: tap j = P q + r of a row at [row][r][q], q < columns, which is even; zeros
  // behind the last.
  const float2* by_phase = nullptr;
  int columns = 0;
  // Larger P: tap j of a row at [j][row].
  const float2* by_tap = nullptr;
};

// Copies of pulses in the memory of one device. The kMaxDevicePulses that were asked for last stay.
// Not thread-safe.
inline constexpr size_t kMaxDevicePulses = 64;

class DevicePulses {
 public:
  DevicePulses() = default;
  // On the current device, which Find() must then be called on.
  static absl::StatusOr<DevicePulses> Create();

  // The first time a pulse is asked for it is copied, and Find() waits for that copy, though not
  // for other work of the device; if an older one must go, its memory is freed, which waits for all
  // work.
  absl::StatusOr<PulseOnDevice> Find(const Pulse& pulse);

 private:
  struct Entry {
    uint64_t id = 0;
    cuda::DeviceBuffer<float2> memory;
    PulseOnDevice pulse;
  };
  std::list<Entry> entries_;  // last asked for first
  cuda::Stream stream_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_GPU_DEVICE_PULSES_H_
