// The frames that the other tests of carrier recovery believe in.
#include <cmath>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/carrier_frames.h"

namespace baseband::testing {
namespace {

using carrier::Iq;
using carrier::SampleFormat;

FrameSpec Spec(int num_symbols) {
  FrameSpec spec;
  spec.constellation = *carrier::Constellation::FromName("16QAM");
  spec.num_symbols = num_symbols;
  return spec;
}

uint16_t Half(float value) {
  uint16_t half = 0;
  const std::vector<uint8_t> bytes = ToSamples(std::vector<Iq>{{value, 0}}, SampleFormat::kFloat16);
  std::memcpy(&half, bytes.data(), sizeof(half));
  return half;
}

int16_t Int16(float value, double scale) {
  int16_t sample = 0;
  const std::vector<uint8_t> bytes =
      ToSamples(std::vector<Iq>{{value, 0}}, SampleFormat::kInt16, scale);
  std::memcpy(&sample, bytes.data(), sizeof(sample));
  return sample;
}

TEST(CarrierFramesTest, NoiseAndGainAreAsAskedFor) {
  FrameSpec spec = Spec(100'000);
  spec.gain = 5.0;
  const CarrierFrame clean = MakeFrame(spec);
  spec.snr_db = 10.0;
  const CarrierFrame noisy = MakeFrame(spec);
  double noise = 0.0;
  double signal = 0.0;
  for (size_t n = 0; n < clean.symbols.size(); ++n) {
    const double i = noisy.symbols[n].i - clean.symbols[n].i;
    const double q = noisy.symbols[n].q - clean.symbols[n].q;
    noise += (i * i + q * q) / 100'000;
    signal += (clean.symbols[n].i * clean.symbols[n].i + clean.symbols[n].q * clean.symbols[n].q) /
              100'000;
  }
  // Means of 1e5: the power of noise deviates by 1 / sqrt(1e5), that of 16QAM by less.
  EXPECT_NEAR(signal, 25.0, 25.0 * 4 * 0.0032);
  EXPECT_NEAR(noise, 2.5, 2.5 * 4 * 0.0032);
}

TEST(CarrierFramesTest, TheSeedDecidesWhatIsSent) {
  FrameSpec spec = Spec(300);
  const CarrierFrame a = MakeFrame(spec);
  spec.frequency = 0.1;
  spec.snr_db = 3.0;
  const CarrierFrame b = MakeFrame(spec);
  spec.seed = 2;
  const CarrierFrame c = MakeFrame(spec);
  int different = 0;
  for (size_t n = 0; n < a.sent.size(); ++n) {
    EXPECT_EQ(a.sent[n].i, b.sent[n].i);
    EXPECT_EQ(a.sent[n].q, b.sent[n].q);
    different += a.sent[n].i != c.sent[n].i ? 1 : 0;
  }
  EXPECT_GT(different, 150);
}

TEST(CarrierFramesTest, DvbS2PilotsLieAfterTheHeaderAndEvery1440Symbols) {
  FrameSpec spec = Spec(90 + 2 * 1476 + 100);
  spec.pilots = Pilots::kDvbS2;
  const CarrierFrame frame = MakeFrame(spec);
  for (size_t n = 0; n < frame.known.size(); ++n) {
    const bool expected = n < 90 || (n >= 1530 && n < 1566) || (n >= 3006 && n < 3042);
    const bool known = frame.known[n].i != 0.0F || frame.known[n].q != 0.0F;
    ASSERT_EQ(known, expected) << n;
    if (known) {
      EXPECT_EQ(frame.known[n].i, frame.sent[n].i);
      EXPECT_NEAR(std::hypot(frame.known[n].i, frame.known[n].q), 1.0, 1e-6);
    }
  }
  EXPECT_THAT(MakeFrame(Spec(100)).known, ::testing::IsEmpty());
}

TEST(CarrierFramesTest, SamplesAreRoundedToNearestEven) {
  EXPECT_EQ(Half(1.0F), 0x3c00);
  EXPECT_EQ(Half(-2.5F), 0xc100);
  EXPECT_EQ(Half(1.0F + 1.0F / 2048), 0x3c00);  // a tie
  EXPECT_EQ(Half(1.0F + 3.0F / 2048), 0x3c02);  // a tie
  EXPECT_EQ(Half(1.99999F), 0x4000);
  EXPECT_EQ(Half(65504.0F), 0x7bff);
  EXPECT_EQ(Half(65520.0F), 0x7c00);
  EXPECT_EQ(Half(std::ldexp(1.0F, -24)), 0x0001);
  EXPECT_EQ(Half(std::ldexp(1.0F, -14)), 0x0400);
  EXPECT_EQ(Half(std::ldexp(1023.7F, -24)), 0x0400);
  EXPECT_EQ(Half(std::nanf("")), 0x7e00);
  EXPECT_EQ(Int16(0.25F, 0.1), 2);
  EXPECT_EQ(Int16(-1e6F, 1.0), -32768);
  EXPECT_EQ(Int16(1e6F, 1.0), 32767);
}

TEST(CarrierFramesTest, DifferencesWrapAtHalfAPeriod) {
  EXPECT_NEAR(WrappedDifference(6.2, 0.1, 2 * M_PI), 6.1 - 2 * M_PI, 1e-12);
  EXPECT_NEAR(WrappedDifference(0.1, 1.4, 1.0), -0.3, 1e-12);
  EXPECT_EQ(WrappedDifference(0.5, 0.0, 1.0), -0.5);
}

}  // namespace
}  // namespace baseband::testing
