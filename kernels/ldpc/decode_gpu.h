// Decoding on a GPU. Host header, no device code; CUDA builds only. What is computed: decode.h.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_GPU_H_
#define BASEBAND_KERNELS_LDPC_DECODE_GPU_H_

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "kernels/ldpc/decode.h"

namespace baseband::ldpc {

// One code block of a launch. Offsets are in bytes. Aligned so that any of an array of them may be
// the first of a launch.
struct alignas(16) DecodeBlock {
  // As the device addresses them: its own memory, or page-locked memory of the host, of as many
  // allocations as there are blocks. Any alignment; readable from the multiple of 4 before them on
  // (they are read in words, and in units of 16 bytes) and up to 16 bytes past their end.
  const int8_t* llr = nullptr;
  uint32_t llr_count = 0;     // 1 .. code.num_sent()
  uint32_t bits_offset = 0;   // in `bits`; a multiple of 4
  uint32_t num_filler = 0;    // 0 .. k - 1
  uint32_t soft_offset = 0;   // in `soft`; a multiple of 4; kNoSoft: no soft output for this block
  uint32_t result_index = 0;  // in `results`
};
inline constexpr uint32_t kNoSoft = 0xffffffff;

// One launch: code blocks of one code with one set of parameters. All pointers are device memory,
// or page-locked memory of the host, 16-byte aligned, and must live until `stream` has passed the
// launch. What is read and written more than once, the workspace, is better on the device.
struct DecodeBatch {
  const Code* code = nullptr;  // read on the host before LaunchDecode returns
  // A CRC stops blocks of NR codes under the layered schedules of integers only, and none that give
  // soft values.
  DecodeParameters parameters;
  const DecodeBlock* blocks = nullptr;  // [num_blocks]
  int num_blocks = 0;                   // 1 .. 2^20
  uint8_t* bits = nullptr;              // written in whole 32-bit words
  int8_t* soft = nullptr;               // may be null if no block asks for it
  DecodeResult* results = nullptr;
  // Scratch for codes whose messages do not fit on the chip, and for sum-product of NR codes, of
  // whatever size; DecodeWorkspaceBytes() of it. May be
  // null where that is 0. Not shared between launches that may run at the same time.
  void* workspace = nullptr;
  // About how many launches share the device, with this one: few blocks that find room beside them
  // are decoded by kernels that are done sooner, but take more of it altogether. Results are the
  // same.
  int sharers = 1;
};

// Scratch that a launch of `code` with `parameters` needs: 0 for all codes of the standards under
// layered or flooding min-sum, else at most kMaxDecodeWorkspaceBytes.
int64_t DecodeWorkspaceBytes(const Code& code, const DecodeParameters& parameters);
inline constexpr int64_t kMaxDecodeWorkspaceBytes = int64_t{512} << 20;

// Raises the shared-memory limits of the kernels on the current device and loads them, so that no
// later launch does. Once per device, before the first launch.
absl::Status PrepareDecodeKernels();

// Enqueues the decoding of `batch` on `stream` and returns without waiting. InvalidArgument, with
// nothing enqueued, for a broken range above; Internal when CUDA refuses the launch. OK says that
// the launch was accepted, not that a block decoded: read `results` once the stream has passed.
// Deterministic: a block's bits, soft values and result depend on its own LLRs alone, never on its
// neighbours. Allocates nothing. Thread-safe for calls on different streams.
absl::Status LaunchDecode(const DecodeBatch& batch, cudaStream_t stream);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_DECODE_GPU_H_
