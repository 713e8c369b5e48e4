// Offset and I/Q imbalance: told as they were made, removed, and refused where they cannot be told.
#include "client/ctl/common/front_end.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/common/wideband_file.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;

constexpr WantedCorrection kBoth = {true, true};

// Circular noise of power 0.01.
std::vector<Complex> Noise(size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 0.1F / std::sqrt(2.0F));
  std::vector<Complex> samples(count);
  for (Complex& sample : samples) {
    const float i = normal(random);
    sample = Complex(i, normal(random));
  }
  return samples;
}

// As a receiver has them whose Q has `gain` less than I and is at 90 + `degrees` from it.
std::vector<Complex> Received(std::vector<Complex> samples, float gain, double degrees,
                              Complex dc) {
  const auto sine = static_cast<float>(std::sin(degrees * kPi / 180));
  const auto cosine = static_cast<float>(std::cos(degrees * kPi / 180));
  for (Complex& sample : samples) {
    sample = Complex(sample.real(), (cosine * sample.imag() - sine * sample.real()) / gain) + dc;
  }
  return samples;
}

FrontEnd Look(const std::vector<Complex>& samples) {
  FrontEndMeter meter;
  // In pieces that no part of the meter ends with.
  for (size_t at = 0; at < samples.size(); at += 999) {
    meter.Add(absl::MakeConstSpan(samples).subspan(at, 999));
  }
  return meter.Result();
}

TEST(FrontEndTest, WhatTheReceiverDidIsTold) {
  const FrontEnd found = Look(Received(Noise(1 << 18), 1.1F, 3, {0.02F, -0.01F}));
  EXPECT_EQ(found.samples, 1 << 18);
  ASSERT_TRUE(found.tells_dc());
  // Six deviations of a mean of circular noise, of half the power either side.
  const double six = 6 * 0.1 / std::sqrt(2.0 * (1 << 18));
  EXPECT_NEAR(found.dc.real(), 0.02, six);
  EXPECT_NEAR(found.dc.imag(), -0.01, six);
  ASSERT_EQ(found.image(), FrontEnd::Image::kTold);
  EXPECT_NEAR(found.gain_db(), 20 * std::log10(1.1), 0.1);
  EXPECT_NEAR(found.phase_degrees(), 3, 0.5);
  // K1 and K2 are (1 +- exp(-j phase) / gain) / 2, but for their phase.
  const std::complex<double> q = std::polar(1 / 1.1, -3 * kPi / 180);
  EXPECT_NEAR(found.image_db(), 20 * std::log10(std::abs((1.0 - q) / (1.0 + q))), 0.3);
}

TEST(FrontEndTest, WhatIsToldIsRemovedAndTheSignalStaysWhatItIs) {
  const std::vector<Complex> sent = Noise(1 << 18);
  std::vector<Complex> samples = Received(sent, 0.9F, -5, {0.02F, -0.01F});
  const auto correction = ToCorrection(Look(samples), kBoth);
  ASSERT_THAT(correction, IsOk());
  correction->Apply(&samples);
  const FrontEnd left = Look(samples);
  EXPECT_LT(std::abs(left.dc), 1e-5);
  EXPECT_LT(std::abs(left.circularity), 1e-5);
  // Against what was sent: a factor, and nothing else but what 2^18 samples leave open.
  std::complex<double> cross;
  double energy = 0;
  double received = 0;
  for (size_t n = 0; n < sent.size(); ++n) {
    cross += std::complex<double>(samples[n]) * std::conj(std::complex<double>(sent[n]));
    energy += std::norm(std::complex<double>(sent[n]));
    received += std::norm(std::complex<double>(samples[n]));
  }
  EXPECT_GT(std::norm(cross) / (energy * received), 1 - 1e-4);
  // K1, of which the magnitude is kept.
  const std::complex<double> k1 = (1.0 + std::polar(1 / 0.9, 5 * kPi / 180)) / 2.0;
  EXPECT_NEAR(std::abs(cross / energy), std::abs(k1), 0.01);
}

TEST(FrontEndTest, ATonesImageIsRemovedAnd80dBAreReached) {
  std::vector<Complex> tone(100000);
  for (size_t n = 0; n < tone.size(); ++n) {
    tone[n] = Complex(std::polar(0.5, 2 * kPi * std::fmod(0.1237 * static_cast<double>(n), 1)));
  }
  std::vector<Complex> samples = Received(tone, 1.05F, 2, {});
  const auto correction = ToCorrection(Look(samples), kBoth);
  ASSERT_THAT(correction, IsOk());
  correction->Apply(&samples);
  std::complex<double> image;
  for (size_t n = 0; n < samples.size(); ++n) {
    image += std::complex<double>(samples[n]) * std::complex<double>(tone[n]) / (0.5 * 0.5);
  }
  EXPECT_LT(std::abs(image) / static_cast<double>(samples.size()), 1e-4);
}

TEST(FrontEndTest, AGoodReceiverHasNothingToBeToldOf) {
  const FrontEnd found = Look(Noise(1 << 16));
  EXPECT_FALSE(found.tells_dc());
  EXPECT_EQ(found.image(), FrontEnd::Image::kNone);
  EXPECT_EQ(ToText(found, {}), "");
  EXPECT_EQ(ToText(found, kBoth), "no DC to be removed; no image to be removed");
  std::vector<Complex> samples = Noise(1 << 16);
  ToCorrection(found, kBoth)->Apply(&samples);
  EXPECT_EQ(samples, Noise(1 << 16));
}

