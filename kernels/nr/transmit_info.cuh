// Where the code blocks of one thread block lie while they are sent, and how their information gets
// there. In shared memory, of a code block as many words as `stride`:
//
//   words   | region                      | information a   | parity a | information b   | parity b
//   first   | table, staging and groups   | right up to the | from a word's first bit on
//           | of both, in turns           | parity
//   then    | what transmit_device.cuh    | kept bits, one after the other
//           | says
//
// Words of the groups of both blocks lie side by side, so that every sum is read and made for both
// at once. Device code.
#ifndef BASEBAND_KERNELS_NR_TRANSMIT_INFO_CUH_
#define BASEBAND_KERNELS_NR_TRANSMIT_INFO_CUH_

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/ldpc/encode_device.cuh"
#include "kernels/nr/crc_block.cuh"
#include "kernels/nr/transmit_gpu.h"
#include "kernels/nr/transmit_math.h"

namespace baseband::nr::device {

inline constexpr uint32_t kTransmitThreads = 96;

// Of shared memory, in words.
struct TransmitShared {
  static constexpr uint32_t kLeastRegion = 1024;
  // So many of the information are read by BlockCrcs.
  static constexpr uint32_t kInfoWords = (kBlockCrcReadWords + 3) / 4 * 4;
  uint32_t staging_at;
  uint32_t groups_at;
  uint32_t region;
  uint32_t parity_at;  // of the first code block
  uint32_t stride;
  uint32_t words;

  // Two words behind the parity may be read.
  BASEBAND_HOST_DEVICE explicit TransmitShared(const ldpc::EncodeTableHeader& header)
      : staging_at(header.copied_words),
        groups_at(staging_at + 2 * header.staging_words),
        region(2 * (header.shared_bytes / 4) - header.copied_words),
        parity_at(0),
        stride(kInfoWords + (header.parity_bits + 31) / 32 + 2),
        words(0) {
    region = region < kLeastRegion ? kLeastRegion : (region + 3) / 4 * 4;
    parity_at = region + kInfoWords;
    words = region + kTransmitBlocks * stride;
  }
};

// What the threads agree on. The header lies in shared memory, so that it takes no registers.
struct Encoding {
  const uint32_t* table;
  const ldpc::EncodeTableHeader* header;
  uint32_t* staging;  // [2][staging_words]
  uint2* groups;      // a word of both code blocks each
  uint32_t* parity;   // of the first code block; the information ends here
  uint32_t stride;
};

// The information of the code blocks as the payload has it, and what is to be put behind it.
struct Information {
  const uint32_t* words;
  uint32_t first;       // bits from there to the first block
  uint32_t step;        // and from that to the second
  uint32_t count;       // of code blocks
  uint32_t k_prime;     // bits of each with CRCs
  uint32_t tail;        // bits of CRCs in the first, 0 .. 63
  uint32_t other_tail;  // and in the second
};

// Where words of the information are kept in groups of whole words.
struct InfoGroups {
  uint32_t magic;
  uint32_t group_words;
  uint32_t extended_words;
  uint2* groups;

  __device__ explicit InfoGroups(const Encoding& encoding)
      : magic(encoding.header->group_magic),
        group_words(encoding.header->group_words),
        extended_words(encoding.header->extended_words),
        groups(encoding.groups) {}
  // Keeps word `i` of the information of code block `b`.
  __device__ __forceinline__ void Keep(uint32_t b, uint32_t i, uint32_t word) const {
    const uint32_t group = ldpc::Quotient(i, magic);
    const uint32_t at = i + extended_words + group * (extended_words - group_words);
    auto* const to = reinterpret_cast<uint32_t*>(groups + at) + b;
    to[0] = word;
    to[2 * group_words] = word;
  }
};

// Brings the information, with zeros in the places of CRCs, from memory to where it ends at the
// parity; and to the groups if words of it are the encoder's own. Words are taken as they lie from
// a block's end on.
class InfoLoader {
 public:
  // Begins to read.
  __device__ __forceinline__ explicit InfoLoader(const Information& info)
      : words_((info.k_prime + 31) / 32),
        items_(info.count * words_),
        last_(static_cast<int32_t>(info.first + info.k_prime) - 32),
        last_of_second_(last_ + static_cast<int32_t>(info.step + 32 * words_)) {
#pragma unroll
    for (uint32_t j = 0; j < kUnroll; ++j) {
      const uint32_t item = threadIdx.x + j * kTransmitThreads;
      high_[j] = low_[j] = 0;
      if (item < items_) {
        const int32_t bit =
            (item < words_ ? last_ : last_of_second_) - static_cast<int32_t>(32 * item);
        const uint32_t* const from = info.words + (bit >> 5);
        if (bit >= 0) high_[j] = __ldg(from);
        low_[j] = __ldg(from + 1);
      }
    }
  }

