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
// The arithmetic is that of decode_half.cuh, scaled by 2^-5: app is stored as (app + 128) * 2^-14.
// Then y = fma(x, factor * 2^-21, 128 * 2^-24) is a denormal, and these are 2^-24 apart: it is
// (128 + r) * 2^-24, rounded as there, its bit pattern the message itself, and app + 128 comes in
// one instruction: fma(y, 2^10, q).
//
// In shared memory, in words:
//   slots      [core columns][3][192]
//   channel    [rows - 4][192]: ch * 2^-14 of the extension columns
//   totals     [rows - 4][192]: what all core edges of a check say together
//   staged     the LLRs as they arrive
//   folded     [core columns][2][7], between iterations: the decided bits of the words in the last
//              slot of a column, of the low halves and of the high ones, the first in the least
//              significant bit
//   bits       [26][26]: the same in a row, that is, of positions last shift, last shift + 1, ..
//              mod zc, twice around; and [26] zeros
//   extension  [rows - 4][2][6]: of extension columns, folded
// Messages are in registers, two edges in a word; in the first kPlainRows rows one.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_narrow_schedule.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

inline constexpr int kNarrowMaxEdges = 316;
inline constexpr int kNarrowMaxColumns = 26;
inline constexpr int kNarrowMaxRows = 46;
inline constexpr int kNarrowMaxChecks = 100;
inline constexpr int kNarrowBitsStride = 26;  // words of a column in `bits`
inline constexpr int kNarrowZeroBits = kNarrowMaxColumns * kNarrowBitsStride * 32;

struct NarrowParameters {
  DecodeIo io;
  DecodeShape shape;
  HeavyScale heavy;                        // of the arithmetic of above
  uint32_t factor;                         // factor * 2^-21 as halves
  uint32_t limit;                          // magnitude limit * 2^-14 as halves
  uint32_t half;                           // zc / 2
  uint32_t half4;                          // 4 * half
  uint32_t four;                           // 4
  uint32_t team_threads;                   // half, up to whole warps
  uint32_t last_shift[kNarrowMaxColumns];  // of the last edge in a column
  uint32_t last_slot4[kNarrowMaxColumns];  // which slot that edge writes, in bytes from slot 0
  uint32_t heavy_rows;                     // bit r: row r is heavy; no row from 32 on is
  // A row's core edges in fours: where `bits` begins for check 0. The last four are filled up with
  // kNarrowZeroBits, where all bits are zero.
  struct alignas(8) Check {
    uint16_t first_bit[4];
  };
  uint16_t check_begin[kNarrowMaxRows + 1];
  Check check[kNarrowMaxChecks];
  // How thread t finds its word of an edge: with e = 4 * t + step[edge], that is, 4 * (u - h) or,
  // if the step is h or more, 4 * (u - 2 * h), its place in bytes is the lesser of e and e + 4 * h,
  // unsigned; and its halves are to be exchanged if e >= 0, in the other case if e < 0: if the bit
  // of the edge in `turns` is not that of e. That is bit kNarrowFirstTurn + i for place i of a row,
  // where e has its sign.
  uint32_t step[kNarrowMaxEdges];
  uint32_t turns[kNarrowMaxRows];
};
inline constexpr int kNarrowFirstTurn = 12;

