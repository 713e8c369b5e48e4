// 3GPP TS 38.212 table 5.3.2-1, and those of tables_nr_graphs.h.
#include "kernels/ldpc/tables.h"
#include "kernels/ldpc/tables_nr_graphs.h"

namespace baseband::ldpc {
namespace {

// clang-format off

// Table 5.3.2-1, sorted: each size Zc = a * 2^j with the index of its set.
constexpr NrLiftingSize kLiftingSizes[] = {
    {2, 0}, {3, 1}, {4, 0}, {5, 2}, {6, 1}, {7, 3}, {8, 0}, {9, 4},
    {10, 2}, {11, 5}, {12, 1}, {13, 6}, {14, 3}, {15, 7}, {16, 0}, {18, 4},
    {20, 2}, {22, 5}, {24, 1}, {26, 6}, {28, 3}, {30, 7}, {32, 0}, {36, 4},
    {40, 2}, {44, 5}, {48, 1}, {52, 6}, {56, 3}, {60, 7}, {64, 0}, {72, 4},
    {80, 2}, {88, 5}, {96, 1}, {104, 6}, {112, 3}, {120, 7}, {128, 0}, {144, 4},
    {160, 2}, {176, 5}, {192, 1}, {208, 6}, {224, 3}, {240, 7}, {256, 0}, {288, 4},
    {320, 2}, {352, 5}, {384, 1},
};

// clang-format on

}  // namespace

absl::Span<const NrLiftingSize> NrLiftingSizeTable() { return kLiftingSizes; }

absl::Span<const NrEntry> NrBaseGraph(int base_graph) {
  return base_graph == 1 ? absl::Span<const NrEntry>(kNrBaseGraph1) : kNrBaseGraph2;
}

}  // namespace baseband::ldpc
