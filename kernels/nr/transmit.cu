// The kernel of LaunchTransmit, and its launcher.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/load_kernel.h"
#include "kernels/nr/crc_powers.cuh"
#include "kernels/nr/gpu_launch.h"
#include "kernels/nr/transmit_device.cuh"
#include "kernels/nr/transmit_encode.cuh"
#include "kernels/nr/transmit_gpu.h"

namespace baseband::nr {
namespace {

using device::kTransmitThreads;
using device::TransmitShared;

constexpr int kMinBlocksPerSm = 12;  // 56 registers a thread

// In memory: what code block r of a transport block tells the last one, and a flag.
constexpr uint32_t kIsTold = 1u << 31;

// r / x mod the generator.
BASEBAND_HOST_DEVICE constexpr uint32_t CrcOverX(CrcPolynomial p, uint32_t r) {
  return (r & 1) != 0 ? (r ^ p.generator ^ uint32_t{1} << p.bits) >> 1 : r >> 1;
}
BASEBAND_HOST_DEVICE constexpr uint32_t CrcPowerOfOneOverX(CrcPolynomial p, int n) {
  uint32_t power = 1;
  for (int i = 0; i < n; ++i) power = CrcOverX(p, power);
  return power;
}

// The CRC24A of a transport block of more than one code block, by a warp. `parts` is what they
// tell, which this takes away.
__device__ __noinline__ uint32_t JoinTbCrc(const TransmitTb& tb, uint32_t* parts) {
  constexpr CrcPolynomial p = PolynomialOf(Crc::kCrc24A);
  // Remainders of code blocks with zeros for CRC24B, the last one's also with zeros for this CRC.
  constexpr uint32_t kBefore = CrcPowerOfOneOverX(p, 24);
  uint32_t crc = 0;
  for (uint32_t r = threadIdx.x % 32; r < tb.num_blocks; r += 32) {
    const uint32_t power = device::CrcPower24A((tb.num_blocks - 1 - r) * tb.info_bits);
    volatile uint32_t* const part = parts + r;
    uint32_t told;
    do {
      told = *part;
    } while ((told & kIsTold) == 0);
    *part = 0;
    crc ^= CrcMultiply(p, told & ~kIsTold, power);
  }
  return CrcMultiply(p, __reduce_xor_sync(0xffffffff, crc), kBefore);
}

// What a thread block knows, in shared memory: so it takes no registers where it is not needed.
struct State {
  ldpc::EncodeTableHeader header;
  device::Coded coded[kTransmitBlocks];
  const TransmitTb* tb;
  const uint32_t* table;
  uint32_t r;
  uint32_t count;  // of code blocks
  uint32_t k_prime;
  Crc crc;         // of each code block
  bool has_crc;    // whether there is one
  bool is_direct;  // words of the information are the encoder's own
  bool is_split;   // the transport block has more than one code block
  bool has_last;   // the last one is here
  uint32_t tb_crc;

  __device__ __forceinline__ device::Encoding MakeEncoding(const TransmitShared& layout,
                                                           uint32_t* words) const {
    return {table,
            &header,
            words + layout.staging_at,
            reinterpret_cast<uint2*>(words + layout.groups_at),
            words + layout.parity_at,
            layout.stride};
  }
};

// What code block 0 of a transport block has in the workspace; that of the others follows.
struct Slots {
  unsigned long long* edges;
  uint32_t* parts;

