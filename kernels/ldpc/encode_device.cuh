// Encoding on a GPU: one thread block per code block, whichever code that is of. Information and
// kept sums lie in shared memory, cyclically extended (encode_math.h). The threads share out the
// words of all sums of a phase. At zc = 384, for sums that are kept and for those that are not:
//
//   thread    0 .. 11 | 12 .. 23 | 24 .. 35 | ..     one word each, for many threads take part
//   sum          0    |    1     |    2     | ..     (of few code blocks 4 a word): few such sums,
//                                                    and others wait for them
//
//   thread    0 .. 5 | 6 .. 11 | 12 .. 17 | ..       words w and w + 6 each, for few instructions:
//   sum         0    |    1    |    2     | ..       both words share all addresses
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_DEVICE_CUH_
#define BASEBAND_KERNELS_LDPC_ENCODE_DEVICE_CUH_

#include <cstdint>

#include "kernels/cuda/resident_device.cuh"
#include "kernels/ldpc/encode_gpu.h"
#include "kernels/ldpc/encode_math.h"

namespace baseband::ldpc::device {

inline constexpr int kEncodeThreads = 96;
// Where there are few code blocks: all loads at once, and a word of every final sum at zc = 384.
inline constexpr int kWideEncodeThreads = 288;

// Read as one 16-byte word each.
static_assert(sizeof(EncodeBlock) == 32 && sizeof(EncodePhase) == 16 &&
              sizeof(EncodeTableSum) == 16 && sizeof(EncodeTableHeader) % 16 == 0);

__device__ __forceinline__ uint32_t SwapBytes(uint32_t word) {
  return __byte_perm(word, 0, 0x0123);
}

// The parts of a table that say what to add up: in shared memory if `kCopied`, for the threads come
// back to them for every word; in device memory if a client's own matrix made them too long.
template <bool kCopied>
class Program {
 public:
  // `words` begins with the phases.
  __device__ Program(const uint32_t* words, const EncodeTableHeader& header)
      : phases_(reinterpret_cast<const uint4*>(words)),
        sums_(reinterpret_cast<const uint4*>(words + (header.sums_at - header.phases_at))),
        pairs_(reinterpret_cast<const uint2*>(words + (header.sources_at - header.phases_at))) {}

  __device__ __forceinline__ EncodePhase Phase(uint32_t index) const {
    const uint4 phase = Read(phases_ + index);
    return {phase.x, phase.y, phase.z, phase.w};
  }
  __device__ __forceinline__ EncodeTableSum Sum(uint32_t index) const {
    const uint4 sum = Read(sums_ + index);
    return {sum.x, sum.y, sum.z, sum.w};
  }
  // Two sources.
  __device__ __forceinline__ uint2 Pair(uint32_t index) const { return Read(pairs_ + index); }

 private:
  template <typename T>
  __device__ __forceinline__ static T Read(const T* at) {
    if constexpr (kCopied) {
      return *at;
    } else {
      return __ldg(at);
    }
  }
  const uint4* phases_;
  const uint4* sums_;
  const uint2* pairs_;
};

// What the threads of a block agree on.
struct Task {
  const uint32_t* table;
  EncodeTableHeader header;
  uint32_t* staging;  // shared memory: packed information, later parity groups
  uint32_t* groups;   // shared memory: a zero group, information groups, kept sums
};

// A part of a table that is read whole.
template <typename Part>
__device__ __forceinline__ Part ReadPart(const uint32_t* from) {
  constexpr int kWords = sizeof(Part) / sizeof(uint4);
  union {
    uint4 words[kWords];
    Part part;
  };
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    words[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }
  return part;
}

// Reads the information of one code block, which may begin at any byte. In kernels that outlast
// it `kChanges`: then nothing of it may lie in a cache.
template <bool kChanges = false>
class InfoReader {
 public:
  __device__ explicit InfoReader(const EncodeBlock& block)
      : InfoReader(block, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block.info) & 3)) {}

  // 32 bits from bit 32 i on; fillers are zero.
  __device__ __forceinline__ uint32_t Word(uint32_t i) const {
    if (32 * i >= num_bits_) {
      return 0;
    }
    uint32_t word = SwapBytes(Read(words_ + i));
    if (shift_ != 0) {
      word = __funnelshift_l(SwapBytes(Read(words_ + i + 1)), word, shift_);
    }
    const uint32_t rest = num_bits_ - 32 * i;
    return rest < 32 ? word & ~(0xffffffffu >> rest) : word;
  }

 private:
  __device__ InfoReader(const EncodeBlock& block, uint32_t skip)
      : words_(reinterpret_cast<const uint32_t*>(block.info - skip)),
        shift_(8 * skip),
        num_bits_(block.info_bits) {}

  __device__ __forceinline__ static uint32_t Read(const uint32_t* at) {
    if constexpr (kChanges) {
      return cuda::device::LoadAgain(at);
    } else {
      return __ldg(at);
    }
  }

  const uint32_t* words_;
  uint32_t shift_;
  uint32_t num_bits_;
};

