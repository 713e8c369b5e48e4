// A kernel that stays on the device while small tasks come, and takes them from page-locked memory:
// no call into the driver, and no launch, lies between a task and its end.
//
//   resident.Post(shape, thread_blocks, launch);   // once the task is described in resident.task()
//   while (!*resident.IsDone()) Pause();
//
// The device's side is resident_device.cuh. Some calls into the driver (to free memory, to
// page-lock it) wait until no kernel runs: it leaves when nothing has come for kIdle and, between
// two tasks, after kLife. The task after that launches it again.
#ifndef BASEBAND_KERNELS_CUDA_RESIDENT_H_
#define BASEBAND_KERNELS_CUDA_RESIDENT_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/cuda/resources.h"

namespace baseband::cuda {

// By which host and kernel agree. Each side writes its own words only.
struct ResidentMailbox {
  static constexpr int kMaxThreadBlocks = 4;
  static constexpr int kTaskBytes = 1024;
  // The parts of `posted`.
  static constexpr int kLaunchShift = 40;
  static constexpr uint64_t kTaskMask = (uint64_t{1} << kLaunchShift) - 1;

  // The host's: from kLaunchShift on the launch whose thread blocks may stay; below, the number of
  // the newest task times kMaxThreadBlocks, and how many thread blocks but the first take part in
  // it. What there is to do is in `task`.
  alignas(128) uint64_t posted;
  alignas(128) uint8_t task[kTaskBytes];
  // Each thread block's: the task that it did last, as in `posted`, and the launch that it left.
  alignas(128) uint64_t done[kMaxThreadBlocks];
  uint64_t left[kMaxThreadBlocks];
};

// Move-only; one that was not created is not available. One thread at a time. Once something was
// posted, Leave() comes before its end, and after each error.
class ResidentKernel {
 public:
  static constexpr uint64_t kIdleNs = 200'000;
  static constexpr uint64_t kLifeNs = 5'000'000;

  // Enqueues the kernel with so many thread blocks. `shape` is what the task was posted with.
  using Launch = absl::Status (*)(ResidentMailbox* mailbox, uint64_t launch, int thread_blocks,
                                  int shape, cudaStream_t stream);

  ResidentKernel() = default;
  // On the current device, without a kernel. Its thread blocks start before others'.
  static absl::StatusOr<ResidentKernel> Create();

  bool is_available() const { return stream_.get() != nullptr; }
  // Where the next task is described, while none is under way.
  uint8_t* task() { return mailbox_.data()->task; }
  // Hands task() to the first `thread_blocks`, 1 .. kMaxThreadBlocks, of the kernel of `launch`,
  // which is launched if it is not there, or was for a smaller `shape` (its shared memory, say).
  // There is no task under way.
  absl::Status Post(int shape, int thread_blocks, Launch launch);
  // Whether a task was posted that IsDone() has not yet found done.
  bool has_task() const { return has_task_; }
  // Whether the last task is done, and all it wrote can be seen. Launches the kernel again if it
  // left before it saw the task. Does not find out that the device has faulted: Check() does.
  absl::StatusOr<bool> IsDone();
  // An error if the kernel ended by one.
  absl::Status Check() const;
  // Has the kernel leave: what is posted next meets a new one, that has read nothing before.
  void Retire();
  // That, waits for it, and forgets its task.
  absl::Status Leave();

 private:
  absl::Status LaunchIt();
  // Whether nobody will take what is posted for that thread block.
  bool IsAway(int thread_block) const;
  void WritePosted();

  PinnedBuffer<ResidentMailbox> mailbox_;
  Stream stream_;
  Launch launch_ = nullptr;
  int shape_ = 0;
  uint64_t launch_number_ = 0;
  bool is_launched_ = false;  // with that number
  uint64_t task_ = 0;         // the last one, as in `posted`
  int thread_blocks_ = 0;     // that take part in it
  bool has_task_ = false;
};

}  // namespace baseband::cuda

#endif  // BASEBAND_KERNELS_CUDA_RESIDENT_H_
