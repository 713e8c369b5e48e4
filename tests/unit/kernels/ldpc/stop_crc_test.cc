// Code blocks that stop by the CRC of their information bits, on every instruction set.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/crc_words.h"
#include "tests/support/every_target.h"
#include "tests/unit/kernels/ldpc/decode_on_cpu.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::HeldUpLlr;
using ::baseband::testing::OnEveryTarget;
using ::baseband::testing::RandomCrcWord;

constexpr Crc kCrcs[] = {Crc::kCrc16, Crc::kCrc24A, Crc::kCrc24B};

DecodeParameters StoppedBy(absl::optional<Crc> crc) {
  DecodeParameters parameters;
  parameters.stop_crc = crc;
  return parameters;
}

std::vector<uint8_t> InfoOf(const Code& code, int num_filler, const std::vector<uint8_t>& word) {
  return testing::PackBits(
      absl::MakeConstSpan(word).first(static_cast<size_t>(code.k() - num_filler)));
}

TEST(LdpcStopCrcTest, ARightBlockStopsAlthoughACheckIsHeldUp) {
  Random random(1);
  for (const Crc crc : kCrcs) {
    for (const CodePtr& code : {*NrCode(1, 30, 10), *NrCode(2, 64, 42), *NrCode(1, 384, 8)}) {
      for (const int num_filler : {0, 37}) {
        const std::vector<uint8_t> word = RandomCrcWord(*code, num_filler, crc, random);
        const std::vector<int8_t> llr = HeldUpLlr(*code, word, 20);
        OnEveryTarget([&] {
          const Decoded by_parity = Decode(*code, StoppedBy({}), num_filler, llr);
          EXPECT_EQ(by_parity.result.iterations, 10);
          EXPECT_EQ(by_parity.result.parity_ok, 0);
          const Decoded by_crc = Decode(*code, StoppedBy(crc), num_filler, llr);
          EXPECT_LE(by_crc.result.iterations, 3);
          EXPECT_EQ(by_crc.result.parity_ok, 0);
          EXPECT_EQ(by_crc.bits, InfoOf(*code, num_filler, word));
        });
      }
    }
  }
}

TEST(LdpcStopCrcTest, AnotherCrcOrAWrongBitStopsNothing) {
  Random random(2);
  const CodePtr code = *NrCode(2, 64, 20);
  for (const Crc sent : kCrcs) {
    const std::vector<uint8_t> word = RandomCrcWord(*code, 0, sent, random);
    for (const Crc crc : kCrcs) {
      const Decoded decoded = Decode(*code, StoppedBy(crc), 0, HeldUpLlr(*code, word, 20));
      EXPECT_EQ(decoded.result.iterations < 10, crc == sent);
    }
    std::vector<uint8_t> wrong(word.begin(), word.begin() + code->k());
    wrong[static_cast<size_t>(random.Below(code->k()))] ^= 1;
    const std::vector<uint8_t> other = testing::WordOf(*code, 0, wrong);
    EXPECT_EQ(Decode(*code, StoppedBy(sent), 0, HeldUpLlr(*code, other, 20)).result.iterations, 10);
  }
}

// Zeros have a right CRC, and are what is decided of nothing.
TEST(LdpcStopCrcTest, ZerosStopByTheirParityChecksAlone) {
  const CodePtr code = *NrCode(1, 30, 10);
  const std::vector<uint8_t> zeros(static_cast<size_t>(code->n()), 0);
  std::vector<int8_t> llr = HeldUpLlr(*code, zeros, 20);
  OnEveryTarget([&] {
    const Decoded decoded = Decode(*code, StoppedBy(Crc::kCrc24B), 0, llr);
    EXPECT_THAT(decoded.bits, ::testing::Each(0));
    EXPECT_EQ(decoded.result.iterations, 10);
    EXPECT_EQ(decoded.result.parity_ok, 0);
  });
  llr.back() = 20;
  EXPECT_EQ(Decode(*code, StoppedBy(Crc::kCrc24B), 0, llr).result.iterations, 1);
  llr.assign(llr.size(), 0);
  const Decoded nothing = Decode(*code, StoppedBy(Crc::kCrc24B), 0, llr);
  EXPECT_EQ(nothing.result.iterations, 1);
  EXPECT_EQ(nothing.result.parity_ok, 1);
}

