// Encoding on a GPU: one thread block per code block, whichever code that is of. Information and
// kept sums lie in shared memory, cyclically extended (encode_math.h). The threads share out the
// words of all sums of a phase. At zc = 384, for sums that are kept and for those that are not:
//
//   thread    0 .. 11 | 12 .. 23 | 24 .. 35 | ..     one word each, for many threads take part:
//   sum          0    |    1     |    2     | ..     few such sums, and others wait for them
//
//   thread    0 .. 5 | 6 .. 11 | 12 .. 17 | ..       words w and w + 6 each, for few instructions:
//   sum         0    |    1    |    2     | ..       both words share all addresses
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/encode_gpu.h"
#include "kernels/ldpc/encode_math.h"

namespace baseband::ldpc {
namespace {

constexpr int kThreads = 96;
constexpr int kMinBlocksPerSm = 21;  // 32 registers a thread
constexpr int kMaxBlocks = 1 << 20;
constexpr int kMaxSharedBytes = 48 << 10;

__device__ __forceinline__ uint32_t SwapBytes(uint32_t word) {
  return __byte_perm(word, 0, 0x0123);
}

// What the threads of a block agree on.
struct Task {
  const uint32_t* table;
  EncodeTableHeader header;
  uint32_t* staging;  // shared memory: packed information, later parity groups
  uint32_t* groups;   // shared memory: a zero group, information groups, kept sums
};

__device__ __forceinline__ EncodeTableHeader ReadHeader(const uint32_t* table) {
  constexpr int kParts = sizeof(EncodeTableHeader) / sizeof(uint4);
  union {
    uint4 parts[kParts];
    EncodeTableHeader header;
  };
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    parts[i] = __ldg(reinterpret_cast<const uint4*>(table) + i);
  }
  return header;
}

// Reads the information of one code block, which may begin at any byte.
class InfoReader {
 public:
  __device__ InfoReader(const uint8_t* info, const EncodeBlock& block)
      : words_(reinterpret_cast<const uint32_t*>(info + (block.info_offset & ~3u))),
        shift_(8 * (block.info_offset & 3)),
        num_bits_(block.info_bits) {}

  // 32 bits from bit 32 i on; fillers are zero.
  __device__ __forceinline__ uint32_t Word(uint32_t i) const {
    if (32 * i >= num_bits_) {
      return 0;
    }
    uint32_t word = SwapBytes(__ldg(words_ + i));
    if (shift_ != 0) {
      word = __funnelshift_l(SwapBytes(__ldg(words_ + i + 1)), word, shift_);
    }
    const uint32_t rest = num_bits_ - 32 * i;
    return rest < 32 ? word & ~(0xffffffffu >> rest) : word;
  }

