// The decoder of the NR codes: layered, unrolled over a base graph known at compile time. Device
// code. The arithmetic is explained in decode_device.cuh, the graph's layout in
// decode_nr_graph.cuh.
//
// A thread block decodes `pairs` pairs of code words, pairs * zc <= Graph::kMaxZc threads, one
// thread for a row of the circulant. A row of the base matrix is thus one check per thread, and
// after it comes a barrier. On chip for each pair:
//
//   shared     app of the core columns   [26][384] words, columns 1536 bytes apart whatever zc is,
//                                        so that a column is an immediate offset
//              ch of extension columns   [rows - 4][384] words; their app is ch + one message, and
//                                        q = ch always: it is never stored
//              messages, what is left    [words][384]; before them, the LLRs as they arrive
//              soft values of the extension columns, if wanted   [rows - 4][384][2] bytes: they are
//                                        known when their row is decoded and never again
//   registers  messages, kRegisterWords of each thread
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/ldpc/decode_crc.cuh"
#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

inline constexpr int kNrMaxEdges = 316;

struct NrParameters {
  DecodeIo io;
  DecodeShape shape;
  MessageScale heavy;
  MessageScale light;            // has no offset
  uint32_t limit;                // magnitude limit * 2^-14 as halves
  uint32_t minus_zc4;            // -4 * zc
  uint32_t shift4[kNrMaxEdges];  // shift * 4
};

// What a kernel does beside decoding: nothing, for that is the fastest; soft output; or stopping by
// a CRC.
enum class NrExtra { kNone, kSoft, kCrc };

template <class Graph, int kMaxRows, int kRegisterWords, bool kSidewise, NrExtra kExtra>
class NrDecoder {
  using L = Layout<Graph>;
  static constexpr int kStride = Graph::kMaxZc;  // words a column
  static constexpr int kWords = L::template kWordBegin<kMaxRows>;
  static constexpr int kShareds = kWords > kRegisterWords ? kWords - kRegisterWords : 0;
  static constexpr int kExtensions = kMaxRows - Graph::kDenseRows;
  static constexpr bool kSoft = kExtra == NrExtra::kSoft;
  static constexpr bool kCrc = kExtra == NrExtra::kCrc;
  // Codes of the dense rows alone scale all checks alike.
  static constexpr bool kHasHeavy = kMaxRows > Graph::kDenseRows;
  static constexpr int kTracks = kExtensions > 0 ? (kExtensions + 15) / 16 : 1;

 public:
  // Shared memory, in words.
  static constexpr int kChannelBegin = Graph::kCoreColumns * kStride;
  static constexpr int kMessagesBegin = kChannelBegin + kExtensions * kStride;
  // zc = 2 has the most code words, kStride of them, and so the most cut words.
  static constexpr int kStaged =
      kStride * StagedLlr::Words(2 * (Graph::kCoreColumns + kExtensions));
  static constexpr int kSoftBegin = kMessagesBegin + std::max(kShareds * kStride, kStaged);
  static constexpr int kProgressBegin = kSoftBegin + (kSoft ? kExtensions * kStride / 2 : 0);
  static constexpr int SharedWords(int pairs) {
    return kProgressBegin + (3 + (kCrc ? static_cast<int>(CrcStop::kWordsPerPair) : 0)) * pairs;
  }

  __device__ __forceinline__ NrDecoder(const NrParameters& p, uint32_t* shared)
      : p_(p),
        app_(shared),
        channel_(shared + kChannelBegin + threadIdx.x),
        messages_(shared + kMessagesBegin + threadIdx.x),
        soft_(reinterpret_cast<uint16_t*>(shared + kSoftBegin) + threadIdx.x),
        progress_{shared + kProgressBegin, shared + kProgressBegin + 2 * p.shape.pairs} {
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
    for (uint32_t iteration = 1;; ++iteration) {
      settle_ = p_.shape.early_termination || iteration == p_.shape.max_iterations;
      if (settle_) Unroll<kTracks>([&](auto i) { track_[i] = 0; });
      row4_ = Opaque(row4_);  // addresses are made anew: there are no registers to keep them
      __syncthreads();
      Group<0> first;
      Prefetch<0>(first);
      RunGroup<0>(first);
      row4_ = Opaque(row4_);
      if (settle_ && Settle(
                         p_.io, p_.shape, progress_, iteration, [&] { return Check<0, 1>(); },
                         [&] { return Check<1, kMaxRows>(); }, [&] { Write(); }, StopByCrc())) {
        return;
      }
    }
  }

