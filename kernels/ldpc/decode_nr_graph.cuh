// The shape of some base matrices as compile-time constants: which columns each row touches. The
// shifts come at run time, but those of the largest lifting size. NR's codes are known by their
// family; those of other matrices MatchesGraph (decode_nr_launch.cuh) holds against such a list.
//
// The two base graphs of NR: 3GPP TS 38.212, tables 5.3.2-2 and 5.3.2-3.
//               core columns        extension columns, one a row from row 4 on
//            +------------------+---------------
//   row 0..3 |  dense           |  none
//            +------------------+---------------
//   row 4..  |  sparse          |  identity: one block of shift 0 on the diagonal, so that each
//            |                  |  extension column takes part in one check only
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_GRAPH_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_GRAPH_CUH_

#include <cstdint>

#include "kernels/ldpc/tables_nr_graphs.h"

namespace baseband::ldpc::device {

struct BaseGraph1 {
  static constexpr int kZc = 0;  // shifts and lifting size come at run time
  static constexpr int kMaxZc = 384;
  static constexpr int kDenseRows = 4;  // rows without an extension column
  static constexpr int kRows = 46;
  static constexpr int kCoreColumns = 26;
  static constexpr int kEdges = 316;
  static constexpr uint8_t kDegree[kRows] = {19, 19, 19, 19, 3, 8, 9, 7, 10, 9, 7, 8, 7, 6, 7, 7,
                                             6,  6,  6,  6,  6, 6, 5, 5, 6,  5, 5, 4, 5, 5, 5, 5,
                                             5,  5,  5,  5,  5, 4, 5, 5, 4,  5, 4, 5, 5, 4};
  static constexpr uint8_t kColumn[kEdges] = {
      0, 1,  2,  3,  5,  6,  9,  10, 11, 12, 13, 15, 16, 18, 19, 20, 21, 22, 23,  // row 0
      0, 2,  3,  4,  5,  7,  8,  9,  11, 12, 14, 15, 16, 17, 19, 21, 22, 23, 24,  // row 1
      0, 1,  2,  4,  5,  6,  7,  8,  9,  10, 13, 14, 15, 17, 18, 19, 20, 24, 25,  // row 2
      0, 1,  3,  4,  6,  7,  8,  10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 22, 25,  // row 3
      0, 1,  26,                                                                  // row 4
      0, 1,  3,  12, 16, 21, 22, 27,                                              // row 5
      0, 6,  10, 11, 13, 17, 18, 20, 28,                                          // row 6
      0, 1,  4,  7,  8,  14, 29,                                                  // row 7
      0, 1,  3,  12, 16, 19, 21, 22, 24, 30,                                      // row 8
      0, 1,  10, 11, 13, 17, 18, 20, 31,                                          // row 9
      1, 2,  4,  7,  8,  14, 32,                                                  // row 10
      0, 1,  12, 16, 21, 22, 23, 33,                                              // row 11
      0, 1,  10, 11, 13, 18, 34,                                                  // row 12
      0, 3,  7,  20, 23, 35,                                                      // row 13
      0, 12, 15, 16, 17, 21, 36,                                                  // row 14
      0, 1,  10, 13, 18, 25, 37,                                                  // row 15
      1, 3,  11, 20, 22, 38,                                                      // row 16
      0, 14, 16, 17, 21, 39,                                                      // row 17
      1, 12, 13, 18, 19, 40,                                                      // row 18
      0, 1,  7,  8,  10, 41,                                                      // row 19
      0, 3,  9,  11, 22, 42,                                                      // row 20
      1, 5,  16, 20, 21, 43,                                                      // row 21
      0, 12, 13, 17, 44,                                                          // row 22
      1, 2,  10, 18, 45,                                                          // row 23
      0, 3,  4,  11, 22, 46,                                                      // row 24
      1, 6,  7,  14, 47,                                                          // row 25
      0, 2,  4,  15, 48,                                                          // row 26
      1, 6,  8,  49,                                                              // row 27
      0, 4,  19, 21, 50,                                                          // row 28
      1, 14, 18, 25, 51,                                                          // row 29
      0, 10, 13, 24, 52,                                                          // row 30
      1, 7,  22, 25, 53,                                                          // row 31
      0, 12, 14, 24, 54,                                                          // row 32
      1, 2,  11, 21, 55,                                                          // row 33
      0, 7,  15, 17, 56,                                                          // row 34
      1, 6,  12, 22, 57,                                                          // row 35
      0, 14, 15, 18, 58,                                                          // row 36
      1, 13, 23, 59,                                                              // row 37
      0, 9,  10, 12, 60,                                                          // row 38
      1, 3,  7,  19, 61,                                                          // row 39
      0, 8,  17, 62,                                                              // row 40
      1, 3,  9,  18, 63,                                                          // row 41
      0, 4,  24, 64,                                                              // row 42
      1, 16, 18, 25, 65,                                                          // row 43
      0, 7,  9,  22, 66,                                                          // row 44
      1, 6,  10, 67};                                                             // row 45
};

struct BaseGraph2 {
  static constexpr int kZc = 0;
  static constexpr int kMaxZc = 384;
  static constexpr int kDenseRows = 4;  // rows without an extension column
  static constexpr int kRows = 42;
  static constexpr int kCoreColumns = 14;
  static constexpr int kEdges = 197;
  static constexpr uint8_t kDegree[kRows] = {8, 10, 8, 10, 4, 6, 6, 6, 4, 5, 5, 5, 4, 5,
                                             5, 4,  5, 5,  4, 4, 4, 4, 3, 4, 4, 3, 5, 3,
                                             4, 3,  5, 3,  4, 4, 4, 4, 4, 3, 4, 4, 4, 4};
  static constexpr uint8_t kColumn[kEdges] = {0,  1,  2,  3,  6,  9,  10, 11,          // row 0
                                              0,  3,  4,  5,  6,  7,  8,  9,  11, 12,  // row 1
                                              0,  1,  3,  4,  8,  10, 12, 13,          // row 2
                                              1,  2,  4,  5,  6,  7,  8,  9,  10, 13,  // row 3
                                              0,  1,  11, 14,                          // row 4
                                              0,  1,  5,  7,  11, 15,                  // row 5
                                              0,  5,  7,  9,  11, 16,                  // row 6
                                              1,  5,  7,  11, 13, 17,                  // row 7
                                              0,  1,  12, 18,                          // row 8
                                              1,  8,  10, 11, 19,                      // row 9
                                              0,  1,  6,  7,  20,                      // row 10
                                              0,  7,  9,  13, 21,                      // row 11
                                              1,  3,  11, 22,                          // row 12
                                              0,  1,  8,  13, 23,                      // row 13
                                              1,  6,  11, 13, 24,                      // row 14
                                              0,  10, 11, 25,                          // row 15
                                              1,  9,  11, 12, 26,                      // row 16
                                              1,  5,  11, 12, 27,                      // row 17
                                              0,  6,  7,  28,                          // row 18
                                              0,  1,  10, 29,                          // row 19
                                              1,  4,  11, 30,                          // row 20
                                              0,  8,  13, 31,                          // row 21
                                              1,  2,  32,                              // row 22
                                              0,  3,  5,  33,                          // row 23
                                              1,  2,  9,  34,                          // row 24
                                              0,  5,  35,                              // row 25
                                              2,  7,  12, 13, 36,                      // row 26
                                              0,  6,  37,                              // row 27
                                              1,  2,  5,  38,                          // row 28
                                              0,  4,  39,                              // row 29
                                              2,  5,  7,  9,  40,                      // row 30
                                              1,  13, 41,                              // row 31
                                              0,  5,  12, 42,                          // row 32
                                              2,  7,  10, 43,                          // row 33
                                              0,  12, 13, 44,                          // row 34
                                              1,  5,  11, 45,                          // row 35
                                              0,  2,  7,  46,                          // row 36
                                              10, 13, 47,                              // row 37
                                              1,  5,  11, 48,                          // row 38
                                              0,  7,  12, 49,                          // row 39
                                              2,  10, 13, 50,                          // row 40
                                              1,  5,  11, 51};                         // row 41
};

// The same at their largest lifting size, of set 1: with shifts that are constants, and so
// instructions' own operands, where others have to be read.
inline constexpr int kLargestZc = 384;
template <class Graph, size_t kCount>
constexpr bool HasTheColumnsOf(const NrEntry (&table)[kCount]) {
  for (size_t e = 0; e < kCount; ++e) {
    if (table[e].column != Graph::kColumn[e]) return false;
  }
  return kCount == Graph::kEdges;
}
static_assert(HasTheColumnsOf<BaseGraph1>(kNrBaseGraph1));
static_assert(HasTheColumnsOf<BaseGraph2>(kNrBaseGraph2));
struct LargestGraph1 : BaseGraph1 {
  static constexpr int kZc = kLargestZc;
  static constexpr uint32_t ShiftOf(int edge) { return kNrBaseGraph1[edge].v[1] % kZc; }
  template <int kEdge>
  static constexpr uint32_t kShift = ShiftOf(kEdge);
};
struct LargestGraph2 : BaseGraph2 {
  static constexpr int kZc = kLargestZc;
  static constexpr uint32_t ShiftOf(int edge) { return kNrBaseGraph2[edge].v[1] % kZc; }
  template <int kEdge>
  static constexpr uint32_t kShift = ShiftOf(kEdge);
};

// IEEE 802.16e-2005 8.4.9.2.5.1, rate 1/2. No column takes part in one check only.
struct Wimax12 {
  static constexpr int kZc = 0;
  static constexpr int kMaxZc = 96;
  static constexpr int kDenseRows = 12;
  static constexpr int kRows = 12;
  static constexpr int kCoreColumns = 24;
  static constexpr int kEdges = 76;
  static constexpr uint8_t kDegree[kRows] = {6, 7, 7, 6, 6, 7, 6, 6, 7, 6, 6, 6};
  static constexpr uint8_t kColumn[kEdges] = {1, 2, 8,  9,  12, 13,      // row 0
                                              1, 5, 6,  7,  11, 13, 14,  // row 1
                                              3, 4, 5,  7,  11, 14, 15,  // row 2
                                              0, 2, 8,  9,  15, 16,      // row 3
                                              2, 6, 9,  10, 16, 17,      // row 4
                                              4, 5, 7,  11, 12, 17, 18,  // row 5
                                              2, 3, 9,  10, 18, 19,      // row 6
                                              1, 2, 6,  9,  19, 20,      // row 7
                                              0, 4, 5,  7,  11, 20, 21,  // row 8
                                              5, 7, 10, 11, 21, 22,      // row 9
                                              2, 3, 8,  9,  22, 23,      // row 10
                                              0, 5, 7,  11, 12, 23};     // row 11
};

// Of any of the above.
inline constexpr int kNrMaxEdges = BaseGraph1::kEdges;

// Where things lie, by row. An edge of a core column is a core edge; only core edges have a stored
// message, four bytes of messages (two edges of two code words) make a word, and a row begins with
// a new word. The last of an odd number has its word alone, where it is not packed.
template <class Graph>
struct Layout {
  static constexpr int CoreDegree(int row) {
    return Graph::kDegree[row] - (row < Graph::kDenseRows ? 0 : 1);
  }
  static constexpr int EdgeBegin(int row) {
    int begin = 0;
    for (int r = 0; r < row; ++r) begin += Graph::kDegree[r];
    return begin;
  }
  static constexpr int WordBegin(int row) {
    int begin = 0;
    for (int r = 0; r < row; ++r) begin += (CoreDegree(r) + 1) / 2;
    return begin;
  }
  // Whether the core edge at `place` of a row has a word alone.
  static constexpr bool IsAlone(int row, int place) {
    return place % 2 == 0 && place + 1 == CoreDegree(row);
  }
  static constexpr bool Touches(int row, int column) {
    for (int i = 0; i < CoreDegree(row); ++i) {
      if (Graph::kColumn[EdgeBegin(row) + i] == column) return true;
    }
    return false;
  }

