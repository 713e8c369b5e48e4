#include "kernels/nr/bit_run.h"

#include "kernels/base/bits.h"

namespace baseband::nr {
namespace {

// `byte` with bits [at, at + count) of it replaced.
uint8_t Replaced(uint8_t byte, int64_t at, const uint8_t* source, int64_t source_bit,
                 int64_t count) {
  for (; count > 0; --count, ++at, ++source_bit) {
    const int bit = source[source_bit / 8] >> (7 - source_bit % 8) & 1;
    const auto mask = 0x80 >> at;
    byte = static_cast<uint8_t>(bit != 0 ? byte | mask : byte & ~mask);
  }
  return byte;
}

// The bits from `begin` on, or before `end`, of a byte.
int From(int64_t begin) { return 0xff >> begin; }
int Before(int64_t end) { return 0xff & ~(0xff >> end); }

uint8_t Merged(uint8_t old, uint8_t bits, int mask) {
  return static_cast<uint8_t>((old & ~mask) | (bits & mask));
}

}  // namespace

void PutEdges(uint8_t* array, int64_t begin, int64_t end, EdgeBits edges) {
  if (SharesFirst(begin, end)) {
    uint8_t& byte = array[begin / 8];
    const int64_t end_in_byte = std::min<int64_t>(end - begin / 8 * 8, 8);
    byte = Merged(byte, edges.first, From(begin % 8) & Before(end_in_byte));
  }
  if (SharesLast(begin, end)) array[end / 8] = Merged(array[end / 8], edges.last, Before(end % 8));
}

void BitRun::Put(int64_t bit, const uint8_t* source, int64_t source_bit, int64_t count) {
  const int64_t end = bit + count;
  const auto source_of = [&](int64_t b) { return source_bit + b - bit; };
  if (bit < begin_whole_) {
    edges_.first =
        Replaced(edges_.first, bit % 8, source, source_bit, std::min(end, begin_whole_) - bit);
  }
  const int64_t begin_copy = std::max(bit, begin_whole_);
  const int64_t end_copy = std::min(end, end_whole_);
  if (begin_copy < end_copy) {
    CopyBits(array_, begin_copy, source, source_of(begin_copy), end_copy - begin_copy);
  }
  if (end > end_whole_) {
    const int64_t begin = std::max(bit, end_whole_);
    edges_.last = Replaced(edges_.last, begin % 8, source, source_of(begin), end - begin);
  }
}

}  // namespace baseband::nr
