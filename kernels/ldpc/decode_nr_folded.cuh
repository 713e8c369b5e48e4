// The decided bits of the NR decoder folded to one each, and the checks made of them, 32 in a word.
// Device code, of graphs with a lifting size that is known, a multiple of 32; a thread block has a
// thread for each row of the circulant, and decodes one pair.
//
// In shared memory, for each column [kWords][2] words: bits 32 w .. 32 w + 31 of either code word,
// the first in the least significant bit. A core column has its first word again behind its last,
// so that 32 bits from any place on are cut out of two words that lie side by side:
//
//   core columns        [Graph::kCoreColumns][kWords + 1][2]
//   one that is zero    [kWords][2]
//   extension columns   [kMaxRows - Graph::kDenseRows][kWords][2]
//
// A warp takes a row of the base matrix, a thread of it 32 checks of one code word.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_FOLDED_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_FOLDED_CUH_

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// Which bits of words folded so make the checks of each row.
template <class Graph>
struct FoldedChecks {
  static constexpr int kWords = Graph::kZc / 32;
  static constexpr int kCoreStride = 2 * (kWords + 1);
  static constexpr int kZeroBegin = Graph::kCoreColumns * kCoreStride;
  static constexpr int kExtensionStride = 2 * kWords;
  static constexpr int kExtensionBegin = kZeroBegin + kExtensionStride;

  // Edges are taken four at a time, and a row is filled up with zeros.
  static constexpr int kAtOnce = 4;
  static constexpr int FoursBegin(int row) {
    int begin = 0;
    for (int r = 0; r < row; ++r) begin += (Graph::kDegree[r] + kAtOnce - 1) / kAtOnce;
    return begin;
  }

  // An edge: where the words of its column begin, in bytes, above 16 bits; how far on the word of
  // the first check's bit lies, in bytes, above 8; and which of that word's bits it is.
  struct alignas(16) Four {
    uint32_t edge[kAtOnce];
  };
  Four fours[FoursBegin(Graph::kRows)];
  uint32_t begin[Graph::kRows + 1];  // of a row's

  constexpr FoldedChecks() : fours(), begin() {
    int edge = 0;
    for (int r = 0; r <= Graph::kRows; ++r) {
      begin[r] = static_cast<uint32_t>(FoursBegin(r));
      if (r == Graph::kRows) break;
      for (int i = 0; i < (FoursBegin(r + 1) - FoursBegin(r)) * kAtOnce; ++i) {
        uint32_t at = 4 * kZeroBegin << 16;
        if (i < Graph::kDegree[r]) at = At(edge++);
        fours[FoursBegin(r) + i / kAtOnce].edge[i % kAtOnce] = at;
      }
    }
  }

 private:
  static constexpr uint32_t At(int edge) {
    const int extension = Graph::kColumn[edge] - Graph::kCoreColumns;
    if (extension >= 0) {
      return static_cast<uint32_t>(4 * (kExtensionBegin + extension * kExtensionStride)) << 16;
    }
    const uint32_t shift = Graph::ShiftOf(edge);
    return static_cast<uint32_t>(4 * Graph::kColumn[edge] * kCoreStride) << 16 |
           shift / 32 * 8 << 8 | shift % 32;
  }
};
template <class Graph>
__constant__ FoldedChecks<Graph> kFoldedChecks = FoldedChecks<Graph>();

// 32 bits of both code words, of all threads of a warp: where a half is less than `than`'s.
__device__ __forceinline__ void BallotLess(uint32_t halves, uint32_t than, uint32_t (&word)[2]) {
  uint32_t low;
  uint32_t high;
  asm("{ .reg .pred p, q;\n"
      "  setp.lt.f16x2 p|q, %2, %3;\n"
      "  selp.u32 %0, 1, 0, p;\n"
      "  selp.u32 %1, 1, 0, q; }"
      : "=r"(low), "=r"(high)
      : "r"(halves), "r"(than));
  word[0] = __ballot_sync(kWholeWarp, low != 0);
  word[1] = __ballot_sync(kWholeWarp, high != 0);
}

// Of decoders that do not fold.
struct NoFoldedBits {
  static constexpr int kSharedWords = 0;
  __device__ __forceinline__ explicit NoFoldedBits(uint32_t*) {}
};

template <class Graph, int kMaxRows>
class FoldedBits {
  using Checks = FoldedChecks<Graph>;
  static constexpr int kWords = Checks::kWords;
  static constexpr uint32_t kWarps = kWords;
  static_assert(Graph::kZc % 32 == 0 && Graph::kMaxZc == Graph::kZc && kWords <= 16);
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;

 public:
  static constexpr int kSharedWords =
      Checks::kExtensionBegin + kExtensions * Checks::kExtensionStride;

  // `shared` is aligned to 8 bytes.
  __device__ __forceinline__ explicit FoldedBits(uint32_t* shared) : shared_(shared) {}

  // Once; a barrier follows.
  __device__ __forceinline__ void Clear() const {
    if (Thread() < Checks::kExtensionStride) shared_[Checks::kZeroBegin + Thread()] = 0;
  }

  // Folds the core columns. app: the stored apps of this thread's row, the columns `kStride` words
  // apart. By all threads; a barrier follows.
  template <int kStride>
  __device__ __forceinline__ void FoldCore(const uint32_t* app) const {
    constexpr int kPairs = Graph::kCoreColumns / 2;
    static_assert(Graph::kCoreColumns % 2 == 0);
    const uint32_t lane = Thread() % 32;
    const uint32_t warp = Thread() / 32;
    // Of two columns at a time, in the places of both ends where it is the first word.
    uint32_t* to = shared_ + (lane % 2 * Checks::kCoreStride + (warp + lane / 2 * kWords) * 2);
    const bool stores = lane < (warp == 0 ? 4 : 2);
    Unroll<kPairs>([&](auto i) {
      Put(app[2 * i * kStride], app[(2 * i + 1) * kStride], kHalfMinus128 ^ kSigns, stores,
          to + 2 * i * Checks::kCoreStride);
    });
  }

