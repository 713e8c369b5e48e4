// LaunchCheckCrc: CRCs of tiles of 16 code blocks.
#include <cstdint>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/cuda/status.h"
#include "kernels/nr/crc_powers.cuh"
#include "kernels/nr/crc_tile.cuh"
#include "kernels/nr/gpu_launch.h"
#include "kernels/nr/receive_gpu.h"
#include "kernels/nr/receive_math.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr {
namespace {

using device::AddCrcs;
using device::CrcSums;
using device::kAllLanes;
using device::kCrcRows;
using device::kCrcWarps;
using device::kWarp;
using device::WantedCrcs;

// A warp more than multiplies finds meanwhile what the products are multiplied by.
constexpr uint32_t kThreads = (kCrcWarps + 1) * kWarp;

__device__ __forceinline__ void ClearSums(CrcSums* sums) {
  static_assert(sizeof(CrcSums) <= 4 * kThreads, "a word a thread");
  if (threadIdx.x < sizeof(CrcSums) / 4) reinterpret_cast<uint32_t*>(sums)[threadIdx.x] = 0;
}

// Adds up the CRCs of the tile's messages; by the first kCrcWarps warps. `message_of(block, tb)` is
// one block's message.
template <typename Tb, typename Block, typename MessageOf>
__device__ __forceinline__ void AddTile(const Tb* tbs, const Block* blocks, uint32_t num_blocks,
                                        const MessageOf& message_of, CrcSums* sums) {
  CrcMessage messages[2];
  WantedCrcs wanted = {};
#pragma unroll
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t index = blockIdx.x * kCrcRows + threadIdx.x % kWarp / 4 + 8 * half;
    if (index >= num_blocks) continue;
    const Block block = blocks[index];
    const Tb& tb = tbs[block.tb];
    wanted.of_24b |= tb.block_crc_bits != 0;
    wanted.of_24a |= tb.tb_crc_bits == 24;
    wanted.of_16 |= tb.tb_crc_bits == 16;
    messages[half] = message_of(block, tb);
  }
  wanted.of_24b = __any_sync(kAllLanes, wanted.of_24b);
  wanted.of_24a = __any_sync(kAllLanes, wanted.of_24a);
  wanted.of_16 = __any_sync(kAllLanes, wanted.of_16);
  AddCrcs(messages[0], messages[1], wanted, threadIdx.x / kWarp, sums);
}

// A block's part of the CRC of its transport block; `power` from CrcPower24A of what follows it.
// CRC16 is for transport blocks of one code block.
template <typename Tb>
__device__ __forceinline__ uint32_t TbPart(const Tb& tb, const CrcSums& sums, uint32_t row,
                                           uint32_t power) {
  if (tb.tb_crc_bits == 0) return 0;
  if (tb.tb_crc_bits == 16) return sums.of_16[row];
  return CrcMultiply(PolynomialOf(Crc::kCrc24A), sums.of_24a[row], power);
}

// Writes the words of the payload that begin in code block blocks[index].
__device__ __forceinline__ void CopyPayload(const CheckTb& tb, const CheckBlock* blocks,
                                            uint32_t index) {
  const CheckBlock block = blocks[index];
  const bool is_last = block.r + 1 == tb.num_blocks;
  const PayloadReader reader(tb.info_bits + tb.block_crc_bits,
                             SliceOf(tb.payload_bits, tb.info_bits, block.r));
  const auto own = [&](uint32_t w) {
    return __ldg(reinterpret_cast<const uint32_t*>(block.bits) + w);
  };
  // Of the last block nothing more is wanted than there is.
  const auto* const next_words =
      reinterpret_cast<const uint32_t*>(is_last ? block.bits : blocks[index + 1].bits);
  const auto next = [&](uint32_t w) { return __ldg(next_words + w); };
  for (uint32_t w = reader.first_word() + threadIdx.x; w < reader.end_word(); w += kThreads) {
    const uint32_t word = reader.Word(w, own, next);
    const uint32_t left = tb.payload_bits - 32 * w;
    if (left >= 32) {
      reinterpret_cast<uint32_t*>(tb.payload)[w] = SwapWord(word);
    } else {
      const uint32_t kept = FirstBits(word, left);
      for (uint32_t i = 0; 8 * i < left; ++i) {
        tb.payload[4 * w + i] = static_cast<uint8_t>(kept >> (24 - 8 * i));
      }
    }
  }
}

// Thread blocks that share a tile: the first makes its CRCs, each of the others copies four code
// blocks' payload.
constexpr uint32_t kCopiedBlocks = 4;
constexpr uint32_t kCheckPieces = 1 + kCrcRows / kCopiedBlocks;

// The soft bits of a code block; by all threads of the thread block, whose `shared` it is.
__device__ __forceinline__ SoftSigns SignsOf(const CheckTb& tb, uint32_t r, uint32_t (*shared)[2]) {
  if (tb.soft == nullptr) return {1, 0};
  __syncthreads();  // nobody reads the last ones any more
  if (threadIdx.x < 2) (*shared)[threadIdx.x] = 0;
  __syncthreads();
  const auto* const soft = reinterpret_cast<const uint4*>(tb.soft + size_t{r} * tb.soft_stride);
  SoftSigns own;
  for (uint32_t i = threadIdx.x; 16 * i < tb.soft_count; i += kThreads) {
    const uint4 sixteen = __ldg(soft + i);
    for (const uint32_t four : {sixteen.x, sixteen.y, sixteen.z, sixteen.w}) {
      own.known += __popc(__vcmpne4(four, 0) & 0x01010101);
      own.ones += __popc(four & 0x80808080);
    }
  }
  atomicAdd(&(*shared)[0], own.known);
  atomicAdd(&(*shared)[1], own.ones);
  __syncthreads();
  return {(*shared)[0], (*shared)[1]};
}