TEST(LdpcStopCrcTest, WithoutEarlyTerminationTheCrcIsNotLookedAt) {
  Random random(3);
  const CodePtr code = *NrCode(1, 30, 10);
  DecodeParameters parameters = StoppedBy(Crc::kCrc16);
  parameters.early_termination = false;
  const std::vector<uint8_t> word = RandomCrcWord(*code, 0, Crc::kCrc16, random);
  EXPECT_EQ(Decode(*code, parameters, 0, HeldUpLlr(*code, word, 20)).result.iterations, 10);
}

TEST(LdpcStopCrcTest, EqualsTheReferenceForEveryOption) {
  Random random(4);
  int stopped = 0;  // with a check that does not hold
  for (int trial = 0; trial < 120; ++trial) {
    const int base_graph = 1 + random.Below(2);
    const int zc = std::vector<int>{5, 13, 16, 36, 64}[static_cast<size_t>(random.Below(5))];
    const CodePtr code = *NrCode(base_graph, zc, 4 + random.Below(39));
    const int num_filler = random.Below(2) * random.Below(code->k() - 26);
    const Crc crc = kCrcs[random.Below(3)];
    const std::vector<uint8_t> word = RandomCrcWord(*code, num_filler, crc, random);
    const double variance = testing::NoiseVariance(1.0 + random.Below(6), testing::SentRate(*code));
    const std::vector<int8_t> llr = testing::QuantiseLlr(
        testing::SendOverAwgn(testing::SentBits(*code, word), variance, random), 16.0);
    DecodeParameters parameters = StoppedBy(crc);
    parameters.algorithm = static_cast<Algorithm>(random.Below(3));
    parameters.schedule = static_cast<Schedule>(random.Below(2));
    parameters.max_iterations = 1 + random.Below(8);
    SCOPED_TRACE(code->name() + ", trial " + std::to_string(trial));
    const reference::Decoded expected = reference::Decode(*code, parameters, num_filler, llr);
    stopped +=
        expected.result.parity_ok == 0 && expected.result.iterations < parameters.max_iterations;
    // Float sums are not the reference's to the bit.
    if (parameters.algorithm == Algorithm::kSumProduct) continue;
    OnEveryTarget([&] {
      const Decoded decoded = Decode(*code, parameters, num_filler, llr);
      EXPECT_EQ(decoded.bits, expected.bits);
      EXPECT_EQ(decoded.soft, expected.soft);
      EXPECT_EQ(decoded.result.iterations, expected.result.iterations);
      EXPECT_EQ(decoded.result.parity_ok, expected.result.parity_ok);
    });
  }
  EXPECT_GT(stopped, 5);
}

TEST(LdpcStopCrcTest, SumProductStopsToo) {
  Random random(5);
  const CodePtr code = *NrCode(1, 30, 10);
  const std::vector<uint8_t> word = RandomCrcWord(*code, 11, Crc::kCrc24A, random);
  std::vector<int8_t> llr = HeldUpLlr(*code, word, 16);
  for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
    DecodeParameters parameters = StoppedBy(Crc::kCrc24A);
    parameters.algorithm = Algorithm::kSumProduct;
    parameters.schedule = schedule;
    OnEveryTarget([&] {
      const Decoded decoded = Decode(*code, parameters, 11, llr);
      EXPECT_LT(decoded.result.iterations, 10);
      EXPECT_EQ(decoded.result.parity_ok, 0);
      EXPECT_EQ(decoded.bits, InfoOf(*code, 11, word));
    });
  }
}

}  // namespace
}  // namespace baseband::ldpc
