// The devices of the host behind one interface: a GPU, or the CPU. A device has lanes; a lane runs
// one task at a time, and the lanes of a device overlap. What a task means is the business of the
// floors above (operations/).
#ifndef BASEBAND_SERVER_DEVICE_DEVICE_H_
#define BASEBAND_SERVER_DEVICE_DEVICE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace baseband::server {

class ObjectStore;    // what lives on a device between jobs: object_store.h
struct CudaLaneView;  // what a lane of a GPU offers a task: cuda_lane_view.h

// What one task may need of a lane.
struct LaneCapacity {
  int64_t input_bytes = 0;    // payload, copied to the device
  int64_t output_bytes = 0;   // results, copied from the device
  int64_t control_bytes = 0;  // descriptors and code tables
};

// How long the stages of a task took. On the CPU device all is kernel; of a task in place, too,
// with its launch, as the host's clock has it where the lane spins for its end.
struct StageTimes {
  absl::Duration copy_in;  // host time to describe the batch and enqueue it
  absl::Duration h2d;
  absl::Duration kernel;
  absl::Duration d2h;
};

// One batch of work as a lane sees it. A lane calls either RunPiece (CPU) or the three Cuda methods
// (GPU), never both.
class Task {
 public:
  virtual ~Task() = default;

  // CPU: independent pieces 0 .. num_pieces() - 1, one at least, run from several threads at once.
  virtual int num_pieces() const = 0;
  virtual void RunPiece(int piece) = 0;

  // GPU: each enqueues its stage on the lane's stream and returns without waiting.
  virtual absl::Status CudaCopyIn(const CudaLaneView& lane) = 0;
  virtual absl::Status CudaRun(const CudaLaneView& lane) = 0;
  virtual absl::Status CudaCopyOut(const CudaLaneView& lane) = 0;
  // Known before CudaCopyIn: kernels read and write all where it lies, and nothing is copied.
  virtual bool is_in_place() const { return false; }
  // Its payload is large and came over a wire, or had to be copied out of memory that a client
  // shares: a next one comes as soon as it has been brought, for which others need the cores, and
  // not as soon as this one is answered.
  virtual bool is_wire_bound() const { return false; }
};

class Device;

class Lane {
 public:
  using Done = std::function<void(absl::Status, const StageTimes&)>;

  virtual ~Lane() = default;
  virtual Device& device() = 0;
  // 0 .. number of lanes of the device - 1.
  virtual int index() const = 0;
  // For work that takes long and gives way to all other: whatever the lanes that are not for it
  // have to do goes before, also on a device that is full of it.
  virtual bool background() const { return false; }
  // Changes while the lane's task gets on, or what goes before it on the device: what does not
  // change for long tells of a task that will not end. Constant where nothing is known of that but
  // the end. Thread-safe.
  virtual int64_t progress() const { return 0; }
  // Starts `task`, which must live until `done` was called. The lane must be idle, which it is
  // again when `done` is called. `done` is called exactly once, on a thread of the device and never
  // from within Start; it may start the lane's next task. Returns without waiting for the task.
  virtual void Start(Task* task, Done done) = 0;
};

// Thread-safe. Ends its threads in the destructor; no lane may be busy then.
class Device {
 public:
  explicit Device(bool standby = false) : standby_(standby) {}
  virtual ~Device() = default;
  virtual const std::string& kind() const = 0;  // "cuda" or "cpu"
  virtual const std::string& name() const = 0;  // "NVIDIA H200", the processor's name
  virtual const std::string& id() const = 0;    // "cuda:0", "cpu", "cpu:standby"
  virtual int64_t memory_bytes() const = 0;
  // Where a GPU sits, "0000:17:00.0", as its driver's tools know it; empty for what is none.
  virtual std::string pci_bus_id() const { return ""; }
  // Some of them for background work.
  virtual absl::Span<const std::unique_ptr<Lane>> lanes() const = 0;
  // Whether tasks read a payload once, by a copy, and see it as it was then; but for tasks in
  // place, which take no more of it than values, of any moment. Otherwise they read it where it
  // lies, as often as they like.
  virtual bool copies_payloads() const { return false; }
  // Of a task: how many run at the same time.
  virtual int pieces_at_once() const = 0;
  // Calls `f` on this thread with the device current, for what is not a lane's work. A reset waits
  // for it.
  virtual absl::Status OnDevice(const std::function<absl::Status()>& f) = 0;

  // Calls `f` while no device has work on a lane, or says why that cannot be.
  using Alone = std::function<absl::Status(const std::function<absl::Status()>& f)>;
  // Makes a device that has faulted as good as new: all that was on it is gone, its lanes are again
  // what they were. No lane of it may be busy. Takes seconds at most where it does not hang in the
  // driver; `alone` is called where the other devices feel it. Unimplemented: it cannot be done.
  // Whether it works now only a self-test can tell.
  virtual absl::Status Reset(const Alone& alone) = 0;

  // False until the self-test passed, and while the device is lost: it gets no work then.
  bool healthy() const { return healthy_.load(std::memory_order_acquire); }
  void set_healthy(bool healthy) { healthy_.store(healthy, std::memory_order_release); }
  // What lives on it from job to job; null: nothing may.
  ObjectStore* objects() const { return objects_.get(); }
  void set_objects(std::shared_ptr<ObjectStore> objects) { objects_ = std::move(objects); }

  // It gets work only while no device that is not on standby is healthy.
  bool standby() const { return standby_; }

 private:
  const bool standby_;
  std::atomic<bool> healthy_{false};
  std::shared_ptr<ObjectStore> objects_;  // set before it serves
};

// Whether `device`, one of `devices`, gets work now.
inline bool Serves(const Device& device, absl::Span<Device* const> devices) {
  return device.healthy() &&
         (!device.standby() || std::none_of(devices.begin(), devices.end(), [](Device* other) {
           return !other->standby() && other->healthy();
         }));
}

inline std::vector<Device*> Serving(absl::Span<Device* const> devices) {
  std::vector<Device*> serving;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(serving),
               [&](const Device* device) { return Serves(*device, devices); });
  return serving;
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_DEVICE_H_