// What a row's lane keeps of it.
struct Row {
  uint32_t power = 1;
  uint32_t sent_24b = 0;
  CheckResult result;
  bool parity_ok = false;
  bool is_doubtful = false;  // all bits are 0
};

__device__ __forceinline__ void StartRow(const CheckTb& tb, const CheckBlock& block, Row* row) {
  row->power = device::CrcPower24A((tb.num_blocks - 1 - block.r) * tb.info_bits);
  if (tb.block_crc_bits != 0) {
    const CrcMessage crc{reinterpret_cast<const uint32_t*>(block.bits), tb.info_bits, 24};
    row->sent_24b =
        CrcMessageWord(crc, 0, kCrcStepWords - 1, [&](uint32_t w) { return __ldg(crc.words + w); });
  }
}

__device__ __forceinline__ void EndRow(const CheckTb& tb, const CrcSums& sums, uint32_t index,
                                       bool parity_ok, Row* row) {
  row->result.tb_crc_part = TbPart(tb, sums, index, row->power);
  uint32_t crc = 0;
  if (tb.block_crc_bits != 0) {
    crc = sums.of_24b[index] ^ row->sent_24b;
  } else if (tb.num_blocks == 1) {
    crc = row->result.tb_crc_part;
  }
  const bool any_bit = sums.any[index] != 0;
  row->result.crc_ok = crc == 0 ? 1 : 0;
  row->parity_ok = parity_ok;
  row->is_doubtful = crc == 0 && !any_bit;
}

__global__ void __launch_bounds__(kThreads)
    CheckCrcKernel(const CheckTb* __restrict__ tbs, const CheckBlock* __restrict__ blocks,
                   uint32_t num_blocks, const ldpc::DecodeResult* __restrict__ decode_results,
                   CheckResult* __restrict__ results) {
  if (blockIdx.y > 0) {
    const uint32_t first = blockIdx.x * kCrcRows + (blockIdx.y - 1) * kCopiedBlocks;
    for (uint32_t index = first; index < min(first + kCopiedBlocks, num_blocks); ++index) {
      const CheckTb& tb = tbs[blocks[index].tb];
      if (tb.payload != nullptr) CopyPayload(tb, blocks, index);
    }
    return;
  }
  __shared__ CrcSums sums;
  __shared__ uint32_t doubtful;  // a bit for each row
  __shared__ uint32_t signs[2];
  ClearSums(&sums);
  if (threadIdx.x == 0) doubtful = 0;
  __syncthreads();
  const uint32_t in_tile = threadIdx.x - kCrcWarps * kWarp;
  const uint32_t index = blockIdx.x * kCrcRows + in_tile;
  const bool ends_row = in_tile < kCrcRows && index < num_blocks;
  Row row;
  if (threadIdx.x < kCrcWarps * kWarp) {
    const auto message_of = [](const CheckBlock& block, const CheckTb& tb) {
      return CrcMessage{reinterpret_cast<const uint32_t*>(block.bits), 0, tb.info_bits};
    };
    AddTile(tbs, blocks, num_blocks, message_of, &sums);
  } else if (ends_row) {
    StartRow(tbs[blocks[index].tb], blocks[index], &row);
  }
  __syncthreads();
  if (ends_row) {
    const bool parity_ok = decode_results == nullptr || decode_results[index].parity_ok != 0;
    EndRow(tbs[blocks[index].tb], sums, in_tile, parity_ok, &row);
    if (row.is_doubtful) atomicOr(&doubtful, 1u << in_tile);
  }
  __syncthreads();
  for (uint32_t left = doubtful; left != 0; left &= left - 1) {
    const uint32_t one = static_cast<uint32_t>(__ffs(static_cast<int>(left))) - 1;
    const CheckBlock block = blocks[blockIdx.x * kCrcRows + one];
    const SoftSigns soft = SignsOf(tbs[block.tb], block.r, &signs);
    if (in_tile == one) {
      row.result.crc_ok = IsBlockRight(0, /*any_bit=*/false, row.parity_ok, soft) ? 1 : 0;
    }
  }
  if (ends_row) results[index] = row.result;
}

uint32_t TilesOf(int num_blocks) {
  return (static_cast<uint32_t>(num_blocks) + kCrcRows - 1) / kCrcRows;
}

}  // namespace

CheckTb MakeCheckTb(const TransportBlockPlan& plan) {
  CheckTb tb;
  tb.payload_bits = static_cast<uint32_t>(plan.tb_bits);
  tb.tb_crc_bits = static_cast<uint32_t>(plan.tb_crc_bits);
  tb.block_crc_bits = static_cast<uint32_t>(plan.block_crc_bits);
  tb.num_blocks = static_cast<uint32_t>(plan.num_blocks);
  tb.info_bits = static_cast<uint32_t>(plan.info_bits());
  return tb;
}

absl::Status LaunchCheckCrc(const CheckBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckNumBlocks(batch.num_blocks));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tbs", batch.tbs));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("blocks", batch.blocks));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("results", batch.results));
  return LaunchKernel("CheckCrcKernel",
                      {dim3(TilesOf(batch.num_blocks), kCheckPieces), kThreads, 0, stream},
                      CheckCrcKernel, batch.tbs, batch.blocks,
                      static_cast<uint32_t>(batch.num_blocks), batch.decode_results, batch.results);
}

absl::Status PrepareCheckCrc() { return cuda::LoadKernel(CheckCrcKernel); }

}  // namespace baseband::nr
