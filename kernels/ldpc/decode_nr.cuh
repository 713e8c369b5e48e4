// The decoder of the NR codes, unrolled over a base graph known at compile time. Device code. The
// arithmetic is explained in decode_half.cuh, the graph's layout in decode_nr_graph.cuh.
//
// A thread block decodes `pairs` pairs of code words, pairs * zc <= Graph::kMaxZc threads, one
// thread for a row of the circulant. A row of the base matrix is thus one check per thread, and
// after it comes a barrier. An iteration is one piece of code without a jump: what is rarely wanted
// lies behind it, for instructions behind a jump have to be waited for. On chip for each pair:
//
//   shared     app of the core columns   [26][384] words, columns 1536 bytes apart whatever zc is,
//                                        so that a column is an immediate offset
//              ch + 128 of extension columns   [rows - 4][384][2] bytes; their app is ch + one
//                                        message, and q = ch always: it is never stored
//              totals                    [rows - 4][384] words: what all core edges of a check say
//                                        together, of which that message is made when it is asked
//                                        for
//              messages, what is left    [words][384]; before them, the LLRs as they arrive
//   registers  messages, kRegisterWords of each thread
//
// That is the layered schedule. Flooding has two apps: all rows read the one that the last
// iteration left, and add the difference that they make to `next`, which the first row that touches
// a column begins, and which becomes the app when all are done. An extension column's message is
// made with its row, and kept as two bytes in the place of the total's four:
//
//              next                            [26][384] words
//              messages of extension columns   [rows - 4][384][2] bytes
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/ldpc/decode_crc.cuh"
#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/decode_staged.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

struct NrParameters {
  DecodeIo io;
  DecodeShape shape;
  MessageScale heavy;
  MessageScale light;            // has no offset
  uint32_t limit;                // magnitude limit * 2^-14 as halves
  uint64_t heavy_rows;           // bit r: row r is heavy
  uint32_t minus_zc4;            // -4 * zc
  uint32_t zero;                 // 0, but the compiler does not know
  uint32_t shift4[kNrMaxEdges];  // shift * 4
};

enum class NrKind {
  kLayered,
  kLayeredCrc,  // a CRC may stop code words, and none has soft output
  kFlooding,
};

template <class Graph, int kMaxRows, int kRegisterWords, bool kSidewise, NrKind kKind>
class NrDecoder {
  static constexpr bool kCrc = kKind == NrKind::kLayeredCrc;
  static constexpr bool kFlooding = kKind == NrKind::kFlooding;
  using L = Layout<Graph>;
  static constexpr int kStride = Graph::kMaxZc;  // words a column
  static constexpr int kWords = L::template kWordBegin<kMaxRows>;
  static constexpr int kShareds = kWords > kRegisterWords ? kWords - kRegisterWords : 0;
  static constexpr int kFirstChecks = std::min(kMaxRows, Graph::kDenseRows + 8);
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;
  // Codes of the dense rows alone scale all checks alike.
  static constexpr bool kHasHeavy = kMaxRows > Graph::kDenseRows;

 public:
  // Shared memory, in words.
  static constexpr int kChannelBegin = Graph::kCoreColumns * kStride;
  static constexpr int kTotalsBegin = kChannelBegin + (kExtensions + 1) / 2 * kStride;
  static constexpr int kNextBegin =
      kTotalsBegin + (kFlooding ? (kExtensions + 1) / 2 : kExtensions) * kStride;
  static constexpr int kMessagesBegin =
      kNextBegin + (kFlooding ? Graph::kCoreColumns * kStride : 0);
  // Enough for the most code words that there are threads for, kStride of zc = 2.
  static constexpr int kStaged =
      kStride * StagedLlr::Words(2 * (Graph::kCoreColumns + kExtensions));
  static constexpr int kProgressBegin = kMessagesBegin + std::max(kShareds * kStride, kStaged);
  static constexpr int SharedWords(int pairs) {
    constexpr uint32_t kWordsPerPair =
        Progress::kWordsPerPair + (kCrc ? CrcStop::kWordsPerPair : 0);
    return kProgressBegin + static_cast<int>(kWordsPerPair) * pairs;
  }