  // Rows are taken in groups: consecutive rows without a common core column. Such rows commute, so
  // a group needs no barrier inside and its rows hide each other's latency.
  static constexpr int kMaxGroup = 3;
  static constexpr bool Orthogonal(int a, int b) {
    for (int i = 0; i < CoreDegree(a); ++i) {
      if (Touches(b, Graph::kColumn[EdgeBegin(a) + i])) return false;
    }
    return true;
  }
  static constexpr int GroupEnd(int begin) {
    int end = begin + 1;
    while (end < Graph::kRows && end - begin < kMaxGroup) {
      for (int r = begin; r < end; ++r) {
        if (!Orthogonal(r, end)) return end;
      }
      ++end;
    }
    return end;
  }
  static constexpr int PreviousGroup(int first) {
    int begin = 0;
    while (GroupEnd(begin) < first) begin = GroupEnd(begin);
    return begin;
  }
  // True if the group before the one that begins with row `first` leaves this edge's column alone,
  // so that its app may be read before the barrier between the two.
  static constexpr bool IsEarly(int first, int edge) {
    if (first == 0) return false;
    for (int r = PreviousGroup(first); r < first; ++r) {
      if (Touches(r, Graph::kColumn[edge])) return false;
    }
    return true;
  }
  // True if no row before this edge's touches its column.
  static constexpr bool IsFirst(int edge) {
    for (int r = 0; r < RowOf(edge); ++r) {
      if (Touches(r, Graph::kColumn[edge])) return false;
    }
    return true;
  }
  static constexpr int RowOf(int edge) {
    int row = 0;
    while (EdgeBegin(row + 1) <= edge) ++row;
    return row;
  }

  // The same as constants, for device code may use a host function's value but not call it.
  template <int kRow>
  static constexpr int kCoreDegree = CoreDegree(kRow);
  template <int kRow>
  static constexpr int kEdgeBegin = EdgeBegin(kRow);
  template <int kRow>
  static constexpr int kWordBegin = WordBegin(kRow);
  template <int kRow, int kPlace>
  static constexpr bool kIsAlone = IsAlone(kRow, kPlace);
  template <int kFirst, int kEdge>
  static constexpr bool kIsEarly = IsEarly(kFirst, kEdge);
  template <int kEdge>
  static constexpr bool kIsFirst = IsFirst(kEdge);
  template <int kEdge>
  static constexpr int kRowOf = RowOf(kEdge);
  template <int kEdge>
  static constexpr int kColumn = Graph::kColumn[kEdge];
  template <int kEdge>
  static constexpr bool kIsCore = Graph::kColumn[kEdge] < Graph::kCoreColumns;
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_GRAPH_CUH_
