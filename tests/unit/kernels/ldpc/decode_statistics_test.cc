// What decoding is worth, from simulations with fixed seeds: error rates and iterations.
#include <cmath>

#include "gtest/gtest.h"
#include "kernels/ldpc/decode.h"
#include "kernels/ldpc/reference_decode.h"
#include "tests/support/ldpc_words.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::Random;
using ::baseband::testing::RandomWord;
using ::baseband::testing::SentRate;

struct Outcome {
  int failures = 0;    // frames with a wrong information bit
  int undetected = 0;  // of these, those whose parity checks hold
  double mean_iterations = 0.0;
};

// Decodes `frames` random words sent at `ebn0_db`; the same seed gives the same words and noise.
Outcome Simulate(const Code& code, const DecodeParameters& parameters, double ebn0_db, int frames,
                 uint64_t seed) {
  Random random(seed);
  const double variance = testing::NoiseVariance(ebn0_db, SentRate(code));
  Outcome outcome;
  std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(code, 0)));
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<uint8_t> word = RandomWord(code, 0, random);
    const std::vector<int8_t> llr = testing::QuantiseLlr(
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random));
    const DecodeResult result = DecodeOnCpu(code, parameters, 0, llr, absl::MakeSpan(bits), {});
    if (bits != testing::PackBits(absl::MakeSpan(word).subspan(0, code.k()))) {
      ++outcome.failures;
      outcome.undetected += result.parity_ok;
    }
    outcome.mean_iterations += result.iterations / static_cast<double>(frames);
  }
  return outcome;
}

// The same words and noise without quantisation, layered, under the same scaling.
int FloatFailures(const Code& code, int iterations, double ebn0_db, int frames, uint64_t seed) {
  Random random(seed);
  const double variance = testing::NoiseVariance(ebn0_db, SentRate(code));
  const Scaling scaling = DefaultScaling(code, Schedule::kLayered);
  int failures = 0;
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<uint8_t> word = RandomWord(code, 0, random);
    std::vector<double> llr(static_cast<size_t>(code.punctured_columns() * code.zc()), 0.0);
    const std::vector<double> sent =
        testing::SendOverAwgn(testing::SentBits(code, word), variance, random);
    llr.insert(llr.end(), sent.begin(), sent.end());
    const std::vector<uint8_t> bits =
        reference::DecodeFloatMinSum(code, scaling, testing::kLlrScale, iterations, true, llr);
    failures += std::equal(word.begin(), word.begin() + code.k(), bits.begin()) ? 0 : 1;
  }
  return failures;
}

struct Waterfall {
  const char* name;
  CodePtr code;
  double ebn0_db;  // where about one frame in 50 fails
};

class LdpcDecodeWaterfallTest : public ::testing::TestWithParam<Waterfall> {};