// The same with a thread's first word read at once, before the table is known.
template <typename Info>
class EarlyInfo {
 public:
  __device__ explicit EarlyInfo(const EncodeBlock& block)
      : info_(block), first_(info_.Word(threadIdx.x)) {}

  __device__ __forceinline__ uint32_t Word(uint32_t i) const {
    return i == threadIdx.x ? first_ : info_.Word(i);
  }

 private:
  Info info_;
  uint32_t first_;
};

// Fills the zero group.
__device__ __forceinline__ void ClearGroup(const Task& task) {
  for (uint32_t i = threadIdx.x; i < task.header.extended_words; i += blockDim.x) {
    task.groups[i] = 0;
  }
}

// Keeps word `word` of a group of whole words, and the same word of its extension.
__device__ __forceinline__ void KeepWord(const Task& task, uint32_t* group, uint32_t word,
                                         uint32_t value) {
  group[word] = value;
  group[word + task.header.group_words] = value;
}

// Fills the information groups of a code whose groups are whole words.
template <typename Info>
__device__ __forceinline__ void LoadWholeWords(const Task& task, const Info& info) {
  const uint32_t info_words = task.header.k / 32;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < info_words; i += blockDim.x) {
    const uint32_t group = Quotient(i, task.header.group_magic);
    KeepWord(task, task.groups + (group + 1) * task.header.extended_words,
             i - group * task.header.group_words, info.Word(i));
  }
}

// Fills the information groups of any other code from the staging.
__device__ __forceinline__ void GroupStaged(const Task& task) {
  const EncodeTableHeader& header = task.header;
  const uint32_t zc = header.zc;
  const uint32_t extended_words = header.extended_words;
  const uint32_t num_items = header.k / zc * extended_words;
  for (uint32_t i = threadIdx.x; i < num_items; i += blockDim.x) {
    const uint32_t group = Quotient(i, header.extended_magic);
    const uint32_t start = __ldg(task.table + kStartsAt + i - group * extended_words);
    task.groups[i + extended_words] = ReadCyclic(task.staging, group * zc, zc, start);
  }
}

// The same: all information is staged first, so that the words of the groups can be put together
// from anywhere.
template <typename Info>
__device__ __forceinline__ void LoadAnyBits(const Task& task, const Info& info) {
  for (uint32_t i = threadIdx.x; 32 * i < task.header.k; i += blockDim.x) {
    task.staging[i] = info.Word(i);
  }
  __syncthreads();
  GroupStaged(task);
}

// Words w and w + `apart` of a sum, as far as pairs first_pair, first_pair + step, .. make them.
// `word_w` is word w of group 0.
template <bool kTwo, typename Program>
__device__ __forceinline__ uint2 SumAtWord(const Program& program, const EncodeTableSum& sum,
                                           const uint32_t* word_w, uint32_t apart,
                                           uint32_t first_pair = 0, uint32_t step = 1) {
  const char* const base = reinterpret_cast<const char*>(word_w);
  uint2 total = make_uint2(0, 0);
  const auto add = [base, apart, &total](uint32_t source) {
    const auto* const at = reinterpret_cast<const uint32_t*>(base + (source >> 16));
    total.x ^= __funnelshift_l(at[1], at[0], source);  // by source mod 32
    if (kTwo) {
      total.y ^= __funnelshift_l(at[apart + 1], at[apart], source);
    }
  };
#pragma unroll 2
  for (uint32_t i = first_pair; i < sum.num_pairs; i += step) {
    const uint2 pair = program.Pair(sum.first_pair + i);
    add(pair.x);
    add(pair.y);
  }
  return total;
}

// The same from any bit `start` on.
template <typename Program>
__device__ __forceinline__ uint32_t SumAtBit(const Program& program, const EncodeTableSum& sum,
                                             const uint32_t* groups, uint32_t start,
                                             uint32_t first_pair, uint32_t step) {
  const auto rotated = [groups, start](uint32_t source) {
    return ReadBits(groups, (source >> 16) * 8 + (source & 31) + start);
  };
  uint32_t total = 0;
  for (uint32_t i = first_pair; i < sum.num_pairs; i += step) {
    const uint2 pair = program.Pair(sum.first_pair + i);
    total ^= rotated(pair.x) ^ rotated(pair.y);
  }
  return total;
}

// Parity as packed bits in memory.
struct PackedParity {
  uint32_t* words;

  __device__ __forceinline__ void Put(uint32_t at, uint32_t value) const {
    words[at] = SwapBytes(value);
  }
};

template <bool kWholeWords, typename Parity>
__device__ __forceinline__ void WriteParity(const Task& task, const Parity& parity, uint32_t at,
                                            uint32_t value) {
  if (kWholeWords) {
    parity.Put(at, value);
  } else {
    task.staging[at] = value;
  }
}

