// From transport blocks to what is sent, on a GPU: CRC, segmentation, LDPC encoding, rate matching,
// interleaving, concatenation, scrambling and mapping to symbols in one go. Host header, no device
// code; CUDA builds only. What is computed: transport_block.h, rate_match_math.h,
// scrambling_math.h, modulation_math.h.
//
// A launch takes the transport blocks of many users, each of its own shape. Code blocks never leave
// the chip between the steps: one kernel does all, so that memory sees the payload once and what is
// sent once. A thread block takes two code blocks of a transport block, and all of them tell its
// last one, in memory, what they add to its CRC. That one waits for them: those that come before in
// the grid, which have begun by then.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_GPU_H_
#define BASEBAND_KERNELS_NR_TRANSMIT_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/symbols.h"
#include "kernels/nr/transport_block.h"

namespace baseband::nr {

inline constexpr uint32_t kNoScrambling = 0xffffffff;

// One transport block of a launch, or one code block alone. MakeTransmitTb fills in the shape; all
// before it is the caller's. Copied to the device as it is.
struct alignas(16) TransmitTb {
  // The payload as the device addresses it: its own memory, or page-locked memory of the host. Any
  // alignment; readable from the multiple of 4 before it on (it is read in whole words) and up to
  // 16 bytes past its end.
  const uint8_t* payload = nullptr;
  // Memory of the device. Packed bits, most significant first, the last 32-bit word filled up with
  // zeros; written in whole words, aligned to 4 bytes. Or symbols, aligned to 8 bytes (float32), 4
  // (float16, int16) or 2 (int8).
  uint8_t* out = nullptr;
  uint32_t table_offset = 0;        // of its code's table in `tables`; a multiple of 16
  uint32_t c_init = kNoScrambling;  // or 0 .. kMaxScramblingInit
  uint32_t as_symbols = 0;          // 1: symbols as `layout` has them, 0: packed bits
  SymbolLayout layout;

  // The shape.
  uint32_t payload_bits = 0;    // A, without any CRC
  uint32_t tb_crc_bits = 0;     // 24: CRC24A, 16: CRC16, 0: none
  uint32_t block_crc_bits = 0;  // 24: CRC24B, 0: none
  uint32_t num_blocks = 0;      // C
  uint32_t info_bits = 0;       // bits of payload and CRC a block: K' - block_crc_bits
  uint32_t num_short = 0;       // blocks of `of_short`; the others are of `of_long`
  RateMatch of_short;
  RateMatch of_long;
};

TransmitTb MakeTransmitTb(const TransportBlockPlan& plan);

// What a thread block works on: code blocks r and, if there is one, r + 1 of a transport block.
inline constexpr int kTransmitBlocks = 2;
struct TransmitBlock {
  uint32_t tb = 0;  // of `tbs`
  uint32_t r = 0;   // even
};

// All pointers are memory of the device, or page-locked memory of the host that it can read, but
// for `workspace`, which is the device's; 16-byte aligned; they and all that they name must live
// until `stream` has passed the launch.
struct TransmitBatch {
  const TransmitTb* tbs = nullptr;
  // [num_blocks]: all of all transport blocks, those of one transport block one after the other,
  // r = 0, 2, ..
  const TransmitBlock* blocks = nullptr;
  int num_blocks = 0;  // 1 .. 2^20
  // ldpc::EncodePlan::table() of every code, which is ldpc::NrCode(base_graph, zc, num_rows) of a
  // plan, or has more rows.
  const uint8_t* tables = nullptr;
  int shared_bytes = 0;  // the largest TransmitSharedBytes() of any code in the launch
  // TransmitWorkspaceBytes(num_blocks) of it, all zeros; a launch leaves zeros behind. Not shared
  // between launches that may run at the same time.
  void* workspace = nullptr;
};

// Shared memory that a block of `code` needs.
int TransmitSharedBytes(const ldpc::Code& code);
inline constexpr int kMaxTransmitSharedBytes = 48 << 10;
constexpr int64_t TransmitWorkspaceBytes(int num_blocks) {
  return int64_t{(8 + 4) * kTransmitBlocks} * num_blocks;
}

// Loads the kernels on the current device and raises their limits, so that no later launch does.
// Once per device, before the first launch.
absl::Status PrepareTransmitKernels();

// Enqueues all of it on `stream` and returns without waiting. InvalidArgument, with nothing
// enqueued, for a broken range above that the host can see; Internal when CUDA refuses a launch.
// Deterministic: what is sent of a transport block depends on its own payload alone, never on its
// neighbours. Allocates nothing. Thread-safe for calls on different streams.
absl::Status LaunchTransmit(const TransmitBatch& batch, cudaStream_t stream);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_GPU_H_
