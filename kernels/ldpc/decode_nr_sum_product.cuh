// The sum-product decoder of the NR codes: layered, unrolled over a base graph known at compile
// time. Device code. The arithmetic is explained in decode_odds.cuh, the graph's layout in
// decode_nr_graph.cuh, the way through its rows in decode_nr_rows.cuh.
//
// A thread block decodes `words` code words side by side, words * zc <= Graph::kMaxZc threads, one
// thread for a row of the circulant, and goes on to the next ones. A message is a float, and there
// are too many of them for a multiprocessor: those of all core edges, dealt out evenly, so that no
// row waits for long, lie in
//   registers  kRegisterEdges of each thread
//   shared     [kSharedEdges][384], beside app of the core columns [26][384], what was received of
//              the extension columns [rows - 4][384] bytes, and x of every byte [256]
//   workspace  [the others][384] floats a thread block, which stay in the L2 cache; and there also
//              the messages of extension columns, which only finished iterations ask for
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_SUM_PRODUCT_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_SUM_PRODUCT_CUH_

#include <algorithm>

#include "kernels/ldpc/decode_filler.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/decode_nr_rows.cuh"
#include "kernels/ldpc/decode_odds.cuh"
#include "kernels/ldpc/decode_word.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

struct NrSumProductParameters {
  DecodeIo io;
  DecodeShape shape;  // `pairs` is not used
  uint32_t words;     // code words side by side
  float llr_scale;
  float* workspace;  // kWorkspaceWords a thread block
  NrShifts shifts;
};

// Where a core edge's messages lie: the graph's are dealt out in turn, in the same proportion.
template <class Graph, int kRegisterEdges, int kSharedEdges>
struct MessagePlaces {
  using L = Layout<Graph>;
  static constexpr int CoreEdges() {
    int count = 0;
    for (int r = 0; r < Graph::kRows; ++r) count += L::CoreDegree(r);
    return count;
  }
  static constexpr int kCoreEdges = CoreEdges();
  static constexpr int kRegisters = std::min(kRegisterEdges, kCoreEdges);
  static constexpr int kShareds = std::min(kSharedEdges, kCoreEdges - kRegisters);
  static constexpr int kInWorkspace = kCoreEdges - kRegisters - kShareds;

  // How many of the first n of all core edges lie in the workspace, and how many of the others in
  // shared memory.
  static constexpr int InWorkspaceBefore(int n) { return n * kInWorkspace / kCoreEdges; }
  static constexpr int SharedsBefore(int n) {
    return kCoreEdges == kInWorkspace
               ? 0
               : (n - InWorkspaceBefore(n)) * kShareds / (kCoreEdges - kInWorkspace);
  }
  static constexpr int CoreIndex(int edge) {
    int count = 0;
    for (int e = 0; e < edge; ++e) count += Graph::kColumn[e] < Graph::kCoreColumns ? 1 : 0;
    return count;
  }
  enum Memory { kRegister, kShared, kWorkspace };
  template <int kEdge>
  struct Of {
    static constexpr int kN = CoreIndex(kEdge);
    static constexpr bool kIsInWorkspace = InWorkspaceBefore(kN + 1) > InWorkspaceBefore(kN);
    static constexpr bool kIsShared = !kIsInWorkspace && SharedsBefore(kN + 1) > SharedsBefore(kN);
    static constexpr Memory kMemory = kIsInWorkspace ? kWorkspace : kIsShared ? kShared : kRegister;
    static constexpr int kIndex = kIsInWorkspace ? InWorkspaceBefore(kN)
                                  : kIsShared    ? SharedsBefore(kN)
                                                 : kN - InWorkspaceBefore(kN) - SharedsBefore(kN);
  };
};

