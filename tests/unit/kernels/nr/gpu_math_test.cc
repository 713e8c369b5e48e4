// What the kernels of the GPU do by the thread, on the host: products of bits that make CRCs, words
// of the circular buffer and of the interleaver, words of payloads, sums of soft bits.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/base/bits.h"
#include "kernels/crc/crc.h"
#include "kernels/nr/crc_matrix_math.h"
#include "kernels/nr/interleave_words_math.h"
#include "kernels/nr/modulation_math.h"
#include "kernels/nr/receive_math.h"
#include "kernels/nr/transmit_math.h"
#include "kernels/nr/transport_block.h"
#include "tests/support/channel.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::Random;

// Packed bits that end with their last word: a sanitizer sees who reads further.
class PackedBits {
 public:
  PackedBits(Random& random, uint32_t bits) : words_((bits + 31) / 32) {
    for (uint32_t& word : words_) word = static_cast<uint32_t>(random.Next());
  }
  int operator[](uint32_t i) const { return bytes()[i / 8] >> (7 - i % 8) & 1; }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(words_.data()); }
  auto load() const {
    return [this](uint32_t i) { return words_.at(i); };
  }

 private:
  std::vector<uint32_t> words_;
};

int BitOf(uint32_t word, uint32_t i) { return static_cast<int>(word >> (31 - i) & 1); }

TEST(NrPackedWordsTest, AnyThirtyTwoBitsAreRead) {
  Random random(1);
  const PackedBits bits(random, 96);
  for (uint32_t at = 0; at <= 64; ++at) {
    const uint32_t word = PackedBitsAt(bits.load(), at);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(BitOf(word, i), bits[at + i]) << at;
  }
}

template <int kQm>
void ExpectInterleaved() {
  Random random(kQm);
  RateMatch r;
  r.qm = kQm;
  r.columns = 32;
  for (int repeat = 0; repeat < 100; ++repeat) {
    uint32_t words[kQm];
    for (uint32_t& word : words) word = static_cast<uint32_t>(random.Next());
    uint32_t rows[kQm];
    std::copy_n(words, kQm, rows);
    InterleaveWords<kQm>(words);
    for (uint32_t k = 0; k < 32 * kQm; ++k) {
      const uint32_t at = Interleaved(r, k);
      ASSERT_EQ(BitOf(words[at / 32], at % 32), BitOf(rows[k / 32], k % 32)) << "e_" << k;
    }
  }
}

TEST(NrInterleaveWordsTest, EveryBitGoesWhereTheStandardSays) {
  ExpectInterleaved<1>();
  ExpectInterleaved<2>();
  ExpectInterleaved<4>();
  ExpectInterleaved<6>();
  ExpectInterleaved<8>();
  ExpectInterleaved<10>();
}

// By the product of the message's words and the matrix, as the tensor cores count.
std::array<uint32_t, 3> CrcsByProduct(const CrcMatrix& matrix, const CrcMessage& message,
                                      const PackedBits& bits) {
  int counts[8 * kCrcTiles] = {};
  for (uint32_t step = 0; step < CrcStepsOf(message.bits); ++step) {
    for (uint32_t word = 0; word < kCrcStepWords; ++word) {
      const uint32_t value = CrcMessageWord(message, step, word, bits.load());
      for (uint32_t c = 0; c < 8 * kCrcTiles; ++c) {
        const uint32_t other = matrix.words[step][c / 8][4 * (c % 8) + word % 4][word / 4];
        counts[c] += __builtin_popcount(value & other);
      }
    }
  }
  std::array<uint32_t, 3> crcs = {};
  for (uint32_t c = 0; c < 8 * kCrcTiles; ++c) {
    const size_t which = c < 8 * kFirstTileOf24A ? 0 : c < 8 * kFirstTileOf16 ? 1 : 2;
    const uint32_t first = which == 0 ? 0 : 8 * (which == 1 ? kFirstTileOf24A : kFirstTileOf16);
    crcs[which] |= static_cast<uint32_t>(counts[c] & 1) << (c - first);
  }
  return crcs;
}

