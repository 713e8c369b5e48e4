// When which row of a base graph is decoded by the narrow kernel (decode_narrow.cuh), and where its
// values lie: worked out at compile time.
//
// Rows are taken in turn by two teams of warps, row r by team r % 2. A team says twice in a row how
// far it is, and goes on at once:
//
//   told after row r's               what row waits for it, and when
//   outputs to columns of row r + 1  r + 1, before it reads those columns
//   last output                      r + 3, before it reads what is not read ahead; there all warps
//                                    of its team wait for each other too
//
// So row r + 3 finds all outputs of row r and of row r + 1, its own team's, and only the columns
// that a row shares with the one before it are on the way from team to team. What was written by
// row r - 4 or r - 5 at the latest, row r reads ahead: when row r - 2 has done what hurries.
// Where the code has no row r, this reads what others may write meanwhile, and drops it.
//
// compute-sanitizer's racecheck does not follow warps that arrive at a barrier and go on: of CUDA
// 13.0, it calls it a race where a team writes, arrives, and writes again behind a __syncthreads
// what the other has read before that. What it says of this kernel is void;
// tests/unit/kernels/ldpc/narrow_schedule_test.cc goes through its barriers instead.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NARROW_SCHEDULE_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NARROW_SCHEDULE_CUH_

#include "kernels/ldpc/decode_math.h"
#include "kernels/ldpc/decode_nr_graph.cuh"

namespace baseband::ldpc::device {

template <class Graph>
struct NarrowSchedule {
  using L = Layout<Graph>;
  static constexpr int kMostEdges = 20;  // core edges of a row
  static constexpr int kNone = -1;

  // When an edge's app is read.
  enum Read {
    kAhead,  // when the row before of the same team is not done yet
    kEarly,
    kLate,  // when the row before has told its hurried outputs
  };
  struct Row {
    int degree = 0;  // core edges
    // By place: those not read late, then those read late; of either, last those of a column of the
    // row behind, which hurry.
    int edge[kMostEdges] = {};
    Read read[kMostEdges] = {};
    bool hurries[kMostEdges] = {};
    int first_late = 0;   // the first place that is read late; `degree` if there is none
    int first_hurry = 0;  // the first place that hurries, likewise
  };
  struct Table {
    Row row[Graph::kRows];
    int place[Graph::kEdges] = {};  // in its row, of an edge
    // A column's values move from slot to slot, edge by edge, in a circle without an end: edge 0,
    // 1, 2, 3, .. of a column writes slot 2, 1, 0, 1, 0, ..
    int write_slot[Graph::kEdges] = {};
    int read_slot[Graph::kEdges] = {};  // kNone: where the code's last edge in the column writes
  };
  static constexpr int kSlots = 3;

  static constexpr Table Make() {
    Table t;
    int edges[Graph::kCoreColumns] = {};   // of a column so far
    int slot[Graph::kCoreColumns] = {};    // that the last of them writes
    int writer[Graph::kCoreColumns] = {};  // its row
    for (int& w : writer) w = kNone;
    for (int r = 0; r < Graph::kRows; ++r) {
      Row& row = t.row[r];
      row.degree = L::CoreDegree(r);
      int place = 0;
      // Whether late, whether hurried, whether not ahead.
      for (int part = 0; part < 8; ++part) {
        for (int i = 0; i < row.degree; ++i) {
          const int edge = L::EdgeBegin(r) + i;
          const int column = Graph::kColumn[edge];
          const Read read = ReadOf(r, writer[column]);
          const bool hurries = r + 1 < Graph::kRows && L::Touches(r + 1, column);
          if ((read == kLate) * 4 + hurries * 2 + (read != kAhead) != part) continue;
          row.edge[place] = edge;
          row.read[place] = read;
          row.hurries[place] = hurries;
          t.place[edge] = place;
          ++place;
        }
      }
      row.first_late = row.degree;
      row.first_hurry = row.degree;
      for (int i = row.degree - 1; i >= 0; --i) {
        if (row.read[i] == kLate) row.first_late = i;
        if (row.hurries[i]) row.first_hurry = i;
      }
      for (int i = 0; i < row.degree; ++i) {
        const int edge = L::EdgeBegin(r) + i;
        const int column = Graph::kColumn[edge];
        t.read_slot[edge] = edges[column] == 0 ? kNone : slot[column];
        slot[column] = edges[column] == 0 ? 2 : edges[column] % 2;
        t.write_slot[edge] = slot[column];
        writer[column] = r;
        ++edges[column];
      }
    }
    return t;
  }
  // When row r reads what row `writer` wrote. Row r - 2 has waited for rows r - 4 and r - 5, and
  // all before them.
  static constexpr Read ReadOf(int r, int writer) {
    if (writer == kNone) return kAhead;
    if (writer == r - 1) return kLate;
    return writer <= ((r - writer) % 2 == 0 ? r - 4 : r - 5) ? kAhead : kEarly;
  }
  static constexpr Table kTable = Make();

