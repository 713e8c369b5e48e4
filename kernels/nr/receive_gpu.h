// From what was received to the LLRs of the LDPC decoder, and from its bits to transport blocks, on
// a GPU. Host header, no device code; CUDA builds only. What is computed: transport_block.h,
// rate_match_math.h, scrambling_math.h, demap_math.h, llr_format_math.h.
//
//   LaunchRateDematch   received LLRs or symbols -> soft bits [n_cb] of every code block
//   ldpc::LaunchDecode  once for each code and set of parameters: reads these soft bits
//   LaunchCheckCrc      decided bits -> transport blocks, and whether their CRCs hold
//
// A launch takes the transport blocks of many users, each of its own shape and format. The soft
// bits are at the same time what HARQ keeps: the next transmission adds to them.
#ifndef BASEBAND_KERNELS_NR_RECEIVE_GPU_H_
#define BASEBAND_KERNELS_NR_RECEIVE_GPU_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/status/status.h"
#include "kernels/nr/demap_math.h"
#include "kernels/nr/symbols.h"
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transport_block.h"

namespace baseband::nr {

// What is received of a transport block.
enum class ReceivedFormat : uint8_t {
  kInt8,   // LLRs of the decoder's scale, clipped to +-127
  kInt16,  // little-endian; times `llr_scale`, or a scale chosen from each code block if that is 0
  kFloat16,  // IEEE binary16, times `llr_scale`
  kInt6,     // four to three bytes, the first in the most significant bits; times `llr_scale`
  kInt4,     // two to a byte, the first in the upper half; times `llr_scale`
  kSymbols,  // equalised symbols as `layout` has them
};

// One transport block of a launch, or one code block alone. MakeReceiveTb fills in the shape; all
// before it is the caller's. Copied to the device as it is.
struct alignas(16) ReceiveTb {
  // The G LLRs, or G / qm symbols, in the order of sending, as the device addresses them: its own
  // memory, or page-locked memory of the host. Any alignment; readable from the multiple of 4
  // before them on (they are read in whole words) and up to 16 bytes past their end.
  const uint8_t* received = nullptr;
  // Of symbols: their noise variances, float32, in the places of the symbols, aligned to 4 bytes;
  // null: n0 for all. Those that are no variance give LLRs of 0.
  const float* n0_of_symbol = nullptr;
  float n0 = 1.0f;
  float llr_scale = 1.0f;  // finite, > 0; 0: see kInt16
  DemapScale demap;        // of symbols
  SymbolLayout layout;     // of symbols
  ReceivedFormat format = ReceivedFormat::kInt8;
  uint8_t log_sum = 0;              // of symbols: 1: the exact sum, 0: max-log
  uint32_t c_init = kNoScrambling;  // or 0 .. kMaxScramblingInit

  // The shape.
  uint32_t num_short = 0;  // blocks of `of_short`; the others are of `of_long`
  RateMatch of_short;
  RateMatch of_long;
};

ReceiveTb MakeReceiveTb(const TransportBlockPlan& plan);
ReceiveTb MakeReceiveTb(const RateMatch& rate_match);  // one code block alone

// What a thread block works on.
struct alignas(16) DematchBlock {
  // Soft bits so far, [n_cb], null if there are none. Any alignment; may be `soft` itself.
  const int8_t* old_soft = nullptr;
  // [n_cb], filled up with zeros to a multiple of 16; aligned to 16 bytes, memory of the device.
  // 0 where nothing was ever received, and for fillers. It is DecodeBlock::llr of this code block,
  // llr_count being the smaller of n_cb and code.num_sent().
  int8_t* soft = nullptr;
  uint32_t tb = 0;  // of `tbs`
  uint32_t r = 0;   // its code block
};

// All pointers are memory of the device, or page-locked memory of the host that it can read;
// 16-byte aligned; they and all that they name must live until `stream` has passed the launch.
struct DematchBatch {
  const ReceiveTb* tbs = nullptr;
  const DematchBlock* blocks = nullptr;  // [num_blocks], any code blocks in any order
  int num_blocks = 0;                    // 1 .. 2^20
  int shared_bytes = 0;                  // the largest DematchSharedBytes() of any of them
};

// Shared memory that a block needs.
int DematchSharedBytes(const RateMatch& rate_match);
inline constexpr int kMaxDematchSharedBytes = 128 << 10;

// Enqueues it on `stream` and returns without waiting:
//   soft[p] = clip(old_soft[p] + the sum of all LLRs received of d_p),   -128 in old_soft is -127
// InvalidArgument, with nothing enqueued, for a broken range above that the host can see; Internal
// when CUDA refuses the launch. Deterministic: a block's soft bits depend on its own LLRs alone.
// Allocates nothing. Thread-safe for calls on different streams.
absl::Status LaunchRateDematch(const DematchBatch& batch, cudaStream_t stream);

// A transport block as it is put together, or one code block alone.
struct alignas(16) CheckTb {
  uint8_t* payload = nullptr;  // receives ceil(payload_bits / 8) bytes and no more; aligned to 4
                               // bytes; memory of the device. Null: not wanted
  uint32_t payload_bits = 0;   // as in TransmitTb
  uint32_t tb_crc_bits = 0;
  uint32_t block_crc_bits = 0;
  uint32_t num_blocks = 0;
  uint32_t info_bits = 0;
};
CheckTb MakeCheckTb(const TransportBlockPlan& plan);
CheckTb MakeCheckTb(int info_bits, bool with_crc);  // as MakeTransmitTb

struct alignas(16) CheckBlock {
  const uint8_t* bits = nullptr;  // K' decided bits in whole words, as LaunchDecode writes them
  uint32_t tb = 0;                // of `tbs`
  uint32_t r = 0;                 // its code block
};

// What became of one code block's CRC.
struct CheckResult {
  // Its part of the CRC of the transport block. Their exclusive or over all blocks is 0 if that
  // CRC holds: TbCrcHolds.
  uint32_t tb_crc_part = 0;
  // Its own CRC, or the transport block's if that is its only one. 1: holds, or there is none.
  uint32_t crc_ok = 0;
};

struct CheckBatch {
  const CheckTb* tbs = nullptr;
  // [num_blocks]: all code blocks of all transport blocks, those of one transport block one after
  // the other, r = 0, 1, ..
  const CheckBlock* blocks = nullptr;
  int num_blocks = 0;              // 1 .. 2^20
  CheckResult* results = nullptr;  // [num_blocks], memory of the device
};

// Enqueues it on `stream` and returns without waiting. Payloads are written whether their CRCs hold
// or not. Statuses and promises as of LaunchRateDematch.
absl::Status LaunchCheckCrc(const CheckBatch& batch, cudaStream_t stream);

// Whether the CRC of a transport block holds, from the results of all its blocks.
inline bool TbCrcHolds(const CheckResult* results, int num_blocks) {
  uint32_t crc = 0;
  for (int r = 0; r < num_blocks; ++r) crc ^= results[r].tb_crc_part;
  return crc == 0;
}

// Loads the kernels of both on the current device and raises their limits, so that no later launch
// does. Once per device, before the first launch.
absl::Status PrepareReceiveKernels();

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_RECEIVE_GPU_H_
