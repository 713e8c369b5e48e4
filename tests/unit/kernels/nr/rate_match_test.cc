// Rate matching and back: the mapping of places, known answers, and the fast versions against the
// walk around the buffer.
#include "kernels/nr/rate_match.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/base/bits.h"
#include "kernels/ldpc/code.h"
#include "kernels/nr/reference.h"
#include "tests/support/every_target.h"
#include "tests/support/nr_vectors.h"
#include "tests/unit/kernels/nr/formats.h"

namespace baseband::nr {
namespace {

using ::baseband::testing::OnEveryTarget;
using ::baseband::testing::RandomBytes;

int BufferBits(const CodeBlock& block) {
  return block.n_cb == 0 ? (block.base_graph == 1 ? 66 : 50) * block.zc : block.n_cb;
}

std::string Describe(const CodeBlock& b) {
  return "bg " + std::to_string(b.base_graph) + " zc " + std::to_string(b.zc) + " filler " +
         std::to_string(b.num_filler) + " n_cb " + std::to_string(b.n_cb) + " rv " +
         std::to_string(b.rv) + " qm " + std::to_string(b.qm) + " e " + std::to_string(b.e);
}

// Blocks of every kind: all sizes, both graphs, every rv and qm; buffers down to a bit, a bit to
// several times around.
CodeBlock RandomBlock(int trial, std::mt19937* random) {
  CodeBlock block;
  block.base_graph = 1 + trial % 2;
  block.zc = ldpc::NrLiftingSizes()[static_cast<size_t>(trial / 2 % 51)];
  const int n = BufferBits(block);
  const int fillable = (block.base_graph == 1 ? 20 : 8) * block.zc;
  if ((*random)() % 3 != 0) block.num_filler = static_cast<int>((*random)() % fillable);
  switch ((*random)() % 4) {
    case 0:  // of any length
      block.n_cb = 1 + static_cast<int>((*random)() % n);
      break;
    case 1:  // tiny, or cut in the fillers
      block.n_cb = 1 + static_cast<int>((*random)() % std::min(n, 40));
      if (block.num_filler > 0 && (*random)() % 2 == 0) {
        block.n_cb = fillable - static_cast<int>((*random)() % block.num_filler);
      }
      break;
    default:
      break;
  }
  block.rv = static_cast<int>((*random)() % 4);
  block.qm = kQms[(*random)() % 6];
  const int length = BufferBits(block);
  const auto most = static_cast<uint32_t>((*random)() % 3 == 0   ? 3 * length + 60
                                          : (*random)() % 2 == 0 ? length
                                                                 : 200);
  block.e = block.qm * (1 + static_cast<int64_t>((*random)() % (most / block.qm + 1)));
  return block;
}

std::vector<int8_t> RandomLlrs(int64_t count, std::mt19937* random) {
  std::vector<int8_t> llr(static_cast<size_t>(count));
  const bool small = (*random)() % 2 == 0;
  for (int8_t& value : llr) {
    value = static_cast<int8_t>((*random)());
    if (small) value = static_cast<int8_t>(value / 8);
  }
  return llr;
}

TEST(NrRateMatchMathTest, EveryPlaceOfEverySmallBufferIsSentWhenItSays) {
  for (uint32_t n_cb = 1; n_cb <= 14; ++n_cb) {
    for (uint32_t begin = 1; begin <= n_cb; ++begin) {
      for (uint32_t end = begin; end <= n_cb; ++end) {
        for (uint32_t k0 = 0; k0 < n_cb; ++k0) {
          RateMatch r;
          r.n_cb = n_cb;
          r.k0 = k0;
          r.filler_begin = begin;
          r.filler_end = end;
          r.kept = KeptBefore(r, n_cb);
          r.kept_before_k0 = KeptBefore(r, k0);
          ASSERT_EQ(r.kept, n_cb - (end - begin));
          // The walk of 5.4.2.1, three times around.
          std::vector<uint32_t> places;
          for (uint32_t j = 0; places.size() < 3 * r.kept; ++j) {
            const uint32_t place = (k0 + j) % n_cb;
            if (place < begin || place >= end) places.push_back(place);
          }
          for (uint32_t k = 0; k < places.size(); ++k) {
            ASSERT_EQ(PlaceOfSent(r, k), places[k]);
            ASSERT_EQ(FirstSentOf(r, places[k]), k % r.kept);
          }
        }
      }
    }
  }
}

TEST(NrRateMatchMathTest, InterleavingIsAPermutationRowByRow) {
  for (const int qm : kQms) {
    RateMatch r;
    r.qm = static_cast<uint32_t>(qm);
    r.columns = 7;
    r.e = r.qm * r.columns;
    for (uint32_t i = 0; i < r.qm; ++i) {
      for (uint32_t j = 0; j < r.columns; ++j) {
        EXPECT_EQ(Interleaved(r, i * r.columns + j), i + j * r.qm);
      }
    }
  }
}

TEST(NrRateMatchTest, KnownAnswersAreMet) {
  const std::vector<testing::NrRateMatchVector> vectors = testing::ReadNrRateMatchVectors();
  EXPECT_EQ(vectors.size(), 44u);
  OnEveryTarget([&] {
    for (const testing::NrRateMatchVector& v : vectors) {
      CodeBlock block = v.block;
      block.n_cb = v.n_cb;
      const Bits buffer =
          ReferenceBuffer(block.base_graph, block.zc, ldpc::UnpackBits(v.info, v.k_prime));
      EXPECT_EQ(ldpc::PackBits(ReferenceRateMatch(block, buffer)), v.out) << v.number;
      std::vector<uint8_t> out(v.out.size(), 0);
      RateMatchOnCpu(*MakeRateMatch(block), ldpc::PackBits(buffer), out.data(), 0);
      EXPECT_EQ(out, v.out) << v.number;
    }
  });
}

TEST(NrRateMatchTest, AnyBlockAtAnyBitEqualsTheWalkAndLeavesItsNeighbours) {
  OnEveryTarget([] {
    std::mt19937 random(1);
    for (int trial = 0; trial < 1500; ++trial) {
      const CodeBlock block = RandomBlock(trial, &random);
      const RateMatch rate_match = *MakeRateMatch(block);
      const int n_cb = BufferBits(block);
      // No byte more than there need be.
      const std::vector<uint8_t> buffer = RandomBytes(static_cast<size_t>(n_cb + 7) / 8, &random);
      const Bits expected = ReferenceRateMatch(block, ldpc::UnpackBits(buffer, n_cb));
      const auto out_bit = static_cast<int64_t>(random() % 40);
      const int64_t end = out_bit + block.e;
      const std::vector<uint8_t> before =
          RandomBytes(static_cast<size_t>(BytesForBits(end)), &random);
      Bits all = ldpc::UnpackBits(before, static_cast<int>(8 * before.size()));
      std::copy(expected.begin(), expected.end(), all.begin() + out_bit);

      std::vector<uint8_t> out = before;
      RateMatchOnCpu(rate_match, buffer, out.data(), out_bit);
      ASSERT_EQ(out, ldpc::PackBits(all)) << Describe(block);

      out = before;
      const EdgeBits edges = RateMatchInsideOnCpu(rate_match, buffer, out.data(), out_bit);
      if (out_bit % 8 != 0) {
        const auto first = static_cast<size_t>(out_bit / 8);
        ASSERT_EQ(out[first], before[first]) << Describe(block);
      }
      PutEdges(out.data(), out_bit, end, edges);
      ASSERT_EQ(out, ldpc::PackBits(all)) << Describe(block);
    }
  });
}

TEST(NrRateMatchTest, ManyTimesAroundATinyBufferEqualsTheWalk) {
  OnEveryTarget([] {
    std::mt19937 random(2);
    for (const int qm : kQms) {
      for (const int n_cb : {1, 2, 3, 7, 64, 65}) {
        CodeBlock block;
        block.zc = 4;
        block.n_cb = n_cb;
        block.qm = qm;
        block.e = 120 * 353;
        const std::vector<uint8_t> buffer = RandomBytes(9, &random);
        std::vector<uint8_t> out(static_cast<size_t>(BytesForBits(block.e)), 0);
        RateMatchOnCpu(*MakeRateMatch(block), buffer, out.data(), 0);
        ASSERT_EQ(out, ldpc::PackBits(ReferenceRateMatch(block, ldpc::UnpackBits(buffer, 72))));
        const std::vector<int8_t> llr = RandomLlrs(block.e, &random);
        std::vector<int8_t> soft(static_cast<size_t>(n_cb), 77);
        RateDematchOnCpu(*MakeRateMatch(block), llr, false, absl::MakeSpan(soft));
        ASSERT_EQ(soft, ReferenceRateDematch(block, llr, {}));
      }
    }
  });
}

TEST(NrRateDematchTest, AnyBlockEqualsTheWalk) {
  OnEveryTarget([] {
    std::mt19937 random(3);
    for (int trial = 0; trial < 1500; ++trial) {
      const CodeBlock block = RandomBlock(trial, &random);
      const RateMatch rate_match = *MakeRateMatch(block);
      const int n_cb = BufferBits(block);
      const std::vector<int8_t> llr = RandomLlrs(block.e, &random);
      const std::vector<int8_t> old = RandomLlrs(n_cb, &random);
      for (const bool combine : {false, true}) {
        std::vector<int8_t> soft = old;
        RateDematchOnCpu(rate_match, llr, combine, absl::MakeSpan(soft));
        ASSERT_EQ(soft, ReferenceRateDematch(block, llr, combine ? old : std::vector<int8_t>{}))
            << Describe(block) << " combine " << combine;
      }
    }
  });
}

TEST(NrRateDematchTest, TheSumOfAllRepetitionsIsClippedOnceAtTheEnd) {
  CodeBlock block;
  block.zc = 2;
  block.n_cb = 1;
  block.qm = 1;
  block.e = 5;
  const RateMatch rate_match = *MakeRateMatch(block);
  std::vector<int8_t> soft = {100};
  const std::vector<int8_t> llr = {127, 127, -127, -127, -30};
  RateDematchOnCpu(rate_match, llr, true, absl::MakeSpan(soft));
  EXPECT_EQ(soft[0], 70);
}

TEST(NrRateDematchTest, LargestSumsDoNotOverflow) {
  CodeBlock block;
  block.zc = 2;
  block.n_cb = 1;
  block.qm = 1;
  block.e = kMaxCodedBits;
  const RateMatch rate_match = *MakeRateMatch(block);
  std::vector<int8_t> soft = {-128};
  std::vector<int8_t> llr(static_cast<size_t>(block.e), -128);
  RateDematchOnCpu(rate_match, llr, true, absl::MakeSpan(soft));
  EXPECT_EQ(soft[0], -127);
  std::fill(llr.begin(), llr.end(), int8_t{127});
  RateDematchOnCpu(rate_match, llr, true, absl::MakeSpan(soft));
  EXPECT_EQ(soft[0], 127);
}

TEST(NrRateDematchTest, WhatIsSentIsReadBackWhereverItStood) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 400; ++trial) {
    const CodeBlock block = RandomBlock(trial, &random);
    const RateMatch rate_match = *MakeRateMatch(block);
    const int n_cb = BufferBits(block);
    const std::vector<uint8_t> buffer = RandomBytes(static_cast<size_t>(n_cb + 7) / 8, &random);
    std::vector<uint8_t> out(static_cast<size_t>(BytesForBits(block.e)), 0);
    RateMatchOnCpu(rate_match, buffer, out.data(), 0);
    std::vector<int8_t> llr;
    for (const uint8_t bit : ldpc::UnpackBits(out, static_cast<int>(block.e))) {
      llr.push_back(bit != 0 ? -5 : 5);
    }
    std::vector<int8_t> soft(static_cast<size_t>(n_cb));
    RateDematchOnCpu(rate_match, llr, false, absl::MakeSpan(soft));
    const Bits bits = ldpc::UnpackBits(buffer, n_cb);
    for (uint32_t place = 0; place < rate_match.n_cb; ++place) {
      const bool filler = place >= rate_match.filler_begin && place < rate_match.filler_end;
      const bool sent = !filler && FirstSentOf(rate_match, place) < rate_match.e;
      ASSERT_EQ(soft[place] != 0, sent) << Describe(block);
      if (!sent) continue;
      ASSERT_EQ(soft[place] < 0, bits[place] != 0) << Describe(block);
    }
  }
}

}  // namespace
}  // namespace baseband::nr
