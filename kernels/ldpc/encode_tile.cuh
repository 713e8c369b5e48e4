// Encoding many code blocks on a GPU: a thread block for a tile of 32 of one code, a lane of every
// warp for each (encode_tile_math.h). So all of a warp read the same sources, rows of shared memory
// without bank conflicts, and a word that is read serves two words of the sum. Device code.
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_TILE_CUH_
#define BASEBAND_KERNELS_LDPC_ENCODE_TILE_CUH_

#include <cstdint>

#include "kernels/ldpc/encode_device.cuh"
#include "kernels/ldpc/encode_tile_load.cuh"

namespace baseband::ldpc::device {

// Makes the groups of the staging, if they are not whole words; a warp at a time one of them. Of a
// group of zc = 32 (n - 1) + r bits words n - 1 and n are, at zc = 40:
//
//   bits    [ 0 ..... 31 ][ 32..39 0..23 ][ 24..39 0..15 ]     from 1: its r bits, then word 0
//                                                             from 2: words 0 and 1 from bit 32 - r
__device__ __forceinline__ void GroupTile(const Tile& tile) {
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t zc = tile.header.zc;
  const uint32_t n = tile.header.group_words;
  const uint32_t rest = zc - 32 * (n - 1);
  const uint32_t extended_rows = tile.tile.extended_rows;
  for (uint32_t group = threadIdx.x / 32; group < tile.tile.num_groups; group += kTileWarps) {
    const uint32_t position = group * zc;
    const uint32_t* const from =
        tile.rows + (tile.tile.staging_at + position / 32) * kTileRowWords + lane;
    uint32_t* const to =
        tile.rows + (tile.tile.groups_at + group * extended_rows) * kTileRowWords + lane;
    uint32_t high = from[0];
    uint32_t word = 0;
    uint32_t word_0 = 0;
    for (uint32_t e = 0; e < n; ++e) {
      const uint32_t low = from[(e + 1) * kTileRowWords];
      word = __funnelshift_l(low, high, position);
      high = low;
      if (e == 0) word_0 = word;
      to[e * kTileRowWords] = word;
    }
    word &= ~(0xffffffff >> rest);
    if (n > 1) {
      to[(n - 1) * kTileRowWords] = word | word_0 >> rest;
      for (uint32_t e = n; e < extended_rows; ++e) {
        const uint32_t* const at = to + (e - n) * kTileRowWords;
        to[e * kTileRowWords] = __funnelshift_l(at[kTileRowWords], at[0], 32 - rest);
      }
    } else {
      for (uint32_t have = zc; have < 32; have *= 2) word |= word >> have;
      for (uint32_t e = 0; e < extended_rows; ++e) {
        to[e * kTileRowWords] = word;
        word = word << 32 % zc | word >> (zc - 32 % zc);
      }
    }
  }
}

// Adds sources to the words of a chunk. `column` is row 0 of this lane.
template <int kChunk>
__device__ __forceinline__ void AddPairs(const uint2* pairs, uint32_t num_pairs, const char* column,
                                         uint32_t (&total)[kChunk]) {
#pragma unroll 2
  for (uint32_t i = 0; i < num_pairs; ++i) {
    const uint2 pair = pairs[i];
    const auto* const a = reinterpret_cast<const uint32_t*>(column + (pair.x >> 14));
    const auto* const b = reinterpret_cast<const uint32_t*>(column + (pair.y >> 14));
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      total[j] ^= __funnelshift_l(a[(j + 1) * kTileRowWords], a[j * kTileRowWords], pair.x) ^
                  __funnelshift_l(b[(j + 1) * kTileRowWords], b[j * kTileRowWords], pair.y);
    }
  }
}