 private:
  // A group's rows and edges, and the registers that a group starts with.
  template <int kFirst, int kLast = L::template kGroupEnd<kFirst>>
  struct Group {
    static constexpr int kBegin = L::template kEdgeBegin<kFirst>;
    static constexpr int kEdges = L::template kEdgeBegin<kLast> - kBegin;
    static constexpr int kFirstWord = L::template kWordBegin<kFirst>;
    static constexpr int kNumWords = L::template kWordBegin<kLast> - kFirstWord;
    uint32_t address[kEdges];  // of a core edge's app, in bytes
    uint32_t app[kEdges];      // stored app; for an extension edge, ch * 2^-14
    uint32_t word[kNumWords];  // messages
  };

  __device__ __forceinline__ uint32_t& App(uint32_t address, int column) {
    return *reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(app_ + column * kStride) + address);
  }

  // Where the bit of this thread's row in the block of an edge lies in its column, in bytes.
  __device__ __forceinline__ uint32_t Locate(uint32_t edge) const {
    return Rotate(row4_, p_.shift4[edge], minus_zc4_) + pair_base_;
  }

  __device__ __forceinline__ void Load() {
    const StagedLlr llr(p_.io, p_.shape, messages_ - threadIdx.x, pair_, row4_ / 4);
    llr.Wait();
    llr.Store(Graph::kCoreColumns + p_.shape.rows - Graph::kDenseRows, Graph::kCoreColumns,
              app_ + threadIdx.x, kStride);
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

  // What a group can do before the barrier that precedes it.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void Prefetch(Group<kFirst, kLast>& g) {
    using G = Group<kFirst, kLast>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge>) {
        g.address[e] = Locate(kEdge);
        if constexpr (L::template kIsEarly<kFirst, kEdge>) {
          g.app[e] = App(g.address[e], L::template kColumn<kEdge>);
        }
      } else {
        g.app[e] = channel_[(L::template kRowOf<kEdge> - Graph::kDenseRows) * kStride];
      }
    });
    Unroll<G::kNumWords>([&](auto w) { g.word[w] = LoadWord<G::kFirstWord + w>(); });
  }

  // A row's y for x, see MessageScale.
  template <int kRow>
  __device__ __forceinline__ uint32_t Message(uint32_t x, uint32_t bias = kHalf128) const {
    if constexpr (kHasHeavy && Graph::kDegree[kRow] >= kHeavyDegree) return p_.heavy.Of(x, bias);
    return p_.light.WithoutOffset(x, bias);
  }

  // The checks of rows kFirst .. kLast - 1.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void Process(Group<kFirst, kLast>& g) {
    using G = Group<kFirst, kLast>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge> && !L::template kIsEarly<kFirst, kEdge>) {
        g.app[e] = App(g.address[e], L::template kColumn<kEdge>);
      }
    });
    Unroll<kLast - kFirst>([&](auto i) {
      constexpr int kRow = kFirst + i;
      constexpr int kDegree = L::template kCoreDegree<kRow>;
      constexpr int kEdge = L::template kEdgeBegin<kRow> - G::kBegin;
      constexpr int kWord = L::template kWordBegin<kRow> - G::kFirstWord;
      uint32_t q[kDegree];
      Unroll<kDegree>([&](auto e) {
        q[e] =
            Fma2(UnpackMessage(g.word[kWord + e / 2], e % 2), kHalfMinusTwoTo10, g.app[kEdge + e]);
      });
      // backward[e]: all from edge e on, with the extension edge and the limit.
      uint32_t backward[kDegree + 1];
      backward[kDegree] = p_.limit;
      if constexpr (kRow >= Graph::kDenseRows) {
        backward[kDegree] = BoxPlus(p_.limit, g.app[kEdge + kDegree]);
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
        App(g.address[kEdge + e], L::template kColumn<L::template kEdgeBegin<kRow> + e>) =
            Fma2(y[e], kHalfTwoTo10, q[e]);
        if constexpr (e % 2 == 1) {
          StoreWord<G::kFirstWord + kWord + e / 2>(PackMessages(y[e - 1], y[e]));
        } else if constexpr (e + 1 == kDegree) {
          StoreWord<G::kFirstWord + kWord + e / 2>(PackMessages(y[e], y[e]));
        }
      });
      if constexpr (kRow >= Graph::kDenseRows) {
        if (settle_) {
          TrackExtension<kRow>(BoxPlus(forward, p_.limit), g.app[kEdge + kDegree]);
        }
      }
    });
  }

  // The decided bit of an extension column: the sign of ch + r, r from the row's core edges.
  template <int kRow>
  __device__ __forceinline__ void TrackExtension(uint32_t x, uint32_t channel) {
    constexpr int kBit = (kRow - Graph::kDenseRows) % 16;
    const uint32_t app = Fma2(Message<kRow>(x, 0), kHalfTwoTo10, channel);
    track_[(kRow - Graph::kDenseRows) / 16] |= app >> (15 - kBit) & Both(1 << kBit);
    if constexpr (kSoft) {
      soft_[(kRow - Graph::kDenseRows) * kStride] = static_cast<uint16_t>(
          __byte_perm(ToSoft(Add2(app, kHalfMinus128 ^ kSigns)), 0, 0x4420));
    }
  }

  template <int kFirst>
  __device__ __forceinline__ void RunGroup(Group<kFirst>& g) {
    constexpr int kNext = L::template kGroupEnd<kFirst>;
    Process(g);
    if constexpr (kNext < kMaxRows) {
      constexpr int kEnd = L::template kGroupEnd<kNext>;
      if (p_.shape.rows >= kEnd) {
        Group<kNext> next;
        Prefetch(next);
        __syncthreads();
        RunGroup<kNext>(next);
      } else if (p_.shape.rows > kNext) {
        RunPart<kNext, kEnd - 1>();
      }
    }
  }

  // A group of which the code has the first rows only.
  template <int kFirst, int kLast>
  __device__ __forceinline__ void RunPart() {
    if constexpr (kLast > kFirst) {
      if (p_.shape.rows == kLast) {
        Group<kFirst, kLast> part;
        Prefetch(part);
        __syncthreads();
        Process(part);
      } else {
        RunPart<kFirst, kLast - 1>();
      }
    }
  }

  // The parity of this thread's checks in rows kFrom .. kTo - 1.
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
        constexpr int kExtension = kRow - Graph::kDenseRows;
        parity ^= track_[kExtension / 16] << (15 - kExtension % 16);
      }
      failed |= parity;
    });
    return failed & kSigns;
  }

  __device__ __forceinline__ auto StopByCrc() const {
    if constexpr (kCrc) {
      return CrcStop(p_.io, p_.shape, progress_.fail + p_.shape.pairs, app_, kStride);
    } else {
      return NoCrcStop();
    }
  }

  __device__ __forceinline__ void Write() {
    WriteBits(p_.io, p_.shape, app_, kStride, progress_.state);
    if constexpr (kSoft) {
      WriteSoft(p_.io, p_.shape, progress_.state, [&](uint32_t column, uint32_t half) {
        return column < Graph::kCoreColumns
                   ? ToSoft(app_[column * kStride + threadIdx.x]) >> (16 * half)
                   : uint32_t{soft_[(column - Graph::kCoreColumns) * kStride]} >> (8 * half);
      });
    }
  }

  const NrParameters& p_;
  uint32_t* app_;
  uint32_t* channel_;   // this thread's own, words kStride apart
  uint32_t* messages_;  // likewise
  uint16_t* soft_;      // likewise: of a pair's code words, the first in the low byte
  Progress progress_;
  uint32_t minus_zc4_;
  uint32_t pair_;
  uint32_t pair_base_;  // pair * zc * 4
  uint32_t row4_;       // row of the circulant * 4
  uint32_t registers_[kRegisterWords];
  uint32_t track_[kTracks];  // bits of the extension columns, bit (row - 4) % 16 of each half
  bool settle_;              // the checks are evaluated after this iteration
};

template <class Graph, int kMaxRows, int kRegisterWords, int kBlocks, bool kSidewise,
          NrExtra kExtra>
__global__ void __launch_bounds__(Graph::kMaxZc, kBlocks)
    DecodeNrKernel(const __grid_constant__ NrParameters parameters) {
  extern __shared__ uint32_t shared[];
  NrDecoder<Graph, kMaxRows, kRegisterWords, kSidewise, kExtra> decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
