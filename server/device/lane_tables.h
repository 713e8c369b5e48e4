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

namespace baseband::server {

// One thread at a time.
class LaneTables {
 public:
  LaneTables() = default;
  // In `memory`, [bytes] of the device, 16-byte aligned, which `stream` alone uses.
  LaneTables(uint8_t* memory, int64_t bytes, cudaStream_t stream)
      : memory_(memory), bytes_(bytes), stream_(stream) {}

  // Before each task: forgets all if the last one found no room.
  void BeginTask();
  // Where in the memory `table`, which is `owner`'s only one (there is one), lies for what is
  // enqueued on the stream until the next BeginTask; a multiple of 16. Enqueues its copy where it
  // is not there. nullopt: it has no room. What dies does not stay: `owner` is not kept alive.
  absl::StatusOr<absl::optional<int64_t>> Place(const std::shared_ptr<const void>& owner,
                                                absl::Span<const uint32_t> table);

 private:
  struct Kept {
    std::weak_ptr<const void> owner;
    int64_t offset = 0;
  };

  uint8_t* memory_ = nullptr;
  int64_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  int64_t end_ = 0;
  bool is_full_ = false;
  std::map<const void*, Kept> kept_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_LANE_TABLES_H_
