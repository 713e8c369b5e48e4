// The way of information into a tile of encode_tile.cuh. Device code.
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_TILE_LOAD_CUH_
#define BASEBAND_KERNELS_LDPC_ENCODE_TILE_LOAD_CUH_

#include <cstdint>

#include "kernels/ldpc/encode_device.cuh"

namespace baseband::ldpc::device {

inline constexpr uint32_t kTileThreads = 32 * kTileWarps;
inline constexpr uint32_t kAllLanes = 0xffffffff;

static_assert(sizeof(EncodeTileChunk) == 16 && sizeof(EncodeTileSegment) == 16 &&
              sizeof(EncodeTileHeader) % 16 == 0);

// What the threads of a tile agree on.
struct Tile {
  const EncodeTableHeader& header;
  const EncodeTileHeader& tile;
  const uint32_t* program;  // shared memory
  uint32_t* rows;           // shared memory

  template <typename T>
  __device__ __forceinline__ const T* Part(uint32_t at) const {
    return reinterpret_cast<const T*>(program + at);
  }
};

// Reads the information of a block that begins at a word and ends with one, without fillers.
class PlainReader {
 public:
  using Raw = uint32_t;

  __device__ explicit PlainReader(const EncodeBlock& block)
      : words_(reinterpret_cast<const uint32_t*>(block.info)) {}
  __device__ static bool Reads(const EncodeBlock& block, uint32_t k) {
    return block.info_bits == k && k % 32 == 0 &&
           reinterpret_cast<uintptr_t>(block.info) % sizeof(uint32_t) == 0;
  }
  // What word `i` is made of, if it is one of the group's, and the word made of that.
  __device__ __forceinline__ Raw Load(uint32_t i, bool is_word) const {
    return is_word ? __ldg(words_ + i) : 0;
  }
  __device__ __forceinline__ uint32_t Make(uint32_t /*i*/, Raw raw) const { return SwapBytes(raw); }

 private:
  const uint32_t* words_;
};

// The same of one that begins at any byte and ends with any bit, InfoReader's words in two steps,
// so that loads do not wait for each other; fillers are zero. From byte 1 on:
//
//   words i, i + 1 in memory   [ 0 1 2 3 ][ 4 5 6 7 ]
//   word i                     [ 1 2 3 4 ]              the first byte its highest
class ByteReader {
 public:
  using Raw = uint2;

  __device__ explicit ByteReader(const EncodeBlock& block)
      : skip_(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block.info) & 3)),
        words_(reinterpret_cast<const uint32_t*>(block.info - skip_)),
        num_bits_(block.info_bits) {}

  // Without a jump, so that the loads of many words are under way together.
  __device__ __forceinline__ Raw Load(uint32_t i, bool /*is_word*/) const {
    Raw raw;
    asm("{\n"
        "  .reg .pred has_bits, has_two;\n"
        "  setp.lt.u32 has_bits, %3, %4;\n"
        "  setp.ne.and.u32 has_two, %5, 0, has_bits;\n"
        "  mov.u32 %0, 0;\n"
        "  mov.u32 %1, 0;\n"
        "  @has_bits ld.global.nc.u32 %0, [%2];\n"
        "  @has_two ld.global.nc.u32 %1, [%2 + 4];\n"
        "}"
        : "=r"(raw.x), "=r"(raw.y)
        : "l"(words_ + i), "r"(32 * i), "r"(num_bits_), "r"(skip_));
    return raw;
  }
  __device__ __forceinline__ uint32_t Make(uint32_t i, Raw raw) const {
    // Of a word without bits nothing is cleared, but it is zero.
    const uint32_t past = __funnelshift_rc(0xffffffff, 0, num_bits_ - 32 * i);
    return __byte_perm(raw.x, raw.y, 0x0123 + 0x1111 * skip_) & ~past;
  }

 private:
  uint32_t skip_;
  const uint32_t* words_;
  uint32_t num_bits_;
};

// Brings the information of the tile's blocks to their columns: to the rows of its groups where
// those are whole words, else to the staging. Lanes take a block's words in turn.
template <typename Reader>
__device__ __forceinline__ void LoadTile(const Tile& tile, const EncodeBlock& of_lane) {
  constexpr uint32_t kBlocks = kTileBlocks / kTileWarps;  // of a warp
  // Eight loads of a lane at a time.
  constexpr uint32_t kUnroll = 8 / kBlocks * sizeof(uint32_t) / sizeof(typename Reader::Raw);
  const uint32_t first = threadIdx.x / 32 * kBlocks;
  const auto reader_of = [&of_lane](uint32_t b) {
    EncodeBlock block;
    block.info = reinterpret_cast<const uint8_t*>(
        __shfl_sync(kAllLanes, reinterpret_cast<uintptr_t>(of_lane.info), static_cast<int>(b)));
    block.info_bits = __shfl_sync(kAllLanes, of_lane.info_bits, static_cast<int>(b));
    return Reader(block);
  };
  static_assert(kBlocks == 4);
  const Reader readers[kBlocks] = {reader_of(first), reader_of(first + 1), reader_of(first + 2),
                                   reader_of(first + 3)};
  const uint32_t num_words = (tile.header.k + 31) / 32;
  const bool whole_words = tile.header.whole_words != 0;
  for (uint32_t begin = threadIdx.x % 32; begin < num_words; begin += 32 * kUnroll) {
    typename Reader::Raw raw[kUnroll][kBlocks];
#pragma unroll
    for (uint32_t u = 0; u < kUnroll; ++u) {
#pragma unroll
      for (uint32_t j = 0; j < kBlocks; ++j) {
        const uint32_t i = begin + 32 * u;
        raw[u][j] = readers[j].Load(i, i < num_words);
      }
    }
#pragma unroll
    for (uint32_t u = 0; u < kUnroll; ++u) {
      const uint32_t i = begin + 32 * u;
      if (i >= num_words) break;
      const uint32_t group = whole_words ? Quotient(i, tile.header.group_magic) : 0;
      const uint32_t word = i - group * tile.header.group_words;
      const uint32_t row = whole_words
                               ? tile.tile.groups_at + group * tile.tile.extended_rows + word
                               : tile.tile.staging_at + i;
      uint32_t* const to = tile.rows + row * kTileRowWords + first;
#pragma unroll
      for (uint32_t j = 0; j < kBlocks; ++j) {
        const uint32_t made = readers[j].Make(i, raw[u][j]);
        to[j] = made;
        if (whole_words && word < tile.tile.chunk) {
          to[tile.header.group_words * kTileRowWords + j] = made;
        }
      }
    }
  }
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_TILE_LOAD_CUH_