// Makes chunk `index` and returns where it goes.
template <int kChunk>
__device__ __forceinline__ uint32_t MakeChunk(const Tile& tile, uint32_t index, const char* column,
                                              uint32_t (&total)[kChunk]) {
  const auto* const pairs = tile.Part<uint2>(tile.tile.pairs_at);
  const uint4 read = tile.Part<uint4>(tile.tile.chunks_at)[index];
  const EncodeTileChunk chunk{read.x, read.y, read.z, read.w};
#pragma unroll
  for (int j = 0; j < kChunk; ++j) total[j] = 0;
  AddPairs(pairs + chunk.first_pair, chunk.num_pairs, column, total);
  for (uint32_t s = chunk.others & 0xffff, end = s + (chunk.others >> 16); s < end; ++s) {
    const uint4 other = tile.Part<uint4>(tile.tile.segments_at)[s];
    const EncodeTileSegment segment{other.x, other.y, other.z};
    uint32_t more[kChunk] = {};
    AddPairs(pairs + segment.first_pair, segment.num_pairs, column, more);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) {
      const int stay = max(static_cast<int>(segment.begin) - 32 * j, 0);
      const uint32_t mask = __funnelshift_rc(0, 0xffffffff, static_cast<uint32_t>(stay));
      total[j] = (total[j] & mask) | (more[j] & ~mask);
    }
  }
  return chunk.to;
}

// Writes octets of the parity, 4 blocks at a time: each gets 8 words from 8 lanes.
class OctetWriter {
 public:
  // `turned` is the warp's own in shared memory, behind the other warps'. Lanes without a block
  // have no `parity`.
  __device__ __forceinline__ OctetWriter(uint32_t* turned, const uint32_t* parity, uint32_t* base,
                                         uint32_t end)
      : turned_(turned), base_(base), end_(end) {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t at = parity != nullptr ? static_cast<uint32_t>(parity - base) : kNoDestination;
    has_all_ = __all_sync(kAllLanes, parity != nullptr);
#pragma unroll
    for (uint32_t q = 0; q < kPasses; ++q) {
      at_[q] = __shfl_sync(kAllLanes, at, static_cast<int>(4 * q + lane / kTileOctet));
      if (at_[q] != kNoDestination) at_[q] += lane % kTileOctet;
    }
  }

  // Word `row` of this lane's block: of the warp's octet, or of that of the warp `further` on.
  __device__ __forceinline__ void Put(uint32_t row, uint32_t word, int further = 0) const {
    turned_[further * kOctetWords + static_cast<int>(At(row, threadIdx.x % 32))] = SwapBytes(word);
  }
  // The warp's octet, to words `first` .. of the parity.
  __device__ __forceinline__ void Write(uint32_t first) const {
    __syncwarp();
    if (has_all_ && first + kTileOctet <= end_) {
      WriteIf(first, [](uint32_t) { return true; });
    } else {
      const bool is_word = first + threadIdx.x % kTileOctet < end_;
      WriteIf(first, [is_word](uint32_t at) { return is_word && at != kNoDestination; });
    }
    __syncwarp();
  }

 private:
  static constexpr uint32_t kPasses = kTileBlocks * kTileOctet / 32;
  static constexpr int kOctetWords = kTurnedWords / kTileWarps;

  // Rows of all columns, and 4 columns of all rows, lie in 32 banks.
  __device__ __forceinline__ static uint32_t At(uint32_t row, uint32_t column) {
    return row * kTileBlocks + (column ^ (4 * row));
  }

  template <typename Condition>
  __device__ __forceinline__ void WriteIf(uint32_t first, const Condition& condition) const {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = lane % kTileOctet;
#pragma unroll
    for (uint32_t q = 0; q < kPasses; ++q) {
      const uint32_t word = turned_[At(row, 4 * q + lane / kTileOctet)];
      if (condition(at_[q])) base_[at_[q] + first] = word;
    }
  }

  uint32_t* turned_;
  uint32_t* base_;
  uint32_t end_;
  bool has_all_;
  uint32_t at_[kPasses];  // of this lane's words of a pass, the first
};

