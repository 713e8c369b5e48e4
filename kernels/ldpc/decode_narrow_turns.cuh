// How rows of the narrow kernel (decode_narrow.cuh) find their words where the shifts are
// constants, that is, for a graph with a lifting size: worked out at compile time.
//
// Of a value whose next reader is the edge with `step`, its writer leaves two words, one as it is
// and one with its halves exchanged, h apart: t and t + h of a slot of zc words. With the right one
// of them first, the reader's word is at t + step mod h for all threads, and in order:
//
//   step < h    at t: as it is, at t + h: exchanged
//   step >= h   the other way round
//
// So a reader computes nothing. A step of 0 reads no second word, and none is written.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_TURNS_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_TURNS_CUH_

#include <cstdint>
#include <utility>

#include "kernels/base/host_device.h"
#include "kernels/ldpc/decode_narrow_schedule.cuh"

namespace baseband::ldpc::device {

// Of codes with the first kRows rows of Graph, these and no others.
template <class Graph, int kRows>
struct NarrowTurns {
  static constexpr int kHalf = Graph::kZc / 2;
  static_assert(Graph::kZc % 64 == 0);  // a team is whole warps

  struct Table {
    // By edge.
    uint32_t at[Graph::kEdges] = {};     // where its word is in the slot, behind thread t's
    bool exchanged[Graph::kEdges] = {};  // whether what it writes is exchanged at t
    bool has_copy[Graph::kEdges] = {};   // whether what it writes is at t + h too
    // By column.
    int last_edge[Graph::kCoreColumns] = {};
    uint32_t last_shift[Graph::kCoreColumns] = {};
  };
  template <int... kEdges>
  static constexpr Table Make(std::integer_sequence<int, kEdges...>) {
    constexpr uint32_t kShift[] = {Graph::template kShift<kEdges>...};
    Table t;
    int end = 0;
    for (int r = 0; r < kRows; ++r) end += Graph::kDegree[r];
    for (int e = 0; e < end; ++e) {
      if (Graph::kColumn[e] < Graph::kCoreColumns) t.last_edge[Graph::kColumn[e]] = e;
    }
    int before[Graph::kCoreColumns] = {};
    for (int c = 0; c < Graph::kCoreColumns; ++c) {
      before[c] = t.last_edge[c];
      t.last_shift[c] = kShift[t.last_edge[c]];
    }
    for (int e = 0; e < end; ++e) {
      const int column = Graph::kColumn[e];
      if (column >= Graph::kCoreColumns) continue;
      const int writer = before[column];
      before[column] = e;
      const uint32_t step = (kShift[e] + Graph::kZc - kShift[writer]) % Graph::kZc;
      t.at[e] = step % kHalf;
      t.exchanged[writer] = step >= kHalf;
      t.has_copy[writer] = step != 0;
    }
    return t;
  }
  static constexpr Table kTable = Make(std::make_integer_sequence<int, Graph::kEdges>());

  // The same as constants, for device code may use a host function's value but not call it.
  template <int kEdge>
  static constexpr uint32_t kAt = kTable.at[kEdge];
  template <int kColumn>
  static constexpr int kLastEdge = kTable.last_edge[kColumn];
  template <int kColumn>
  static constexpr uint32_t kLastShift = kTable.last_shift[kColumn];
  template <int kColumn>
  static constexpr int kLastSlot =
      NarrowSchedule<Graph>::kTable.write_slot[kTable.last_edge[kColumn]];
  template <int kEdge>
  static constexpr bool kExchanged = kTable.exchanged[kEdge];
  template <int kEdge>
  static constexpr bool kHasCopy = kTable.has_copy[kEdge];

  // Leaves thread t's word of an edge, with its halves exchanged `copy`; `to` is t's in the slot.
  template <int kEdge>
  BASEBAND_HOST_DEVICE static void Put(uint32_t* to, uint32_t word, uint32_t copy) {
    to[0] = kExchanged<kEdge> ? copy : word;
    if constexpr (kHasCopy<kEdge>) to[kHalf] = kExchanged<kEdge> ? word : copy;
  }
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_TURNS_CUH_
