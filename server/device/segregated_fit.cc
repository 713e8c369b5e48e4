#include "server/device/segregated_fit.h"

#include <algorithm>

namespace baseband::server {
namespace {

template <typename Word>
int Log2(Word value) {
  return 63 - __builtin_clzll(static_cast<uint64_t>(value));
}

template <typename Word>
int LowestBit(Word bits) {
  return __builtin_ctzll(static_cast<uint64_t>(bits));
}

}  // namespace

SegregatedFit::SegregatedFit(int64_t capacity, int num_streams)
    : capacity_(capacity), cursors_(static_cast<size_t>(num_streams)) {
  for (auto& lists : heads_) lists.fill(kNone);
  constexpr size_t kUsualBlocks = 4096;
  blocks_.reserve(kUsualBlocks);
  if (capacity == 0) return;
  Insert(NewBlock(0, capacity));
  ResetCursors();
}

// Level 0: one list for each size below 16. Level i: 2^(i+3) .. 2^(i+4) - 1, in sixteen parts.
SegregatedFit::List SegregatedFit::ListOf(int64_t size) {
  if (size < kLists) return {0, static_cast<int>(size)};
  const int log2 = Log2(size);
  return {log2 - kLog2Lists + 1, static_cast<int>(size >> (log2 - kLog2Lists)) - kLists};
}

uint32_t SegregatedFit::FindInLargerLists(int64_t size) const {
  if (size >= kLists) size += (int64_t{1} << (Log2(size) - kLog2Lists)) - 1;  // to a list's least
  const List list = ListOf(size);
  const uint32_t lists = lists_[static_cast<size_t>(list.level)] & ~uint32_t{0} << list.index;
  if (lists != 0) {
    return heads_[static_cast<size_t>(list.level)][static_cast<size_t>(LowestBit(lists))];
  }
  const uint64_t levels = levels_ & ~uint64_t{0} << (list.level + 1);
  if (levels == 0) return kNone;
  const auto level = static_cast<size_t>(LowestBit(levels));
  return heads_[level][static_cast<size_t>(LowestBit(lists_[level]))];
}

uint32_t SegregatedFit::FindInOwnList(int64_t size) const {
  const List list = ListOf(size);
  uint32_t block = heads_[static_cast<size_t>(list.level)][static_cast<size_t>(list.index)];
  while (block != kNone && blocks_[block].size < size) block = blocks_[block].next;
  return block;
}

SegregatedFit::Cursor SegregatedFit::Find(int64_t size) const {
  if (size > capacity_ - used_) return {};
  const auto level = static_cast<size_t>(Log2(levels_));
  const uint32_t large = heads_[level][static_cast<size_t>(Log2(lists_[level]))];
  if (blocks_[large].size / kPiecesAhead >= size) return {large, ApartIn(large, size)};
  uint32_t block = FindInLargerLists(size);
  if (block == kNone) block = FindInOwnList(size);
  return block == kNone ? Cursor() : Cursor{block, blocks_[block].begin};
}

int64_t SegregatedFit::ApartIn(uint32_t block, int64_t size) const {
  int64_t at = blocks_[block].begin;
  for (const Cursor& cursor : cursors_) {
    if (cursor.block == block) at = std::max(at, cursor.at + (EndOf(block) - cursor.at) / 2);
  }
  return EndOf(block) - at >= size ? at : blocks_[block].begin;
}

absl::optional<SegregatedFit::Piece> SegregatedFit::Take(int64_t size, int stream) {
  Cursor& cursor = cursors_[static_cast<size_t>(stream)];
  if (cursor.block == kNone || EndOf(cursor.block) - cursor.at < size) {
    cursor = Cursor();
    cursor = Find(size);
  }
  uint32_t block = cursor.block;
  if (block == kNone) return absl::nullopt;
  const int64_t begin = cursor.at;
  Remove(block);
  if (begin > blocks_[block].begin) {
    const uint32_t front = block;
    Split(front, begin - blocks_[front].begin);
    block = blocks_[front].after;
    Remove(block);
    Insert(front);
  }
  uint32_t rest = kNone;
  if (size < blocks_[block].size) {
    Split(block, size);
    rest = blocks_[block].after;
  }
  for (Cursor& other : cursors_) {  // this stream's too
    if (other.block == block) other = {rest, begin + size};
  }
  blocks_[block].is_free = false;
  used_ += size;
  return Piece{begin, block};
}

void SegregatedFit::Return(uint32_t block) {
  blocks_[block].is_free = true;
  used_ -= blocks_[block].size;
  if (const uint32_t before = blocks_[block].before; before != kNone && blocks_[before].is_free) {
    Remove(before);
    Join(before, block);
    block = before;
  }
  if (const uint32_t after = blocks_[block].after; after != kNone && blocks_[after].is_free) {
    Remove(after);
    Join(block, after);
  }
  Insert(block);
  if (used_ == 0) ResetCursors();
}

void SegregatedFit::Insert(uint32_t block) {
  const List list = ListOf(blocks_[block].size);
  uint32_t& head = heads_[static_cast<size_t>(list.level)][static_cast<size_t>(list.index)];
  blocks_[block].previous = kNone;
  blocks_[block].next = head;
  if (head != kNone) blocks_[head].previous = block;
  head = block;
  lists_[static_cast<size_t>(list.level)] |= uint32_t{1} << list.index;
  levels_ |= uint64_t{1} << list.level;
}

void SegregatedFit::Remove(uint32_t block) {
  const Block& removed = blocks_[block];
  if (removed.next != kNone) blocks_[removed.next].previous = removed.previous;
  if (removed.previous != kNone) {
    blocks_[removed.previous].next = removed.next;
    return;
  }
  const List list = ListOf(removed.size);
  const auto level = static_cast<size_t>(list.level);
  heads_[level][static_cast<size_t>(list.index)] = removed.next;
  if (removed.next != kNone) return;
  lists_[level] &= ~(uint32_t{1} << list.index);
  if (lists_[level] == 0) levels_ &= ~(uint64_t{1} << list.level);
}

uint32_t SegregatedFit::NewBlock(int64_t begin, int64_t size) {
  uint32_t block = unused_;
  if (block == kNone) {
    block = static_cast<uint32_t>(blocks_.size());
    blocks_.emplace_back();
  } else {
    unused_ = blocks_[block].next;
  }
  blocks_[block] = Block();
  blocks_[block].begin = begin;
  blocks_[block].size = size;
  blocks_[block].is_free = true;
  return block;
}

void SegregatedFit::Split(uint32_t block, int64_t size) {
  const uint32_t rest = NewBlock(blocks_[block].begin + size, blocks_[block].size - size);
  const uint32_t after = blocks_[block].after;
  blocks_[rest].before = block;
  blocks_[rest].after = after;
  if (after != kNone) blocks_[after].before = rest;
  blocks_[block].after = rest;
  blocks_[block].size = size;
  for (Cursor& cursor : cursors_) {
    if (cursor.block == block && cursor.at >= blocks_[rest].begin) cursor.block = rest;
  }
  Insert(rest);
}

void SegregatedFit::Join(uint32_t block, uint32_t after) {
  blocks_[block].size += blocks_[after].size;
  blocks_[block].after = blocks_[after].after;
  if (blocks_[block].after != kNone) blocks_[blocks_[block].after].before = block;
  for (Cursor& cursor : cursors_) {
    if (cursor.block == after) cursor.block = block;
  }
  blocks_[after].next = unused_;
  unused_ = after;
}

void SegregatedFit::ResetCursors() {
  const auto streams = static_cast<int64_t>(cursors_.size());
  // All is one block, which begins at 0.
  const uint32_t all = FindInOwnList(capacity_);
  for (int64_t stream = 0; stream < streams; ++stream) {
    cursors_[static_cast<size_t>(stream)] = {all, capacity_ / streams * stream};
  }
}

}  // namespace baseband::server