// From the groups to parity. Lanes without a block add up zeros. A warp makes an octet of the
// parity at a time; those that are left where there are fewer than warps, all of them together.
template <int kChunk>
__device__ __forceinline__ void RunTile(const Tile& tile, const OctetWriter& writer) {
  constexpr uint32_t kChunks = kTileOctet / kChunk;  // of an octet
  const uint32_t warp = threadIdx.x / 32;
  uint32_t* const own = tile.rows + threadIdx.x % 32;
  const auto* const column = reinterpret_cast<const char*>(own);
  uint32_t total[kChunk];
  uint32_t begin = 0;
  for (uint32_t phase = 0; phase < tile.tile.num_phases; ++phase) {
    const uint32_t end = tile.program[kTilePhasesAt + phase];
    for (uint32_t i = begin + warp; i < end; i += kTileWarps) {
      const uint32_t to = MakeChunk(tile, i, column, total);
#pragma unroll
      for (uint32_t j = 0; j < kChunk; ++j) own[to + j * kTileRowWords] = total[j];
    }
    __syncthreads();
    begin = end;
  }
  const uint32_t end = tile.program[0];
  for (uint32_t i = begin + warp * kChunks; i < end; i += kTileWarps * kChunks) {
    uint32_t first = 0;
#pragma unroll
    for (uint32_t c = 0; c < kChunks; ++c) {
      first = MakeChunk(tile, i + c, column, total);
#pragma unroll
      for (uint32_t j = 0; j < kChunk; ++j) writer.Put(c * kChunk + j, total[j]);
    }
    writer.Write(first);
  }
  const uint32_t num_shared = tile.program[1] - end;
  if (num_shared == 0) return;
  __syncthreads();  // others may still write what lies there
  for (uint32_t i = warp; i < num_shared; i += kTileWarps) {
    MakeChunk(tile, end + i, column, total);
    const int further = static_cast<int>(i / kChunks) - static_cast<int>(warp);
#pragma unroll
    for (uint32_t j = 0; j < kChunk; ++j) {
      writer.Put(i % kChunks * kChunk + j, total[j], further);
    }
  }
  __syncthreads();
  if (warp * kChunks < num_shared) {
    writer.Write(tile.Part<EncodeTileChunk>(tile.tile.chunks_at)[end + warp * kChunks].to);
  }
}

// All of a tile of the code whose table is given. `of_lane` has no information bits and `parity`,
// behind `base`, is null in lanes without a block.
__device__ __forceinline__ void EncodeTile(const EncodeBlock& of_lane, const uint32_t* table,
                                           const uint32_t* parity, uint32_t* base, uint4* shared) {
  const EncodeTableHeader header = ReadPart<EncodeTableHeader>(table);
  const EncodeTileHeader tile_header = ReadPart<EncodeTileHeader>(table + kTileHeaderAt);
  auto* const program = reinterpret_cast<uint32_t*>(shared);
  const Tile tile{header, tile_header, program, program + tile_header.program_words};
  const auto* const from = reinterpret_cast<const uint4*>(table + tile_header.program_at);
  for (uint32_t i = threadIdx.x; i < tile_header.program_words / 4; i += kTileThreads) {
    shared[i] = __ldg(from + i);
  }
  for (uint32_t i = threadIdx.x; i < tile_header.groups_at * kTileRowWords; i += kTileThreads) {
    tile.rows[i] = 0;
  }
  if (__all_sync(kAllLanes, PlainReader::Reads(of_lane, header.k))) {
    LoadTile<PlainReader>(tile, of_lane);
  } else {
    LoadTile<ByteReader>(tile, of_lane);
  }
  __syncthreads();
  if (header.whole_words == 0) {
    GroupTile(tile);
    __syncthreads();
  }
  uint32_t* const turned =
      tile.rows + tile_header.turned_at + threadIdx.x / 32 * (kTurnedWords / kTileWarps);
  const OctetWriter writer(turned, parity, base, tile_header.parity_words);
  switch (tile_header.chunk) {
    case 1:
      return RunTile<1>(tile, writer);
    case 2:
      return RunTile<2>(tile, writer);
    default:
      return RunTile<4>(tile, writer);
  }
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_TILE_CUH_
