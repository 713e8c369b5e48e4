// Runs of bits that several threads write side by side into one array of packed bits.
//
// Where a run begins or ends inside a byte, the byte's other bits belong to its neighbours, who may
// be written at the same time. So a run writes no byte but those that are all its own, and hands
// its bits of the others out, as its edges; whoever comes after all runs puts these into place:
//
//   bytes   |........|........|........|........|
//   runs     aaaaaaaa aaaaabbb bbbbbbbb bccccccc      a: last  b: first, last  c: first
//
//   BitRun run(array, begin, end);                    for each run, on any thread
//   run.Put(..);
//   PutEdges(array, begin, end, run.edges());         for all runs, on one thread
#ifndef BASEBAND_KERNELS_NR_BIT_RUN_H_
#define BASEBAND_KERNELS_NR_BIT_RUN_H_

#include <algorithm>
#include <cstdint>

namespace baseband::nr {

// The bits of a run in the bytes that are not all its own, where they stand in these bytes; all
// other bits 0.
struct EdgeBits {
  uint8_t first = 0;  // of the byte where it begins
  uint8_t last = 0;   // of the byte where it ends, if that is another
};

// Whether run [begin, end) shares the byte it begins in; the byte it ends in, another one. A run of
// fewer bits than a byte has only a first.
inline bool SharesFirst(int64_t begin, int64_t end) { return begin % 8 != 0 || end < begin + 8; }
inline bool SharesLast(int64_t begin, int64_t end) { return end % 8 != 0 && end / 8 != begin / 8; }

// Writes the bits that run [begin, end) handed out and leaves all others as they are.
void PutEdges(uint8_t* array, int64_t begin, int64_t end, EdgeBits edges);

// Writes bits [begin, end) of `array`, of which there is one at least.
class BitRun {
 public:
  BitRun(uint8_t* array, int64_t begin, int64_t end)
      : array_(array),
        begin_whole_(SharesFirst(begin, end) ? std::min((begin / 8 + 1) * 8, end) : begin),
        end_whole_(SharesLast(begin, end) ? end / 8 * 8 : end) {}

  // Bits [bit, bit + count) of the array, all in the run, are those of `source` from `source_bit`.
  void Put(int64_t bit, const uint8_t* source, int64_t source_bit, int64_t count);
  EdgeBits edges() const { return edges_; }

 private:
  uint8_t* array_;
  int64_t begin_whole_;  // of the bytes that are all its own
  int64_t end_whole_;
  EdgeBits edges_;
};

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_BIT_RUN_H_