  // Folds the extension columns of a code of `rows` rows. sum(e): that of column e, which is less
  // than kHalf128 in a half whose bit is 1. By all threads; a barrier follows.
  template <class Sum>
  __device__ __forceinline__ void FoldExtensions(uint32_t rows, const Sum& sum) const {
    static_assert(kExtensions % 2 == 0);
    const uint32_t lane = Thread() % 32;
    uint32_t* to = shared_ + (Checks::kExtensionBegin + lane % 2 * Checks::kExtensionStride +
                              Thread() / 32 * 2);
    constexpr int kPairs = kExtensions / 2;
    constexpr int kPairsAtOnce = 3;
    Unroll<(kPairs + kPairsAtOnce - 1) / kPairsAtOnce>([&](auto part) {
      constexpr int kFirst = part * kPairsAtOnce;
      if (kFirst > 0 && rows <= Graph::kDenseRows + 2 * kFirst) return;
      constexpr int kNow = kPairs - kFirst < kPairsAtOnce ? kPairs - kFirst : kPairsAtOnce;
      Unroll<kNow>([&](auto i) {
        constexpr int kColumn = 2 * (kFirst + i);
        Put(sum(Constant<kColumn>()), sum(Constant<kColumn + 1>()), kHalf128, lane < 2,
            to + kColumn * Checks::kExtensionStride);
      });
    });
  }

  // The checks of the first `rows` rows, this thread's share: in the signs, the code words of which
  // one does not hold.
  __device__ __forceinline__ uint32_t Failed(uint32_t rows) const {
    const FoldedChecks<Graph>& checks = kFoldedChecks<Graph>;
    const uint32_t lane = Thread() % 32;
    const uint32_t lane4 = 4 * lane;  // twice the word, and which code word
    const char* const shared = reinterpret_cast<const char*>(shared_);
    uint32_t failed = 0;
#pragma unroll 1
    for (uint32_t r = __shfl_sync(kWholeWarp, Thread() / 32, 0); r < rows; r += kWarps) {
      uint32_t parity = 0;
#pragma unroll 1
      for (uint32_t i = checks.begin[r]; i < checks.begin[r + 1]; ++i) {
        const typename Checks::Four four = checks.fours[i];
        Unroll<Checks::kAtOnce>([&](auto e) {
          const uint32_t edge = four.edge[e];
          const uint32_t at =
              Rotate(lane4, __byte_perm(edge, 0, 0x4441), 0u - 8 * kWords) + (edge >> 16);
          const auto* word = reinterpret_cast<const uint32_t*>(shared + at);
          parity ^= __funnelshift_r(word[0], word[2], edge);
        });
      }
      failed |= parity;
    }
    const bool fails = lane < 2 * kWords && failed != 0;
    return fails ? 0x8000u << lane % 2 * 16 : 0;
  }

  // In the signs, the code words with a filler in this thread's share of the information bits that
  // was decided 1. block: theirs; k: of the code.
  __device__ __forceinline__ uint32_t FillersThatAreOne(uint32_t k,
                                                        const DecodeBlock (&block)[2]) const {
    const uint32_t first = 32 * Index();
    const uint2 own = Own();
    const auto any = [&](const DecodeBlock& of, uint32_t word) {
      const uint32_t begin = k - of.num_filler;
      return first < k && first + 32 > begin && word >> (max(begin, first) - first) != 0;
    };
    return (any(block[0], own.x) ? 0x8000 : 0) | (any(block[1], own.y) ? 0x80000000 : 0);
  }

  // Writes the information bits of those code words that `writer` writes. With a plain 0 for the
  // pair it would be as said in BitWriter.
  __device__ __forceinline__ void Write(const BitWriter& writer, uint32_t k) const {
    const uint2 own = Own();
    const uint32_t word[2] = {own.x, own.y};
    if (32 * Index() < k) writer.Put(Opaque(0), Index(), word);
  }

 private:
  // Made anew where it is asked for: the iterations have no register to keep it.
  __device__ __forceinline__ static uint32_t Thread() { return Opaque(threadIdx.x); }

  // A thread's share of the information bits is a word of one column, of both code words: which of
  // all words, beyond them where a warp has threads to spare; and what it is.
  __device__ __forceinline__ static uint32_t Index() {
    return Thread() % 32 * kWords + Thread() / 32;
  }
  __device__ __forceinline__ uint2 Own() const {
    const uint32_t column = min(Thread() % 32, Graph::kCoreColumns - 1u);
    return *reinterpret_cast<const uint2*>(shared_ + column * Checks::kCoreStride +
                                           Thread() / 32 * 2);
  }

  // Two columns' bits: lanes 0 and 2 store the first's, 1 and 3 the second's.
  __device__ __forceinline__ static void Put(uint32_t first, uint32_t second, uint32_t than,
                                             bool stores, uint32_t* to) {
    uint32_t a[2];
    uint32_t b[2];
    BallotLess(first, than, a);
    BallotLess(second, than, b);
    const bool odd = Thread() % 2 != 0;
    if (stores) {
      *reinterpret_cast<uint2*>(to) = make_uint2(odd ? b[0] : a[0], odd ? b[1] : a[1]);
    }
  }

  uint32_t* shared_;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_FOLDED_CUH_