// A phase of sums that others need: kept and extended, a word for `kParts` threads, each with a
// part of the sum.
template <bool kWholeWords, uint32_t kParts, typename Program, typename Parity>
__device__ __forceinline__ void RunKeptPhase(const Task& task, const Program& program,
                                             const EncodePhase& phase, const Parity& parity) {
  static_assert(32 % kParts == 0, "a word's threads are of one warp");
  const uint32_t part = threadIdx.x % kParts;
  for (uint32_t item = threadIdx.x / kParts; item < phase.num_items; item += blockDim.x / kParts) {
    const uint32_t index = Quotient(item, phase.magic);
    const uint32_t word = item - index * (phase.items_per_sum & kPhaseItems);
    const EncodeTableSum sum = program.Sum(phase.first_sum + index);
    uint32_t total;
    if (kWholeWords) {
      total = SumAtWord<false>(program, sum, task.groups + word, 0, part, kParts).x;
    } else {
      const uint32_t start = __ldg(task.table + kStartsAt + word);
      total = SumAtBit(program, sum, task.groups, start, part, kParts);
    }
    if constexpr (kParts > 1) {
      const uint32_t parts = ((1u << kParts) - 1) << (threadIdx.x % 32 - part);
#pragma unroll
      for (uint32_t other = 1; other < kParts; other *= 2) {
        total ^= __shfl_xor_sync(parts, total, other);
      }
      if (part != 0) continue;
    }
    if (kWholeWords) {
      KeepWord(task, task.groups + sum.keep_at, word, total);
    } else {
      task.groups[sum.keep_at + word] = total;
    }
    if (sum.parity != kNoDestination && word < task.header.group_words) {
      WriteParity<kWholeWords>(task, parity, sum.parity * task.header.group_words + word, total);
    }
  }
}

// A phase of parity that no other sum needs: two words for each thread.
template <bool kWholeWords, typename Program, typename Parity>
__device__ __forceinline__ void RunFinalPhase(const Task& task, const Program& program,
                                              const EncodePhase& phase, const Parity& parity) {
  const uint32_t apart = phase.items_per_sum & kPhaseItems;
  for (uint32_t item = threadIdx.x; item < phase.num_items; item += blockDim.x) {
    const uint32_t index = Quotient(item, phase.magic);
    const uint32_t word = item - index * apart;
    const EncodeTableSum sum = program.Sum(phase.first_sum + index);
    // Of an odd number of words the last stands alone: what lies behind the group may be in change.
    const bool has_second = word + apart < task.header.group_words;
    const uint2 total = SumAtWord<true>(program, sum, task.groups + word, has_second ? apart : 0);
    const uint32_t at = sum.parity * task.header.group_words + word;
    WriteParity<kWholeWords>(task, parity, at, total.x);
    if (has_second) {
      WriteParity<kWholeWords>(task, parity, at + apart, total.y);
    }
  }
}

// From the groups to parity; without kWholeWords, to the staging.
template <bool kWholeWords, uint32_t kParts, typename Program, typename Parity>
__device__ __forceinline__ void RunPhases(const Task& task, const Program& program,
                                          const Parity& parity) {
  for (uint32_t i = 0; i < task.header.num_phases; ++i) {
    const EncodePhase phase = program.Phase(i);
    if ((phase.items_per_sum & kPhaseBarrier) != 0) {
      __syncthreads();
    }
    if ((phase.items_per_sum & kPhaseKeeps) != 0) {
      RunKeptPhase<kWholeWords, kParts>(task, program, phase, parity);
    } else {
      RunFinalPhase<kWholeWords>(task, program, phase, parity);
    }
  }
}

template <bool kWholeWords, uint32_t kParts, typename Program, typename Info>
__device__ __forceinline__ void Encode(const Task& task, const Program& program, const Info& info,
                                       uint32_t* parity) {
  const EncodeTableHeader& header = task.header;
  ClearGroup(task);
  if constexpr (kWholeWords) {
    LoadWholeWords(task, info);
  } else {
    LoadAnyBits(task, info);
  }
  __syncthreads();
  RunPhases<kWholeWords, kParts>(task, program, PackedParity{parity});
  if (!kWholeWords) {
    __syncthreads();
    const uint32_t parity_bits = header.parity_bits;
    for (uint32_t i = threadIdx.x; 32 * i < parity_bits; i += blockDim.x) {
      parity[i] =
          SwapBytes(ReadPacked(task.staging, header.group_words, header.zc, 32 * i, parity_bits));
    }
  }
}

// The task of a block with the table `table` and the shared memory `words`.
__device__ __forceinline__ Task MakeTask(const uint32_t* table, uint32_t* words) {
  Task task;
  task.table = table;
  task.header = ReadPart<EncodeTableHeader>(table);
  task.staging = words + task.header.copied_words;
  task.groups = task.staging + task.header.staging_words;
  return task;
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_DEVICE_CUH_