  __device__ __forceinline__ NrDecoder(const NrParameters& p, uint32_t* shared)
      : p_(p),
        app_(shared),
        channel_(reinterpret_cast<uint16_t*>(shared + kChannelBegin) + threadIdx.x),
        totals_(shared + kTotalsBegin + threadIdx.x),
        extension_messages_(reinterpret_cast<uint16_t*>(shared + kTotalsBegin) + threadIdx.x),
        messages_(shared + kMessagesBegin + threadIdx.x),
        progress_(shared + kProgressBegin, p.shape.pairs) {
    minus_zc4_ = p.minus_zc4;
    pair_ = kSidewise ? threadIdx.x / p.shape.zc : 0;
    pair_base_ = kSidewise ? pair_ * p.shape.zc * 4 : 0;
    row4_ = Opaque(threadIdx.x * 4 - pair_base_);
  }

  __device__ __forceinline__ void Run() {
    InitProgress(p_.io, p_.shape, progress_);
    if constexpr (kCrc) {
      for (uint32_t i = threadIdx.x; i < 2 * p_.shape.pairs; i += blockDim.x) StopByCrc().Clear(i);
    }
    Load();
    __syncthreads();
    for (uint32_t iteration = 1;; ++iteration) {
      row4_ += p_.zero;  // addresses are made anew: there are no registers to keep them
      Group<0> first;
      Prefetch<0>(first);
      LoadLate<0>(first);
      RunGroup<0>(first);
      row4_ += p_.zero;
      __syncthreads();
      if constexpr (kFlooding) TakeNext();
      const bool settle = p_.shape.early_termination || iteration == p_.shape.max_iterations;
      if (settle && Settle(
                        p_.io, p_.shape, progress_, iteration, Check<0, 1>(), [&] { Write(); },
                        StopByCrc(), [&] { return Check<1, kFirstChecks>(); },
                        [&] { return Check<kFirstChecks, kMaxRows>(); })) {
        return;
      }
    }
  }

 private:
  // A group's rows and edges, and the registers that a group starts with.
  template <int kFirst>
  static constexpr int kGroupEnd = std::min(L::GroupEnd(kFirst), kMaxRows);
  template <int kFirst, int kLast = kGroupEnd<kFirst>>
  struct Group {
    static constexpr int kBegin = L::template kEdgeBegin<kFirst>;
    static constexpr int kEdges = L::template kEdgeBegin<kLast> - kBegin;
    static constexpr int kFirstWord = L::template kWordBegin<kFirst>;
    static constexpr int kNumWords = L::template kWordBegin<kLast> - kFirstWord;
    uint32_t address[kEdges];               // of a core edge's app, in bytes
    uint32_t app[kEdges];                   // stored app; for an extension edge, ch + 128 in bytes
    uint32_t next[kFlooding ? kEdges : 1];  // likewise, of a core edge
    uint32_t word[kNumWords];               // messages
  };

