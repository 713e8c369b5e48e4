#include "kernels/cuda/resident.h"

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::cuda {
namespace {

constexpr uint64_t kLaunches = ~uint64_t{0} >> ResidentMailbox::kLaunchShift;

uint64_t Read(const uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace

absl::StatusOr<ResidentKernel> ResidentKernel::Create() {
  ResidentKernel kernel;
  BASEBAND_ASSIGN_OR_RETURN(kernel.mailbox_, CreatePinnedBuffer<ResidentMailbox>(1));
  *kernel.mailbox_.data() = {};
  BASEBAND_ASSIGN_OR_RETURN(kernel.stream_, Stream::Create());
  return kernel;
}

absl::Status ResidentKernel::Post(int shape, int thread_blocks, Launch launch) {
  if (launch != launch_ || shape > shape_) {
    launch_ = launch;
    shape_ = shape;
    Retire();
  }
  constexpr uint64_t kStep = ResidentMailbox::kMaxThreadBlocks;
  uint64_t number = (task_ / kStep + 1) & (ResidentMailbox::kTaskMask / kStep);
  if (number == 0) number = 1;  // no task is 0
  task_ = number * kStep + static_cast<uint64_t>(thread_blocks - 1);
  thread_blocks_ = thread_blocks;
  has_task_ = true;
  WritePosted();
  for (int i = 0; i < thread_blocks; ++i) {
    if (IsAway(i)) return LaunchIt();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ResidentKernel::IsDone() {
  const ResidentMailbox& mailbox = *mailbox_.data();
  bool is_done = true;
  bool is_away = false;
  for (int i = 0; i < thread_blocks_; ++i) {
    const bool was_away = IsAway(i);  // first: it may have done the task, and left
    if (Read(mailbox.done[i]) == task_) continue;
    is_done = false;
    is_away |= was_away;
  }
  if (is_away) BASEBAND_RETURN_IF_ERROR(LaunchIt());
  has_task_ = !is_done;
  return is_done;
}

absl::Status ResidentKernel::Check() const {
  const cudaError_t error = cudaStreamQuery(stream_.get());
  return error == cudaErrorNotReady ? absl::OkStatus() : ToStatus(error, "cudaStreamQuery");
}

void ResidentKernel::Retire() {
  launch_number_ = (launch_number_ + 1) & kLaunches;
  is_launched_ = false;
  WritePosted();
}

absl::Status ResidentKernel::Leave() {
  Retire();
  has_task_ = false;
  return ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

absl::Status ResidentKernel::LaunchIt() {
  Retire();  // some of the last one's thread blocks may be there still
  BASEBAND_RETURN_IF_ERROR(launch_(mailbox_.data(), launch_number_,
                                   ResidentMailbox::kMaxThreadBlocks, shape_, stream_.get()));
  is_launched_ = true;
  return absl::OkStatus();
}

bool ResidentKernel::IsAway(int thread_block) const {
  return !is_launched_ || Read(mailbox_.data()->left[thread_block]) == launch_number_;
}

void ResidentKernel::WritePosted() {
  const uint64_t word = launch_number_ << ResidentMailbox::kLaunchShift | task_;
  __atomic_store_n(&mailbox_.data()->posted, word, __ATOMIC_RELEASE);
}

}  // namespace baseband::cuda
