// The decoder of the NR codes, unrolled over a base graph known at compile time. Device code. The
// arithmetic is explained in decode_half.cuh, the graph's layout in decode_nr_graph.cuh, the way
// through its rows in decode_nr_rows.cuh.
//
// A thread block decodes `pairs` pairs of code words, pairs * zc <= Graph::kMaxZc threads, one
// thread for a row of the circulant. On chip for each pair:
//
//   shared     app of the core columns   [26][384] words
//              extension columns         decode_nr_extension.cuh
//              messages, what is left    decode_nr_messages.cuh; before them, the LLRs as they
//                                        arrive
//              decided bits              decode_nr_folded.cuh, of graphs with a lifting size
//   registers  messages, kRegisterWords of each thread
//
// That is the layered schedule. Flooding has two apps: all rows read the one that the last
// iteration left, and add the difference that they make to `next`, which the first row that touches
// a column begins, and which becomes the app when all are done:
//
//              next                      [26][384] words
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_

#include <cuda_runtime_api.h>

#include <algorithm>
#include <type_traits>

#include "kernels/ldpc/decode_crc.cuh"
#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_filler.cuh"
#include "kernels/ldpc/decode_nr_extension.cuh"
#include "kernels/ldpc/decode_nr_folded.cuh"
#include "kernels/ldpc/decode_nr_messages.cuh"
#include "kernels/ldpc/decode_nr_parameters.cuh"
#include "kernels/ldpc/decode_nr_rows.cuh"
#include "kernels/ldpc/decode_staged.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// kMessageWidth: kWidth of the messages. kChannelWords: of the extension columns. kAhead: the LLRs
// of a later thread block are brought to the L2 cache, which pays where a multiprocessor has
// nothing else to do while it waits for them.
template <class Graph, int kMaxRows, int kRegisterWords, int kMessageWidth, int kChannelWords,
          bool kAhead, bool kSidewise, NrKind kKind>
