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
// What is read is not overwritten by the row that reads it, which writes another slot of the
// column. Behind the last row of an iteration comes the first, in the same way.
//
// Messages are in registers, two edges in a word; in the first kPlainRows rows, and at the end of
// an odd row, one.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_io.cuh"
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

  __device__ __forceinline__ NarrowDecoder(const NarrowParameters& p, uint32_t* shared)
      : w_(p, shared), four_(p.four), half4_(p.half4) {}

  __device__ __forceinline__ void Run() {
    NarrowIo<Graph, kMaxRows, kAllRows, kCrc> io(w_);
    Unroll<kWords>([&](auto i) {
      registers_[i] = (w_.team == 0 ? kPlainWord<0, i> : kPlainWord<1, i>) ? kHalf128 : kNoMessages;
    });
    io.Load();
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
  // Where an edge's app word lies in its slot, and e.
  template <int kRow, int kPlace>
  __device__ __forceinline__ void Locate(uint32_t& at, uint32_t& e) const {
    constexpr int kEdge = S::template kEdge<kRow, kPlace>;
    e = w_.row * four_ + w_.p.step[kEdge];
    at = __viaddmin_u32(e, half4_, e);
    if constexpr (S::template kReadSlot<kRow, kPlace> < 0) {
      at += w_.p.last_slot4[L::template kColumn<kEdge>];
    }
  }
  // That word, not turned yet.
  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t Read(uint32_t at) const {
    constexpr int kColumn = L::template kColumn<S::template kEdge<kRow, kPlace>>;
    constexpr int kSlot = S::template kReadSlot<kRow, kPlace>;
    return *reinterpret_cast<const uint32_t*>(
        reinterpret_cast<const char*>(w_.Slot(kColumn, kSlot < 0 ? 0 : kSlot)) + at);
  }
  template <int kPlace>
  __device__ __forceinline__ static uint32_t Turn(uint32_t word, uint32_t e, uint32_t turns) {
    return ((e ^ turns) & 1u << (kNarrowFirstTurn + kPlace)) != 0 ? Exchange(word) : word;
  }
  __device__ __forceinline__ static uint32_t Exchange(uint32_t word) {
    return __byte_perm(word, 0, 0x1032);
  }

  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t LoadMessage() const {
    const uint32_t word = registers_[kWordBegin<kRow> + (kPlain<kRow> ? kPlace : kPlace / 2)];
    return kPlainPlace<kRow, kPlace> ? word : UnpackMessage(word, kPlace % 2);
  }

  // decode_narrow_schedule.cuh says who waits for what.
  template <int kRow>
  __device__ __forceinline__ void WaitForHurried() const {
    WaitAtBarrier(S::template kHurriedBarrier<kRow>, 2 * w_.p.team_threads);
  }
  template <int kRow>
  __device__ __forceinline__ void WaitForAll() const {
    if constexpr (kRow >= 3) {
      WaitAtBarrier(S::template kAllBarrier<kRow>, 2 * w_.p.team_threads);
    } else if constexpr (kRow == 2) {
      WaitAtBarrier(S::template kAllBarrier<kRow>, w_.p.team_threads);
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellHurried() const {
    if constexpr (kRow + 1 < kMaxRows) {
      if constexpr (S::template kHasLate<kRow + 1>) {
        ArriveAtBarrier(S::template kHurriedBarrier<kRow + 1>, 2 * w_.p.team_threads);
      }
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellAll() const {
    if constexpr (kRow + 3 < kMaxRows) {
      ArriveAtBarrier(S::template kAllBarrier<kRow + 3>, 2 * w_.p.team_threads);
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
    uint32_t at[S::template kDegree<kRow>];
    uint32_t e[S::template kDegree<kRow>];
    uint32_t app[S::template kDegree<kRow>];
  };
  template <int kRow>
  __device__ __forceinline__ void ReadAhead(Front<kRow>& f) const {
    Unroll<S::template kDegree<kRow>>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kAhead) {
        Locate<kRow, i>(f.at[i], f.e[i]);
        f.app[i] = Read<kRow, i>(f.at[i]);
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
    uint32_t q[kDegree];
    uint32_t forward[kDegree];  // all before a place, the extension edge and the limit with them
    forward[0] = w_.p.limit;
    if constexpr (kRow >= Graph::kDenseRows) {
      forward[0] = BoxPlus(w_.p.limit, w_.Channel(kRow - Graph::kDenseRows));
    }
    const uint32_t turns = w_.p.turns[kRow];
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> != S::kAhead) Locate<kRow, i>(f.at[i], f.e[i]);
    });
    const auto take = [&](auto i) {
      q[i] = Fma2(LoadMessage<kRow, i>(), kHalfMinusTwoTo10, Turn<i>(f.app[i], f.e[i], turns));
    };
    const auto chain = [&](auto i) {
      if constexpr (i + 1 < kDegree) forward[i + 1] = BoxPlus(forward[i], q[i]);
    };
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kAhead) take(i);
    });
    WaitForAll<kRow>();
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kEarly) f.app[i] = Read<kRow, i>(f.at[i]);
    });
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> == S::kEarly) take(i);
    });
    Unroll<kFirstLate>(chain);
    if constexpr (S::template kHasLate<kRow>) {
      WaitForHurried<kRow>();
      Unroll<kDegree - kFirstLate>([&](auto j) {
        constexpr int kPlace = kFirstLate + j;
        f.app[kPlace] = Read<kRow, kPlace>(f.at[kPlace]);
      });
      Unroll<kDegree - kFirstLate>([&](auto j) {
        take(Constant<kFirstLate + j>());
        chain(Constant<kFirstLate + j>());
      });
    }

    uint32_t y[kDegree];
    uint32_t backward = 0;  // all from a place on
    const auto check = [&](auto i) {
      const uint32_t x = i == kDegree - 1 ? forward[i] : BoxPlus(forward[i], backward);
      backward = i == kDegree - 1 ? q[i] : BoxPlus(backward, q[i]);
      constexpr bool kIsHeavy = kHasHeavy && Graph::kDegree[kRow] >= kHeavyDegree;
      y[i] = kIsHeavy ? w_.p.heavy.Of(x) : w_.p.light.WithoutOffset(x);
    };
    const auto put = [&](auto i) {
      w_.Slot(L::template kColumn<S::template kEdge<kRow, i>>,
              S::template kWriteSlot<kRow, i>)[w_.row] = Fma2(y[i], kHalfTwoTo10, q[i]);
    };
    Unroll<kDegree - kFirstHurry>([&](auto j) {
      constexpr int kPlace = kDegree - 1 - j;
      check(Constant<kPlace>());
      if constexpr (S::template kHurries<kRow, kPlace>) put(Constant<kPlace>());
    });
    TellHurried<kRow>();
    constexpr int kNext = kRow + 2 < kMaxRows ? kRow + 2 : kRow;  // kRow: none
    Front<kNext> next;
    if constexpr (kNext != kRow) ReadAhead<kNext>(next);
    Unroll<kDegree - kFirstHurry>([&](auto j) {
      constexpr int kPlace = kDegree - 1 - j;
      if constexpr (!S::template kHurries<kRow, kPlace>) put(Constant<kPlace>());
    });
    Unroll<kFirstHurry>([&](auto j) {
      constexpr int kPlace = kFirstHurry - 1 - j;
      check(Constant<kPlace>());
      put(Constant<kPlace>());
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
  uint32_t four_;  // unknown to the compiler: multiplications have a pipe that is less used
  uint32_t half4_;
  uint32_t registers_[kWords];
};

template <class Graph, int kMaxRows, int kPlainRows, bool kAllRows, bool kCrc>
__global__ void __launch_bounds__(Graph::kMaxZc, 1)
    DecodeNarrowKernel(const __grid_constant__ NarrowParameters parameters) {
  extern __shared__ uint32_t shared[];
  NarrowDecoder<Graph, kMaxRows, kPlainRows, kAllRows, kCrc> decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_