  __device__ __forceinline__ uint32_t& App(uint32_t address, int column) {
    return *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(app_ + column * kStride) + address);
  }
  // Where a row puts it.
  __device__ __forceinline__ uint32_t& NextApp(uint32_t address, int column) {
    return App(address + (kFlooding ? 4 * kNextBegin : 0), column);
  }
  __device__ __forceinline__ void TakeNext() {
#pragma unroll
    for (int c = 0; c < Graph::kCoreColumns; ++c) {
      app_[c * kStride + threadIdx.x] = app_[kNextBegin + c * kStride + threadIdx.x];
    }
    __syncthreads();
  }

  // Where the bit of this thread's row in the block of an edge lies in its column, in bytes.
  __device__ __forceinline__ uint32_t Locate(uint32_t edge) const {
    return Rotate(row4_, p_.shift4[edge], minus_zc4_) + pair_base_;
  }

  __device__ __forceinline__ void Load() {
    const StagedLlr llr(p_.io, p_.shape, messages_ - threadIdx.x, pair_, row4_ / 4);
    llr.Wait();
    const uint32_t pair_begin = threadIdx.x - row4_ / 4;
    llr.StoreApps(Graph::kCoreColumns, app_ + pair_begin, kStride);
    if constexpr (kExtensions > 0) {
      llr.StoreBytes(Graph::kCoreColumns, Graph::kCoreColumns + p_.shape.rows - Graph::kDenseRows,
                     channel_ - row4_ / 4, kStride);
      for (uint32_t e = p_.shape.rows - Graph::kDenseRows; e < kExtensions; ++e) {
        channel_[e * kStride] = 0x8080;
      }
    }
    __syncthreads();  // the staged LLRs are read: their place becomes the messages'
    Unroll<(kWords < kRegisterWords ? kWords : kRegisterWords)>(
        [&](auto i) { registers_[i] = kNoMessages; });
#pragma unroll 4
    for (int i = 0; i < kShareds; ++i) messages_[i * kStride] = kNoMessages;
  }

  template <int kWord>
  __device__ __forceinline__ uint32_t LoadWord() const {
    if constexpr (kWord < kRegisterWords) {
      return registers_[kWord];
    } else {
      return messages_[(kWord - kRegisterWords) * kStride];
    }
  }
  template <int kWord>
  __device__ __forceinline__ void StoreWord(uint32_t word) {
    if constexpr (kWord < kRegisterWords) {
      registers_[kWord] = word;
    } else {
      messages_[(kWord - kRegisterWords) * kStride] = word;
    }
  }

  // Nobody writes what flooding reads.
  template <int kFirst, int kEdge>
  static constexpr bool kIsAppEarly = kFlooding || L::template kIsEarly<kFirst, kEdge>;

  // What a group can do before the barrier that precedes it.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void Prefetch(Group<kFirst, kLast>& g) {
    using G = Group<kFirst, kLast>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge>) {
        g.address[e] = Locate(kEdge);
        if constexpr (kIsAppEarly<kFirst, kEdge>) {
          g.app[e] = App(g.address[e], L::template kColumn<kEdge>);
        }
      } else {
        g.app[e] = channel_[(L::template kRowOf<kEdge> - Graph::kDenseRows) * kStride];
      }
    });
    Unroll<G::kNumWords>([&](auto w) { g.word[w] = LoadWord<G::kFirstWord + w>(); });
  }

  template <int kRow>
  static constexpr bool kIsHeavy = kHasHeavy&& Graph::kDegree[kRow] >= kHeavyDegree;

  // A row's y for x, see MessageScale.
  template <int kRow>
  __device__ __forceinline__ uint32_t Message(uint32_t x) const {
    return kIsHeavy<kRow> ? p_.heavy.Of(x) : p_.light.WithoutOffset(x);
  }

  // The rest, after it.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void LoadLate(Group<kFirst, kLast>& g) {
    using G = Group<kFirst, kLast>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge> && !kIsAppEarly<kFirst, kEdge>) {
        g.app[e] = App(g.address[e], L::template kColumn<kEdge>);
      }
      if constexpr (kFlooding && L::template kIsCore<kEdge> && !L::template kIsFirst<kEdge>) {
        g.next[e] = NextApp(g.address[e], L::template kColumn<kEdge>);
      }
    });
  }

  // The checks of rows kFirst .. kLast - 1.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void Process(Group<kFirst, kLast>& g) {
    using G = Group<kFirst, kLast>;
    Unroll<kLast - kFirst>([&](auto i) {
      constexpr int kRow = kFirst + i;
      constexpr int kDegree = L::template kCoreDegree<kRow>;
      constexpr int kEdge = L::template kEdgeBegin<kRow> - G::kBegin;
      constexpr int kWord = L::template kWordBegin<kRow> - G::kFirstWord;
      uint32_t q[kDegree];
      uint32_t others[kDegree];  // what the new message is added to
      Unroll<kDegree>([&](auto e) {
        const uint32_t message = UnpackMessage(g.word[kWord + e / 2], e % 2);
        q[e] = Fma2(message, kHalfMinusTwoTo10, g.app[kEdge + e]);
        if constexpr (kFlooding && !L::template kIsFirst<L::template kEdgeBegin<kRow> + e>) {
          others[e] = Fma2(message, kHalfMinusTwoTo10, g.next[kEdge + e]);
        } else {
          others[e] = q[e];
        }
      });
      // backward[e]: all from edge e on, with the extension edge and the limit.
      uint32_t backward[kDegree + 1];
      backward[kDegree] = p_.limit;
      if constexpr (kRow >= Graph::kDenseRows) {
        backward[kDegree] = BoxPlus(p_.limit, Channel(g.app[kEdge + kDegree]));
      }
      Unroll<kDegree - 1>([&](auto j) {
        constexpr int kE = kDegree - 1 - j;
        backward[kE] = BoxPlus(backward[kE + 1], q[kE]);
      });
      uint32_t forward = 0;  // all before edge e
      uint32_t y[kDegree];
      Unroll<kDegree>([&](auto e) {
        const uint32_t x = e == 0 ? backward[1] : BoxPlus(forward, backward[e + 1]);
        forward = e == 0 ? q[0] : BoxPlus(forward, q[e]);
        y[e] = Message<kRow>(x);
        NextApp(g.address[kEdge + e], L::template kColumn<L::template kEdgeBegin<kRow> + e>) =
            Fma2(y[e], kHalfTwoTo10, others[e]);
        if constexpr (e % 2 == 1) {
          StoreWord<G::kFirstWord + kWord + e / 2>(PackMessages(y[e - 1], y[e]));
        } else if constexpr (e + 1 == kDegree) {
          StoreWord<G::kFirstWord + kWord + e / 2>(PackMessages(y[e], y[e]));
        }
      });
      if constexpr (kRow >= Graph::kDenseRows && kFlooding) {
        const uint32_t r = Message<kRow>(BoxPlus(forward, p_.limit));
        extension_messages_[(kRow - Graph::kDenseRows) * kStride] =
            static_cast<uint16_t>(PackMessages(r, r));
      } else if constexpr (kRow >= Graph::kDenseRows) {
        totals_[(kRow - Graph::kDenseRows) * kStride] = forward;
      }
    });
  }

  // ch * 2^-14 of bytes ch + 128.
  __device__ __forceinline__ static uint32_t Channel(uint32_t bytes) {
    return Fma2(UnpackMessage(bytes, 0), kHalfTwoTo10, kHalfMinus128);
  }

  // app * 2^-14 of this thread's bit of an extension column: ch + r, r from the row's core edges.
  __device__ __forceinline__ uint32_t ExtensionApp(uint32_t extension, bool is_heavy) const {
    const uint32_t channel = Max2(Channel(channel_[extension * kStride]), kHalfMinus127);
    if constexpr (kFlooding) {
      const uint32_t r = UnpackMessage(extension_messages_[extension * kStride], 0);
      return Fma2(r, kHalfTwoTo10, Add2(channel, kHalfMinus128));
    }
    const uint32_t x = BoxPlus(totals_[extension * kStride], p_.limit);
    const uint32_t r = is_heavy ? p_.heavy.Of(x, 0) : p_.light.WithoutOffset(x, 0);
    return Fma2(r, kHalfTwoTo10, channel);
  }

  // Its bit, in the halves' signs. Of integers of 2^-24 here: (ch + 128) + r, then less 128.
  __device__ __forceinline__ uint32_t ExtensionBits(uint32_t extension, bool is_heavy) const {
    const uint32_t channel =
        __vmaxu2(UnpackMessage(channel_[extension * kStride], 0), Both(1));  // -128 is -127
    if constexpr (kFlooding) {
      const uint32_t sum =
          Add2(channel, UnpackMessage(extension_messages_[extension * kStride], 0));
      return Add2(sum, Both(2 * 128) ^ kSigns);
    }
    const uint32_t x = BoxPlus(totals_[extension * kStride], p_.limit);
    const uint32_t sum = is_heavy ? p_.heavy.Of(x, channel) : p_.light.WithoutOffset(x, channel);
    return Add2(sum, kHalf128 ^ kSigns);
  }

  // Of a group of which the code has the first rows only, the others change nothing: their ch is 0,
  // and so are all their messages.
  template <int kFirst>
  __device__ __forceinline__ void RunGroup(Group<kFirst>& g) {
    constexpr int kNext = kGroupEnd<kFirst>;
    Process(g);
    if constexpr (kNext < kMaxRows) {
      if (p_.shape.rows <= kNext) return;
      Group<kNext> next;
      Prefetch(next);
      __syncthreads();
      LoadLate(next);
      RunGroup<kNext>(next);
    }
  }

  // The parity of this thread's checks in rows kFrom .. kTo - 1: the sign bits of those that fail.
  template <int kFrom, int kTo>
  __device__ __forceinline__ uint32_t Check() {
    uint32_t failed = 0;
    Unroll<kTo - kFrom>([&](auto i) {
      constexpr int kRow = kFrom + i;
      if (p_.shape.rows <= kRow) return;
      constexpr int kBegin = L::template kEdgeBegin<kRow>;
      uint32_t parity = 0;
      Unroll<L::template kCoreDegree<kRow>>([&](auto e) {
        const uint32_t app = App(Locate(kBegin + e), L::template kColumn<kBegin + e>);
        parity ^= Add2(app, kHalfMinus128);
      });
      if constexpr (kRow >= Graph::kDenseRows) {
        parity ^= ExtensionBits(kRow - Graph::kDenseRows, kIsHeavy<kRow>);
      }
      failed |= parity;
    });
    return failed & kSigns;
  }

  __device__ __forceinline__ auto StopByCrc() const {
    if constexpr (kCrc) {
      return CrcStop(p_.io, p_.shape, progress_.fail + 2 * p_.shape.pairs, app_, kStride);
    } else {
      return NoCrcStop();
    }
  }

  __device__ __forceinline__ void Write() {
    BitWriter(p_.io, p_.shape, app_, kStride, progress_.state).Write();
    if (p_.io.soft == nullptr) return;
    WriteSoft(p_.io, p_.shape, progress_.state, [&](uint32_t column, uint32_t half) {
      if (column < Graph::kCoreColumns) {
        return ToSoft(app_[column * kStride + threadIdx.x]) >> (16 * half);
      }
      const uint32_t extension = column - Graph::kCoreColumns;
      const bool is_heavy = (p_.heavy_rows >> (extension + Graph::kDenseRows) & 1) != 0;
      return ToSoft(Add2(ExtensionApp(extension, is_heavy), kHalfMinus128 ^ kSigns)) >> (16 * half);
    });
  }

  const NrParameters& p_;
  uint32_t* app_;
  uint16_t* channel_;             // this thread's own, kStride apart
  uint32_t* totals_;              // likewise; not of flooding
  uint16_t* extension_messages_;  // likewise; of flooding alone
  uint32_t* messages_;            // likewise
  Progress progress_;
  uint32_t minus_zc4_;
  uint32_t pair_;
  uint32_t pair_base_;  // pair * zc * 4
  uint32_t row4_;       // row of the circulant * 4
  uint32_t registers_[kRegisterWords];
};

template <class Graph, int kMaxRows, int kRegisterWords, int kBlocks, bool kSidewise, NrKind kKind>
__global__ void __launch_bounds__(Graph::kMaxZc, kBlocks)
    DecodeNrKernel(const __grid_constant__ NrParameters parameters) {
  extern __shared__ __align__(16) uint32_t shared[];  // read in units of 16 bytes too
  NrDecoder<Graph, kMaxRows, kRegisterWords, kSidewise, kKind> decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
