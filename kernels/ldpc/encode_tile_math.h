// What the GPU encoder's host and device sides share where 32 code blocks of one code, a tile, are
// encoded at once, a lane of every warp for each (encode_tile.cuh).
//
// Shared memory is rows: a word of each code block. A group of zc bits is kept as `extended_rows`
// rows, cyclically extended as in encode_math.h, but only so far that `chunk` words of it may be
// read from any bit below zc on. Such a run is chunk + 1 rows and `chunk` funnel shifts.
//
// A chunk is so many words that one warp makes: of a sum that is kept, or of the parity as it is
// packed. Where those belong to several parity groups, each has a segment of the chunk: a sum that
// counts from the segment's first bit on. At zc = 40, chunk = 2:
//
//   parity groups     [ 0 .............. 39 ][ 40 .............. 79 ][ 80 ..
//   chunk 0           [ 0 ............................... 63 ]
//   segments             group 0 from bit 0,    group 1 from bit 40 on, rotated by -40
//
// Rotation is in the sources: no two chunks share them.
//
// What a tile's header points to is copied to shared memory, before row 0:
//   phases | chunks | segments | sources     all parts 16-byte aligned
//   phases   two words: the end of the chunks of octets that one warp makes; that of all, those of
//            up to kTileWarps octets that all make together. Then one word each, the end of its
//            chunks, which are kept; a barrier follows
//   chunks   EncodeTileChunk: those of the phases, then those of the parity, octet by octet
//   segments EncodeTileSegment: of chunks that have more than one, all but the first
//   sources  one word each, an even number for each segment: the word where the row begins that
//            holds the first bit, in the upper half; which of the row's bits that is in the lower
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_TILE_MATH_H_
#define BASEBAND_KERNELS_LDPC_ENCODE_TILE_MATH_H_

#include <cstdint>

namespace baseband::ldpc {

inline constexpr int kTileBlocks = 32;
// Odd, so that a row's words and a column's lie in different banks.
inline constexpr uint32_t kTileRowWords = 33;
inline constexpr uint32_t kTileWarps = 8;
// Words of the parity that a warp makes before it writes them, a sector of memory for each block.
// It turns them in shared memory: lanes that made columns write rows.
inline constexpr uint32_t kTileOctet = 8;
inline constexpr uint32_t kTurnedWords = kTileWarps * kTileOctet * kTileBlocks;
inline constexpr uint32_t kTilePhasesAt = 2;
inline constexpr int kMaxTileBytes = 112 << 10;  // two on a multiprocessor

struct alignas(16) EncodeTileHeader {
  uint32_t shared_bytes;   // of a tile; 0: the code has none, and nothing below counts
  uint32_t chunk;          // 1, 2 or 4; where groups are whole words, at most group_words
  uint32_t extended_rows;  // a multiple of `chunk`
  uint32_t num_groups;     // of the information
  uint32_t groups_at;      // the first row of the information; zeros are before it
  uint32_t staging_at;     // the first of the information as it came; later, of kept sums
  uint32_t turned_at;      // the word, from row 0 on, where octets are turned
  uint32_t parity_words;
  uint32_t num_phases;
  uint32_t program_at;  // in words from the table's start
  uint32_t program_words;
  uint32_t chunks_at;  // where the parts begin, in words from the program's start
  uint32_t segments_at;
  uint32_t pairs_at;
  uint32_t reserved[2];
};

struct alignas(16) EncodeTileChunk {
  uint32_t to;          // the first word: of shared memory from row 0 on; of an octet of the parity
  uint32_t first_pair;  // of sources, in pairs
  uint32_t num_pairs;
  uint32_t others;  // its further segments: the first in the lower half, their number in the upper
};

struct alignas(16) EncodeTileSegment {
  uint32_t first_pair;
  uint32_t num_pairs;
  uint32_t begin;  // the first bit of the chunk that it makes; those of earlier segments stay
  uint32_t reserved[1];
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_TILE_MATH_H_