 private:
  const uint32_t* words_;
  uint32_t shift_;
  uint32_t num_bits_;
};

// Fills the zero group.
__device__ __forceinline__ void ClearGroup(const Task& task) {
  for (uint32_t i = threadIdx.x; i < task.header.extended_words; i += kThreads) {
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
__device__ __forceinline__ void LoadWholeWords(const Task& task, const InfoReader& info) {
  const uint32_t info_words = task.header.k / 32;
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < info_words; i += kThreads) {
    const uint32_t group = Quotient(i, task.header.group_magic);
    KeepWord(task, task.groups + (group + 1) * task.header.extended_words,
             i - group * task.header.group_words, info.Word(i));
  }
}

// Fills the information groups of any other code: all information is staged first, so that the
// words of the groups can be put together from anywhere.
__device__ __forceinline__ void LoadAnyBits(const Task& task, const InfoReader& info) {
  const EncodeTableHeader& header = task.header;
  const uint32_t zc = header.zc;
  const uint32_t extended_words = header.extended_words;
  for (uint32_t i = threadIdx.x; 32 * i < header.k; i += kThreads) {
    task.staging[i] = info.Word(i);
  }
  __syncthreads();
  const uint32_t num_items = header.k / zc * extended_words;
  for (uint32_t i = threadIdx.x; i < num_items; i += kThreads) {
    const uint32_t group = Quotient(i, header.extended_magic);
    const uint32_t start = __ldg(task.table + kStartsAt + i - group * extended_words);
    task.groups[i + extended_words] = ReadCyclic(task.staging, group * zc, zc, start);
  }
}

// Words w and w + `apart` of a sum. `word_w` is word w of group 0.
template <bool kTwo>
__device__ __forceinline__ uint2 SumAtWord(const uint2* pairs, uint32_t num_pairs,
                                           const uint32_t* word_w, uint32_t apart) {
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
  for (uint32_t i = 0; i < num_pairs; ++i) {
    const uint2 pair = __ldg(pairs + i);
    add(pair.x);
    add(pair.y);
  }
  return total;
}

// The same from any bit `start` on.
__device__ __forceinline__ uint32_t SumAtBit(const uint2* pairs, uint32_t num_pairs,
                                             const uint32_t* groups, uint32_t start) {
  const auto rotated = [groups, start](uint32_t source) {
    return ReadBits(groups, (source >> 16) * 8 + (source & 31) + start);
  };
  uint32_t total = 0;
  for (uint32_t i = 0; i < num_pairs; ++i) {
    const uint2 pair = __ldg(pairs + i);
    total ^= rotated(pair.x) ^ rotated(pair.y);
  }
  return total;
}

__device__ __forceinline__ EncodeTableSum ReadSum(const Task& task, uint32_t index) {
  const auto* const sums = reinterpret_cast<const uint4*>(task.table + task.header.sums_at);
  const uint4 packed = __ldg(sums + index);
  return {packed.x, packed.y, packed.z, packed.w};
}

template <bool kWholeWords>
__device__ __forceinline__ void WriteParity(const Task& task, uint32_t* parity, uint32_t at,
                                            uint32_t value) {
  if (kWholeWords) {
    parity[at] = SwapBytes(value);
  } else {
    task.staging[at] = value;
  }
}

// A phase of sums that others need: kept and extended, a word for each thread.
template <bool kWholeWords>
__device__ __forceinline__ void RunKeptPhase(const Task& task, const EncodePhase& phase,
                                             uint32_t* parity) {
  const auto* const pairs = reinterpret_cast<const uint2*>(task.table + task.header.sources_at);
  for (uint32_t item = threadIdx.x; item < phase.num_items; item += kThreads) {
    const uint32_t index = Quotient(item, phase.magic);
    const uint32_t word = item - index * phase.items_per_sum;
    const EncodeTableSum sum = ReadSum(task, phase.first_sum + index);
    uint32_t total;
    if (kWholeWords) {
      total = SumAtWord<false>(pairs + sum.first_pair, sum.num_pairs, task.groups + word, 0).x;
      KeepWord(task, task.groups + sum.keep_at, word, total);
    } else {
      const uint32_t start = __ldg(task.table + kStartsAt + word);
      total = SumAtBit(pairs + sum.first_pair, sum.num_pairs, task.groups, start);
      task.groups[sum.keep_at + word] = total;
    }
    if (sum.parity != kNoDestination && word < task.header.group_words) {
      WriteParity<kWholeWords>(task, parity, sum.parity * task.header.group_words + word, total);
    }
  }
}

// A phase of parity that no other sum needs: two words for each thread.
template <bool kWholeWords>
__device__ __forceinline__ void RunFinalPhase(const Task& task, const EncodePhase& phase,
                                              uint32_t* parity) {
  const auto* const pairs = reinterpret_cast<const uint2*>(task.table + task.header.sources_at);
  const uint32_t apart = phase.items_per_sum;
  for (uint32_t item = threadIdx.x; item < phase.num_items; item += kThreads) {
    const uint32_t index = Quotient(item, phase.magic);
    const uint32_t word = item - index * apart;
    const EncodeTableSum sum = ReadSum(task, phase.first_sum + index);
    const uint2 total =
        SumAtWord<true>(pairs + sum.first_pair, sum.num_pairs, task.groups + word, apart);
    const uint32_t at = sum.parity * task.header.group_words + word;
    WriteParity<kWholeWords>(task, parity, at, total.x);
    if (word + apart < task.header.group_words) {
      WriteParity<kWholeWords>(task, parity, at + apart, total.y);
    }
  }
}

template <bool kWholeWords>
__device__ __forceinline__ void Encode(const Task& task, const InfoReader& info, uint32_t* parity) {
  ClearGroup(task);
  if constexpr (kWholeWords) {
    LoadWholeWords(task, info);
  } else {
    LoadAnyBits(task, info);
  }
  const EncodeTableHeader& header = task.header;
  const auto* const phases = reinterpret_cast<const uint4*>(task.table + header.phases_at);
  for (uint32_t i = 0; i < header.num_phases; ++i) {
    const uint4 packed = __ldg(phases + i);
    const EncodePhase phase{packed.x, packed.y, packed.z & kPhaseItems, packed.w};
    if ((packed.z & kPhaseBarrier) != 0) {
      __syncthreads();
    }
    if ((packed.z & kPhaseKeeps) != 0) {
      RunKeptPhase<kWholeWords>(task, phase, parity);
    } else {
      RunFinalPhase<kWholeWords>(task, phase, parity);
    }
  }
  if (!kWholeWords) {
    __syncthreads();
    const uint32_t parity_bits = header.parity_bits;
    for (uint32_t i = threadIdx.x; 32 * i < parity_bits; i += kThreads) {
      parity[i] =
          SwapBytes(ReadPacked(task.staging, header.group_words, header.zc, 32 * i, parity_bits));
    }
  }
}

__global__ void __launch_bounds__(kThreads, kMinBlocksPerSm)
    EncodeKernel(const EncodeBlock* __restrict__ blocks, const uint8_t* __restrict__ tables,
                 const uint8_t* __restrict__ info, uint8_t* __restrict__ parity) {
  extern __shared__ uint32_t shared[];
  const uint4 packed = __ldg(reinterpret_cast<const uint4*>(blocks + blockIdx.x));
  const EncodeBlock block{packed.x, packed.y, packed.z, packed.w};
  Task task;
  task.table = reinterpret_cast<const uint32_t*>(tables + block.table_offset);
  task.header = ReadHeader(task.table);
  task.staging = shared;
  task.groups = shared + task.header.staging_words;
  const InfoReader reader(info, block);
  auto* const out = reinterpret_cast<uint32_t*>(parity + block.parity_offset);
  if (task.header.zc % 32 == 0) {
    Encode<true>(task, reader, out);
  } else {
    Encode<false>(task, reader, out);
  }
}

absl::Status CheckPointer(const void* pointer, const char* field) {
  if (pointer == nullptr || reinterpret_cast<uintptr_t>(pointer) % 16 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(field, " is null or not 16-byte aligned"));
  }
  return absl::OkStatus();
}

absl::Status Check(const EncodeBatch& batch) {
  if (batch.num_blocks < 1 || batch.num_blocks > kMaxBlocks) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_blocks ", batch.num_blocks, " is not in [1, ", kMaxBlocks, "]"));
  }
  if (batch.shared_bytes < 1 || batch.shared_bytes > kMaxSharedBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared_bytes ", batch.shared_bytes, " is not in [1, ", kMaxSharedBytes, "]"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckPointer(batch.blocks, "blocks"));
  BASEBAND_RETURN_IF_ERROR(CheckPointer(batch.tables, "tables"));
  BASEBAND_RETURN_IF_ERROR(CheckPointer(batch.info, "info"));
  return CheckPointer(batch.parity, "parity");
}

}  // namespace

int EncodeSharedBytes(const Code& code) {
  const absl::Span<const uint32_t> table = (*code.encode_plan())->table();
  return static_cast<int>(reinterpret_cast<const EncodeTableHeader*>(table.data())->shared_bytes);
}

absl::Status LaunchEncode(const EncodeBatch& batch, cudaStream_t stream) {
  BASEBAND_RETURN_IF_ERROR(Check(batch));
  EncodeKernel<<<static_cast<unsigned>(batch.num_blocks), kThreads,
                 static_cast<size_t>(batch.shared_bytes), stream>>>(batch.blocks, batch.tables,
                                                                    batch.info, batch.parity);
  return cuda::ToStatus(cudaGetLastError(), "EncodeKernel");
}

}  // namespace baseband::ldpc