class NrDecoder : NrRows<NrDecoder<Graph, kMaxRows, kRegisterWords, kMessageWidth, kChannelWords,
                                   kAhead, kSidewise, kKind>,
                         Graph, kMaxRows, uint32_t, kKind == NrKind::kFlooding> {
  static constexpr bool kCrc = kKind == NrKind::kLayeredCrc;
  static constexpr bool kFlooding = kKind == NrKind::kFlooding;
  static constexpr bool kFolds = Graph::kZc != 0 && kKind == NrKind::kLayered;
  using Rows = NrRows<NrDecoder, Graph, kMaxRows, uint32_t, kFlooding>;
  friend Rows;
  using L = Layout<Graph>;
  using Extension = ExtensionColumns<Graph, kMaxRows, kChannelWords, kFlooding>;
  using Rows::App;
  using Rows::app_;
  using Rows::kStride;
  using Messages = NrMessages<Graph, kMaxRows, kRegisterWords, kMessageWidth>;
  using Folded = std::conditional_t<kFolds, FoldedBits<Graph, kMaxRows>, NoFoldedBits>;
  static constexpr int kFirstChecks = std::min(kMaxRows, Graph::kDenseRows + 8);
  // Codes of the dense rows alone scale all checks alike.
  static constexpr bool kHasHeavy = kMaxRows > Graph::kDenseRows;

 public:
  // Shared memory, in words.
  static constexpr int kExtensionBegin = Graph::kCoreColumns * kStride;
  static constexpr int kNextBegin = kExtensionBegin + Extension::kSharedWords;
  static constexpr int kMessagesBegin =
      kNextBegin + (kFlooding ? Graph::kCoreColumns * kStride : 0);
  // Enough for the most code words that there are threads for, those of the least lifting size.
  static constexpr int kLeastZc = Graph::kZc == 0 ? 2 : Graph::kZc;
  static constexpr int kStaged =
      kStride / kLeastZc * 2 *
      StagedLlr::Words(kLeastZc * (Graph::kCoreColumns + kMaxRows - Graph::kDenseRows));
  static constexpr int kFoldedBegin = kMessagesBegin + std::max(Messages::kSharedWords, kStaged);
  static_assert(kFoldedBegin % 2 == 0);
  static constexpr int kProgressBegin = kFoldedBegin + Folded::kSharedWords;
  static constexpr int SharedWords(int pairs) {
    constexpr uint32_t kWordsPerPair =
        Progress::kWordsPerPair + (kCrc ? CrcStop::kWordsPerPair : 0);
    return kProgressBegin + static_cast<int>(kWordsPerPair) * pairs;
  }

  __device__ __forceinline__ NrDecoder(const NrParameters& p, uint32_t* shared)
      : NrDecoder(p, shared, kSidewise ? threadIdx.x / p.shape.zc : 0) {}

  __device__ __forceinline__ void Run() {
    InitProgress(p_.io, shape_, progress_);
    if constexpr (kCrc) {
      for (uint32_t i = threadIdx.x; i < 2 * shape_.pairs; i += blockDim.x) StopByCrc().Clear(i);
    }
    if constexpr (kFolds) folded_.Clear();
    Load();
    __syncthreads();
    for (uint32_t iteration = 1;; ++iteration) {
      Rows::Iterate(shape_.rows);
      if constexpr (kFlooding) TakeNext();
      const bool settle = shape_.early_termination || iteration == shape_.max_iterations;
      if (!settle) continue;
      if constexpr (kFolds) {
        // After the last iteration all are looked at anyway.
        const uint32_t failed = iteration == shape_.max_iterations ? 0 : Check<0, 1>();
        if (Settle<true>(
                p_.io, shape_, progress_, iteration, failed, [&] { Write(); }, StopByCrc(),
                [&] { return CheckFolded(); })) {
          return;
        }
      } else {
        if (Settle(
                p_.io, shape_, progress_, iteration, Check<0, 1>(), [&] { Write(); }, StopByCrc(),
                [&] { return Check<1, kFirstChecks>(); },
                [&] {
                  return Check<kFirstChecks, kMaxRows>() |
                         FillersThatAreOne(p_.io, shape_, pair_, Rows::row4_ / 4,
                                           app_ + threadIdx.x, kStride);
                })) {
          return;
        }
      }
    }
  }

 private:
  __device__ __forceinline__ NrDecoder(const NrParameters& p, uint32_t* shared, uint32_t pair)
      : Rows(p.shifts, shared, kSidewise ? pair * p.shape.zc : 0,
             threadIdx.x - (kSidewise ? pair * p.shape.zc : 0)),
        p_(p),
        shape_(ShapeOf<Graph>(p.shape)),
        extension_(p.scales, shared + kExtensionBegin),
        messages_(shared + kMessagesBegin),
        staged_(shared + kMessagesBegin),
        folded_(shared + kFoldedBegin),
        progress_(shared + kProgressBegin, p.shape.pairs),
        pair_(pair) {}

  // The registers that a group starts with.
  template <int kFirst>
  struct Group : RowGroup<Graph, kMaxRows, kFirst> {
    using G = RowGroup<Graph, kMaxRows, kFirst>;
    static constexpr int kFirstWord = L::template kWordBegin<kFirst>;
    static constexpr int kEndWord = L::template kWordBegin<G::kLast>;
    uint32_t address[G::kEdges];               // of a core edge's app, in bytes
    uint32_t app[G::kEdges];                   // stored app; of an extension edge, its Stored
    uint32_t next[kFlooding ? G::kEdges : 1];  // likewise, of a core edge
    uint32_t word[kEndWord - kFirstWord];      // messages
  };

  // Where a row puts an app.
  __device__ __forceinline__ uint32_t& NextApp(uint32_t address, int column) const {
    return App(address + (kFlooding ? 4 * kNextBegin : 0), column);
  }
  __device__ __forceinline__ void TakeNext() const {
#pragma unroll
    for (int c = 0; c < Graph::kCoreColumns; ++c) {
      app_[c * kStride + threadIdx.x] = app_[kNextBegin + c * kStride + threadIdx.x];
    }
    __syncthreads();
  }

  __device__ __forceinline__ void Load() {
    const uint32_t row = Rows::row4_ / 4;
    const StagedLlr llr(p_.io, shape_, staged_, pair_, row);
    if constexpr (kAhead) {
      const LlrAhead ahead(p_.io, shape_, p_.ahead);
      llr.Wait();
      ahead.Fetch();
    } else {
      llr.Wait();
    }
    llr.StoreWords(0, Graph::kCoreColumns, 0, app_ + (threadIdx.x - row), kStride);
    extension_.Load(llr, shape_.rows, row);
    __syncthreads();  // the staged LLRs are read: their place becomes the messages'
    messages_.Clear();
  }

  template <int kFirst>
  __device__ __forceinline__ void Prefetch(Group<kFirst>& g) const {
    using G = Group<kFirst>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge>) {
        g.address[e] = Rows::template Locate<kEdge>();
      } else {
        g.app[e] = extension_.template Stored<L::template kRowOf<kEdge> - Graph::kDenseRows>();
      }
    });
    Rows::template ReadApps<kFirst, true>(g);
    messages_.template Load<G::kFirstWord, G::kEndWord>(g.word);
  }

  template <int kFirst>
  __device__ __forceinline__ void ReadLate(Group<kFirst>& g) const {
    using G = Group<kFirst>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (kFlooding && L::template kIsCore<kEdge> && !L::template kIsFirst<kEdge>) {
        g.next[e] = NextApp(g.address[e], L::template kColumn<kEdge>);
      }
    });
  }

  template <int kRow>
  static constexpr bool kIsHeavy = kHasHeavy&& Graph::kDegree[kRow] >= kHeavyDegree;

  // A row's y for x, see MessageScale.
  template <int kRow>
  __device__ __forceinline__ uint32_t Message(uint32_t x) const {
    return kIsHeavy<kRow> ? p_.scales.heavy.Of(x) : p_.scales.light.WithoutOffset(x);
  }

  template <int kFirst>
  __device__ __forceinline__ void Process(Group<kFirst>& g) {
    using G = Group<kFirst>;
    Unroll<G::kRows>([&](auto i) {
      constexpr int kRow = kFirst + i;
      constexpr int kDegree = L::template kCoreDegree<kRow>;
      constexpr int kEdge = L::template kEdgeBegin<kRow> - G::kBegin;
      constexpr int kWord = L::template kWordBegin<kRow> - G::kFirstWord;
      uint32_t q[kDegree];
      uint32_t others[kDegree];  // what the new message is added to
      Unroll<kDegree>([&](auto e) {
        const uint32_t message = Messages::template Unpack<kRow, e>(g.word[kWord + e / 2]);
        q[e] = Fma2(message, kHalfMinusTwoTo10, g.app[kEdge + e]);
        if constexpr (kFlooding && !L::template kIsFirst<L::template kEdgeBegin<kRow> + e>) {
          others[e] = Fma2(message, kHalfMinusTwoTo10, g.next[kEdge + e]);
        } else {
          others[e] = q[e];
        }
      });
      // backward[e]: all from edge e on, with the extension edge and the limit.
      uint32_t backward[kDegree + 1];
      backward[kDegree] = p_.scales.limit;
      if constexpr (kRow >= Graph::kDenseRows) {
        constexpr int kExtension = kRow - Graph::kDenseRows;
        backward[kDegree] = BoxPlus(
            p_.scales.limit, Extension::template Channel<kExtension>(g.app[kEdge + kDegree]));
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
        if constexpr (e % 2 == 1 || e + 1 == kDegree) {
          g.word[kWord + e / 2] = Messages::template Pack<kRow, e>(y[e == 0 ? 0 : e - 1], y[e]);
          messages_.template Store<G::kFirstWord, G::kFirstWord + kWord + e / 2>(g.word);
        }
      });
      if constexpr (kRow >= Graph::kDenseRows) {
        extension_.Keep(kRow - Graph::kDenseRows, forward, kIsHeavy<kRow>);
      }
    });
  }

  // The parity of this thread's checks in rows kFrom .. kTo - 1: the sign bits of those that fail.
  template <int kFrom, int kTo>
  __device__ __forceinline__ uint32_t Check() {
    uint32_t failed = 0;
    Unroll<kTo - kFrom>([&](auto i) {
      constexpr int kRow = kFrom + i;
      if (shape_.rows <= kRow) return;
      constexpr int kBegin = L::template kEdgeBegin<kRow>;
      uint32_t parity = 0;
      Unroll<L::template kCoreDegree<kRow>>([&](auto e) {
        const uint32_t app =
            App(Rows::template Locate<kBegin + e>(), L::template kColumn<kBegin + e>);
        parity ^= Add2(app, kHalfMinus128);
      });
      if constexpr (kRow >= Graph::kDenseRows) {
        parity ^= extension_.template Bits<kRow - Graph::kDenseRows>(kIsHeavy<kRow>);
      }
      failed |= parity;
    });
    return failed & kSigns;
  }

  // All checks, the fillers' too, of folded bits: this thread's share of them, likewise. Leaves the
  // bits to Write.
  __device__ __forceinline__ uint32_t CheckFolded() {
    DecodeBlock block[2];  // here, for they take a while to come
    LoadBlocks(p_.io, blockIdx.x, block);
    folded_.template FoldCore<kStride>(app_ + threadIdx.x);
    folded_.FoldExtensions(shape_.rows, [&](auto e) {
      return extension_.template Sum<e>(kIsHeavy<Graph::kDenseRows + e>);
    });
    __syncthreads();
    return folded_.Failed(shape_.rows) | folded_.FillersThatAreOne(shape_.k, block);
  }

  __device__ __forceinline__ auto StopByCrc() const {
    if constexpr (kCrc) {
      return CrcStop(p_.io, shape_, progress_.fail + 2 * shape_.pairs, app_, kStride);
    } else {
      return NoCrcStop();
    }
  }

  __device__ __forceinline__ void Write() {
    const BitWriter writer(p_.io, shape_, app_, kStride, progress_.state);
    if constexpr (kFolds) {
      folded_.Write(writer, shape_.k);
    } else {
      writer.Write();
    }
    if (p_.io.soft == nullptr) return;
    WriteSoft(p_.io, shape_, progress_.state, [&](uint32_t column, uint32_t half) {
      if (column < Graph::kCoreColumns) {
        return ToSoft(app_[column * kStride + threadIdx.x]) >> (16 * half);
      }
      return ToSoft(extension_.App(static_cast<int>(column) - Graph::kCoreColumns)) >> (16 * half);
    });
  }

  const NrParameters& p_;
  const std::conditional_t<Graph::kZc == 0, const DecodeShape&, DecodeShape> shape_;
  Extension extension_;
  Messages messages_;
  uint32_t* staged_;
  Folded folded_;
  Progress progress_;
  uint32_t pair_;
};

template <class Graph, int kMaxRows, int kRegisterWords, int kBlocks, int kMessageWidth,
          int kChannelWords, bool kSidewise, NrKind kKind>
__global__ void __launch_bounds__(Graph::kMaxZc, kBlocks)
    DecodeNrKernel(const __grid_constant__ NrParameters parameters) {
  extern __shared__ __align__(16) uint32_t shared[];  // read in units of 16 bytes too
  NrDecoder<Graph, kMaxRows, kRegisterWords, kMessageWidth, kChannelWords, kBlocks == 1, kSidewise,
            kKind>
      decoder(parameters, shared);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_CUH_
