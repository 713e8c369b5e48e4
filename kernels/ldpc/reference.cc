#include "kernels/ldpc/reference.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace baseband::ldpc {
namespace {

// The column of the one in row `r` of an edge's block.
size_t ColumnOf(const Code& code, const Edge& edge, int r) {
  return static_cast<size_t>(edge.column * code.zc() + (r + edge.shift) % code.zc());
}

}  // namespace

Bits UnpackBits(absl::Span<const uint8_t> bytes, int count) {
  Bits bits(static_cast<size_t>(count));
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = bytes[i / 8] >> (7 - i % 8) & 1;
  }
  return bits;
}

std::vector<uint8_t> PackBits(const Bits& bits) {
  std::vector<uint8_t> bytes((bits.size() + 7) / 8, 0);
  for (size_t i = 0; i < bits.size(); ++i) {
    bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | bits[i] << (7 - i % 8));
  }
  return bytes;
}

Bits Syndrome(const Code& code, const Bits& codeword) {
  Bits syndrome(static_cast<size_t>(code.parity_bits()), 0);
  for (const Edge& edge : code.edges()) {
    for (int r = 0; r < code.zc(); ++r) {
      syndrome[static_cast<size_t>(edge.row * code.zc() + r)] ^= codeword[ColumnOf(code, edge, r)];
    }
  }
  return syndrome;
}

bool CheckParity(const Code& code, const Bits& codeword) {
  const Bits syndrome = Syndrome(code, codeword);
  return std::all_of(syndrome.begin(), syndrome.end(), [](uint8_t bit) { return bit == 0; });
}

absl::StatusOr<Bits> ReferenceEncode(const Code& code, const Bits& info) {
  // Rows of [parity part of H | the information's share of the syndrome].
  const auto n = static_cast<size_t>(code.parity_bits());
  const auto k = static_cast<size_t>(code.k());
  Bits word = info;
  word.resize(k + n, 0);
  const Bits right_side = Syndrome(code, word);
  std::vector<std::vector<bool>> rows(n, std::vector<bool>(n + 1, false));
  for (const Edge& edge : code.edges()) {
    for (int r = 0; r < code.zc() && edge.column >= code.kb(); ++r) {
      rows[static_cast<size_t>(edge.row * code.zc() + r)][ColumnOf(code, edge, r) - k] = true;
    }
  }
  for (size_t r = 0; r < n; ++r) {
    rows[r][n] = right_side[r] != 0;
  }
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    while (pivot < n && !rows[pivot][column]) {
      ++pivot;
    }
    if (pivot == n) {
      return absl::FailedPreconditionError("the parity part of H is singular");
    }
    std::swap(rows[column], rows[pivot]);
    for (size_t r = 0; r < n; ++r) {
      if (r != column && rows[r][column]) {
        for (size_t c = column; c <= n; ++c) {
          rows[r][c] = rows[r][c] != rows[column][c];
        }
      }
    }
  }
  Bits parity(n);
  for (size_t r = 0; r < n; ++r) {
    parity[r] = rows[r][n];
  }
  return parity;
}

}  // namespace baseband::ldpc
