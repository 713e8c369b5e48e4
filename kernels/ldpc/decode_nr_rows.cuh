// The walk of the NR decoders over the rows of a base graph known at compile time. Device code.
//
// One thread does a row of the circulant, so that a row of the base matrix is one check a thread.
// Rows are done in groups, see Layout::GroupEnd, with a barrier between two. What of a group needs
// not wait for the one before is begun in front of that barrier. An iteration is one piece of code
// without a jump that is taken: what is rarely wanted lies behind it, for instructions behind a
// jump have to be waited for.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_ROWS_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_ROWS_CUH_

#include <algorithm>

#include "kernels/ldpc/decode_half.cuh"
#include "kernels/ldpc/decode_nr_graph.cuh"
#include "kernels/ldpc/unroll.cuh"

namespace baseband::ldpc::device {

// What a code adds to its base graph.
struct NrShifts {
  uint32_t minus_zc4;            // -4 * zc
  uint32_t zero;                 // 0, but the compiler does not know
  uint32_t shift4[kNrMaxEdges];  // shift * 4
};

// The rows kFirst .. kLast - 1 of one group, of a decoder that knows kMaxRows rows.
template <class Graph, int kMaxRows, int kFirst>
struct RowGroup {
  using L = Layout<Graph>;
  static constexpr int kLast = std::min(L::GroupEnd(kFirst), kMaxRows);
  static constexpr int kRows = kLast - kFirst;
  static constexpr int kBegin = L::template kEdgeBegin<kFirst>;
  static constexpr int kEdges = L::template kEdgeBegin<kLast> - kBegin;
};

// The base class of a decoder, which tells itself as `Decoder`. `Value` is a stored app, of four
// bytes; the apps of a core column lie Graph::kMaxZc values apart whatever zc is, so that a column
// is an immediate offset. kReadsAhead: apps are read in front of the barrier, for no row writes
// what others read. Decoder has, for each group that begins with a row kFirst,
//   Group<kFirst>           a RowGroup with address[kEdges] of the core edges' apps, in bytes, and
//                           app[kEdges], of type Value
//   Prefetch(group)         locates the core edges, and reads what may be read before the barrier:
//                           apps by ReadApps<kFirst, true>
//   ReadLate(group)         reads behind it what else there is than apps
//   Process(group)          does the checks
template <class Decoder, class Graph, int kMaxRows, class Value, bool kReadsAhead>
class NrRows {
 protected:
  using L = Layout<Graph>;
  static constexpr int kStride = Graph::kMaxZc;

  // app: [core columns][kStride] in shared memory; `base` is the place in a column where this
  // thread's code word begins, `row` that of the thread behind it.
  __device__ __forceinline__ NrRows(const NrShifts& shifts, Value* app, uint32_t base, uint32_t row)
      : app_(app),
        row4_(Opaque(row * 4)),
        base4_(base * 4),
        shifts_(shifts),
        minus_zc4_(shifts.minus_zc4) {}

  __device__ __forceinline__ Value& App(uint32_t address, int column) const {
    return *reinterpret_cast<Value*>(reinterpret_cast<char*>(app_ + column * kStride) + address);
  }
  // Where the bit of this thread's row in the block of an edge lies in its column, in bytes.
  template <int kEdge>
  __device__ __forceinline__ uint32_t Locate() const {
    if constexpr (Graph::kZc != 0) {
      constexpr uint32_t kShift4 = 4 * Graph::template kShift<kEdge>;
      return kShift4 == 0 ? row4_ : Rotate(row4_, kShift4, 0u - 4 * Graph::kZc);
    } else {
      return Rotate(row4_, shifts_.shift4[kEdge], minus_zc4_) + base4_;
    }
  }

  // The first `rows` rows, or the groups that they begin; and a barrier.
  __device__ __forceinline__ void Iterate(uint32_t rows) {
    // Addresses are made anew: there are no registers to keep them.
    if constexpr (!kAnewOnce) row4_ += shifts_.zero;
    typename Decoder::template Group<0> first;
    Self().Prefetch(first);
    ReadApps<0, false>(first);
    Self().ReadLate(first);
    RunGroup<0>(first, rows);
    row4_ += shifts_.zero;
    __syncthreads();
  }

  // Reads the apps of a group's core edges that may be read before the barrier in front of it, or
  // the others.
  template <int kFirst, bool kEarly, class Group>
  __device__ __forceinline__ void ReadApps(Group& g) const {
    Unroll<Group::kEdges>([&](auto e) {
      constexpr int kEdge = Group::kBegin + e;
      if constexpr (L::template kIsCore<kEdge> &&
                    (kReadsAhead || L::template kIsEarly<kFirst, kEdge>) == kEarly) {
        g.app[e] = App(g.address[e], L::template kColumn<kEdge>);
      }
    });
  }

  Value* app_;
  uint32_t row4_;
  uint32_t base4_;

 private:
  // Where shifts are constants it is enough to make addresses anew behind an iteration: both
  // together are a load that has to be waited for. It is 1 % faster at 46 rows of base graph 1, and
  // as much slower at 12 and of base graph 2, for what the compiler does with the rest.
  static constexpr bool kAnewOnce =
      Graph::kZc != 0 && Graph::kRows == BaseGraph1::kRows && kMaxRows != 12;

  __device__ __forceinline__ Decoder& Self() { return static_cast<Decoder&>(*this); }

  // Of a group of which the code has the first rows only, the others change nothing: nothing was
  // received of their extension columns, and so all their messages are zero.
  template <int kFirst, class Group>
  __device__ __forceinline__ void RunGroup(Group& g, uint32_t rows) {
    constexpr int kNext = Group::kLast;
    Self().Process(g);
    if constexpr (kNext < kMaxRows) {
      // Taken for few codes; but where there is no jump the compiler begins so much of a group in
      // front of the one before that registers do not suffice.
      if (rows <= kNext) return;
      typename Decoder::template Group<kNext> next;
      Self().Prefetch(next);
      __syncthreads();
      ReadApps<kNext, false>(next);
      Self().ReadLate(next);
      RunGroup<kNext>(next, rows);
    }
  }

  const NrShifts& shifts_;
  uint32_t minus_zc4_;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_ROWS_CUH_
