// What a lane of a GPU offers a task. CUDA builds only.
#ifndef BASEBAND_SERVER_DEVICE_CUDA_LANE_VIEW_H_
#define BASEBAND_SERVER_DEVICE_CUDA_LANE_VIEW_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "kernels/cuda/gather.h"
#include "kernels/cuda/resident.h"
#include "server/device/device.h"
#include "server/device/lane_tables.h"

namespace baseband::server {

// All memory was made at start and is the lane's own; sizes are those of the server's LaneCapacity.
struct CudaLaneView {
  Device* device = nullptr;
  cudaStream_t stream = nullptr;
  uint8_t* control_host = nullptr;    // page-locked, [capacity.control_bytes]
  uint8_t* control_device = nullptr;  // [capacity.control_bytes]
  LaneTables* lane_tables = nullptr;
  // For a task in place, in CudaRun, in place of a launch on `stream`; null: none. What is in
  // lane_tables it may read unless a table was copied in this task.
  cuda::ResidentKernel* resident = nullptr;
  uint8_t* input_device = nullptr;           // [capacity.input_bytes] and 64 readable bytes more
  uint8_t* output_device = nullptr;          // [capacity.output_bytes]
  uint8_t* output_staging_host = nullptr;    // page-locked, [capacity.output_bytes]
  cuda::GatherPiece* gather_host = nullptr;  // page-locked, [max_gather_pieces]
  int max_gather_pieces = 0;
  LaneCapacity capacity;
  // Lanes of the device that had something to do when the task was enqueued, with this one; without
  // those for background work.
  int sharers = 1;
  // The device's one scratch block, shared by its lanes. Kernels that use it are enqueued from
  // within `enqueue`, which the device orders after all earlier users.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  std::function<absl::Status(const std::function<absl::Status()>& enqueue)> with_workspace;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CUDA_LANE_VIEW_H_
