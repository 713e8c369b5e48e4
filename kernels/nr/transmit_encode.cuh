// The first half of sending the code blocks of one thread block: from their information, which
// transmit_info.cuh puts in groups, to parity. As ldpc::device::Encode does it, for two code blocks
// at once. Device code.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_
#define BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_

#include <cstdint>

#include "kernels/ldpc/encode_device.cuh"
#include "kernels/nr/transmit_info.cuh"

namespace baseband::nr::device {

// Adds the words of both code blocks that a source names to `total`; `at` is where its group's word
// w lies, of group 0.
__device__ __forceinline__ void AddSource(const char* at, uint32_t source, uint2* total) {
  const auto* const words = reinterpret_cast<const uint2*>(at + (source >> 15));
  const uint2 first = words[0];
  const uint2 second = words[1];
  total->x ^= __funnelshift_l(second.x, first.x, source);  // by source mod 32
  total->y ^= __funnelshift_l(second.y, first.y, source);
}

// Words w .. of a sum, `apart` words from each other, as far as pairs first_pair, first_pair +
// step,
// .. make them. `word_w` is word w of group 0.
template <int kCount>
__device__ __forceinline__ void SumWords(const ldpc::device::Program<true>& program,
                                         const ldpc::EncodeTableSum& sum, uint32_t first_pair,
                                         uint32_t step, const uint2* word_w, uint32_t apart,
                                         uint2 (&totals)[kCount]) {
  for (int j = 0; j < kCount; ++j) totals[j] = make_uint2(0, 0);
  const auto* const at = reinterpret_cast<const char*>(word_w);
  const auto* const at_second = reinterpret_cast<const char*>(word_w + apart);
#pragma unroll 2
  for (uint32_t i = first_pair; i < sum.num_pairs; i += step) {
    const uint2 pair = program.Pair(sum.first_pair + i);
    AddSource(at, pair.x, &totals[0]);
    if constexpr (kCount > 1) AddSource(at_second, pair.x, &totals[1]);
    AddSource(at, pair.y, &totals[0]);
    if constexpr (kCount > 1) AddSource(at_second, pair.y, &totals[1]);
  }
}

// The same from bit `start` of a sum on.
__device__ __forceinline__ uint2 SumBits(const ldpc::device::Program<true>& program,
                                         const ldpc::EncodeTableSum& sum, const uint2* groups,
                                         uint32_t start) {
  uint2 total = make_uint2(0, 0);
  const auto add = [groups, start, &total](uint32_t source) {
    const uint32_t position = (source >> 16) * 8 + (source & 31) + start;
    const uint2 first = groups[position / 32];
    const uint2 second = groups[position / 32 + 1];
    total.x ^= __funnelshift_l(second.x, first.x, position);
    total.y ^= __funnelshift_l(second.y, first.y, position);
  };
  for (uint32_t i = 0; i < sum.num_pairs; ++i) {
    const uint2 pair = program.Pair(sum.first_pair + i);
    add(pair.x);
    add(pair.y);
  }
  return total;
}

__device__ __forceinline__ void PutParity(const Encoding& encoding, uint32_t at, uint2 value) {
  encoding.parity[at] = value.x;
  encoding.parity[encoding.stride + at] = value.y;
}

// A phase of sums that others need: several threads to a word, each with a part of the sum, for few
// such sums there are, and others wait for them.
__device__ __forceinline__ void RunKeptPhase(const Encoding& encoding,
                                             const ldpc::device::Program<true>& program,
                                             const ldpc::EncodePhase& phase, uint32_t group_words) {
  constexpr uint32_t kParts = 2;
  const uint32_t part = threadIdx.x % kParts;
  const uint32_t all_parts = ((1u << kParts) - 1) << (threadIdx.x % 32 - part);
  for (uint32_t item = threadIdx.x / kParts; item < phase.num_items;
       item += kTransmitThreads / kParts) {
    const uint32_t index = ldpc::Quotient(item, phase.magic);
    const uint32_t word = item - index * group_words;
    const ldpc::EncodeTableSum sum = program.Sum(phase.first_sum + index);
    uint2 total[1];
    SumWords<1>(program, sum, part, kParts, encoding.groups + word, 0, total);
#pragma unroll
    for (int other = 1; other < static_cast<int>(kParts); other *= 2) {
      total[0].x ^= __shfl_xor_sync(all_parts, total[0].x, other);
      total[0].y ^= __shfl_xor_sync(all_parts, total[0].y, other);
    }
    if (part == 0) {
      uint2* const to = encoding.groups + sum.keep_at + word;
      to[0] = total[0];
      to[group_words] = total[0];
    } else if (part == 1 && sum.parity != ldpc::kNoDestination) {
      PutParity(encoding, sum.parity * group_words + word, total[0]);
    }
  }
}

// A phase of parity that no other sum needs: two words for each thread.
__device__ __forceinline__ void RunFinalPhase(const Encoding& encoding,
                                              const ldpc::device::Program<true>& program,
                                              const ldpc::EncodePhase& phase,
                                              uint32_t group_words) {
  const uint32_t apart = phase.items_per_sum & ldpc::kPhaseItems;
  for (uint32_t item = threadIdx.x; item < phase.num_items; item += kTransmitThreads) {
    const uint32_t index = ldpc::Quotient(item, phase.magic);
    const uint32_t word = item - index * apart;
    const ldpc::EncodeTableSum sum = program.Sum(phase.first_sum + index);
    // Of an odd number of words the last stands alone: what lies behind the group may be in change.
    const bool has_second = word + apart < group_words;
    uint2 totals[2];
    SumWords<2>(program, sum, 0, 1, encoding.groups + word, has_second ? apart : 0, totals);
    const uint32_t at = sum.parity * group_words + word;
    PutParity(encoding, at, totals[0]);
    if (has_second) PutParity(encoding, at + apart, totals[1]);
  }
}

// From the groups to parity, of a code whose groups are whole words.
__device__ __forceinline__ void RunWholeWords(const Encoding& encoding,
                                              const ldpc::device::Program<true>& program) {
  const uint32_t group_words = encoding.header->group_words;
  const uint32_t num_phases = encoding.header->num_phases;
  for (uint32_t i = 0; i < num_phases; ++i) {
    const ldpc::EncodePhase phase = program.Phase(i);
    if ((phase.items_per_sum & ldpc::kPhaseBarrier) != 0) __syncthreads();
    if ((phase.items_per_sum & ldpc::kPhaseKeeps) != 0) {
      RunKeptPhase(encoding, program, phase, group_words);
    } else {
      RunFinalPhase(encoding, program, phase, group_words);
    }
  }
}

// The same of any code, by way of the staging.
__device__ __forceinline__ void RunAnyBits(const Encoding& encoding,
                                           const ldpc::device::Program<true>& program) {
  const ldpc::EncodeTableHeader& header = *encoding.header;
  for (uint32_t i = 0; i < header.num_phases; ++i) {
    const ldpc::EncodePhase phase = program.Phase(i);
    if ((phase.items_per_sum & ldpc::kPhaseBarrier) != 0) __syncthreads();
    const uint32_t given = phase.items_per_sum & ldpc::kPhaseItems;
    const bool keeps = (phase.items_per_sum & ldpc::kPhaseKeeps) != 0;
    const uint32_t items_per_sum = keeps ? given : header.group_words;
    const uint32_t magic = keeps ? phase.magic : header.group_magic;
    const uint32_t num_items = ldpc::Quotient(phase.num_items, phase.magic) * items_per_sum;
    for (uint32_t item = threadIdx.x; item < num_items; item += kTransmitThreads) {
      const uint32_t index = ldpc::Quotient(item, magic);
      const uint32_t word = item - index * items_per_sum;
      const ldpc::EncodeTableSum sum = program.Sum(phase.first_sum + index);
      const uint32_t start = __ldg(encoding.table + ldpc::kStartsAt + word);
      const uint2 total = SumBits(program, sum, encoding.groups, start);
      if (keeps) encoding.groups[sum.keep_at + word] = total;
      if (sum.parity != ldpc::kNoDestination && word < header.group_words) {
        uint32_t* const to = encoding.staging + sum.parity * header.group_words + word;
        to[0] = total.x;
        to[header.staging_words] = total.y;
      }
    }
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; 32 * i < header.parity_bits; i += kTransmitThreads) {
    const uint32_t* const staging = encoding.staging;
    const auto parity_word = [&](const uint32_t* words) {
      return ldpc::ReadPacked(words, header.group_words, header.zc, 32 * i, header.parity_bits);
    };
    PutParity(encoding, i,
              make_uint2(parity_word(staging), parity_word(staging + header.staging_words)));
  }
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_ENCODE_CUH_
