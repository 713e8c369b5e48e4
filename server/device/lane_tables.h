// Tables in a lane's device memory that stay from task to task, so that a task which needs them
// again neither copies them nor reads them over the bus. CUDA builds only.
#ifndef BASEBAND_SERVER_DEVICE_LANE_TABLES_H_
#define BASEBAND_SERVER_DEVICE_LANE_TABLES_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "kernels/cuda/resources.h"

namespace baseband::server {

// One thread at a time.
class LaneTables {
 public:
  // Without memory.
  LaneTables() = default;
  // With `bytes` of the current device's, which `stream` alone uses.
  static absl::StatusOr<LaneTables> Create(int64_t bytes, cudaStream_t stream);

  const uint8_t* memory() const { return memory_.data(); }
  // Before each task: forgets all if the last one found no room.
  void BeginTask();
  // Where in memory() `table`, which is `owner`'s only one (there is one), lies for what is
  // enqueued on the stream until the next BeginTask; a multiple of 16. Enqueues its copy where it
  // is not there. nullopt: it has no room. What dies does not stay: `owner` is not kept alive.
  absl::StatusOr<absl::optional<int64_t>> Place(const std::shared_ptr<const void>& owner,
                                                absl::Span<const uint32_t> table);
  // Whether a table's copy was enqueued since BeginTask.
  bool has_copied() const { return has_copied_; }

 private:
  struct Kept {
    std::weak_ptr<const void> owner;
    int64_t offset = 0;
  };

  cuda::DeviceBuffer<uint8_t> memory_;
  cudaStream_t stream_ = nullptr;
  int64_t end_ = 0;
  bool is_full_ = false;
  bool has_copied_ = false;
  std::map<const void*, Kept> kept_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_LANE_TABLES_H_