  __device__ __forceinline__ Slots(void* workspace, uint32_t r) {
    auto* const all = static_cast<unsigned long long*>(workspace);
    const uint32_t slot = kTransmitBlocks * blockIdx.x - r;
    edges = all + slot;
    parts = reinterpret_cast<uint32_t*>(all + kTransmitBlocks * gridDim.x) + slot;
  }
};

// Fills `state` and loads the information. Ends with a barrier.
__device__ __forceinline__ void Load(const TransmitTb* __restrict__ tbs,
                                     const TransmitBlock* __restrict__ blocks,
                                     const uint8_t* __restrict__ tables, uint32_t* words,
                                     State* state) {
  const TransmitBlock block = blocks[blockIdx.x];
  const TransmitTb& tb = tbs[block.tb];
  const uint32_t k_prime = tb.info_bits + tb.block_crc_bits;
  const uint32_t count = min(tb.num_blocks - block.r, static_cast<uint32_t>(kTransmitBlocks));
  if (threadIdx.x < sizeof(state->header) / sizeof(uint4)) {
    const auto* const table = reinterpret_cast<const uint4*>(tables + tb.table_offset);
    reinterpret_cast<uint4*>(&state->header)[threadIdx.x] = __ldg(table + threadIdx.x);
  }
  const PayloadSlice slice = SliceOf(tb.payload_bits, tb.info_bits, block.r);
  const PayloadSlice next = SliceOf(tb.payload_bits, tb.info_bits, block.r + 1);
  const WordsBefore payload = WordsOf(tb.payload);
  const device::Information info{
      payload.words, payload.skip + slice.first, tb.info_bits,       count,
      k_prime,       k_prime - slice.bits,       k_prime - next.bits};
  const device::InfoLoader loader(info);
  if (threadIdx.x == kTransmitThreads - 1) {
    state->tb = &tb;
    state->table = reinterpret_cast<const uint32_t*>(tables + tb.table_offset);
    state->r = block.r;
    state->count = count;
    state->k_prime = k_prime;
    state->has_crc = tb.block_crc_bits + tb.tb_crc_bits != 0;
    state->crc = tb.block_crc_bits != 0 ? Crc::kCrc24B
                 : tb.tb_crc_bits == 24 ? Crc::kCrc24A
                                        : Crc::kCrc16;
    state->is_split = tb.num_blocks > 1;
    state->has_last = block.r + count == tb.num_blocks;
  }
  __syncthreads();
  const TransmitShared layout(state->header);
  const bool is_direct = state->header.whole_words != 0 && k_prime % 32 == 0;
  loader.Store(info, state->MakeEncoding(layout, words), is_direct);
  const uint32_t b = threadIdx.x - 32;
  if (b < kTransmitBlocks) {
    state->is_direct = is_direct;
    state->coded[b] = device::MakeCoded(
        tb, block.r + b,
        32 * (layout.parity_at + b * layout.stride) + 2 * state->header.zc - k_prime);
  }
  __syncthreads();
}

// Tells what the code blocks add to the CRC24A of their transport block, in which `crcs` stand
// where there were zeros. By a warp.
__device__ __forceinline__ void TellParts(const State& state, const device::Encoding& encoding,
                                          uint32_t* parts, uint2 crcs) {
  const uint32_t lane = threadIdx.x % 32;
  const uint2 remainders = device::BlockCrcs(encoding.parity, encoding.stride, Crc::kCrc24A);
  if (lane >= state.count) return;
  const uint32_t told = lane == 0 ? remainders.x ^ crcs.x : remainders.y ^ crcs.y;
  *static_cast<volatile uint32_t*>(parts + state.r + lane) = told | kIsTold;
}

// Puts the CRCs behind the information, by warp 0. Begins after a barrier and ends before one.
__device__ __forceinline__ void AddCrcs(const device::Encoding& encoding, void* workspace,
                                        State* state) {
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  uint2 crcs = make_uint2(0, 0);
  if (warp == 0 && state->has_crc) {
    crcs = device::BlockCrcs(encoding.parity, encoding.stride, state->crc);
  }
  const bool has_tb_crc = state->is_split && state->has_last;
  if (has_tb_crc) {
    if (warp == 1) {
      const Slots slots(workspace, state->r);
      TellParts(*state, encoding, slots.parts, make_uint2(0, 0));
      __syncwarp();
      const uint32_t crc = JoinTbCrc(*state->tb, slots.parts);
      if (lane == 0) state->tb_crc = crc;
    }
    __syncthreads();
  }
  if (warp != 0 || lane >= state->count) return;
  uint32_t* const end = encoding.parity + lane * encoding.stride;
  uint32_t crc = lane == 0 ? crcs.x : crcs.y;
  const device::InfoGroups groups(encoding);
  if (has_tb_crc && lane + 1 == state->count) {
    const uint32_t tb_crc = state->tb_crc;
    crc ^= CrcOfWord(PolynomialOf(Crc::kCrc24B), tb_crc, 24) | tb_crc << 24;
    end[-2] ^= tb_crc >> 8;
    if (state->is_direct) groups.Keep(lane, state->k_prime / 32 - 2, end[-2]);
  }
  end[-1] ^= crc;
  if (state->is_direct) groups.Keep(lane, state->k_prime / 32 - 1, end[-1]);
}

// All else that the encoder needs: by all warps but the first, while that makes CRCs.
__device__ __forceinline__ void CopyProgram(const device::Encoding& encoding, uint4* program) {
  constexpr uint32_t kThreads = kTransmitThreads - 32;
  const uint32_t thread = threadIdx.x - 32;
  const auto* const from =
      reinterpret_cast<const uint4*>(encoding.table + encoding.header->phases_at);
  const uint32_t copied = encoding.header->copied_words / 4;
  const uint32_t extended_words = encoding.header->extended_words;
#pragma unroll 4
  for (uint32_t i = thread; i < copied; i += kThreads) program[i] = __ldg(from + i);
  for (uint32_t i = thread; i < extended_words; i += kThreads) {
    encoding.groups[i] = make_uint2(0, 0);
  }
}

// From the information to kept bits. Begins after a barrier and ends with one.
__device__ __forceinline__ void Encode(uint4* shared, void* workspace, State* state) {
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  const device::Encoding encoding = state->MakeEncoding(TransmitShared(state->header), words);
  if (threadIdx.x >= 32) CopyProgram(encoding, shared);
  AddCrcs(encoding, workspace, state);
  __syncthreads();
  // By the warp that has least to do in the first phase.
  if (state->is_split && !state->has_last && threadIdx.x >= kTransmitThreads - 32) {
    constexpr uint32_t kCrc = 0xffffff;
    const uint32_t* const end = encoding.parity - 1;
    TellParts(*state, encoding, Slots(workspace, state->r).parts,
              make_uint2(end[0] & kCrc, end[encoding.stride] & kCrc));
  }
  if (!state->is_direct) device::GroupInfo(encoding, state->k_prime);
  const ldpc::device::Program<true> program(words, state->header);
  if (state->header.whole_words != 0) {
    device::RunWholeWords(encoding, program);
  } else {
    device::RunAnyBits(encoding, program);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kTransmitThreads, kMinBlocksPerSm)
    TransmitKernel(const TransmitTb* __restrict__ tbs, const TransmitBlock* __restrict__ blocks,
                   const uint8_t* __restrict__ tables, void* workspace) {
  extern __shared__ uint4 shared[];
  __shared__ State state;
  auto* const words = reinterpret_cast<uint32_t*>(shared);
  Load(tbs, blocks, tables, words, &state);
  Encode(shared, workspace, &state);

  const TransmitTb& tb = *state.tb;
  const Slots slots(workspace, state.r);
  const bool is_plain = tb.as_symbols == 0 && tb.c_init == kNoScrambling;
  const auto send = [&](auto qm) {
    constexpr int kQm = decltype(qm)::value;
    if (is_plain) return device::SendPlain<kQm>(tb, state.coded, words, slots.edges);
    device::SendPieces<kQm>(tb, state.coded, words, TransmitShared(state.header).region,
                            slots.edges);
  };
  switch (tb.of_short.qm) {
    case 1:
      return send(std::integral_constant<int, 1>());
    case 2:
      return send(std::integral_constant<int, 2>());
    case 4:
      return send(std::integral_constant<int, 4>());
    case 6:
      return send(std::integral_constant<int, 6>());
    case 8:
      return send(std::integral_constant<int, 8>());
    default:
      return send(std::integral_constant<int, 10>());
  }
}

}  // namespace

TransmitTb MakeTransmitTb(const TransportBlockPlan& plan) {
  TransmitTb tb;
  tb.payload_bits = static_cast<uint32_t>(plan.tb_bits);
  tb.tb_crc_bits = static_cast<uint32_t>(plan.tb_crc_bits);
  tb.block_crc_bits = static_cast<uint32_t>(plan.block_crc_bits);
  tb.num_blocks = static_cast<uint32_t>(plan.num_blocks);
  tb.info_bits = static_cast<uint32_t>(plan.info_bits());
  tb.num_short = static_cast<uint32_t>(plan.num_short);
  tb.of_short = plan.of_short;
  tb.of_long = plan.of_long;
  return tb;
}

int TransmitSharedBytes(const ldpc::Code& code) {
  const absl::Span<const uint32_t> table = (*code.encode_plan())->table();
  const TransmitShared layout(*reinterpret_cast<const ldpc::EncodeTableHeader*>(table.data()));
  return static_cast<int>(4 * layout.words);
}

absl::Status PrepareTransmitKernels() { return cuda::LoadKernel(TransmitKernel); }

absl::Status LaunchTransmit(const TransmitBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(CheckNumBlocks(batch.num_blocks));
  BASEBAND_RETURN_IF_ERROR(CheckSharedBytes(batch.shared_bytes, kMaxTransmitSharedBytes));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tbs", batch.tbs));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("blocks", batch.blocks));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("tables", batch.tables));
  BASEBAND_RETURN_IF_ERROR(CheckPointer("workspace", batch.workspace));
  return LaunchKernel("TransmitKernel",
                      {static_cast<unsigned>(batch.num_blocks), kTransmitThreads,
                       static_cast<size_t>(batch.shared_bytes), stream},
                      TransmitKernel, batch.tbs, batch.blocks, batch.tables, batch.workspace);
}

}  // namespace baseband::nr
