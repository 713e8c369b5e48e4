// The part of a code's table by which GPUs encode tiles, run on one code block as a lane runs it.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/encode_math.h"
#include "kernels/ldpc/encode_program.h"
#include "kernels/ldpc/reference.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/status_matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::FullMatrix;
using ::baseband::testing::IsOk;

absl::Span<const uint32_t> TableOf(const Code& code) { return (*code.encode_plan())->table(); }

const EncodeTileHeader& TileHeaderOf(const Code& code) {
  return *reinterpret_cast<const EncodeTileHeader*>(TableOf(code).data() + kTileHeaderAt);
}

// A column of shared memory, of which no word is read before it was written.
class Column {
 public:
  explicit Column(size_t num_rows) : words_(num_rows), is_written_(num_rows) {}
  void Write(size_t row, uint32_t word) {
    ASSERT_LT(row, words_.size());
    words_[row] = word;
    is_written_[row] = true;
  }
  // What else lies in words `first` .. of shared memory is written there.
  void Lose(size_t first, size_t count) {
    ASSERT_LE(first + count, words_.size() * kTileRowWords);
    for (size_t at = first; at < first + count; ++at) is_written_[at / kTileRowWords] = false;
  }
  uint32_t Read(size_t row) const {
    EXPECT_TRUE(row < words_.size() && is_written_[row]) << "row " << row;
    return words_.at(row);
  }

 private:
  std::vector<uint32_t> words_;
  std::vector<bool> is_written_;
};

// The parity that the table makes of random information, and what EncodeOnCpu makes of it.
void ExpectTileEqualsCpu(const Code& code, std::mt19937* random) {
  const absl::Span<const uint32_t> table = TableOf(code);
  const EncodeTileHeader& tile = TileHeaderOf(code);
  ASSERT_GT(tile.shared_bytes, 0u) << code.name();
  const auto zc = static_cast<uint32_t>(code.zc());
  const std::vector<uint8_t> info =
      testing::RandomBytes(static_cast<size_t>(code.k() + 7) / 8, random);
  const Bits bits = UnpackBits(info, code.k());

  Column column((tile.shared_bytes / 4 - tile.program_words + kTileRowWords - 1) / kTileRowWords);
  for (uint32_t row = 0; row < tile.groups_at; ++row) column.Write(row, 0);
  for (uint32_t group = 0; group < static_cast<uint32_t>(code.kb()); ++group) {
    for (uint32_t e = 0; e < static_cast<uint32_t>(GroupWords(code.zc())) + tile.chunk; ++e) {
      uint32_t word = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        word = word << 1 | bits[group * zc + (32 * e + i) % zc];
      }
      column.Write(tile.groups_at + group * tile.extended_rows + e, word);
    }
  }
  const uint32_t* const program = table.data() + tile.program_at;
  const uint32_t* const sources = program + tile.pairs_at;
  const auto sum = [&](uint32_t first_pair, uint32_t num_pairs, uint32_t j) {
    uint32_t total = 0;
    for (uint32_t s = 2 * first_pair; s < 2 * (first_pair + num_pairs); ++s) {
      const size_t row = (sources[s] >> 16) / kTileRowWords + j;
      EXPECT_EQ((sources[s] >> 16) % kTileRowWords, 0u);
      const uint64_t both = uint64_t{column.Read(row)} << 32 | column.Read(row + 1);
      total ^= static_cast<uint32_t>(both << (sources[s] & 31) >> 32);
    }
    return total;
  };
  const auto* const segments =
      reinterpret_cast<const EncodeTileSegment*>(program + tile.segments_at);
  const auto word_of = [&](const EncodeTileChunk& chunk, uint32_t j) {
    uint32_t word = sum(chunk.first_pair, chunk.num_pairs, j);
    const uint32_t first = chunk.others & 0xffff;
    for (uint32_t s = first; s < first + (chunk.others >> 16); ++s) {
      const auto stay = static_cast<int>(segments[s].begin) - 32 * static_cast<int>(j);
      const uint32_t more = sum(segments[s].first_pair, segments[s].num_pairs, j);
      const uint32_t mask = stay <= 0 ? 0 : stay >= 32 ? ~0u : ~(~0u >> stay);
      word = (word & mask) | (more & ~mask);
    }
    return word;
  };
  const auto* const chunks = reinterpret_cast<const EncodeTileChunk*>(program + tile.chunks_at);
  uint32_t i = 0;
  for (uint32_t phase = 0; phase < tile.num_phases; ++phase) {
    std::vector<std::pair<uint32_t, uint32_t>> kept;  // seen after the phase
    for (; i < program[kTilePhasesAt + phase]; ++i) {
      EXPECT_EQ(chunks[i].to % kTileRowWords, 0u);
      for (uint32_t j = 0; j < tile.chunk; ++j) {
        kept.emplace_back(chunks[i].to / kTileRowWords + j, word_of(chunks[i], j));
      }
    }
    for (const auto& [row, word] : kept) column.Write(row, word);
  }
  column.Lose(tile.turned_at, kTurnedWords);
  std::vector<uint8_t> parity(4 * static_cast<size_t>(tile.parity_words));
  const uint32_t of_octet = kTileOctet / tile.chunk;
  const uint32_t num_chunks = program[1];
  const uint32_t num_shared = num_chunks - program[0];
  EXPECT_LE(i, program[0]);
  EXPECT_EQ((num_chunks - i) % of_octet, 0u);
  // Octets that all warps make together leave the others no rest, and take less time so.
  const uint32_t rest = (num_chunks - i) % (kTileWarps * of_octet);
  EXPECT_EQ(num_shared, (rest + kTileWarps - 1) / kTileWarps < of_octet ? rest : 0);
  for (; i < num_chunks; i += of_octet) {
    for (uint32_t w = 0; w < kTileOctet; ++w) {
      const uint32_t to = chunks[i].to + w;
      const uint32_t word = word_of(chunks[i + w / tile.chunk], w % tile.chunk);
      for (uint32_t b = 0; b < 4 && to < tile.parity_words; ++b) {
        parity[4 * to + b] = static_cast<uint8_t>(word >> (24 - 8 * b));
      }
    }
  }
  std::vector<uint8_t> expected(parity.size());
  EncodeOnCpu(code, info, code.k(), absl::MakeSpan(expected));
  EXPECT_EQ(parity, expected) << code.name() << ", chunk " << tile.chunk;
}