// Barriers among some of a block's warps; barrier 0 is __syncthreads'.
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
  static constexpr int kStride = Graph::kMaxZc / 2;
  static constexpr int kSlots = S::kSlots;
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;
  // Codes of the dense rows alone scale all checks alike.
  static constexpr bool kHasHeavy = kMaxRows > Graph::kDenseRows;
  static constexpr uint32_t kTwoTo10 = Both(0x6400);
  static constexpr uint32_t kMinusTwoTo10 = Both(0xe400);
  static constexpr uint32_t k128 = Both(0x0080);       // 128 * 2^-24
  static constexpr uint32_t kMinus128 = Both(0xa000);  // -128 * 2^-14
  static constexpr uint32_t kUnit = Both(0x0400);      // 2^-14
  static constexpr int32_t k128High = 0x20000000;      // 128 * 2^-14 in the high half

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
  // Of a team, and of its plain rows.
  static constexpr int TeamWords(int team, int rows) {
    int words = 0;
    for (int r = team; r < rows; r += 2) words += WordsOf(r);
    return words;
  }
  static constexpr int kWords = std::max(TeamWords(0, kMaxRows), TeamWords(1, kMaxRows));
  static constexpr int kPlainWords[2] = {TeamWords(0, kPlainRows), TeamWords(1, kPlainRows)};

 public:
  // Shared memory, in words.
  static constexpr int kHalfWords = (kStride + 31) / 32;  // of the bits of half a column
  static constexpr int kFoldedStride = kHalfWords + 1;    // one more is read, and not used
  static constexpr int kBitsStride = kNarrowBitsStride;
  static_assert(kBitsStride * 32 >= 2 * Graph::kMaxZc + 32);
  static constexpr int kChannelBegin = Graph::kCoreColumns * kSlots * kStride;
  static constexpr int kTotalsBegin = kChannelBegin + kExtensions * kStride;
  static constexpr int kStagedBegin = kTotalsBegin + kExtensions * kStride;
  static constexpr int kStaged =
      static_cast<int>(StagedLlr::Words((Graph::kCoreColumns + kExtensions) * Graph::kMaxZc));
  static constexpr int kFoldedBegin = kStagedBegin + kStaged;
  static constexpr int kBitsBegin = kFoldedBegin + Graph::kCoreColumns * 2 * kFoldedStride;
  static constexpr int kExtensionBegin = kBitsBegin + (kNarrowMaxColumns + 1) * kBitsStride;
  static constexpr int kCrcBegin = kExtensionBegin + kExtensions * 2 * kHalfWords;
  static constexpr int kSharedWords = kCrcBegin + 2;

  __device__ __forceinline__ NarrowDecoder(const NarrowParameters& p, uint32_t* shared)
      : p_(p),
        team_(threadIdx.x / p.team_threads),
        row_(threadIdx.x - team_ * p.team_threads),
        shared_(shared),
        four_(p.four),
        half4_(p.half4) {}

  __device__ __forceinline__ void Run() {
    Load();
    for (uint32_t iteration = 1;; ++iteration) {
      __syncthreads();
      if (team_ == 0) {
        Begin<0>();
      } else {
        Begin<1>();
      }
      if ((p_.shape.early_termination || iteration == p_.shape.max_iterations) &&
          Settle(iteration)) {
        return;
      }
    }
  }

 private:
  __device__ __forceinline__ uint32_t Rows() const { return kAllRows ? kMaxRows : p_.shape.rows; }
  __device__ __forceinline__ uint32_t BothTeams() const { return 2 * p_.team_threads; }

  __device__ __forceinline__ uint32_t* Slot(int column, int slot) {
    return shared_ + (column * kSlots + slot) * kStride;
  }
  // This thread's own.
  __device__ __forceinline__ uint32_t& Channel(int extension) {
    return shared_[kChannelBegin + extension * kStride + row_];
  }
  __device__ __forceinline__ uint32_t& Total(int extension) {
    return shared_[kTotalsBegin + extension * kStride + row_];
  }

  // Where an edge's app word lies in its slot, and e.
  template <int kRow, int kPlace>
  __device__ __forceinline__ void Locate(uint32_t& at, uint32_t& e) const {
    constexpr int kEdge = S::template kEdge<kRow, kPlace>;
    e = row_ * four_ + p_.step[kEdge];
    at = __viaddmin_u32(e, half4_, e);
    if constexpr (S::template kReadSlot<kRow, kPlace> < 0) {
      at += p_.last_slot4[L::template kColumn<kEdge>];
    }
  }
  // That word, not turned yet.
  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t Read(uint32_t at) {
    constexpr int kColumn = L::template kColumn<S::template kEdge<kRow, kPlace>>;
    constexpr int kSlot = S::template kReadSlot<kRow, kPlace>;
    return *reinterpret_cast<const uint32_t*>(
        reinterpret_cast<const char*>(Slot(kColumn, kSlot < 0 ? 0 : kSlot)) + at);
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
    if constexpr (kPlain<kRow>) {
      return registers_[kWordBegin<kRow> + kPlace];
    } else {
      return UnpackMessage(registers_[kWordBegin<kRow> + kPlace / 2], kPlace % 2);
    }
  }

  // A check's y: 128 + r for x.
  __device__ __forceinline__ uint32_t Message(uint32_t x, bool is_heavy) const {
    if (!is_heavy) return Fma2(x, p_.factor, k128);
    return Fma2(BoxPlus(x, kUnit), p_.heavy.minus_512_offsets, Fma2(x, p_.heavy.factor, k128));
  }

  // The barriers of decode_narrow_schedule.cuh. They are used again by rows so far behind that
  // these have waited for a row that is past the first use.
  template <int kRow>
  __device__ __forceinline__ void WaitForHurried() const {
    WaitAtBarrier(2 + kRow % 4, 2 * p_.team_threads);
  }
  template <int kRow>
  __device__ __forceinline__ void WaitForAll() const {
    if constexpr (kRow >= 3) {
      WaitAtBarrier(6 + kRow % 6, 2 * p_.team_threads);
    } else if constexpr (kRow == 2) {
      WaitAtBarrier(1, p_.team_threads);
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellHurried() const {
    if constexpr (kRow + 1 < kMaxRows) {
      if constexpr (S::template kHasLate<kRow + 1>) {
        ArriveAtBarrier(2 + (kRow + 1) % 4, 2 * p_.team_threads);
      }
    }
  }
  template <int kRow>
  __device__ __forceinline__ void TellAll() const {
    if constexpr (kRow + 3 < kMaxRows) {
      ArriveAtBarrier(6 + (kRow + 3) % 6, 2 * p_.team_threads);
    }
  }
  // Behind kRow, the last row of its team: waits for what the other team tells the rows that the
  // code does not have.
  template <int kRow>
  __device__ __forceinline__ void WaitForTheRest() const {
    if constexpr (kRow + 2 < kMaxRows) {
      if constexpr (kRow > 0) WaitForAll<kRow + 2>();
      if (Rows() == kRow + 2) {
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
  __device__ __forceinline__ void ReadAhead(Front<kRow>& f) {
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

  // Row kRow and all of its team that follow.
  template <int kRow>
  __device__ __forceinline__ void RunRow(Front<kRow>& f) {
    constexpr int kDegree = S::template kDegree<kRow>;
    constexpr int kFirstLate = S::template kFirstLate<kRow>;
    constexpr int kFirstHurry = S::template kFirstHurry<kRow>;
    uint32_t q[kDegree];
    uint32_t forward[kDegree];  // all before a place, the extension edge and the limit with them
    forward[0] = p_.limit;
    if constexpr (kRow >= Graph::kDenseRows) {
      forward[0] = BoxPlus(p_.limit, Channel(kRow - Graph::kDenseRows));
    }
    const uint32_t turns = p_.turns[kRow];
    Unroll<kDegree>([&](auto i) {
      if constexpr (S::template kRead<kRow, i> != S::kAhead) Locate<kRow, i>(f.at[i], f.e[i]);
    });
    const auto take = [&](auto i) {
      q[i] = Fma2(LoadMessage<kRow, i>(), kMinusTwoTo10, Turn<i>(f.app[i], f.e[i], turns));
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
      y[i] = Message(x, kHasHeavy && Graph::kDegree[kRow] >= kHeavyDegree);
    };
    const auto put = [&](auto i) {
      Slot(L::template kColumn<S::template kEdge<kRow, i>>, S::template kWriteSlot<kRow, i>)[row_] =
          Fma2(y[i], kTwoTo10, q[i]);
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
        registers_[kWordBegin<kRow> + i / 2] = PackMessages(y[i], y[i]);
      }
    });
    if constexpr (kRow >= Graph::kDenseRows) Total(kRow - Graph::kDenseRows) = backward;
    if constexpr (kNext != kRow) {
      if (Rows() > kNext) {
        RunRow<kNext>(next);
      } else {
        WaitForTheRest<kRow>();
      }
    }
  }

  // The LLRs as app without messages, at the places where the last row would have left them.
  __device__ __forceinline__ void Load() {
    const DecodeShape& shape = p_.shape;
    const DecodeBlock block = p_.io.blocks[blockIdx.x];
    const auto skip = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block.llr) % 4);
    const uint32_t words = block.llr_count == 0 ? 0 : (skip + block.llr_count + 3) / 4;
    const auto target = static_cast<uint32_t>(__cvta_generic_to_shared(shared_ + kStagedBegin));
#pragma unroll 4
    for (uint32_t w = threadIdx.x; w < words; w += blockDim.x) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(target + 4 * w),
                   "l"(block.llr - skip + 4 * w)
                   : "memory");
    }
    if (threadIdx.x < 32) {
      if (threadIdx.x < kBitsStride) shared_[kBitsBegin + kNarrowZeroBits / 32 + threadIdx.x] = 0;
      if (threadIdx.x < 2) shared_[kCrcBegin + threadIdx.x] = 0;
    }
    Unroll<kWords>([&](auto i) {
      constexpr bool kPlain0 = i < kPlainWords[0];
      constexpr bool kPlain1 = i < kPlainWords[1];
      registers_[i] = (team_ == 0 ? kPlain0 : kPlain1) ? k128 : kNoMessages;
    });
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (row_ >= p_.half) return;

    // Columns begin .. end - 1 are plain: all of their bits were received.
    const auto* staged = reinterpret_cast<const int8_t*>(shared_ + kStagedBegin) + skip;
    const uint32_t columns = Graph::kCoreColumns + Rows() - Graph::kDenseRows;
    const uint32_t begin = (shape.punctured_bits + shape.zc - 1) / shape.zc;
    uint32_t end = begin;
    if (!shape.hard_input) {
      end = (block.llr_count + shape.punctured_bits) / shape.zc;
      if (block.num_filler != 0) end = min(end, (shape.k - block.num_filler) / shape.zc);
      end = max(begin, min(columns, end));
    }
    // Some loads, then some stores: the compiler does not move a load before a store.
    const auto load_plain = [&](uint32_t c, uint32_t position, uint32_t other) {
      const int8_t* column = staged + (c * shape.zc - shape.punctured_bits);
      return Biased(column[position]) | Biased(column[other]) << 16;
    };
    uint32_t next = begin + (begin + team_) % 2;
    constexpr int kCoreAtOnce = 4;
    constexpr int kAtOnce = 3;
#pragma unroll 1
    for (; next + 2 * kCoreAtOnce <= min(end, static_cast<uint32_t>(Graph::kCoreColumns)) + 1;
         next += 2 * kCoreAtOnce) {
      uint32_t both[kCoreAtOnce];
      Unroll<kCoreAtOnce>([&](auto i) {
        const uint32_t position = LastPosition(next + 2 * i);
        both[i] = load_plain(next + 2 * i, position, OtherHalf(position));
      });
      Unroll<kCoreAtOnce>([&](auto i) { *LastWord(next + 2 * i) = Fma2(both[i], kTwoTo10, 0); });
    }
    const uint32_t core_done = next;
    next = Graph::kCoreColumns + team_;
#pragma unroll 1
    for (; next + 2 * kAtOnce <= end + 1; next += 2 * kAtOnce) {
      uint32_t both[kAtOnce];
      Unroll<kAtOnce>([&](auto i) { both[i] = load_plain(next + 2 * i, row_, row_ + p_.half); });
      Unroll<kAtOnce>([&](auto i) {
        Channel(next + 2 * i - Graph::kCoreColumns) = Fma2(both[i], kTwoTo10, kMinus128);
      });
    }
    // What is left.
#pragma unroll 1
    for (uint32_t c = team_; c < columns; c += 2) {
      if (c >= begin && c < core_done) c = core_done;
      if (c >= Graph::kCoreColumns && c < next) c = next;
      if (c >= columns) break;
      const uint32_t position = c < Graph::kCoreColumns ? LastPosition(c) : row_;
      const auto load = [&](uint32_t at) {
        return static_cast<uint32_t>(LoadChannel(shape, block, staged, c * shape.zc + at) + 128);
      };
      const uint32_t both = load(position) | load(OtherHalf(position)) << 16;
      if (c < Graph::kCoreColumns) {
        *LastWord(c) = Fma2(both, kTwoTo10, 0);
      } else {
        Channel(c - Graph::kCoreColumns) = Fma2(both, kTwoTo10, kMinus128);
      }
    }
  }
  // One LLR as ch + 128.
  __device__ __forceinline__ static uint32_t Biased(int8_t llr) {
    return static_cast<uint32_t>(__viaddmax_s32(llr, 128, 1));  // -128 reads as -127
  }
  // The position of a thread's word in the last slot of a column, and where that lies.
  __device__ __forceinline__ uint32_t LastPosition(uint32_t column) const {
    const uint32_t position = row_ + p_.last_shift[column];
    return position >= p_.shape.zc ? position - p_.shape.zc : position;
  }
  __device__ __forceinline__ uint32_t* LastWord(uint32_t column) const {
    return shared_ + (column * (kSlots * kStride) + p_.last_slot4[column] / 4 + row_);
  }
  __device__ __forceinline__ uint32_t OtherHalf(uint32_t position) const {
    return position >= p_.half ? position - p_.half : position + p_.half;
  }

  // 32 bits from bit `at` of an array on.
  __device__ __forceinline__ static uint32_t BitsAt(const uint32_t* words, uint32_t at) {
    return __funnelshift_r(words[at / 32], words[at / 32 + 1], at);
  }
  __device__ __forceinline__ static uint32_t LowBits(uint32_t count) {
    return count >= 32 ? ~0u : (1u << count) - 1;
  }

  // `bits` from the slots. By all threads, after a barrier; one follows.
  __device__ __forceinline__ void Decide() {
    const uint32_t lane = row_ % 32;
    const uint32_t word = row_ / 32;
    const bool whole_words = p_.half % 32 == 0;
    const uint32_t half_words = p_.half / 32;
    constexpr int kColumns = Graph::kCoreColumns / 2;
    static_assert(Graph::kCoreColumns % 2 == 0);
    uint32_t app[kColumns];
    Unroll<kColumns>([&](auto i) { app[i] = *LastWord(team_ + 2 * i); });
    Unroll<kColumns>([&](auto i) {
      const uint32_t c = team_ + 2 * i;
      // Halves are in order as integers where one of them is positive.
      const uint32_t low = __ballot_sync(~0u, static_cast<int32_t>(app[i] << 16) < k128High);
      const uint32_t high =
          __ballot_sync(~0u, static_cast<int32_t>(app[i] & 0xffff0000) < k128High);
      if (whole_words) {  // twice each, in their places
        if (lane < 4) {
          shared_[kBitsBegin + c * kBitsStride + lane * half_words + word] =
              lane % 2 == 0 ? low : high;
        }
      } else if (lane < 2) {
        shared_[kFoldedBegin + (c * 2 + lane) * kFoldedStride + word] = lane == 0 ? low : high;
      }
    });
    __syncthreads();
    if (!whole_words) {
      Unfold();
      __syncthreads();
    }
  }
  // `bits` from `folded`.
  __device__ __forceinline__ void Unfold() {
    for (uint32_t i = threadIdx.x; i < Graph::kCoreColumns * kBitsStride; i += blockDim.x) {
      const uint32_t c = i / kBitsStride;
      uint32_t segment = 32 * (i - c * kBitsStride);
      if (segment >= 2 * p_.shape.zc + 32) continue;
      uint32_t which = 0;
      while (segment >= p_.half) {
        segment -= p_.half;
        which ^= 1;
      }
      uint32_t bits = 0;
      for (uint32_t filled = 0; filled < 32; filled += p_.half - segment, segment = 0) {
        bits |= (BitsAt(shared_ + kFoldedBegin + (c * 2 + which) * kFoldedStride, segment) &
                 LowBits(p_.half - segment))
                << filled;
        which ^= 1;
      }
      shared_[kBitsBegin + i] = bits;
    }
  }

  // The decided bits of the extension columns: the signs of ch + r, r from the rows' core edges. By
  // all threads; a barrier follows.
  __device__ __forceinline__ void DecideExtensions() {
    const uint32_t lane = row_ % 32;
    constexpr int kAtOnce = 7;
#pragma unroll 1
    for (uint32_t first = Graph::kDenseRows + team_; first < Rows(); first += 2 * kAtOnce) {
      uint32_t app[kAtOnce];
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t r = min(first + 2 * i, Rows() - 1);
        const bool is_heavy = (__funnelshift_rc(p_.heavy_rows, 0, r) & 1) != 0;
        const uint32_t x = BoxPlus(Total(r - Graph::kDenseRows), p_.limit);
        const uint32_t y = Fma2(BoxPlus(x, kUnit), is_heavy ? p_.heavy.minus_512_offsets : 0,
                                Fma2(x, is_heavy ? p_.heavy.factor : p_.factor, k128));
        app[i] = Add2(Channel(r - Graph::kDenseRows), Fma2(y, kTwoTo10, kMinus128));
      });
      Unroll<kAtOnce>([&](auto i) {
        const uint32_t r = first + 2 * i;
        const uint32_t low = __ballot_sync(~0u, (app[i] & 0x8000) != 0);
        const uint32_t high = __ballot_sync(~0u, (app[i] & 0x80000000) != 0);
        if (lane < 2 && r < Rows()) {
          shared_[kExtensionBegin + ((r - Graph::kDenseRows) * 2 + lane) * kHalfWords + row_ / 32] =
              lane == 0 ? low : high;
        }
      });
    }
  }

  // Whether one of this thread's share of the checks of rows from .. to - 1 does not hold. A warp
  // takes a row, a thread of it 32 checks.
  __device__ __forceinline__ bool Fails(uint32_t from, uint32_t to) const {
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t half_words = p_.team_threads / 32;
    if (lane >= 2 * half_words) return false;
    const uint32_t side = lane >= half_words ? 1 : 0;
    const uint32_t word = lane - side * half_words;
    const uint32_t first = side * p_.half + 32 * word;
    const uint32_t mask = LowBits(p_.half - 32 * word);
    uint32_t failed = 0;
    for (uint32_t r = from + threadIdx.x / 32; r < to; r += blockDim.x / 32) {
      uint32_t parity = 0;
      if (r >= Graph::kDenseRows) {
        parity =
            shared_[kExtensionBegin + ((r - Graph::kDenseRows) * 2 + side) * kHalfWords + word];
      }
      for (uint32_t i = p_.check_begin[r]; i < p_.check_begin[r + 1]; ++i) {
        Unroll<4>([&](auto j) {
          parity ^= BitsAt(shared_ + kBitsBegin, p_.check[i].first_bit[j] + first);
        });
      }
      failed |= parity & mask;
    }
    return failed != 0;
  }

  // Evaluates the checks, and if the code word is finished, writes all of it and returns true.
  __device__ __forceinline__ bool Settle(uint32_t iteration) {
    __syncthreads();
    Decide();
    // Almost every wrong code word breaks a check of the first rows.
    bool fails = __syncthreads_or(Fails(0, Graph::kDenseRows));
    if (kExtensions > 0 && !fails) {
      DecideExtensions();
      __syncthreads();
      fails = __syncthreads_or(Fails(Graph::kDenseRows, Rows()));
    }
    const DecodeBlock& block = p_.io.blocks[blockIdx.x];
    const uint32_t num_bits = p_.shape.k - block.num_filler;
    if (fails && iteration < p_.shape.max_iterations) {
      if constexpr (kCrc) {
        if (!StopsByCrc(num_bits)) return false;
      } else {
        return false;
      }
    }
    if (threadIdx.x == 0) {
      DecodeResult result;
      result.iterations = static_cast<uint16_t>(iteration);
      result.parity_ok = !fails;
      p_.io.results[block.result_index] = result;
    }
    WriteBits(reinterpret_cast<uint32_t*>(p_.io.bits + block.bits_offset), num_bits);
    return true;
  }

  // Which of `bits` is the one of a position.
  __device__ __forceinline__ uint32_t FirstBit(uint32_t column, uint32_t position) const {
    const uint32_t shift = p_.last_shift[column];
    return column * (kBitsStride * 32) + position - shift + (position < shift ? p_.shape.zc : 0);
  }

  // What decode_crc.cuh says, of one code word.
  __device__ __forceinline__ bool StopsByCrc(uint32_t num_bits) {
    const uint32_t zc = p_.shape.zc;
    uint32_t* crc = shared_ + kCrcBegin;  // the sum; whether there is a bit that is 1
    uint32_t sum = 0;
    uint32_t ones = 0;
    if (threadIdx.x < zc) {
      const uint32_t* power = p_.io.crc_powers + (p_.shape.k - 1 - threadIdx.x);
#pragma unroll 4
      for (uint32_t c = 0; c * zc + threadIdx.x < num_bits; ++c) {
        const uint32_t x = __ldg(power);
        const uint32_t at = FirstBit(c, threadIdx.x);
        const uint32_t one = shared_[kBitsBegin + at / 32] >> (at % 32) & 1;
        sum ^= one != 0 ? x : 0;
        ones |= one;
        power -= zc;
      }
    }
    sum = __reduce_xor_sync(~0u, sum);
    ones = __reduce_or_sync(~0u, ones);
    if (threadIdx.x % 32 == 0) {
      if (sum != 0) atomicXor(&crc[0], sum);
      if (ones != 0) atomicOr(&crc[1], ones);
    }
    __syncthreads();
    const bool stops = crc[0] == 0 && crc[1] != 0;
    __syncthreads();
    if (threadIdx.x < 2) crc[threadIdx.x] = 0;
    return stops;
  }

  __device__ __forceinline__ void WriteBits(uint32_t* to, uint32_t num_bits) const {
    const uint32_t zc = p_.shape.zc;
    for (uint32_t w = threadIdx.x; w * 32 < num_bits; w += blockDim.x) {
      uint32_t column = Divide(w * 32, p_.shape.zc_magic);
      uint32_t position = w * 32 - column * zc;
      uint32_t bits = 0;
      for (uint32_t filled = 0; filled < 32 && column < Graph::kCoreColumns;
           filled += zc - position, position = 0, ++column) {
        bits |= (BitsAt(shared_ + kBitsBegin, FirstBit(column, position)) & LowBits(zc - position))
                << filled;
      }
      // the first in the most significant bit of a byte
      to[w] = KeepFirstBits(__byte_perm(__brev(bits), 0, 0x0123), num_bits - w * 32);
    }
  }

  const NarrowParameters& p_;
  uint32_t team_;
  uint32_t row_;  // which word of a circulant, and which two checks of a row, are this thread's
  uint32_t* shared_;
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
