// Encoding on a GPU: the launcher of encode.cu. Host header, no device code; CUDA builds only.
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_GPU_H_
#define BASEBAND_KERNELS_LDPC_ENCODE_GPU_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/cuda/resident.h"
#include "kernels/ldpc/encode.h"

namespace baseband::ldpc {

// One launch: any number of code blocks, each of its own code. All pointers are device memory (or
// pinned host memory the device can read), 16-byte aligned, and must live until `stream` has
// passed the launch.
struct EncodeBatch {
  const EncodeBlock* blocks = nullptr;  // [num_blocks]
  // The same in the host's memory, or null: few of them then go along with the launch, and no
  // kernel waits for their way over the bus. May change once LaunchEncode has returned.
  const EncodeBlock* blocks_host = nullptr;
  int num_blocks = 0;               // 1 .. 2^20
  const uint8_t* tables = nullptr;  // the tables of all codes in the launch
  uint8_t* parity = nullptr;        // written in whole 32-bit words
  // The largest EncodeSharedBytes() of any code in the launch.
  int shared_bytes = 0;
  // The largest EncodeTileBytes() of any code in the launch, or 0. With it kLeastTiledBlocks and
  // more are encoded 32 at a time, unless a code is too large for that: several times as fast if
  // many blocks of one code follow each other, best those of large codes first; slowly if not.
  int tile_bytes = 0;
};
inline constexpr int kLeastTiledBlocks = 4096;  // a launch of tiles takes 12 us, however few

// Shared memory a block of `code` needs; the code must have an encode_plan(). At most 48 KiB.
int EncodeSharedBytes(const Code& code);
// Shared memory that 32 blocks of `code` need together; more than any launch takes if the code is
// too large for that.
int EncodeTileBytes(const Code& code);

// Enqueues the encoding of `batch` on `stream` and returns without waiting. InvalidArgument, with
// nothing enqueued, for a broken range above; Internal when CUDA refuses the launch.
// Deterministic: a block's parity depends on its own information alone. Allocates nothing.
// Thread-safe for calls on different streams.
absl::Status LaunchEncode(const EncodeBatch& batch, cudaStream_t stream);

// Raises the shared-memory limit of the kernels on the current device and loads them, so that no
// later launch does. Once per device, before the first launch.
absl::Status PrepareEncodeKernels();

// Whether PostEncode takes it: it has blocks_host, few of them, of no large code.
bool FitsResident(const EncodeBatch& batch);
// As LaunchEncode, with the same parity, by a kernel that stays on the device (resident.h): returns
// without waiting, and `resident` tells when it is done. What `tables` point to must have been
// there when that kernel was launched: Retire() it after a change.
absl::Status PostEncode(const EncodeBatch& batch, cuda::ResidentKernel* resident);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_GPU_H_
