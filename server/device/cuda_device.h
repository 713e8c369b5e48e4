// A GPU as a device. CUDA builds only.
#ifndef BASEBAND_SERVER_DEVICE_CUDA_DEVICE_H_
#define BASEBAND_SERVER_DEVICE_CUDA_DEVICE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cuda/resources.h"
#include "server/device/device.h"
#include "server/device/host_pool.h"
#include "server/device/object_store.h"

namespace baseband::server {

struct CudaDeviceOptions {
  int ordinal = 0;
  int num_lanes = 4;  // and two for background work
  LaneCapacity lane;
  int64_t workspace_bytes = 0;
  ObjectLimits objects;
  // How a lane's thread waits, for the GPU and for the next task: spinning for a moment before it
  // sleeps answers tens of microseconds earlier while the device is little used.
  bool spin = true;
  // With `spin`: a kernel for small tasks stays on each lane while they come (resident.h).
  bool resident = false;
  // Loads what kernels will run on the device, which is current when it is called; may be empty.
  std::function<absl::Status()> prepare;
};

class CudaDevice final : public Device {
 public:
  // Makes the context and the lanes with all their memory, and calls `prepare`.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Create(const CudaDeviceOptions& options);
  ~CudaDevice() override;

  const std::string& kind() const override { return kind_; }
  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  int64_t memory_bytes() const override { return memory_bytes_; }
  std::string pci_bus_id() const override { return pci_bus_id_; }
  absl::Span<const std::unique_ptr<Lane>> lanes() const override { return lanes_; }
  bool copies_payloads() const override { return true; }
  int pieces_at_once() const override { return 1; }
  absl::Status OnDevice(const std::function<absl::Status()>& f) override;
  // Destroys the context, which is what an error that stays asks for, and makes another. `alone` is
  // for the time without page-locked host memory, if this device had registered it and there are
  // others.
  absl::Status Reset(const Alone& alone) override;

  int ordinal() const { return options_.ordinal; }
  // On how many of its lanes a resident kernel has no effect, and why; empty: it has on all, or
  // none was asked for. Some drivers tell only a lane that has worked.
  std::string WhereNotResident() const;
  // That were handed to resident kernels, so far.
  int64_t resident_tasks() const { return resident_tasks_.load(std::memory_order_relaxed); }

 private:
  friend class CudaLane;
  explicit CudaDevice(const CudaDeviceOptions& options) : options_(options) {}
  // What it is, which no reset changes, and the lanes without anything on the device.
  absl::Status Describe();
  // All that is on the device: its context, what `prepare` makes, the lanes' memory and threads.
  absl::Status SetUp();
  // Ends the lanes' threads and lets go of all of that.
  void TearDown();
  // Runs `enqueue` with `stream` ordered after the last user of the workspace.
  absl::Status WithWorkspace(void* stream, const std::function<absl::Status()>& enqueue);

  const CudaDeviceOptions options_;
  const std::string kind_ = "cuda";
  std::string id_;
  std::string name_;
  std::string pci_bus_id_;
  int64_t memory_bytes_ = 0;

  std::atomic<int> busy_lanes_{0};      // without those for background work
  std::atomic<uint64_t> last_spin_{0};  // of the lane that spins for its next task
  std::atomic<int64_t> resident_tasks_{0};

  absl::Mutex use_mutex_;  // shared by who is in OnDevice, held by a reset

  absl::Mutex workspace_mutex_;
  cuda::DeviceBuffer<uint8_t> workspace_;
  cuda::Event workspace_free_ ABSL_GUARDED_BY(workspace_mutex_);

  std::vector<std::unique_ptr<Lane>> lanes_;  // last: their threads use all of the above
};

// The number of GPUs, 0 also when there is no driver.
int CountCudaDevices();

// Page-locked memory that every GPU of the host can read and write.
absl::StatusOr<std::shared_ptr<HostPool>> CreatePinnedPool(int64_t capacity);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CUDA_DEVICE_H_