INSTANTIATE_TEST_SUITE_P(Codes, LdpcDecodeWaterfallTest,
                         ::testing::Values(Waterfall{"Bg1Rate033", *NrCode(1, 32, 46), 1.3},
                                           Waterfall{"Bg1Rate092", *NrCode(1, 32, 4), 4.9},
                                           Waterfall{"Bg2Rate020", *NrCode(2, 32, 42), 1.4},
                                           Waterfall{"Bg2Rate083", *NrCode(2, 32, 4), 4.1},
                                           Waterfall{"WimaxRate050", *WimaxCode("1/2", 576), 2.1},
                                           Waterfall{"WifiRate083", *WifiCode("5/6", 648), 3.7}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(LdpcDecodeWaterfallTest, TheIntegerEngineIsWithinATenthOfADecibelOfFloat) {
  // At 0.1 dB more, the integer engine fails no more often than float: both see the same words and
  // the same noise, so that little of the difference is chance.
  const Waterfall& test = GetParam();
  constexpr int kFrames = 4000;
  DecodeParameters parameters;
  const int float_failures = FloatFailures(*test.code, 10, test.ebn0_db, kFrames, 1);
  ASSERT_GE(float_failures, kFrames / 200);
  ASSERT_LE(float_failures, kFrames / 10);
  EXPECT_LE(Simulate(*test.code, parameters, test.ebn0_db + 0.1, kFrames, 1).failures,
            float_failures);
}

TEST_P(LdpcDecodeWaterfallTest, FailuresAreFoundByTheParityChecks) {
  const Waterfall& test = GetParam();
  const Outcome outcome = Simulate(*test.code, DecodeParameters(), test.ebn0_db, 1500, 2);
  EXPECT_LE(outcome.undetected, outcome.failures / 5);
}

TEST_P(LdpcDecodeWaterfallTest, LayeredNeedsAboutHalfTheIterationsOfFlooding) {
  const Waterfall& test = GetParam();
  DecodeParameters parameters;
  parameters.max_iterations = 50;
  const Outcome layered = Simulate(*test.code, parameters, test.ebn0_db + 0.4, 500, 3);
  parameters.schedule = Schedule::kFlooding;
  const Outcome flooding = Simulate(*test.code, parameters, test.ebn0_db + 0.4, 500, 3);
  EXPECT_LE(layered.mean_iterations, 0.7 * flooding.mean_iterations);
  EXPECT_GE(layered.mean_iterations, 0.4 * flooding.mean_iterations);
}

TEST_P(LdpcDecodeWaterfallTest, SumProductIsBestAndBitFlippingWorst) {
  const Waterfall& test = GetParam();
  constexpr int kFrames = 500;
  DecodeParameters parameters;
  parameters.max_iterations = 20;
  const int min_sum = Simulate(*test.code, parameters, test.ebn0_db - 0.2, kFrames, 4).failures;
  parameters.algorithm = Algorithm::kSumProduct;
  const int sum_product = Simulate(*test.code, parameters, test.ebn0_db - 0.2, kFrames, 4).failures;
  parameters.algorithm = Algorithm::kBitFlipping;
  const int flipping = Simulate(*test.code, parameters, test.ebn0_db - 0.2, kFrames, 4).failures;
  EXPECT_LE(sum_product, min_sum);
  EXPECT_GT(flipping, 2 * min_sum);
}

TEST(LdpcDecodeStatisticsTest, FrameErrorRatesAreBelowTheirLimits) {
  // Points of the waterfall at full size, with the limit a decibel's fraction above what
  // ldpc_quantisation_bench shows: a decoder that lost 0.2 dB would not pass.
  struct Point {
    CodePtr code;
    double ebn0_db;
    double max_rate;
  };
  const Point points[] = {{*NrCode(1, 64, 46), 1.5, 0.01},
                          {*NrCode(1, 64, 4), 4.8, 0.03},
                          {*NrCode(2, 64, 42), 1.3, 0.03},
                          {*WimaxCode("1/2", 2304), 1.9, 0.03}};
  for (const Point& point : points) {
    constexpr int kFrames = 500;
    const Outcome outcome = Simulate(*point.code, DecodeParameters(), point.ebn0_db, kFrames, 5);
    EXPECT_LE(outcome.failures, point.max_rate * kFrames) << point.code->name();
  }
}

TEST(LdpcDecodeStatisticsTest, BitFlippingCorrectsWhatAHardDecisionDecoderCan) {
  // 802.16e R=1/2 over a binary symmetric channel: 23 errors a word on average. Hard decisions get
  // stuck around bits of degree two, so that a few words in a thousand fail at any rate.
  const CodePtr code = *WimaxCode("1/2", 2304);
  DecodeParameters parameters;
  parameters.algorithm = Algorithm::kBitFlipping;
  parameters.max_iterations = 50;
  Random random(6);
  int failures = 0;
  for (int frame = 0; frame < 300; ++frame) {
    const std::vector<uint8_t> word = RandomWord(*code, 0, random);
    std::vector<int8_t> llr;
    for (uint8_t bit : word) {
      const bool received = (bit != 0) != (random.Uniform() < 0.01);
      llr.push_back(static_cast<int8_t>((received ? -1 : 1) * (1 + random.Below(127))));
    }
    std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(*code, 0)));
    DecodeOnCpu(*code, parameters, 0, llr, absl::MakeSpan(bits), {});
    failures += bits != testing::PackBits(absl::MakeSpan(word).subspan(0, code->k())) ? 1 : 0;
  }
  EXPECT_LE(failures, 6);
}

}  // namespace
}  // namespace baseband::ldpc
