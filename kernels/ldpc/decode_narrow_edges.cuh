// How a thread of the narrow kernel (decode_narrow.cuh) finds its word of an edge, and where it
// leaves it: of shifts that come at run time, and of constant ones. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_EDGES_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_EDGES_CUH_

#include <cuda_runtime_api.h>

#include <type_traits>

#include "kernels/ldpc/decode_narrow_schedule.cuh"
#include "kernels/ldpc/decode_narrow_turns.cuh"
#include "kernels/ldpc/decode_narrow_word.cuh"

namespace baseband::ldpc::device {

// Whoever reads a word turns it: NarrowTurningParameters say how.
template <class Graph, int kMaxRows, bool kAllRows>
class NarrowTurnedEdges {
  using W = NarrowWord<Graph, kMaxRows, kAllRows>;
  using S = NarrowSchedule<Graph>;
  template <int kEdge>
  static constexpr int kColumn = Layout<Graph>::template kColumn<kEdge>;

 public:
  struct Where {
    uint32_t at;  // in the slot, in bytes
    uint32_t e;
  };

  __device__ __forceinline__ explicit NarrowTurnedEdges(const W& word)
      : w_(word), four_(word.p.four), half4_(word.p.half4) {}

  template <int kRow, int kPlace>
  __device__ __forceinline__ Where Locate() const {
    constexpr int kEdge = S::template kEdge<kRow, kPlace>;
    Where where;
    where.e = w_.row * four_ + w_.p.step[kEdge];
    where.at = __viaddmin_u32(where.e, half4_, where.e);
    if constexpr (S::template kReadSlot<kRow, kPlace> < 0) {
      where.at += w_.p.last_slot4[kColumn<kEdge>];
    }
    return where;
  }
  // The word there, not turned yet.
  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t Read(const Where& where) const {
    constexpr int kSlot = S::template kReadSlot<kRow, kPlace>;
    const uint32_t* slot = w_.Slot(kColumn<S::template kEdge<kRow, kPlace>>, kSlot < 0 ? 0 : kSlot);
    return *reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(slot) + where.at);
  }
  template <int kRow>
  __device__ __forceinline__ uint32_t Turns() const {
    return w_.p.turns[kRow];
  }
  template <int kPlace>
  __device__ __forceinline__ static uint32_t Turn(uint32_t word, const Where& where,
                                                  uint32_t turns) {
    return ((where.e ^ turns) & 1u << (kNarrowFirstTurn + kPlace)) != 0 ? W::Exchange(word) : word;
  }
  template <int kRow, int kPlace>
  __device__ __forceinline__ void Put(uint32_t app) const {
    w_.Slot(kColumn<S::template kEdge<kRow, kPlace>>,
            S::template kWriteSlot<kRow, kPlace>)[w_.row] = app;
  }

 private:
  W w_;
  uint32_t four_;  // unknown to the compiler: multiplications have a pipe that is less used
  uint32_t half4_;
};

// Whoever writes a word leaves it turned and not turned: decode_narrow_turns.cuh.
template <class Graph, int kMaxRows, bool kAllRows>
class NarrowCopiedEdges {
  static_assert(kAllRows);
  using W = NarrowWord<Graph, kMaxRows, kAllRows>;
  using S = NarrowSchedule<Graph>;
  using T = NarrowTurns<Graph, kMaxRows>;
  template <int kEdge>
  static constexpr int kColumn = Layout<Graph>::template kColumn<kEdge>;

 public:
  struct Where {};

  __device__ __forceinline__ explicit NarrowCopiedEdges(const W& word) : w_(word) {}

  template <int kRow, int kPlace>
  __device__ __forceinline__ Where Locate() const {
    return {};
  }
  template <int kRow, int kPlace>
  __device__ __forceinline__ uint32_t Read(const Where&) const {
    constexpr int kEdge = S::template kEdge<kRow, kPlace>;
    constexpr int kSlot = S::template kReadSlot<kRow, kPlace>;
    constexpr int kLast = T::template kLastSlot<kColumn<kEdge>>;
    return w_.Slot(kColumn<kEdge>, kSlot < 0 ? kLast : kSlot)[w_.row + T::template kAt<kEdge>];
  }
  template <int kRow>
  __device__ __forceinline__ uint32_t Turns() const {
    return 0;
  }
  template <int kPlace>
  __device__ __forceinline__ static uint32_t Turn(uint32_t word, const Where&, uint32_t) {
    return word;
  }
  template <int kRow, int kPlace>
  __device__ __forceinline__ void Put(uint32_t app) const {
    constexpr int kEdge = S::template kEdge<kRow, kPlace>;
    T::template Put<kEdge>(w_.Slot(kColumn<kEdge>, S::template kWriteSlot<kRow, kPlace>) + w_.row,
                           app, W::Exchange(app));
  }

 private:
  W w_;
};

template <class Graph, int kMaxRows, bool kAllRows>
using NarrowEdges =
    std::conditional_t<Graph::kZc == 0, NarrowTurnedEdges<Graph, kMaxRows, kAllRows>,
                       NarrowCopiedEdges<Graph, kMaxRows, kAllRows>>;

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_EDGES_CUH_