TEST(NrCrcMatrixTest, ProductsAreTheCrcsOfMessagesOfEveryLength) {
  static const CrcMatrix matrix = MakeCrcMatrix();
  Random random(3);
  for (uint32_t length = 0; length <= kMaxCrcSteps * kCrcStepBits; length += 1 + length / 9) {
    CrcMessage message;
    message.first = static_cast<uint32_t>(random.Below(70));
    message.bits = length;
    const PackedBits bits(random, message.first + length);
    const std::array<uint32_t, 3> crcs = CrcsByProduct(matrix, message, bits);
    EXPECT_EQ(crcs[0], CrcOfBits(Crc::kCrc24B, bits.bytes(), message.first, length)) << length;
    EXPECT_EQ(crcs[1], CrcOfBits(Crc::kCrc24A, bits.bytes(), message.first, length)) << length;
    EXPECT_EQ(crcs[2], CrcOfBits(Crc::kCrc16, bits.bytes(), message.first, length)) << length;
  }
}

// All of a block's bits that are sent, from any column on: against the walk around the buffer.
TEST(NrTransmitMathTest, KeptRowsAreTheBitsThatAreSent) {
  constexpr int kQm = 4;
  Random random(4);
  for (int repeat = 0; repeat < 300; ++repeat) {
    CodeBlock block;
    block.base_graph = 1 + random.Below(2);
    block.zc = random.Below(3) == 0 ? 2 : 2 * (1 + random.Below(8));
    const int systematic = (block.base_graph == 1 ? 20 : 8) * block.zc;
    const int n = (block.base_graph == 1 ? 66 : 50) * block.zc;
    block.num_filler = random.Below(2) * random.Below(systematic);
    block.n_cb = random.Below(2) == 0 ? n : 1 + random.Below(n);
    block.rv = random.Below(4);
    block.qm = kQm;
    block.e = kQm * (1 + random.Below(n));
    const RateMatch r = *MakeRateMatch(block);
    const KeptBits kept{32 + static_cast<uint32_t>(random.Below(32)), r.kept};
    const PackedBits words(random, kept.begin + r.kept + 64);
    const auto load = [&](uint32_t w) { return SwapWord(words.load()(w)); };
    const auto columns = static_cast<int32_t>(r.columns);
    for (int32_t first = -31; first < columns; first += 1 + random.Below(40)) {
      uint32_t rows[kQm];
      if (IsStraight(r)) {
        StraightRows<kQm>(kept.begin + r.kept_before_k0, r.columns, first, load, rows);
      } else {
        KeptRows<kQm>(r, kept, first, load, rows);
      }
      for (int32_t i = std::max(first, 0); i < std::min(first + 32, columns); ++i) {
        for (int row = 0; row < kQm; ++row) {
          const auto sent = static_cast<uint32_t>(row * columns + i);
          const uint32_t rank = KeptBefore(r, PlaceOfSent(r, sent));
          ASSERT_EQ(BitOf(rows[row], static_cast<uint32_t>(i - first)), words[kept.begin + rank])
              << "e_" << sent;
        }
      }
    }
  }
}

TEST(NrTransmitMathTest, PlacesOfSymbolsAreThoseOfTheCpu) {
  SymbolLayout layout;
  for (const int layers : {1, 2, 3, 8}) {
    for (const bool by_layer : {false, true}) {
      layout.num_layers = layers;
      layout.by_layer = by_layer;
      layout.symbols_per_layer = 1000;
      for (uint32_t i = 0; i < 1000; i += 7)
        EXPECT_EQ(PlaceOf(layout, i), PlaceOfSymbol(layout, i));
    }
  }
}

struct Tb {
  uint32_t num_short;
  RateMatch of_short;
  RateMatch of_long;
};

