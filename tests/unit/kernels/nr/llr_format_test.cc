// LLRs of all formats made int8, on every instruction set; and the scale that is chosen for int16.
#include "kernels/nr/llr_format.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/every_target.h"
#include "tests/support/nr_awgn.h"

namespace baseband::nr {
namespace {

using ::testing::Each;
using testing::OnEveryTarget;
using testing::Random;

template <typename T>
std::vector<uint8_t> Bytes(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Converted {
  std::vector<int8_t> llr;
  int64_t nans = 0;
};
Converted Convert(LlrFormat format, float scale, const std::vector<uint8_t>& row, int64_t first,
                  int64_t count) {
  Converted converted;
  converted.llr.assign(static_cast<size_t>(count), 99);
  converted.nans = ToInt8LlrsOnCpu(format, scale, row, first, absl::MakeSpan(converted.llr));
  return converted;
}

// round(value * scale): the product is exact in double precision, once rounded it is the float.
int8_t Expected(double value, float scale) {
  const auto product = static_cast<float>(value * static_cast<double>(scale));
  return static_cast<int8_t>(std::nearbyint(std::clamp(product, -127.0f, 127.0f)));
}

constexpr float kScales[] = {1.0f, 0.5f, 0.25f, 3.0f, 0.0371f, 12.7f, 1e-6f, 1e6f};

TEST(NrLlrFormatTest, Int8IsItselfButForMinus128) {
  std::vector<int8_t> values;
  for (int i = -128; i < 128; ++i) values.push_back(static_cast<int8_t>(i));
  OnEveryTarget([&] {
    const Converted converted = Convert(LlrFormat::kInt8, 0.1f, Bytes(values), 0, 256);
    EXPECT_EQ(converted.llr[0], -127);
    for (size_t i = 1; i < 256; ++i) EXPECT_EQ(converted.llr[i], values[i]);
  });
}

TEST(NrLlrFormatTest, Int16IsScaledRoundedAndHeld) {
  std::vector<int16_t> values;
  for (int i = -32768; i < 32768; ++i) values.push_back(static_cast<int16_t>(i));
  for (const float scale : kScales) {
    std::vector<int8_t> expected;
    for (const int16_t value : values) expected.push_back(Expected(value, scale));
    OnEveryTarget([&] {
      EXPECT_EQ(Convert(LlrFormat::kInt16, scale, Bytes(values), 0, 65536).llr, expected);
    });
  }
}

TEST(NrLlrFormatTest, TiesGoToTheEvenNumber) {
  const std::vector<int16_t> values = {1, 3, 5, 7, -1, -3, -5, 253, 255, -253};
  EXPECT_EQ(Convert(LlrFormat::kInt16, 0.5f, Bytes(values), 0, 10).llr,
            (std::vector<int8_t>{0, 2, 2, 4, 0, -2, -2, 126, 127, -126}));
}

TEST(NrLlrFormatTest, EveryFloat16IsScaledInfinitiesAreHeldAndNansCounted) {
  std::vector<uint16_t> values;
  for (int i = 0; i < 65536; ++i) values.push_back(static_cast<uint16_t>(i));
  for (const float scale : kScales) {
    std::vector<int8_t> expected;
    int64_t nans = 0;
    for (const uint16_t bits : values) {
      const float value = FloatOfHalf(bits);
      nans += std::isnan(value) ? 1 : 0;
      expected.push_back(std::isnan(value) ? int8_t{0} : Expected(value, scale));
    }
    OnEveryTarget([&] {
      const Converted converted = Convert(LlrFormat::kFloat16, scale, Bytes(values), 0, 65536);
      EXPECT_EQ(converted.llr, expected);
      EXPECT_EQ(converted.nans, nans);
    });
  }
  EXPECT_EQ(Expected(INFINITY, 1e-6f), 127);
}

TEST(NrLlrFormatTest, NansOutsideTheRangeAreNotCounted) {
  std::vector<uint16_t> values(40, 0x3c00);
  values[3] = values[30] = 0x7e00;
  const Converted converted = Convert(LlrFormat::kFloat16, 1.0f, Bytes(values), 4, 26);
  EXPECT_EQ(converted.nans, 0);
  EXPECT_THAT(converted.llr, Each(1));
}

// Packs values of `bits` bits, the first in the most significant ones.
std::vector<uint8_t> Pack(const std::vector<int8_t>& values, int bits) {
  std::vector<uint8_t> row((values.size() * static_cast<size_t>(bits) + 7) / 8);
  for (size_t i = 0; i < values.size() * static_cast<size_t>(bits); ++i) {
    const auto width = static_cast<size_t>(bits);
    if ((values[i / width] >> (width - 1 - i % width) & 1) != 0) {
      row[i / 8] = static_cast<uint8_t>(row[i / 8] | 0x80 >> i % 8);
    }
  }
  return row;
}

TEST(NrLlrFormatTest, PackedLlrsAreReadFromAnyPlaceOn) {
  Random random(1);
  for (const int bits : {4, 6}) {
    const LlrFormat format = bits == 4 ? LlrFormat::kPacked4 : LlrFormat::kPacked6;
    for (int trial = 0; trial < 150; ++trial) {
      const int64_t count = random.Below(trial % 2 == 0 ? 70 : 1100);
      const int64_t first = random.Below(trial % 3 == 0 ? 600 : 9);
      const float scale = kScales[trial % 8];
      std::vector<int8_t> values;
      for (int64_t i = 0; i < first + count; ++i) {
        values.push_back(static_cast<int8_t>(random.Below(1 << bits) - (1 << (bits - 1))));
      }
      const std::vector<uint8_t> row = Pack(values, bits);  // no octet more
      ASSERT_EQ(LlrBytes(format, first + count), static_cast<int64_t>(row.size()));
      std::vector<int8_t> expected;
      for (int64_t i = first; i < first + count; ++i) {
        expected.push_back(Expected(values[static_cast<size_t>(i)], scale));
        const auto index = static_cast<uint64_t>(i);
        ASSERT_EQ(bits == 4 ? UnpackInt4(row.data(), index) : UnpackInt6(row.data(), index),
                  values[static_cast<size_t>(i)]);
      }
      OnEveryTarget(
          [&] { ASSERT_EQ(Convert(format, scale, row, first, count).llr, expected) << bits; });
    }
  }
}

TEST(NrLlrFormatTest, KnownPackedOctets) {
  const std::vector<uint8_t> four = {0x78, 0x1f};
  EXPECT_EQ(Convert(LlrFormat::kPacked4, 16.0f, four, 0, 4).llr,
            (std::vector<int8_t>{112, -127, 16, -16}));
  // 011111 100000 000001 111111
  const std::vector<uint8_t> six = {0x7e, 0x00, 0x7f};
  EXPECT_EQ(Convert(LlrFormat::kPacked6, 4.0f, six, 0, 4).llr,
            (std::vector<int8_t>{124, -127, 4, -4}));
}

TEST(NrLlrFormatTest, PiecesOfEveryFormatAreThoseOfTheWhole) {
  Random random(2);
  for (const LlrFormat format : {LlrFormat::kInt8, LlrFormat::kInt16, LlrFormat::kFloat16,
                                 LlrFormat::kPacked6, LlrFormat::kPacked4}) {
    std::vector<uint8_t> row(static_cast<size_t>(LlrBytes(format, 1500)));
    for (uint8_t& byte : row) byte = static_cast<uint8_t>(random.Next());
    const std::vector<int8_t> whole = Convert(format, 0.3f, row, 0, 1500).llr;
    for (int trial = 0; trial < 100; ++trial) {
      const int64_t first = random.Below(1500);
      const int64_t count = random.Below(static_cast<int>(1501 - first));
      ASSERT_EQ(Convert(format, 0.3f, row, first, count).llr,
                std::vector<int8_t>(whole.begin() + first, whole.begin() + first + count));
    }
  }
}

// ---- the chosen scale ----

TEST(NrLlrScaleTest, MagnitudesAreAddedUp) {
  Random random(3);
  for (const int64_t count : {0, 1, 7, 8, 9, 31, 33, 4096, 100001}) {
    const int64_t first = random.Below(5);
    std::vector<int16_t> values;
    uint64_t expected = 0;
    for (int64_t i = 0; i < first + count; ++i) {
      const auto value = random.Below(5) == 0 ? int16_t{0} : static_cast<int16_t>(random.Next());
      values.push_back(i == first ? int16_t{-32768} : value);
      if (i < first) continue;
      expected += static_cast<uint64_t>(std::abs(static_cast<int>(values.back())));
    }
    OnEveryTarget(
        [&] { EXPECT_EQ(MagnitudeSumOnCpu(Bytes(values), first, count), expected) << count; });
  }
}

TEST(NrLlrScaleTest, TheLargestMagnitudesDoNotOverflow) {
  const std::vector<uint8_t> row = Bytes(std::vector<int16_t>(1 << 20, -32768));
  OnEveryTarget([&] { EXPECT_EQ(MagnitudeSumOnCpu(row, 0, 1 << 20), uint64_t{32768} << 20); });
}

TEST(NrLlrScaleTest, TheChosenScaleMakesTheWantedMean) {
  EXPECT_EQ(ChosenScale(0, 1000, 20.0f), 1.0f);  // nothing but zeros
  EXPECT_EQ(ChosenScale(500000, 1000, 20.0f), 0.04f);
  EXPECT_EQ(ChosenScale(1000000, 1000, 20.0f), 0.02f);  // all twice as large
  EXPECT_EQ(ChosenScale(500000, 2000, 20.0f), 0.08f);   // and as many that are zero
}

TEST(NrLlrScaleTest, MeansGrowWithTheRateAndEndWithTheTable) {
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    float last = 0.0f;
    for (int percent = 20; percent <= 95; ++percent) {
      const float mean = MeanLlrFor(qm, percent / 100.0);
      EXPECT_GT(mean, last) << qm << " at " << percent << " %";
      last = mean;
    }
    EXPECT_EQ(MeanLlrFor(qm, 0.01), MeanLlrFor(qm, 0.2));
    EXPECT_EQ(MeanLlrFor(qm, 2.0), MeanLlrFor(qm, 0.95));
  }
  EXPECT_EQ(MeanLlrFor(2, 0.35), 11.0f);
  EXPECT_EQ(MeanLlrFor(10, 0.95), 2313.0f);
}

// int16 LLRs of which nobody knows the scale, against natural LLRs times what suits their
// modulation, on the same noise: of blocks that fail by chance, hardly more do.
// tests/bench/nr_llr_scale_bench.cc has more of it.
TEST(NrLlrScaleTest, BlocksOfAChosenScaleDecodeLikeThoseOfTheTrueOne) {
  struct Point {
    int qm;
    double code_rate;
    double snr_db;  // a quarter or so of the blocks fail
  };
  for (const Point& point :
       {Point{2, 0.35, -0.8}, Point{4, 0.48, 6.2}, Point{6, 0.65, 13.5}, Point{6, 0.925, 19.4},
        Point{8, 0.67, 18.5}, Point{8, 0.925, 25.0}, Point{10, 0.86, 28.4}}) {
    testing::NrAwgnBlock block(1, 64, point.qm, point.code_rate);
    Random random(5);
    int known_fails = 0;
    int chosen_fails = 0;
    int differ = 0;
    for (int frame = 0; frame < 200; ++frame) {
      const std::vector<double>& llr = block.Send(point.snr_db, random);
      double mean = 0.0;
      for (const double value : llr) mean += std::abs(value) / static_cast<double>(llr.size());
      std::vector<int16_t> received;
      for (const double value : llr) {
        const double any = value / mean * 1234.5;
        received.push_back(static_cast<int16_t>(std::clamp(std::round(any), -32768.0, 32767.0)));
      }
      const std::vector<uint8_t> row = Bytes(received);
      const auto count = static_cast<int64_t>(received.size());
      const float scale =
          ChosenScale(MagnitudeSumOnCpu(row, 0, count), static_cast<uint64_t>(count),
                      MeanLlrFor(point.qm, point.code_rate));
      const bool chosen = block.Fails(Convert(LlrFormat::kInt16, scale, row, 0, count).llr);
      const double scale_of_qm = point.qm == 2 ? 5.0 : point.qm == 4 ? 7.5 : 10.0;
      const bool known = block.Fails(testing::QuantiseLlr(llr, scale_of_qm));
      chosen_fails += chosen ? 1 : 0;
      known_fails += known ? 1 : 0;
      differ += chosen != known ? 1 : 0;
    }
    RecordProperty("fails", known_fails);
    EXPECT_GT(known_fails, 10) << "qm " << point.qm << " at rate " << point.code_rate;
    EXPECT_LT(known_fails, 150) << "qm " << point.qm << " at rate " << point.code_rate;
    // 0.02 dB are a tenth more of them; and three deviations of those that differ by chance.
    EXPECT_LE(chosen_fails, 1.1 * known_fails + 3.0 * std::sqrt(differ))
        << "qm " << point.qm << " at rate " << point.code_rate << ": " << known_fails;
  }
}

}  // namespace
}  // namespace baseband::nr
