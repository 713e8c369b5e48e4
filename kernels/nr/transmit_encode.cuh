// The first half of sending one code block by a thread block: from its payload to the bits of its
// circular buffer, in shared memory:
//
//   words   | region                        | information    | parity
//   first   | table, staging and groups of  | right up to    | from a word's
//           | ldpc::device::Encode          | the parity     | first bit on
//   then    | what transmit_device.cuh says |  kept bits, one after the other
//
// Device code.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_
#define BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/ldpc/encode_device.cuh"
#include "kernels/nr/crc_block.cuh"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

inline constexpr uint32_t kTransmitThreads = ldpc::device::kEncodeThreads;
static_assert(kTransmitThreads == 32 * kBlockCrcWarps, "as BlockCrcPart() has it");

// Of shared memory, in words.
struct TransmitShared {
  static constexpr uint32_t kLeastRegion = 1024;
  uint32_t region;
  uint32_t parity_at;
  uint32_t words;

  // A word in front of the information may be read, and two behind the parity.
  BASEBAND_HOST_DEVICE explicit TransmitShared(const ldpc::EncodeTableHeader& header)
      : region(header.shared_bytes / 4 < kLeastRegion ? kLeastRegion
                                                      : (header.shared_bytes + 15) / 16 * 4),
        parity_at(region + (header.k - 2 * header.zc + 31) / 32 + 1),
        words(parity_at + (header.parity_bits + 31) / 32 + 3) {}
};

// Parity as kept bits have it.
struct KeptParity {
  uint32_t* words;

  __device__ __forceinline__ void Put(uint32_t at, uint32_t value) const { words[at] = value; }
};

// The code block's bits: its slice of the payload, and the CRCs behind it.
struct InfoBits {
  const uint32_t* words;
  uint32_t first;  // bits from there to the slice
  uint32_t slice_bits;
  uint64_t tail;

  // c_at .. c_{at+31}; fillers are 0. The word behind these bits is read, too.
  __device__ __forceinline__ uint32_t Word(uint32_t at) const {
    const auto load = [this](uint32_t w) { return __ldg(words + w); };
    const uint32_t bit = first + at;
    if (at + 32 <= slice_bits) {
      return FunnelLeft(SwapWord(load(bit >> 5)), SwapWord(load((bit >> 5) + 1)), bit);
    }
    uint32_t word = TailBits(tail, slice_bits, at);
    if (at < slice_bits) word |= FirstBits(PackedBitsAt(load, bit), slice_bits - at);
    return word;
  }
  // The 32 bits before c_end; zeros before c_0.
  __device__ __forceinline__ uint32_t WordBefore(uint32_t end) const {
    return end >= 32 ? Word(end - 32) : Word(0) >> (32 - end);
  }
};

// Keeps word `i` of the information for the encoder: in its group, or else in the staging.
template <bool kWholeWords>
__device__ __forceinline__ void KeepInfo(const ldpc::device::Task& task, uint32_t i,
                                         uint32_t word) {
  if constexpr (kWholeWords) {
    const uint32_t group = ldpc::Quotient(i, task.header.group_magic);
    ldpc::device::KeepWord(task, task.groups + (group + 1) * task.header.extended_words,
                           i - group * task.header.group_words, word);
  } else {
    task.staging[i] = word;
  }
}

// Brings the information to the encoder, and what is sent of it to where it ends at `info_end`.
// Words are taken as they lie from the block's end on, which are the encoder's own if K' is a
// multiple of 32. `bits` has zeros in the place of the CRC of the code block, which is found on the
// way if there is to be one. `crc_parts`: kBlockCrcWarps words of shared memory. Barriers lie
// within, but none at the end.
template <bool kWholeWords>
__device__ __forceinline__ void LoadInfo(const ldpc::device::Task& task, InfoBits bits,
                                         uint32_t k_prime, bool has_crc, uint32_t* crc_parts,
                                         uint32_t* info_end) {
  const uint32_t kept = k_prime - 2 * task.header.zc;
  const bool is_aligned = k_prime % 32 == 0;
  uint32_t message[4];
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t before = 32 * BlockCrcWord(j);
    message[j] = before < k_prime ? bits.WordBefore(k_prime - before) : 0;
  }
#pragma unroll
  for (uint32_t j = 0; j < 4; ++j) {
    const uint32_t word = BlockCrcWord(j);
    if (32 * word < kept) info_end[-1 - static_cast<int>(word)] = message[j];
    if (is_aligned && 32 * word < k_prime) {
      KeepInfo<kWholeWords>(task, k_prime / 32 - 1 - word, message[j]);
    }
  }
  uint32_t crc = 0;
  if (has_crc) {
    const uint32_t part = BlockCrcPart(message);
    if (threadIdx.x % 32 == 0) crc_parts[threadIdx.x / 32] = part;
    __syncthreads();
    for (uint32_t warp = 0; warp < kBlockCrcWarps; ++warp) crc ^= crc_parts[warp];
    if (threadIdx.x == 31) {  // it has the last word
      info_end[-1] = message[3] | crc;
      if (is_aligned) KeepInfo<kWholeWords>(task, k_prime / 32 - 1, message[3] | crc);
    }
  }
  if (is_aligned) {
    for (uint32_t i = k_prime / 32 + threadIdx.x; 32 * i < task.header.k; i += kTransmitThreads) {
      KeepInfo<kWholeWords>(task, i, 0);
    }
  } else {
    if (has_crc) bits.tail |= CrcTail(0, k_prime - bits.slice_bits - 24, crc, 24);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; 32 * i < task.header.k; i += kTransmitThreads) {
      KeepInfo<kWholeWords>(task, i, bits.Word(32 * i));
    }
  }
}

// Makes the kept bits. Arguments as of LoadInfo; `parity` is the same place as `info_end`. Ends
// with a barrier.
template <bool kWholeWords>
__device__ __forceinline__ void EncodeBits(const ldpc::device::Task& task,
                                           const ldpc::device::Program<true>& program,
                                           const InfoBits& bits, uint32_t k_prime, bool has_crc,
                                           uint32_t* crc_parts, uint32_t* parity) {
  const ldpc::EncodeTableHeader& header = task.header;
  ldpc::device::ClearGroup(task);
  LoadInfo<kWholeWords>(task, bits, k_prime, has_crc, crc_parts, parity);
  if constexpr (!kWholeWords) {
    __syncthreads();
    ldpc::device::GroupStaged(task);
  }
  __syncthreads();
  ldpc::device::RunPhases<kWholeWords>(task, program, KeptParity{parity});
  __syncthreads();
  if constexpr (!kWholeWords) {
    for (uint32_t i = threadIdx.x; 32 * i < header.parity_bits; i += kTransmitThreads) {
      parity[i] =
          ldpc::ReadPacked(task.staging, header.group_words, header.zc, 32 * i, header.parity_bits);
    }
    __syncthreads();
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_
