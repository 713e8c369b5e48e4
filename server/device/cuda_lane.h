// One lane of a GPU: a stream, its memory, the events between the stages, and the thread that waits
// for it. CUDA builds only; used by cuda_device.cc.
#ifndef BASEBAND_SERVER_DEVICE_CUDA_LANE_H_
#define BASEBAND_SERVER_DEVICE_CUDA_LANE_H_

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "kernels/cuda/gather.h"
#include "kernels/cuda/resident.h"
#include "kernels/cuda/resources.h"
#include "kernels/cuda/stream_flag.h"
#include "server/device/cuda_device.h"
#include "server/device/cuda_lane_view.h"
#include "server/device/lane_tables.h"

namespace baseband::server {

class CudaLane final : public Lane {
 public:
  CudaLane(CudaDevice* device, int index, bool background)
      : device_(device), index_(index), background_(background) {}
  ~CudaLane() override;

  // Makes all it needs on `device`, which must be current, and starts its thread.
  absl::Status SetUp();
  // Ends the thread; no task may be on its way. The rest stays.
  void Stop();
  // That, and lets go of the rest.
  void TearDown();

  Device& device() override;
  int index() const override { return index_; }
  bool background() const override { return background_; }
  // Enqueues all three stages on the calling thread, or has the lane's own thread do it, which
  // waits for their end: where that looks for a task now, or other lanes are busy, for as many may
  // be started at once, and a large batch takes a hundred microseconds to describe.
  void Start(Task* task, Done done) override;
  // Why small tasks cannot stay resident here, though they were asked to; empty: they can.
  absl::string_view WhyNotResident() const;

 private:
  // Between the stages: start, copied in, ran, copied out. A task in place whose end the thread
  // spins for has only the last, behind the flag: each costs the device two microseconds, the host
  // one.
  static constexpr int kNumMarks = 4;

  absl::Status Enqueue(Task* task, bool has_marks);
  void WaitForTasks();
  // Looks for a task for a while, without sleeping.
  void SpinForTask(bool was_in_place) const;
  absl::Status WaitForEnd(bool is_in_place, bool is_wire_bound);
  // For all that was enqueued.
  absl::Status WaitForAll();
  // Of a task that the resident kernel has.
  absl::Status WaitForResident();
  // Whether its thread may spin: not for background work, whose tasks are long.
  bool Spins() const;
  // Of a task whose stages have marks.
  StageTimes ReadTimes() const;

  CudaDevice* const device_;
  const int index_;
  const bool background_;
  cuda::Stream stream_;
  std::array<cuda::Event, kNumMarks> marks_;
  cuda::StreamFlag end_flag_;  // goes up after the last stage
  cuda::PinnedBuffer<uint8_t> control_host_;
  cuda::PinnedBuffer<uint8_t> output_staging_;
  cuda::PinnedBuffer<cuda::GatherPiece> gather_host_;
  cuda::DeviceBuffer<uint8_t> control_device_;
  cuda::DeviceBuffer<uint8_t> input_device_;
  cuda::DeviceBuffer<uint8_t> output_device_;
  LaneTables lane_tables_;
  cuda::ResidentKernel resident_;  // the lane's thread's, once a task was handed to that
  CudaLaneView view_;

  absl::Mutex mutex_;
  std::atomic<bool> busy_{false};  // written under the lock
  std::atomic<bool> spins_for_task_{false};
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  Done done_ ABSL_GUARDED_BY(mutex_);
  Task* task_ ABSL_GUARDED_BY(mutex_) = nullptr;  // not enqueued yet; null: it is
  bool is_wire_bound_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status enqueued_ ABSL_GUARDED_BY(mutex_);
  absl::Duration copy_in_ ABSL_GUARDED_BY(mutex_);
  // When a task without marks was on its way; else in the infinite past.
  absl::Time launched_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread waiter_;  // last: ends first
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CUDA_LANE_H_
