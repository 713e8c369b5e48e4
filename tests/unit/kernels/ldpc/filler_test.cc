// Known zeros against LLRs that say otherwise: what is answered as a code word is one of zeros
// there, by every algorithm and schedule, on every instruction set.
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/custom_codes.h"
#include "tests/support/every_target.h"
#include "tests/support/filler_words.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/unit/kernels/ldpc/decode_on_cpu.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::IsAFillerOne;
using ::baseband::testing::IsWordOf;
using ::baseband::testing::LlrOfOnes;
using ::baseband::testing::OnEveryTarget;

std::vector<CodePtr> CodesOfEachFamily() {
  std::mt19937 generator(1);
  return {*NrCode(1, 2, 4),
          *NrCode(1, 36, 10),
          *NrCode(1, 15),
          *NrCode(2, 20, 20),
          *NrCode(2, 7, 5),
          *NrCode(2, 64),
          *WifiCode("1/2", 648),
          *WifiCode("5/6", 1944),
          *WimaxCode("1/2", 576),
          *WimaxCode("5/6", 2304),
          *Code::Create(testing::TriangularMatrix(6, 14, 33, &generator), Family::kCustom, "mine")};
}

// How often messages overruled a filler, of an algorithm.
struct Overruled {
  int words = 0;
  int that_hold = 0;  // all parity checks, with the filler as it was decided
};

bool ChecksHold(const Code& code, const std::vector<int8_t>& soft) {
  for (int row = 0; row < code.rows(); ++row) {
    for (int i = 0; i < code.zc(); ++i) {
      bool odd = false;
      for (const Edge& edge : code.row(row)) {
        odd ^=
            soft[static_cast<size_t>(edge.column * code.zc() + (i + edge.shift) % code.zc())] < 0;
      }
      if (odd) return false;
    }
  }
  return true;
}

template <class Each>
void ForEachOption(const Each& each) {
  for (const Algorithm algorithm :
       {Algorithm::kNormalizedMinSum, Algorithm::kSumProduct, Algorithm::kBitFlipping}) {
    for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      for (const bool early_termination : {true, false}) {
        DecodeParameters parameters;
        parameters.algorithm = algorithm;
        parameters.schedule = schedule;
        parameters.early_termination = early_termination;
        parameters.max_iterations = 7;
        each(parameters);
      }
    }
  }
}

TEST(LdpcFillerTest, ParityOkSaysThatTheBitsAndZerosAreACodeWord) {
  Random random(1);
  Overruled overruled[3];
  for (const CodePtr& code : CodesOfEachFamily()) {
    for (const int num_filler : {1, 2, 8, 40, code->k() - 1}) {
      if (num_filler >= code->k()) continue;
      for (const int magnitude : {8, 20, 127}) {
        const std::vector<int8_t> llr = LlrOfOnes(*code, num_filler, magnitude, random);
        ForEachOption([&](const DecodeParameters& parameters) {
          SCOPED_TRACE(code->name() + ", algorithm " + std::to_string(int(parameters.algorithm)) +
                       ", schedule " + std::to_string(int(parameters.schedule)) + ", " +
                       std::to_string(num_filler) + " fillers, LLRs of " +
                       std::to_string(magnitude));
          OnEveryTarget([&] {
            const Decoded decoded = Decode(*code, parameters, num_filler, llr);
            if (decoded.result.parity_ok != 0) {
              EXPECT_TRUE(IsWordOf(*code, num_filler, decoded.bits, decoded.soft));
            }
            if (!IsAFillerOne(*code, num_filler, decoded.soft)) return;
            EXPECT_EQ(decoded.result.parity_ok, 0);
            EXPECT_EQ(decoded.result.iterations, parameters.max_iterations);
            Overruled& of = overruled[static_cast<int>(parameters.algorithm)];
            of.words += 1;
            of.that_hold += ChecksHold(*code, decoded.soft);
          });
        });
      }
    }
  }
  // Or there is nothing to be said of it: the test has seen such words. One-bit messages overrule
  // no filler.
  EXPECT_GT(overruled[static_cast<int>(Algorithm::kNormalizedMinSum)].that_hold, 50);
  EXPECT_GT(overruled[static_cast<int>(Algorithm::kSumProduct)].that_hold, 50);
  EXPECT_EQ(overruled[static_cast<int>(Algorithm::kBitFlipping)].words, 0);
}

TEST(LdpcFillerTest, EqualsTheReferenceWhereFillersAreOverruled) {
  Random random(2);
  for (const CodePtr& code : CodesOfEachFamily()) {
    for (const int num_filler : {1, 5, code->k() / 2}) {
      const std::vector<int8_t> llr = LlrOfOnes(*code, num_filler, 127, random);
      ForEachOption([&](const DecodeParameters& parameters) {
        // Float sums are not the reference's to the bit.
        if (parameters.algorithm == Algorithm::kSumProduct) return;
        const reference::Decoded expected = reference::Decode(*code, parameters, num_filler, llr);
        OnEveryTarget([&] {
          const Decoded decoded = Decode(*code, parameters, num_filler, llr);
          EXPECT_EQ(decoded.bits, expected.bits);
          EXPECT_EQ(decoded.soft, expected.soft);
          EXPECT_EQ(decoded.result.iterations, expected.result.iterations);
          EXPECT_EQ(decoded.result.parity_ok, expected.result.parity_ok);
        });
      });
    }
  }
}

// Only those bits are fillers: their neighbours may well be ones.
TEST(LdpcFillerTest, OnesBesideFillersAreNone) {
  Random random(3);
  for (const CodePtr& code : CodesOfEachFamily()) {
    for (const int num_filler : {1, code->zc() - 1, code->zc(), code->zc() + 1}) {
      if (num_filler >= code->k()) continue;
      std::vector<uint8_t> message(static_cast<size_t>(code->k() - num_filler), 1);
      const std::vector<uint8_t> word = testing::WordOf(*code, num_filler, message);
      std::vector<int8_t> llr;
      for (const uint8_t bit : testing::SentBits(*code, word)) llr.push_back(bit != 0 ? -20 : 20);
      ForEachOption([&](const DecodeParameters& parameters) {
        if (parameters.algorithm == Algorithm::kBitFlipping) return;  // not sure of punctured bits
        OnEveryTarget([&] {
          const Decoded decoded = Decode(*code, parameters, num_filler, llr);
          EXPECT_EQ(decoded.result.parity_ok, 1) << code->name() << ", " << num_filler;
          EXPECT_EQ(decoded.bits, testing::PackBits(message));
        });
      });
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
