// The decoder of the NR codes for few code words: one for each thread block, so that it is done
// soon. Device code. decode_nr.cuh decodes more code words at once, each later; both give the same
// results.
//
// The circulants are folded in half, h = zc / 2: a word holds positions p and p + h of one code
// word, and thread t of a team does the checks t and t + h of its rows at once. The rows are taken
// in turn by two teams of h threads, filled up to whole warps, so that one team's waiting is the
// other's time (decode_narrow_schedule.cuh). The threads past h work along on words that no other
// reads.
//
// A row leaves its outputs where its threads stand: thread t writes word t of a slot, whatever the
// shift of the edge; the position of that word is then t + shift. Only the next row to read the
// column turns it, by the difference of the two shifts:
//
//   u = t + step          step = shift - shift of the edge before in this column, mod zc
//   word u mod h, with its halves exchanged if u mod zc >= h
//
// Where the shifts are constants, at the largest lifting size, the row that writes a word leaves it
// as it is and with its halves exchanged instead, and the next one reads it turned already
// (decode_narrow_turns.cuh).
//
// What is read is not overwritten by the row that reads it, which writes another slot of the
// column. Behind the last row of an iteration comes the first, in the same way.
//
// Messages are in registers, two edges in a word; in the first kPlainRows rows, and at the end of
// an odd row, one. A check goes through its edges in pairs, for what all others say is the same for
// both but for each other: half as long a chain as edge by edge.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_edges.cuh"
#include "kernels/ldpc/decode_narrow_io.cuh"
#include "kernels/ldpc/decode_narrow_load.cuh"
#include "kernels/ldpc/decode_narrow_schedule.cuh"
#include "kernels/ldpc/decode_narrow_word.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// Barriers among some of a block's warps; barrier 0 is __syncthreads'. Aligned: all threads of a
// warp come together, though not all warps to the same instruction.
__device__ __forceinline__ void WaitAtBarrier(uint32_t barrier, uint32_t threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void ArriveAtBarrier(uint32_t barrier, uint32_t threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

template <class Graph, int kMaxRows, int kPlainRows, bool kAllRows, bool kCrc>
class NarrowDecoder {
  using L = Layout<Graph>;
  using S = NarrowSchedule<Graph>;
  using W = NarrowWord<Graph, kMaxRows, kAllRows>;
  using Edges = NarrowEdges<Graph, kMaxRows, kAllRows>;
  // Codes of the dense rows alone scale all checks alike.
  static constexpr bool kHasHeavy = kMaxRows > Graph::kDenseRows;

  static constexpr bool kIsPlain(int row) { return row < kPlainRows; }
  static constexpr int WordsOf(int row) {
    return kIsPlain(row) ? L::CoreDegree(row) : (L::CoreDegree(row) + 1) / 2;
  }
  static constexpr int WordBegin(int row) {
    int begin = 0;
    for (int r = row % 2; r < row; r += 2) begin += WordsOf(r);
    return begin;
  }
  template <int kRow>
  static constexpr int kWordBegin = WordBegin(kRow);
  template <int kRow>
  static constexpr bool kPlain = kIsPlain(kRow);
  static constexpr int TeamWords(int team) {
    int words = 0;
    for (int r = team; r < kMaxRows; r += 2) words += WordsOf(r);
    return words;
  }
  static constexpr int kWords = std::max(TeamWords(0), TeamWords(1));
  // Whether a word of a team has the message of one edge, as y.
  static constexpr bool IsPlainWord(int team, int word) {
    for (int r = team; r < kMaxRows; r += 2) {
      if (word >= WordsOf(r)) {
        word -= WordsOf(r);
        continue;
      }
      return kIsPlain(r) || L::IsAlone(r, 2 * word);
    }
    return false;
  }
  template <int kTeam, int kWord>
  static constexpr bool kPlainWord = IsPlainWord(kTeam, kWord);
  // Of places: those of plain rows, and what no other is packed with.
  template <int kRow, int kPlace>
  static constexpr bool kPlainPlace = kIsPlain(kRow) || L::IsAlone(kRow, kPlace);

 public:
  static constexpr int kSharedWords = W::kSharedWords;

  __device__ __forceinline__ NarrowDecoder(const typename W::P& p, uint32_t* shared)
      : w_(p, shared), edges_(w_) {}

  __device__ __forceinline__ void Run() {
    NarrowIo<Graph, kMaxRows, kAllRows, kCrc> io(w_);
    Unroll<kWords>([&](auto i) {
      registers_[i] = (w_.team == 0 ? kPlainWord<0, i> : kPlainWord<1, i>) ? kHalf128 : kNoMessages;
    });
    NarrowLoader<Graph, kMaxRows, kAllRows>(w_).Load();
    for (uint32_t iteration = 1;; ++iteration) {
      __syncthreads();
      if (w_.team == 0) {
        Begin<0>();
      } else {
        Begin<1>();
      }
      if ((w_.p.shape.early_termination || iteration == w_.p.shape.max_iterations) &&
          io.Settle(iteration)) {
        return;
      }
    }
  }

 private:
  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t LoadMessage() const {
    const uint32_t word = registers_[kWordBegin<kRow> + (kPlain<kRow> ? kPlace : kPlace / 2)];
    return kPlainPlace<kRow, kPlace> ? word : UnpackMessage(word, kPlace % 2);
  }

  // decode_narrow_schedule.cuh says who waits for what.
  template <int kRow>
  __device__ __forceinline__ void WaitForHurried() const {
    WaitAtBarrier(S::template kHurriedBarrier<kRow>, 2 * w_.TeamThreads());
  }
  template <int kRow>
  __device__ __forceinline__ void WaitForAll() const {
    if constexpr (kRow >= 3) {
      WaitAtBarrier(S::template kAllBarrier<kRow>, 2 * w_.TeamThreads());
    } else if constexpr (kRow == 2) {
      WaitAtBarrier(S::template kAllBarrier<kRow>, w_.TeamThreads());
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellHurried() const {
    if constexpr (kRow + 1 < kMaxRows) {
      if constexpr (S::template kHasLate<kRow + 1>) {
        ArriveAtBarrier(S::template kHurriedBarrier<kRow + 1>, 2 * w_.TeamThreads());
      }
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellAll() const {
    if constexpr (kRow + 3 < kMaxRows) {
      ArriveAtBarrier(S::template kAllBarrier<kRow + 3>, 2 * w_.TeamThreads());
    }
  }
  // Behind kRow, the last row of its team: waits for what the other team tells the rows that the
  // code does not have.
  template <int kRow>
  __device__ __forceinline__ void WaitForTheRest() const {
    if constexpr (kRow + 2 < kMaxRows) {
      if constexpr (kRow > 0) WaitForAll<kRow + 2>();
      if (w_.Rows() == kRow + 2) {
        if constexpr (S::template kHasLate<kRow + 2>) WaitForHurried<kRow + 2>();
        if constexpr (kRow + 4 < kMaxRows) WaitForAll<kRow + 4>();
      }
    }
  }

  // What a row has of its edges before it waits.
  template <int kRow>
  struct Front {
    typename Edges::Where where[S::template kDegree<kRow>];
    uint32_t app[S::template kDegree<kRow>];
  };
  template <int kRow>
  __device__ __forceinline__ void ReadAhead(Front<kRow>& f) const {
    Unroll<S::template kDegree<kRow>>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kAhead) {
        f.where[i] = edges_.template Locate<kRow, i>();
        f.app[i] = edges_.template Read<kRow, i>(f.where[i]);
      }
    });
  }

  template <int kRow>
  __device__ __forceinline__ void Begin() {
    Front<kRow> front;
    ReadAhead<kRow>(front);
    RunRow<kRow>(front);
  }

  // Row kRow and all of its team that follow. narrow_schedule_test.cc does its reads, writes and
  // barriers in the same order: to be changed together.
  template <int kRow>
  __device__ __forceinline__ void RunRow(Front<kRow>& f) {
    constexpr int kDegree = S::template kDegree<kRow>;
    constexpr int kFirstLate = S::template kFirstLate<kRow>;
    constexpr int kFirstHurry = S::template kFirstHurry<kRow>;
    constexpr int kPairs = S::template kPairs<kRow>;
    // The pair that the first hurried place is in; kPairs if there is none.
    constexpr int kHurryPair =
        kFirstHurry < kDegree ? S::template kPairOf<kRow, kFirstHurry> : kPairs;
    uint32_t q[kDegree];
    uint32_t both[kPairs];     // of a pair
    uint32_t forward[kPairs];  // all before a pair, the extension edge and the limit with them
    forward[0] = w_.p.limit;
    if constexpr (kRow >= Graph::kDenseRows) {
      forward[0] = BoxPlus(w_.p.limit, w_.Channel(kRow - Graph::kDenseRows));
    }
    const uint32_t turns = edges_.template Turns<kRow>();
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> != S::kAhead)
        f.where[i] = edges_.template Locate<kRow, i>();
    });
    const auto take = [&](auto i) {
      q[i] = Fma2(LoadMessage<kRow, i>(), kHalfMinusTwoTo10,
                  Edges::template Turn<i>(f.app[i], f.where[i], turns));
    };
    const auto chain = [&](auto i) {
      constexpr int kPair = S::template kPairOf<kRow, i>;
      constexpr int kFirst = S::template kPairBegin<kRow, kPair>;
      if constexpr (i + 1 == S::template kPairBegin<kRow, kPair + 1>) {
        both[kPair] = i == kFirst ? q[i] : BoxPlus(q[kFirst], q[i]);
        if constexpr (kPair + 1 < kPairs) forward[kPair + 1] = BoxPlus(forward[kPair], both[kPair]);
      }
    };
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kAhead) take(i);
    });
    WaitForAll<kRow>();
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kEarly)
        f.app[i] = edges_.template Read<kRow, i>(f.where[i]);
    });
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kEarly) take(i);
    });
    Unroll<kFirstLate>(chain);
    uint32_t y[kDegree];
    const auto scale = [&](uint32_t x) {
      constexpr bool kIsHeavy = kHasHeavy && Graph::kDegree[kRow] >= kHeavyDegree;
      return kIsHeavy ? w_.p.heavy.Of(x) : w_.p.light.WithoutOffset(x);
    };
    // Of one alone the message does not need what is late.
    constexpr bool kOneIsLate = kFirstLate + 1 == kDegree;
    if constexpr (kOneIsLate) y[kFirstLate] = scale(forward[kPairs - 1]);
    if constexpr (S::template kHasLate<kRow>) {
      WaitForHurried<kRow>();
      Unroll<kDegree - kFirstLate>([&](auto j) {
        constexpr int kPlace = kFirstLate + j;
        f.app[kPlace] = edges_.template Read<kRow, kPlace>(f.where[kPlace]);
      });
      Unroll<kDegree - kFirstLate>([&](auto j) {
        take(Constant<kFirstLate + j>());
        chain(Constant<kFirstLate + j>());
      });
    }

    uint32_t backward = 0;  // all from a pair on
    const auto meet = [&](auto pair) {
      constexpr bool kIsLast = pair + 1 == kPairs;
      if constexpr (!kIsLast) forward[pair] = BoxPlus(forward[pair], backward);  // all others
      backward = kIsLast ? both[pair] : BoxPlus(backward, both[pair]);
    };
    const auto check = [&](auto i) {
      if constexpr (!(kOneIsLate && i == kFirstLate)) {
        constexpr int kPair = S::template kPairOf<kRow, i>;
        constexpr int kFirst = S::template kPairBegin<kRow, kPair>;
        constexpr bool kIsAlone = kFirst + 1 == S::template kPairBegin<kRow, kPair + 1>;
        y[i] =
            scale(kIsAlone ? forward[kPair]
                           : BoxPlus(forward[kPair], q[i == kFirst ? kFirst + !kIsAlone : kFirst]));
      }
    };
    const auto put = [&](auto i) { edges_.template Put<kRow, i>(Fma2(y[i], kHalfTwoTo10, q[i])); };
    // Those that hurry, or the others.
    const auto give = [&](auto pair, auto hurries) {
      constexpr int kEnd = S::template kPairBegin<kRow, pair + 1>;
      Unroll<kEnd - S::template kPairBegin<kRow, pair>>([&](auto k) {
        constexpr int kPlace = kEnd - 1 - k;
        if constexpr (S::template kHurries<kRow, kPlace> == bool(hurries)) {
          check(Constant<kPlace>());
          put(Constant<kPlace>());
        }
      });
    };
    Unroll<kPairs - kHurryPair>([&](auto j) {
      constexpr int kPair = kPairs - 1 - j;
      meet(Constant<kPair>());
      give(Constant<kPair>(), Constant<1>());
    });
    TellHurried<kRow>();
    constexpr int kNext = kRow + 2 < kMaxRows ? kRow + 2 : kRow;  // kRow: none
    Front<kNext> next;
    if constexpr (kNext != kRow) ReadAhead<kNext>(next);
    Unroll<kPairs>([&](auto j) {
      constexpr int kPair = kPairs - 1 - j;
      if constexpr (kPair < kHurryPair) meet(Constant<kPair>());
      give(Constant<kPair>(), Constant<0>());
    });
    TellAll<kRow>();
    Unroll<kDegree>([&](auto i) {
      if constexpr (kPlain<kRow>) {
        registers_[kWordBegin<kRow> + i] = y[i];
      } else if constexpr (i % 2 == 1) {
        registers_[kWordBegin<kRow> + i / 2] = PackMessages(y[i - 1], y[i]);
      } else if constexpr (i + 1 == kDegree) {
        registers_[kWordBegin<kRow> + i / 2] = y[i];
      }
    });
    if constexpr (kRow >= Graph::kDenseRows) w_.Total(kRow - Graph::kDenseRows) = backward;
    if constexpr (kNext != kRow) {
      if (w_.Rows() > kNext) {
        RunRow<kNext>(next);
      } else {
        WaitForTheRest<kRow>();
      }
    }
  }

  W w_;
  Edges edges_;
  uint32_t registers_[kWords];
};

template <class Graph, int kMaxRows, int kPlainRows, bool kAllRows, bool kCrc>
__global__ void __launch_bounds__(Graph::kMaxZc, 1)
    DecodeNarrowKernel(const __grid_constant__ NarrowParametersOf<Graph> parameters) {
  extern __shared__ __align__(16) uint32_t shared[];
  NarrowDecoder<Graph, kMaxRows, kPlainRows, kAllRows, kCrc> decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_
