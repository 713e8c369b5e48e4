// What is said of LLRs of which no block decoded: what they are, where that is sure; nothing of
// noise.
#include "client/ctl/ldpc/llr_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

constexpr int kLlrs = 20000;

// Of a code of rate 1/2 whose magnitudes are four to a natural LLR.
LlrBlocks Half() { return {/*llrs_per_block=*/2000, /*information_bits=*/1000, 0, 4}; }

// Natural LLRs of a channel of this Es/N0 with BPSK.
std::vector<double> Soft(double snr_db, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const double snr = std::pow(10, snr_db / 10);
  std::normal_distribution<double> noise(0, std::sqrt(0.5 / snr));
  std::vector<double> llrs(kLlrs);
  for (double& llr : llrs) {
    llr = 4 * snr * ((random() % 2 == 0 ? 1 : -1) + noise(random));
  }
  return llrs;
}

template <typename T>
std::string As(const std::vector<double>& llrs, double scale) {
  std::string bytes(llrs.size() * sizeof(T), '\0');
  for (size_t i = 0; i < llrs.size(); ++i) {
    double value = llrs[i] * scale;
    if (sizeof(T) == 1) value = std::min(127.0, std::max(-127.0, std::round(value)));
    const auto number = static_cast<T>(value);
    std::memcpy(&bytes[i * sizeof(T)], &number, sizeof(T));
  }
  return bytes;
}

TEST(LlrCheckTest, NumbersOfAnotherTypeAreNamed) {
  for (const double snr_db : {-3.0, 3.0, 10.0}) {
    EXPECT_THAT(WhyNoneDecoded(As<float>(Soft(snr_db), 1), Half()), HasSubstr("like float32"));
    EXPECT_THAT(WhyNoneDecoded(As<double>(Soft(snr_db), 1), Half()), HasSubstr("like float64"));
    EXPECT_THAT(WhyNoneDecoded(As<int16_t>(Soft(snr_db), 8), Half()), HasSubstr("like int16"));
  }
  std::vector<double> whole = Soft(3);
  for (double& llr : whole) llr = std::round(llr);
  EXPECT_THAT(WhyNoneDecoded(As<float>(whole, 1), Half()), HasSubstr("like float32"));
  std::string text;
  for (const double llr : Soft(3)) absl::StrAppend(&text, llr, "\n");
  EXPECT_THAT(WhyNoneDecoded(text, Half()), HasSubstr("like a text"));
}

TEST(LlrCheckTest, ZerosSayNothing) {
  EXPECT_THAT(WhyNoneDecoded(std::string(2000, '\0'), Half()), HasSubstr("LLRs are 0"));
}

// Whose bits are right for another code.
TEST(LlrCheckTest, SureLlrsOfWhichNoBlockDecodesAreOfAnotherCode) {
  for (const double snr_db : {5.0, 10.0}) {
    EXPECT_THAT(WhyNoneDecoded(As<int8_t>(Soft(snr_db), 4), Half()),
                AllOf(HasSubstr("the sender's code"), HasSubstr("is positive 0"),
                      HasSubstr("--llr-scale 4")));
  }
}

// Whatever their magnitudes are: hard decisions of 64 would make float32 of 3.0, those of a
// constellation differ from place to place.
TEST(LlrCheckTest, SignedBytesAreNotTakenForAnotherType) {
  for (const double snr_db : {-10.0, -3.0, 0.0, 3.0, 10.0}) {
    for (const double scale : {0.5, 4.0, 30.0}) {
      EXPECT_THAT(WhyNoneDecoded(As<int8_t>(Soft(snr_db), scale), Half()),
                  Not(HasSubstr("look like")))
          << snr_db << " " << scale;
    }
    for (const int magnitude : {1, 16, 60, 64, 70, 127}) {
      std::string hard;
      for (const double llr : Soft(snr_db)) {
        hard.push_back(static_cast<char>(llr > 0 ? magnitude : -magnitude));
      }
      EXPECT_THAT(WhyNoneDecoded(hard, Half()), Not(HasSubstr("look like"))) << magnitude;
    }
    // 16QAM and 256QAM: pairs of bits, the last of which tell less.
    for (const size_t pairs : {size_t{2}, size_t{4}}) {
      std::vector<double> llrs = Soft(snr_db);
      for (size_t i = 0; i < llrs.size(); ++i) {
        llrs[i] = llrs[i] / static_cast<double>(1 << (i / 2 % pairs * 2));
      }
      EXPECT_THAT(WhyNoneDecoded(As<int8_t>(llrs, 4), Half()), Not(HasSubstr("look like")));
    }
  }
}

// The capacity of BPSK is half a bit a symbol at -2.8 dB.
TEST(LlrCheckTest, OfTooMuchNoiseThatIsSaidAndNothingElse) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_THAT(WhyNoneDecoded(As<int8_t>(Soft(-5, seed), 4), Half()),
                HasSubstr("too much noise for this code, or --llr-scale"));
    // Where a code as good as there may be might decode, and a real one does not.
    EXPECT_EQ(WhyNoneDecoded(As<int8_t>(Soft(-2, seed), 4), Half()), "");
  }
}

TEST(LlrCheckTest, AFewNumbersAreNotJudged) {
  const std::vector<double> few(100, 1.5);
  EXPECT_THAT(WhyNoneDecoded(As<float>(few, 1), Half()), Not(HasSubstr("look like")));
  EXPECT_EQ(WhyNoneDecoded("", Half()), "");
}

}  // namespace
}  // namespace baseband::ctl
