// From what was received to the LLRs of the LDPC decoder, and from its bits to transport blocks, on
// a GPU. Host header, no device code; CUDA builds only. What is computed: transport_block.h,
// rate_match_math.h, scrambling.h, llr_format.h, demap.h.
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
#include "kernels/ldpc/decode.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/llr_format.h"
#include "kernels/nr/symbols.h"
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transport_block.h"

namespace baseband::nr {

// One transport block of a launch, or one code block alone. MakeReceiveTb fills in the shape; all
// before it is the caller's. Copied to the device as it is.
struct alignas(16) ReceiveTb {
  // The G LLRs, or G / qm symbols, in the order of sending, as the device addresses them: its own
  // memory, or page-locked memory of the host. Any alignment; readable from the multiple of 4
  // before them on (they are read in whole words) and up to 16 bytes past their end.
  const uint8_t* received = nullptr;
  const uint8_t* noise = nullptr;  // of symbols, as `noise_format` says; any alignment, as above
  uint32_t as_symbols = 0;         // 1: symbols as `layout` has them, 0: LLRs
  LlrFormat llr_format = LlrFormat::kInt8;
  NoiseFormat noise_format = NoiseFormat::kOne;
  uint8_t log_sum = 0;  // of symbols: 1: the sums, 0: max-log, as DemapParameters::log_sum
  // Of LLRs: kMinLlrFormatScale .. kMaxLlrFormatScale; not read for kInt8. 0 for kInt16: what
  // ChosenScale makes of each code block's own LLRs and of `mean_llr`.
  float llr_format_scale = 1.0f;
  float mean_llr = 0.0f;
  float noise_variance = 1.0f;      // of symbols, for NoiseFormat::kOne
  DemapScale demap;                 // of symbols: MakeDemapScale
  SymbolLayout layout;              // of symbols
  uint32_t c_init = kNoScrambling;  // or 0 .. kMaxScramblingInit

  // The shape.
  uint32_t num_short = 0;  // blocks of `of_short`; the others are of `of_long`
  RateMatch of_short;
  RateMatch of_long;
};

ReceiveTb MakeReceiveTb(const TransportBlockPlan& plan);

// What a thread block works on.
struct alignas(16) DematchBlock {
  // Soft bits so far, [soft_count], null if there are none. Any alignment; readable from the
  // multiple of 4 before them on and up to 32 bytes past their end; may be `soft` itself.
  const int8_t* old_soft = nullptr;
  // [soft_count], filled up with zeros to a multiple of 16; aligned to 16 bytes, memory of the
  // device. 0 where nothing was ever received, and for fillers. It is DecodeBlock::llr of this code
  // block, llr_count being the smaller of soft_count and code.num_sent().
  int8_t* soft = nullptr;
  uint32_t tb = 0;  // of `tbs`
  uint32_t r = 0;   // its code block
  // Soft bits that are wanted: d_0 .. d_{soft_count-1}, n_cb or fewer. What is received of others
  // is dropped; a launch is the faster for it. num_sent() of the decoder's code is enough where no
  // retransmission follows.
  uint32_t soft_count = 0;
};

// All pointers are memory of the device, or page-locked memory of the host that it can read;
// 16-byte aligned; they and all that they name must live until `stream` has passed the launch.
struct DematchBatch {
  const ReceiveTb* tbs = nullptr;
  const DematchBlock* blocks = nullptr;  // [num_blocks], any code blocks in any order
  int num_blocks = 0;                    // 1 .. 2^20
  int shared_bytes = 0;                  // the largest DematchSharedBytes() of any of them
  // [num_blocks], memory of the device; may be null: of each block how many float16 LLRs are NaN,
  // or how many symbols cannot be used (DemapOnCpu says which). These count as LLRs of 0.
  uint32_t* unusable = nullptr;
};

// Shared memory that a block needs.
int DematchSharedBytes(const RateMatch& rate_match, uint32_t soft_count);
inline constexpr int kMaxDematchSharedBytes = 128 << 10;

// Enqueues it on `stream` and returns without waiting:
//   soft[p] = clip(old_soft[p] + the sum of all LLRs received of d_p),
// to the bit as RateDematchOnCpu; -128 is read as -127.
// InvalidArgument, with nothing enqueued, for a broken range above that the host can see; Internal
// when CUDA refuses the launch. Deterministic: a block's soft bits depend on its own LLRs alone.
// Allocates nothing. Thread-safe for calls on different streams.
absl::Status LaunchRateDematch(const DematchBatch& batch, cudaStream_t stream);

// A transport block as it is put together, or one code block alone. MakeCheckTb fills in the shape;
// all before it is the caller's.
struct alignas(16) CheckTb {
  // Receives ceil(payload_bits / 8) bytes and no more, the last filled up with zero bits; memory of
  // the device, aligned to 4 bytes. Null: not wanted.
  uint8_t* payload = nullptr;
  // The soft bits that were decoded, as LaunchRateDematch wrote them: of code block r soft_count
  // of them at soft + r soft_stride, both multiples of 16. For IsBlockRight, which asks for them
  // only where all bits are 0. Null: as if some were not 0.
  const int8_t* soft = nullptr;
  uint32_t soft_stride = 0;
  uint32_t soft_count = 0;

  // The shape, as in TransmitTb.
  uint32_t payload_bits = 0;
  uint32_t tb_crc_bits = 0;
  uint32_t block_crc_bits = 0;
  uint32_t num_blocks = 0;
  uint32_t info_bits = 0;
};
CheckTb MakeCheckTb(const TransportBlockPlan& plan);

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
  // 1 if it is right (IsBlockRight): by its own CRC, or the transport block's if that is its only
  // one; a block without any has CRC 0.
  uint32_t crc_ok = 0;
};

struct CheckBatch {
  const CheckTb* tbs = nullptr;
  // [num_blocks]: all code blocks of all transport blocks, those of one transport block one after
  // the other, r = 0, 1, ..
  const CheckBlock* blocks = nullptr;
  int num_blocks = 0;  // 1 .. 2^20
  // [num_blocks], of the same blocks: whether their parity checks hold. Null: as if they did.
  const ldpc::DecodeResult* decode_results = nullptr;
  CheckResult* results = nullptr;  // [num_blocks], memory of the device
};

// Enqueues it on `stream` and returns without waiting. Payloads are written whether their CRCs hold
// or not. Statuses and promises as of LaunchRateDematch.
absl::Status LaunchCheckCrc(const CheckBatch& batch, cudaStream_t stream);

// Whether the CRC of a transport block holds, from the results of all its blocks. It is right if
// these are, too.
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