  // The barriers that a row waits at for what hurries, and for all: several in turn, for one team
  // may tell the next row while the other still waits for this one. One is used again when all who
  // took part have waited for a row that was past it. 0 is that of all threads, 1 that of row 2.
  static constexpr int HurriedBarrier(int row) { return 2 + row % 4; }
  static constexpr int AllBarrier(int row) { return row == 2 ? 1 : 6 + row % 6; }

  // A check takes its places in pairs, for two have all but themselves in common. Those read late
  // begin a new one; of an odd number the last is alone. kPairBegin of a row's last pair + 1 is the
  // number of its places.
  static constexpr int PairOf(int row, int place) {
    const int first_late = kTable.row[row].first_late;
    return place < first_late ? place / 2 : (first_late + 1) / 2 + (place - first_late) / 2;
  }
  static constexpr int PairBegin(int row, int pair) {
    int place = 0;
    while (place < kTable.row[row].degree && PairOf(row, place) < pair) ++place;
    return place;
  }

  // Behind the last heavy row.
  static constexpr int FirstLightRow() {
    int row = 0;
    for (int r = 0; r < Graph::kRows; ++r) {
      if (Graph::kDegree[r] >= kHeavyDegree) row = r + 1;
    }
    return row;
  }

  // The same as constants, for device code may use a host function's value but not call it.
  template <int kRow>
  static constexpr int kDegree = kTable.row[kRow].degree;
  template <int kRow>
  static constexpr int kFirstLate = kTable.row[kRow].first_late;
  template <int kRow>
  static constexpr int kFirstHurry = kTable.row[kRow].first_hurry;
  template <int kRow>
  static constexpr int kPairs = PairOf(kRow, kDegree<kRow> - 1) + 1;
  template <int kRow, int kPlace>
  static constexpr int kPairOf = PairOf(kRow, kPlace);
  template <int kRow, int kPair>
  static constexpr int kPairBegin = PairBegin(kRow, kPair);
  template <int kRow>
  static constexpr bool kHasLate = kFirstLate<kRow> < kDegree<kRow>;
  template <int kRow>
  static constexpr int kHurriedBarrier = HurriedBarrier(kRow);
  template <int kRow>
  static constexpr int kAllBarrier = AllBarrier(kRow);
  template <int kRow, int kPlace>
  static constexpr Read kRead = kTable.row[kRow].read[kPlace];
  template <int kRow, int kPlace>
  static constexpr int kEdge = kTable.row[kRow].edge[kPlace];
  template <int kRow, int kPlace>
  static constexpr bool kHurries = kTable.row[kRow].hurries[kPlace];
  template <int kRow, int kPlace>
  static constexpr int kReadSlot = kTable.read_slot[kEdge<kRow, kPlace>];
  template <int kRow, int kPlace>
  static constexpr int kWriteSlot = kTable.write_slot[kEdge<kRow, kPlace>];
};

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NARROW_SCHEDULE_CUH_