TEST(LdpcEncodeTileTest, EveryNrCodeEqualsTheCpu) {
  std::mt19937 random(1);
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 5, 20, base_graph == 1 ? 46 : 42}) {
        ExpectTileEqualsCpu(**NrCode(base_graph, zc, rows), &random);
      }
    }
  }
}

TEST(LdpcEncodeTileTest, EveryIeeeCodeEqualsTheCpu) {
  std::mt19937 random(2);
  for (const CodePtr& code : testing::IeeeCodes()) ExpectTileEqualsCpu(*code, &random);
}

TEST(LdpcEncodeTileTest, CustomCodesEqualTheCpuUnlessTheyAreTooLarge) {
  std::mt19937 random(3);
  for (const int zc : {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 511, 512}) {
    const auto code = Code::Create(testing::TriangularMatrix(6, 14, zc, &random), Family::kCustom,
                                   "triangular zc=" + std::to_string(zc));
    ASSERT_THAT(code, IsOk());
    ExpectTileEqualsCpu(**code, &random);
  }
  for (const int zc : {1, 2, 4, 8, 16, 32, 64}) {
    const auto code = Code::Create(FullMatrix(4, 9, zc, true, &random), Family::kCustom,
                                   "full zc=" + std::to_string(zc));
    ASSERT_THAT(code, IsOk());
    ExpectTileEqualsCpu(**code, &random);
  }
  const auto largest =
      Code::Create(testing::TriangularMatrix(kMaxRows, kMaxColumns, kMaxZc - 1, &random),
                   Family::kCustom, "largest");
  const auto dense = Code::Create(FullMatrix(6, 12, 128, true, &random), Family::kCustom, "dense");
  ASSERT_THAT(largest, IsOk());
  ASSERT_THAT(dense, IsOk());
  EXPECT_EQ(TileHeaderOf(**largest).shared_bytes, 0u);
  EXPECT_EQ(TileHeaderOf(**dense).shared_bytes, 0u);
}

}  // namespace
}  // namespace baseband::ldpc
