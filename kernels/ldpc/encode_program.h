// An EncodePlan as a straight sequence of sums, as both devices run one: every sum adds rotated
// groups of zc bits (information, or earlier sums) up to one group.
#ifndef BASEBAND_KERNELS_LDPC_ENCODE_PROGRAM_H_
#define BASEBAND_KERNELS_LDPC_ENCODE_PROGRAM_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/encode.h"

namespace baseband::ldpc {

struct EncodeProgram {
  struct Source {
    uint16_t group = 0;  // 0 .. kb - 1 information, then the sums that are kept
    uint16_t shift = 0;
  };
  static constexpr int kNone = -1;
  struct Sum {
    int first_source = 0;
    int num_sources = 0;
    int level = 0;       // sums of a level need only information and sums of lower levels
    int group = kNone;   // where it is kept for later sums; ascending from kb
    int parity = kNone;  // the parity group it is

    bool is_kept() const { return group != kNone; }
  };

  int num_groups = 0;     // information and kept sums
  std::vector<Sum> sums;  // by level; in a level, those that are kept come first
  std::vector<Source> sources;
  // For each source, its first bit in an arena of groups that are each CpuGroupWords() long.
  std::vector<uint32_t> cpu_positions;
};

// 64-bit words of a group of zc bits, and of one with its cyclic extension: bits s .. s + 64 w + 63
// lie inside for every shift s and word w of the group, and one more word may be read.
constexpr int CpuWords(int zc) { return (zc + 63) / 64; }
constexpr int CpuGroupWords(int zc) { return 2 * CpuWords(zc) + 1; }

// A lambda that is used once, or has one block only, is put in place of its use; the others become
// sums of their own.
EncodeProgram MakeProgram(const Code& code, absl::Span<const EncodePlan::Step> steps);

// `program` in the form of encode_math.h.
std::vector<uint32_t> MakeTable(const Code& code, const EncodeProgram& program);
// Adds to such a table what tiles are encoded by (encode_tile_math.h), unless the code is too large
// for them.
void AppendTile(const Code& code, const EncodeProgram& program, std::vector<uint32_t>* table);

// Appends `part`, filled up to a multiple of 16 bytes, and returns the word it begins at.
template <typename T>
uint32_t AppendPart(const std::vector<T>& part, std::vector<uint32_t>* table) {
  const size_t begin = table->size();
  const size_t num_words = part.size() * sizeof(T) / 4;
  table->resize(begin + (num_words + 3) / 4 * 4);
  if (num_words > 0) std::memcpy(table->data() + begin, part.data(), num_words * 4);
  return static_cast<uint32_t>(begin);
}

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_ENCODE_PROGRAM_H_