TEST(NrTransmitMathTest, BlocksLieWhereThePlanSays) {
  TransportBlock block;
  block.tb_bytes = 3849;
  block.num_layers = 2;
  block.qm = 4;
  block.g = 8 * 4003;
  const TransportBlockPlan plan = *MakePlan(block);
  ASSERT_GT(plan.num_short, 0);
  ASSERT_LT(plan.num_short, plan.num_blocks);
  const Tb tb{static_cast<uint32_t>(plan.num_short), plan.of_short, plan.of_long};
  uint32_t payload = 0;
  for (uint32_t r = 0; r < static_cast<uint32_t>(plan.num_blocks); ++r) {
    EXPECT_EQ(CodedBegin(tb, r), plan.e_begin(static_cast<int>(r)));
    EXPECT_EQ(RateMatchOf(tb, r).e, static_cast<uint32_t>(plan.e(static_cast<int>(r))));
    const PayloadSlice slice =
        SliceOf(static_cast<uint32_t>(plan.tb_bits), static_cast<uint32_t>(plan.info_bits()), r);
    EXPECT_EQ(slice.first, plan.info_begin(static_cast<int>(r)));
    payload += slice.bits;
  }
  EXPECT_EQ(payload, plan.tb_bits);
}

// Payloads of blocks that end anywhere in a word.
TEST(NrReceiveMathTest, WordsOfThePayloadComeFromOneBlockOrTwo) {
  Random random(5);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const auto num_blocks = static_cast<uint32_t>(1 + random.Below(4));
    const auto info_bits = static_cast<uint32_t>(60 + random.Below(100));
    const uint32_t block_bits = info_bits + (num_blocks > 1 ? 24 : 0);
    const uint32_t payload_bits =
        num_blocks * info_bits - static_cast<uint32_t>(random.Below(2)) * 24;
    std::vector<std::unique_ptr<PackedBits>> blocks;
    for (uint32_t r = 0; r < num_blocks; ++r) {
      blocks.push_back(std::make_unique<PackedBits>(random, block_bits));
    }
    uint32_t written = 0;
    for (uint32_t r = 0; r < num_blocks; ++r) {
      const PayloadReader reader(block_bits, SliceOf(payload_bits, info_bits, r));
      EXPECT_EQ(reader.first_word(), written);
      const PackedBits& next = *blocks[r + 1 < num_blocks ? r + 1 : r];
      for (; written < reader.end_word(); ++written) {
        const uint32_t word = reader.Word(written, blocks[r]->load(), next.load());
        for (uint32_t i = 0; i < 32 && 32 * written + i < payload_bits; ++i) {
          const uint32_t bit = 32 * written + i;
          ASSERT_EQ(BitOf(word, i), (*blocks[bit / info_bits])[bit % info_bits]);
        }
      }
    }
    EXPECT_EQ(written, (payload_bits + 31) / 32);
  }
}

TEST(NrReceiveMathTest, SoftBitsAreAddedAndClippedOnce) {
  for (int old = -128; old < 128; ++old) {
    for (int sum = -127; sum < 128; ++sum) {
      const uint32_t four = static_cast<uint32_t>(old & 0xff) * 0x01000100u | 0x00330033u;
      const uint32_t added = AddSoft(four, static_cast<uint32_t>(sum & 0xff) * 0x01000100u);
      const auto expected =
          static_cast<uint32_t>(std::clamp(std::max(old, -127) + sum, -127, 127) & 0xff);
      ASSERT_EQ(added, expected * 0x01000100u | 0x00330033u);
    }
  }
}

TEST(NrReceiveMathTest, BytesWithinARangeAreOnes) {
  EXPECT_EQ(BytesWithin(8, 0, 100), 0xffffffffu);
  EXPECT_EQ(BytesWithin(8, 9, 11), 0x00ffff00u);
  EXPECT_EQ(BytesWithin(8, 12, 20), 0u);
  EXPECT_EQ(BytesWithin(8, 0, 8), 0u);
  EXPECT_EQ(BytesWithin(8, 11, 12), 0xff000000u);
  EXPECT_EQ(BytesWithin(8, 10, 10), 0u);
}

}  // namespace
}  // namespace baseband::nr