TEST(FrontEndTest, WhatItDidIsSaidInALine) {
  FrontEnd found;
  found.samples = 1 << 20;
  found.power = 0.01;
  found.dc = 0.001;
  found.circularity = {0.02, -0.03};
  EXPECT_EQ(ToText(found, {false, true}),
            "DC -40.0 dB; image -34.9 dB (I/Q gain +0.17 dB, phase +1.72 degrees), removed");
  found.circularity_deviation = 0.1;
  EXPECT_EQ(ToText(found, {true, false}), "DC -40.0 dB, removed");
}

TEST(FrontEndTest, ASignalThatIsNotCircularIsRefused) {
  std::mt19937 random(3);
  std::vector<Complex> bpsk = Noise(1 << 16);
  for (Complex& sample : bpsk) {
    sample = 0.3F * sample + (random() % 2 == 0 ? Complex(0.1F, 0.05F) : Complex(-0.1F, -0.05F));
  }
  EXPECT_EQ(Look(bpsk).image(), FrontEnd::Image::kOfSignal);
  EXPECT_THAT(ToCorrection(Look(bpsk), kBoth),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--correct-iq"), HasSubstr("not circular"))));
  EXPECT_THAT(ToCorrection(Look(bpsk), {true, false}), IsOk());  // its mean can be told
}

// One that turns: E[x^2] is what is left of a circle, and no receiver's.
TEST(FrontEndTest, BpskBesideZeroIsNotTakenForAnImage) {
  std::mt19937 random(3);
  std::vector<Complex> bpsk(1 << 16);
  for (size_t n = 0; n < bpsk.size(); ++n) {
    const double turns = 2.3 * static_cast<double>(n) / static_cast<double>(bpsk.size());
    bpsk[n] = Complex(std::polar(random() % 2 == 0 ? 0.1 : -0.1, 2 * kPi * turns));
  }
  EXPECT_NE(Look(bpsk).image(), FrontEnd::Image::kTold);
}

TEST(FrontEndTest, WhereNothingCanBeToldThatIsSaid) {
  EXPECT_THAT(ToCorrection(Look(Noise(1023)), kBoth),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("of 1023 samples nothing can be told: it takes 1024")));
  EXPECT_THAT(ToCorrection(Look(Noise(1024)), kBoth), IsOk());
  EXPECT_THAT(ToCorrection(Look(std::vector<Complex>(5000, {0.1F, 0})), {true, false}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("all samples are the same")));
  FrontEndMeter real(/*is_complex=*/false);
  real.Add(Noise(5000));
  EXPECT_THAT(ToCorrection(real.Result(), {false, true}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("they have no Q")));
  EXPECT_EQ(ToText(Look(Noise(10)), {}), "");
}

TEST(FrontEndTest, ARecordingIsLookedAtAllOverAndCorrectedFromItsBeginning) {
  // Longer than what is looked at: its offset stands behind the first quarter.
  const WidebandFormat& ci8 = **FindWidebandFormat("ci8");
  std::string bytes(2 * (kMostFrontEndSamples + 12345), '\0');
  for (size_t at = bytes.size() / 4; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(10 + at % 7);
  }
  auto file = WidebandFile::Open(FileOfTest("long.ci8", bytes), "");
  ASSERT_THAT(file, IsOk());
  const auto found = file->Measure();
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->samples, kMostFrontEndSamples);
  EXPECT_NEAR(found->dc.real(), 0.75 * 13 / 128, 0.002);

  IqCorrection correction;
  correction.dc = {1.0F / 128, -1.0F / 128};
  file->Correct(correction);
  EXPECT_STREQ(file->wire_format().name, "cf32");
  const auto piece = file->Read(3);
  ASSERT_THAT(piece, IsOk());
  EXPECT_EQ(piece->index, 0);
  EXPECT_THAT(WidebandToComplex(piece->bytes, file->wire_format()),
              ElementsAre(-correction.dc, -correction.dc, -correction.dc));
  EXPECT_EQ(file->num_samples(), static_cast<int64_t>(bytes.size()) / ci8.bytes);
}

TEST(FrontEndTest, SymbolsAreCorrectedInFloats) {
  SymbolFile file;
  file.format = v1::SAMPLE_FORMAT_INT16;
  const std::vector<Complex> samples = Received(Noise(1 << 16), 1.1F, 0, {0.05F, 0});
  file.bytes = FromComplex(samples, file.format, DefaultScale(file.format));
  SymbolFile untouched = file;
  ASSERT_THAT(CorrectFrontEnd({}, &untouched), IsOk());
  EXPECT_EQ(untouched.bytes, file.bytes);
  const auto found = CorrectFrontEnd(kBoth, &file);
  ASSERT_THAT(found, IsOk());
  EXPECT_NEAR(found->dc.real(), 0.05, 0.003);
  EXPECT_EQ(file.format, v1::SAMPLE_FORMAT_FLOAT32);
  const FrontEnd left = Look(ToComplex(file.bytes, file.format, 1));
  EXPECT_LT(std::abs(left.dc), 1e-5);
  EXPECT_LT(std::abs(left.circularity), 1e-5);
}

}  // namespace
}  // namespace baseband::ctl
