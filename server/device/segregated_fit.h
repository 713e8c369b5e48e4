// Which parts of one block of memory are free: a two-level segregated fit.
//
//   SegregatedFit fit(/*capacity=*/1024, /*num_streams=*/8);
//   if (const auto piece = fit.Take(16, /*stream=*/0)) {  // piece->begin .. piece->begin + 16
//     fit.Return(piece->block);
//   }
//
// M. Masmano, I. Ripoll, A. Crespo, J. Real: TLSF: a new dynamic memory allocator for real-time
// systems, ECRTS 2004. Free blocks lie in lists by size, sixteen for each power of two, and two
// levels of bitmaps say which lists hold any: to take and to return costs the same however many
// blocks there are. Two things differ from the paper's: what is known of a block lies outside of
// the memory, so that pieces lie side by side; and a stream of pieces goes on where its last one
// ended, while there is room.
#ifndef BASEBAND_SERVER_DEVICE_SEGREGATED_FIT_H_
#define BASEBAND_SERVER_DEVICE_SEGREGATED_FIT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/optional.h"

namespace baseband::server {

// Counts units, of whatever its user aligns to. Pure; not thread-safe.
class SegregatedFit {
 public:
  struct Piece {
    int64_t begin = 0;
    uint32_t block = 0;  // for Return
  };

  // `capacity` >= 0 units, all free, for streams 0 .. num_streams - 1 that start apart.
  SegregatedFit(int64_t capacity, int num_streams);

  // A piece of `size` >= 1 units; none iff no free block is that large.
  absl::optional<Piece> Take(int64_t size, int stream);
  // A piece that was taken is free again. When all are, the streams start anew, so that light use
  // touches little memory, and the same.
  void Return(uint32_t block);

  // Calls `visit` with the begin and the size of every free block.
  template <typename Visit>
  void ForEachFree(const Visit& visit) const {
    // The first block is that at the beginning; others may be unused entries.
    for (uint32_t block = blocks_.empty() ? kNone : 0; block != kNone;
         block = blocks_[block].after) {
      if (blocks_[block].is_free) visit(blocks_[block].begin, blocks_[block].size);
    }
  }

  int64_t used() const { return used_; }
  int64_t capacity() const { return capacity_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kLog2Lists = 4;
  static constexpr int kLists = 1 << kLog2Lists;
  static constexpr int kLevels = 64 - kLog2Lists;
  // Where a stream cannot go on it begins anew: in one of the largest blocks, if there is room in
  // it for so many pieces like this one, so that those which follow lie beside it; else in the
  // smallest that fits, so that large ones stay.
  static constexpr int64_t kPiecesAhead = 64;

  struct Block {
    int64_t begin = 0;
    int64_t size = 0;
    uint32_t before = kNone;  // neighbours in memory
    uint32_t after = kNone;
    uint32_t previous = kNone;  // in its list, if it is free; `next` also of unused entries
    uint32_t next = kNone;
    bool is_free = false;
  };
  // Where a stream goes on: inside a free block, or nowhere.
  struct Cursor {
    uint32_t block = kNone;
    int64_t at = 0;
  };
  // Blocks of one list have sizes that differ by less than a sixteenth.
  struct List {
    int level = 0;
    int index = 0;
  };

  static List ListOf(int64_t size);
  int64_t EndOf(uint32_t block) const { return blocks_[block].begin + blocks_[block].size; }
  // A free block of `size` at least, out of lists of which all are that large; kNone: there is none
  // in them.
  uint32_t FindInLargerLists(int64_t size) const;
  // The same in the list that `size` itself belongs to, whose blocks have to be looked at.
  uint32_t FindInOwnList(int64_t size) const;
  // Where a stream that cannot go on begins anew, with room for `size`.
  Cursor Find(int64_t size) const;
  // In `block`, which is that large: in the middle of what the streams in it have before them; its
  // begin, if there are none, or too little is left.
  int64_t ApartIn(uint32_t block, int64_t size) const;
  void Insert(uint32_t block);  // into its list
  void Remove(uint32_t block);  // from it
  uint32_t NewBlock(int64_t begin, int64_t size);
  // `block`, free and in no list, keeps its first `size` units; the rest becomes a free block.
  void Split(uint32_t block, int64_t size);
  // Joins two neighbours in no list: `block` grows, `after` is no more.
  void Join(uint32_t block, uint32_t after);
  void ResetCursors();

  const int64_t capacity_;
  int64_t used_ = 0;
  std::vector<Block> blocks_;
  uint32_t unused_ = kNone;  // entries of blocks_
  uint64_t levels_ = 0;      // bit i: a list of level i holds a block
  std::array<uint32_t, kLevels> lists_{};
  std::array<std::array<uint32_t, kLists>, kLevels> heads_;
  std::vector<Cursor> cursors_;  // by stream
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_SEGREGATED_FIT_H_