// kSidewise: several code words a thread block.
template <class Graph, int kRegisterEdges, int kSharedEdges, bool kSidewise>
class NrSumProductDecoder
    : NrRows<NrSumProductDecoder<Graph, kRegisterEdges, kSharedEdges, kSidewise>, Graph,
             Graph::kRows, float, false> {
  using Rows = NrRows<NrSumProductDecoder, Graph, Graph::kRows, float, false>;
  friend Rows;
  using L = Layout<Graph>;
  using Places = MessagePlaces<Graph, kRegisterEdges, kSharedEdges>;
  using Rows::App;
  using Rows::app_;
  using Rows::kStride;
  static constexpr int kExtensions = Graph::kRows - Graph::kDenseRows;

 public:
  // Shared memory and workspace, in words.
  static constexpr int kOddsBegin = Graph::kCoreColumns * kStride;
  static constexpr int kMessagesBegin = kOddsBegin + 256;
  static constexpr int kChannelBegin = kMessagesBegin + Places::kShareds * kStride;
  static constexpr int kProgressBegin = kChannelBegin + (kExtensions * kStride + 3) / 4;
  static constexpr int SharedBytes(int words) {
    return 4 * kProgressBegin + static_cast<int>(WordProgress::Bytes(static_cast<uint32_t>(words)));
  }
  static constexpr int kWorkspaceWords = (Places::kInWorkspace + kExtensions) * kStride;

  __device__ __forceinline__ NrSumProductDecoder(const NrSumProductParameters& p, float* shared)
      : NrSumProductDecoder(p, shared, kSidewise ? threadIdx.x / p.shape.zc : 0) {}

  __device__ __forceinline__ void Run() {
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
      odds_[i] = ToOdds(ToUnits(static_cast<float>(i) - 128.0f, p_.llr_scale));
    }
    for (uint32_t first = blockIdx.x * p_.words; first < p_.io.num_blocks;
         first += gridDim.x * p_.words) {
      __syncthreads();
      Decode(first + word_);
    }
  }

 private:
  __device__ __forceinline__ NrSumProductDecoder(const NrSumProductParameters& p, float* shared,
                                                 uint32_t word)
      : Rows(p.shifts, shared, word * p.shape.zc, threadIdx.x - word * p.shape.zc),
        p_(p),
        word_(word),
        row_(threadIdx.x - word * p.shape.zc),
        odds_(shared + kOddsBegin),
        messages_(shared + kMessagesBegin + threadIdx.x),
        channel_(reinterpret_cast<int8_t*>(shared + kChannelBegin) + threadIdx.x),
        workspace_(p.workspace + size_t{blockIdx.x} * kWorkspaceWords + threadIdx.x),
        progress_(reinterpret_cast<uint32_t*>(shared + kProgressBegin), p.words, word_, row_) {}

  template <int kFirst>
  struct Group : RowGroup<Graph, Graph::kRows, kFirst> {
    using G = RowGroup<Graph, Graph::kRows, kFirst>;
    uint32_t address[G::kEdges];  // of a core edge's app, in bytes
    float value[G::kEdges];       // its message; x of an extension edge, with the sign
    float app[G::kEdges];
  };

  // One past the end is as if nothing of it was received.
  __device__ __forceinline__ void Decode(uint32_t index) {
    const bool exists = index < p_.io.num_blocks;
    DecodeBlock block;
    if (exists) block = p_.io.blocks[index];
#pragma unroll 4
    for (uint32_t c = 0; c < Graph::kCoreColumns; ++c) {
      app_[c * kStride + threadIdx.x] =
          OddsChannel(p_.shape, block, p_.llr_scale, c * p_.shape.zc + row_);
    }
#pragma unroll 4
    for (int e = 0; e < kExtensions; ++e) {
      const bool is_there = static_cast<uint32_t>(e + Graph::kDenseRows) < p_.shape.rows;
      const uint32_t bit = static_cast<uint32_t>(Graph::kCoreColumns + e) * p_.shape.zc + row_;
      channel_[e * kStride] =
          static_cast<int8_t>(is_there ? LoadChannel(p_.shape, block, block.llr, bit) : 0);
    }
    Unroll<Places::kRegisters>([&](auto i) { registers_[i] = 0.0f; });
#pragma unroll 4
    for (int i = 0; i < Places::kShareds; ++i) messages_[i * kStride] = 0.0f;
#pragma unroll 4
    for (int i = 0; i < Places::kInWorkspace; ++i) workspace_[i * kStride] = 0.0f;
    progress_.Begin(exists);
    __syncthreads();
    for (uint32_t iteration = 1;; ++iteration) {
      Rows::Iterate(p_.shape.rows);
      const bool last = iteration == p_.shape.max_iterations;
      if (!p_.shape.early_termination && !last) continue;
      if (progress_.Settle(
              p_.io, block, iteration, last, [&] { return Fails(block); }, [&] { Write(block); })) {
        return;
      }
    }
  }

  template <int kEdge>
  __device__ __forceinline__ float& Message() {
    using Place = typename Places::template Of<kEdge>;
    if constexpr (Place::kMemory == Places::kRegister) {
      return registers_[Place::kIndex];
    } else if constexpr (Place::kMemory == Places::kShared) {
      return messages_[Place::kIndex * kStride];
    } else {
      return workspace_[Place::kIndex * kStride];
    }
  }

  template <int kFirst>
  __device__ __forceinline__ void Prefetch(Group<kFirst>& g) {
    using G = Group<kFirst>;
    Unroll<G::kEdges>([&](auto e) {
      constexpr int kEdge = G::kBegin + e;
      if constexpr (L::template kIsCore<kEdge>) {
        g.address[e] = Rows::template Locate<kEdge>();
        g.value[e] = Message<kEdge>();
      } else {
        const int channel = channel_[(L::template kRowOf<kEdge> - Graph::kDenseRows) * kStride];
        g.value[e] = WithSign(odds_[channel + 128], static_cast<uint32_t>(channel));
      }
    });
    Rows::template ReadApps<kFirst, true>(g);
  }
  template <int kFirst>
  __device__ __forceinline__ void ReadLate(Group<kFirst>&) const {}

  template <int kFirst>
  __device__ __forceinline__ void Process(Group<kFirst>& g) {
    using G = Group<kFirst>;
    Unroll<G::kRows>([&](auto i) {
      constexpr int kRow = kFirst + i;
      constexpr int kDegree = L::template kCoreDegree<kRow>;
      constexpr int kBegin = L::template kEdgeBegin<kRow>;
      constexpr int kEdge = kBegin - G::kBegin;
      constexpr bool kIsExtended = kRow >= Graph::kDenseRows;
      float q[kDegree];
      float x[kDegree + (kIsExtended ? 1 : 0)];
      uint32_t signs = 0;
      Unroll<kDegree>([&](auto e) {
        q[e] = g.app[kEdge + e] - g.value[kEdge + e];
        x[e] = ToOdds(q[e]);
        signs ^= __float_as_uint(q[e]);
      });
      const uint32_t core_signs = signs;
      if constexpr (kIsExtended) {
        x[kDegree] = fabsf(g.value[kEdge + kDegree]);
        signs ^= __float_as_uint(g.value[kEdge + kDegree]);
      }
      ForEachLeftOut(x, [&](auto e, const Odds& others) {
        if constexpr (e < kDegree) {
          const float limit = WithSign(kOddsLimit, signs ^ __float_as_uint(q[e]));
          const float r = __fmul_rn(others.Fraction(), limit);
          Message<kBegin + e>() = r;
          App(g.address[kEdge + e], L::template kColumn<kBegin + e>) = q[e] + r;
        } else {
          workspace_[(Places::kInWorkspace + kRow - Graph::kDenseRows) * kStride] =
              WithSign(others.Logarithm(), core_signs);
        }
      });
    });
  }

  __device__ __forceinline__ float ExtensionApp(uint32_t extension) const {
    const float message = workspace_[(Places::kInWorkspace + extension) * kStride];
    return ToUnits(channel_[extension * kStride], p_.llr_scale) +
           fmaxf(-kOddsLimit, fminf(kOddsLimit, message));
  }

  // Whether a check of this thread's does not hold, or a filler of its row was decided 1.
  __device__ __forceinline__ bool Fails(const DecodeBlock& block) const {
    bool failed = false;
    Unroll<Graph::kRows>([&](auto r) {
      if (p_.shape.rows <= r || failed) return;
      constexpr int kBegin = L::template kEdgeBegin<r>;
      Unroll<L::template kCoreDegree<r>>([&](auto e) {
        failed ^= App(Rows::template Locate<kBegin + e>(), L::template kColumn<kBegin + e>) < 0;
      });
      if constexpr (r >= Graph::kDenseRows) failed ^= ExtensionApp(r - Graph::kDenseRows) < 0;
    });
    return failed || AnyFillerIsOne(p_.shape, block, row_, [&](uint32_t column) {
             return app_[column * kStride + threadIdx.x] < 0;
           });
  }

  __device__ __forceinline__ void Write(const DecodeBlock& block) const {
    const uint32_t zc = p_.shape.zc;
    WriteWordBits(p_.io, p_.shape, block, row_, [&](uint32_t bit) {
      const uint32_t column = Divide(bit, p_.shape.zc_magic);
      return app_[column * (kStride - zc) + word_ * zc + bit] < 0;
    });
    WriteWordSoft(p_.io, p_.shape, block, row_, [&](uint32_t column) {
      return OddsToSoft(column < Graph::kCoreColumns ? app_[column * kStride + threadIdx.x]
                                                     : ExtensionApp(column - Graph::kCoreColumns),
                        p_.llr_scale);
    });
  }

  const NrSumProductParameters& p_;
  uint32_t word_;
  uint32_t row_;
  float* odds_;       // of every byte + 128
  float* messages_;   // this thread's own, kStride apart
  int8_t* channel_;   // likewise
  float* workspace_;  // likewise
  WordProgress progress_;
  float registers_[Places::kRegisters];
};

template <class Graph, int kRegisterEdges, int kSharedEdges, int kBlocks, bool kSidewise>
__global__ void __launch_bounds__(Graph::kMaxZc, kBlocks)
    DecodeNrSumProductKernel(const __grid_constant__ NrSumProductParameters parameters) {
  extern __shared__ float shared_floats[];
  NrSumProductDecoder<Graph, kRegisterEdges, kSharedEdges, kSidewise> decoder(parameters,
                                                                              shared_floats);
  decoder.Run();
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_SUM_PRODUCT_CUH_