  __device__ __forceinline__ void Store(const Information& info, const Encoding& encoding,
                                        bool is_direct) const {
    const InfoGroups groups(encoding);
#pragma unroll
    for (uint32_t j = 0; j < kUnroll; ++j) {
      const uint32_t item = threadIdx.x + j * kTransmitThreads;
      if (item >= items_) break;
      const uint32_t b = item < words_ ? 0 : 1;
      const uint32_t i = b != 0 ? item - words_ : item;
      uint32_t word = FunnelLeft(SwapWord(high_[j]), SwapWord(low_[j]),
                                 static_cast<uint32_t>(b != 0 ? last_of_second_ : last_));
      if (i < 2 || i + 1 == words_) {
        const uint32_t tail = b != 0 ? info.other_tail : info.tail;
        word = 32 * (i + 1) > tail ? FirstBits(word, 32 * (i + 1) - tail) : 0;
        if (i + 1 == words_) word &= 0xffffffff >> (32 * words_ - info.k_prime);
      }
      encoding.parity[static_cast<int32_t>(b * encoding.stride) - 1 - static_cast<int32_t>(i)] =
          word;
      if (is_direct) groups.Keep(b, words_ - 1 - i, word);
    }
    for (uint32_t i = words_ + threadIdx.x; i < kBlockCrcWords; i += kTransmitThreads) {
      uint32_t* const to = encoding.parity - 1 - i;
      to[0] = 0;
      to[encoding.stride] = 0;
    }
    if (!is_direct) return;
    const uint32_t end = encoding.header->k;
    for (uint32_t i = words_ + threadIdx.x; 32 * i < end; i += kTransmitThreads) {  // fillers
      groups.Keep(0, i, 0);
      groups.Keep(1, i, 0);
    }
  }

 private:
  static constexpr uint32_t kUnroll =
      (kTransmitBlocks * kBlockCrcWords + kTransmitThreads - 1) / kTransmitThreads;

  uint32_t words_;
  uint32_t items_;
  int32_t last_;  // where the last word of the first block begins
  int32_t last_of_second_;
  uint32_t high_[kUnroll];
  uint32_t low_[kUnroll];
};

// Word `i` of the information of code block `b`, from its beginning on; fillers are 0.
__device__ __forceinline__ uint32_t InfoWord(const Encoding& encoding, uint32_t k_prime, uint32_t b,
                                             uint32_t i) {
  if (32 * i >= k_prime) return 0;
  const uint32_t words = (k_prime + 31) / 32;
  const uint32_t* const at = encoding.parity + b * encoding.stride + i - words;
  return FirstBits(FunnelLeft(at[0], at[1], 32 * words - k_prime), k_prime - 32 * i);
}

// What LoadInfo left to do: the groups. Begins and ends with barriers.
__device__ __forceinline__ void GroupInfo(const Encoding& encoding, uint32_t k_prime) {
  const ldpc::EncodeTableHeader& header = *encoding.header;
  for (uint32_t i = threadIdx.x; 32 * i < header.k; i += kTransmitThreads) {
    for (uint32_t b = 0; b < kTransmitBlocks; ++b) {
      const uint32_t word = InfoWord(encoding, k_prime, b, i);
      if (header.whole_words != 0) {
        InfoGroups(encoding).Keep(b, i, word);
      } else {
        encoding.staging[b * header.staging_words + i] = word;
      }
    }
  }
  __syncthreads();
  if (header.whole_words != 0) return;
  const uint32_t extended_words = header.extended_words;
  const uint32_t num_items = header.k / header.zc * extended_words;
  for (uint32_t i = threadIdx.x; i < num_items; i += kTransmitThreads) {
    const uint32_t group = ldpc::Quotient(i, header.extended_magic);
    const uint32_t start = __ldg(encoding.table + ldpc::kStartsAt + i - group * extended_words);
    const uint32_t base = group * header.zc;
    const uint32_t* const staging = encoding.staging;
    encoding.groups[i + extended_words] =
        make_uint2(ldpc::ReadCyclic(staging, base, header.zc, start),
                   ldpc::ReadCyclic(staging + header.staging_words, base, header.zc, start));
  }
  __syncthreads();
}

}  // namespace baseband::nr::device

#endif  // BASEBAND_KERNELS_NR_TRANSMIT_INFO_CUH_
