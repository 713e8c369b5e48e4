// The device's side of resident.h.
#ifndef BASEBAND_KERNELS_CUDA_RESIDENT_DEVICE_CUH_
#define BASEBAND_KERNELS_CUDA_RESIDENT_DEVICE_CUH_

#include <cstdint>

#include "kernels/cuda/resident.h"

namespace baseband::cuda::device {

// What the host wrote before the word is read after it.
__device__ __forceinline__ uint64_t LoadSystem(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

// What the thread block wrote before its last barrier is seen before the word.
__device__ __forceinline__ void StoreSystem(uint64_t* word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ __forceinline__ uint64_t Nanoseconds() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// The next task for this thread block, as in `posted`; 0: leave. One thread calls it. `last` is the
// task that it looked at last.
__device__ __forceinline__ uint64_t WaitForTask(const ResidentMailbox& mailbox, uint64_t launch,
                                                uint64_t last, uint64_t begin) {
  const uint64_t idle_since = Nanoseconds();
  for (;;) {
    const uint64_t posted = LoadSystem(&mailbox.posted);
    if (posted >> ResidentMailbox::kLaunchShift != launch) return 0;
    const uint64_t task = posted & ResidentMailbox::kTaskMask;
    const bool takes_part = blockIdx.x <= task % ResidentMailbox::kMaxThreadBlocks;
    if (task != last && takes_part) return task;
    const uint64_t now = Nanoseconds();
    if (now - idle_since > ResidentKernel::kIdleNs || now - begin > ResidentKernel::kLifeNs) {
      return 0;
    }
  }
}

// A word that changes from task to task. Several are on their way at a time.
__device__ __forceinline__ uint32_t LoadAgain(const uint32_t* word) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word));
  return value;
}

// Calls run() on all threads for each task, until it is time to leave. What changes from task to
// task run() reads by LoadAgain(), not by way of a cache.
template <typename Run>
__device__ __forceinline__ void StayResident(ResidentMailbox* mailbox, uint64_t launch,
                                             const Run& run) {
  __shared__ uint64_t next;
  uint64_t task = 0;
  uint64_t begin = 0;
  if (threadIdx.x == 0) {
    task = LoadSystem(&mailbox->done[blockIdx.x]);
    begin = Nanoseconds();
  }
  for (;;) {
    if (threadIdx.x == 0) next = WaitForTask(*mailbox, launch, task, begin);
    __syncthreads();
    task = next;
    if (task == 0) break;
    run();
    __syncthreads();  // what all threads wrote goes before the word, and `next` was read
    if (threadIdx.x == 0) StoreSystem(&mailbox->done[blockIdx.x], task);
  }
  if (threadIdx.x == 0) StoreSystem(&mailbox->left[blockIdx.x], launch);
}

}  // namespace baseband::cuda::device

#endif  // BASEBAND_KERNELS_CUDA_RESIDENT_DEVICE_CUH_
