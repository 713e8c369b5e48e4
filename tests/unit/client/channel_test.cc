// The simulated channel and the counting of errors.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "client/ctl/ldpc/awgn.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/error_rate.h"
#include "client/ctl/studies/ber_curve.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::_;
using ::testing::DoubleNear;

TEST(AwgnTest, HardDecisionErrorsAreThoseOfTheory) {
  constexpr int64_t kBits = 4000000;
  const std::string word = Random(3).Bytes(kBits / 8);
  std::vector<int8_t> llr(kBits);
  for (const double ebn0_db : {0.0, 3.0, 6.0}) {
    Random random(1);
    const int64_t errors =
        AwgnChannel(NoiseVariance(ebn0_db, 1), 4).Transmit(word, kBits, &random, llr.data());
    const double p = UncodedBer(ebn0_db);
    // Five standard deviations.
    EXPECT_THAT(static_cast<double>(errors) / kBits, DoubleNear(p, 5 * std::sqrt(p / kBits)))
        << ebn0_db << " dB";
  }
}

TEST(AwgnTest, LlrsHaveTheMeanAndVarianceOfTheirDistribution) {
  constexpr int64_t kBits = 1000000;
  const std::string word = Random(4).Bytes(kBits / 8);
  std::vector<int8_t> llr(kBits);
  const double variance = 0.5;
  const double scale = 4;
  Random random(2);
  AwgnChannel(variance, scale).Transmit(word, kBits, &random, llr.data());
  double sum = 0;
  double squares = 0;
  for (int64_t i = 0; i < kBits; ++i) {
    const double towards_truth = GetBit(word, i) ? -llr[i] : llr[i];
    sum += towards_truth;
    squares += towards_truth * towards_truth;
  }
  const double mean = sum / kBits;
  const double expected_variance = std::pow(2 * scale, 2) / variance + 1.0 / 12;  // with rounding
  EXPECT_THAT(mean, DoubleNear(2 * scale / variance, 5 * std::sqrt(expected_variance / kBits)));
  EXPECT_THAT(squares / kBits - mean * mean,
              DoubleNear(expected_variance, 5 * expected_variance * std::sqrt(2.0 / kBits)));
}

TEST(AwgnTest, TheSameSeedGivesTheSameNoise) {
  const std::string word(100, '\x5a');
  std::vector<int8_t> first(800);
  std::vector<int8_t> second(800);
  const AwgnChannel channel(0.7, 4);
  Random random(9);
  channel.Transmit(word, 800, &random, first.data());
  random = Random(9);
  channel.Transmit(word, 800, &random, second.data());
  EXPECT_EQ(first, second);
  random = Random(9, 1);
  channel.Transmit(word, 800, &random, second.data());
  EXPECT_NE(first, second);
}

TEST(ErrorRateTest, CountsFramesBitsAndIterations) {
  ErrorRate rate;
  rate.AddFrame(100, 0, 3, true);
  rate.AddFrame(100, 7, 10, false);
  rate.AddFrame(100, 1, 5, true);
  rate.AddFrame(100, 0, 2, true);
  EXPECT_EQ(rate.frames(), 4);
  EXPECT_EQ(rate.frame_errors(), 2);
  EXPECT_EQ(rate.undetected_errors(), 1);
  EXPECT_DOUBLE_EQ(rate.fer(), 0.5);
  EXPECT_DOUBLE_EQ(rate.ber(), 0.02);
  EXPECT_DOUBLE_EQ(rate.mean_iterations(), 5);
}

TEST(ErrorRateTest, FerIntervalIsWilsons) {
  ErrorRate rate;
  for (int i = 0; i < 100; ++i) {
    rate.AddFrame(1, i < 10, 1, true);
  }
  // 10 of 100: Newcombe 1998's formula gives 0.0552 .. 0.1744.
  EXPECT_THAT(rate.FerInterval().low, DoubleNear(0.0552, 1e-4));
  EXPECT_THAT(rate.FerInterval().high, DoubleNear(0.1744, 1e-4));
}

TEST(ErrorRateTest, WithoutErrorsOnlyTheUpperLimitsSayAnything) {
  ErrorRate rate;
  for (int i = 0; i < 1000; ++i) {
    rate.AddFrame(1000, 0, 1, true);
  }
  EXPECT_EQ(rate.FerInterval().low, 0);
  EXPECT_EQ(rate.BerInterval().low, 0);
  EXPECT_GT(rate.FerInterval().high, 0);
  EXPECT_LT(rate.FerInterval().high, 0.005);
}

TEST(ErrorRateTest, BerIntervalCountsFramesNotBits) {
  // The same BER, once as single errors, once in bursts: bursts say less.
  ErrorRate single;
  ErrorRate bursts;
  for (int i = 0; i < 10000; ++i) {
    single.AddFrame(100, 1, 1, false);
    bursts.AddFrame(100, i % 100 == 0 ? 100 : 0, 1, false);
  }
  EXPECT_DOUBLE_EQ(single.ber(), bursts.ber());
  EXPECT_LT(single.BerInterval().high, bursts.BerInterval().high);
  EXPECT_GT(bursts.BerInterval().low, 0);
}

TEST(EbN0ListTest, TakesListsAndRanges) {
  EXPECT_THAT(ParseDecibels("--ebn0", "2,1,0.5").value(), ElementsAre(0.5, 1, 2));
  EXPECT_THAT(ParseDecibels("--ebn0", "0:0.1:0.3,5,-1").value(),
              ElementsAre(-1, 0, 0.1, 0.2, 0.3, 5));
}

TEST(EbN0ListTest, AnEndThatIsNoPointIsTold) {
  std::vector<std::string> notes;
  EXPECT_THAT(ParseDecibels("--ebn0", "0:0.1:0.3,0:1:2.5", &notes).value(),
              ElementsAre(0, 0.1, 0.2, 0.3, 1, 2));
  EXPECT_THAT(notes, ElementsAre("--ebn0 0:1:2.5 ends at 2: END 2.5 is no whole number of steps of"
                                 " 1 away from BEGIN 0"));
}

TEST(EbN0ListTest, RefusesWhatIsNeither) {
  for (const char* text :
       {"", "a", "1:2", "0:0:1", "2:1:1", "0:1e-9:1", "1,,2", "nan", "0:3:0.5", "-5:5:0.1"}) {
    EXPECT_THAT(ParseDecibels("--ebn0", text), StatusIs(absl::StatusCode::kInvalidArgument, _))
        << text;
  }
}

}  // namespace
}  // namespace baseband::ctl
