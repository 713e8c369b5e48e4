// Which parameters CheckParameters refuses, and what is no frame to RecoverOnCpu.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/timing/math/pulse_math.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(TimingRecoverTest, WhatIsOutOfRangeIsNamed) {
  const carrier::ModelPtr model = ReceiverOf("QPSK", {0.2, 2, 1}).model;
  const PulseShape shape = {0.2, 2, 1};
  carrier::Parameters carrier;
  Parameters parameters;
  const auto check = [&](int64_t num_samples, absl::Span<const Iq> known = {}) {
    return CheckParameters(*model, carrier, shape, parameters, num_samples, known);
  };
  EXPECT_THAT(check(1000), IsOk());
  const int64_t least = SamplesFor(shape, parameters, carrier::kMinSymbols);
  EXPECT_THAT(check(least), IsOk());
  EXPECT_THAT(check(least - 1),
              StatusIs(kInvalid, AllOf(HasSubstr("frame_samples 33 is not in [34, "),
                                       HasSubstr("16 to 1048576 symbols at 2/1 a symbol"))));
  for (const int64_t n :
       {int64_t{-1}, int64_t{0}, int64_t{1} << 40, std::numeric_limits<int64_t>::max() / 8192}) {
    EXPECT_THAT(check(n), StatusIs(kInvalid, HasSubstr("frame_samples")));
  }
  EXPECT_THAT(check(SamplesFor(shape, parameters, carrier::kMaxSymbols)), IsOk());
  for (const double max : {-1e-9, 1.1e-3, std::numeric_limits<double>::quiet_NaN()}) {
    parameters.max_clock_error = max;
    EXPECT_THAT(check(1000), StatusIs(kInvalid, HasSubstr("max_clock_error")));
  }
  parameters.max_clock_error = 0.0;
  carrier.scale = 0.0F;
  EXPECT_THAT(check(1000), StatusIs(kInvalid, HasSubstr("scale 0")));
  carrier.scale = 1.0F;
  carrier.max_frequency = 0.2;
  EXPECT_THAT(check(1000), StatusIs(kInvalid, HasSubstr("max_frequency 0.2")));
  carrier.max_frequency = 0.0;
  EXPECT_THAT(check(1000, std::vector<Iq>(500, {1.0F, 0.0F})),
              StatusIs(kInvalid, HasSubstr("known has 500 symbols for a frame of 499")));
  EXPECT_THAT(check(1000, std::vector<Iq>(499, {1.0F, 0.0F})), IsOk());
  PulseShape wrong = shape;
  wrong.rolloff = 0.0;
  EXPECT_THAT(CheckParameters(carrier, wrong, parameters, 1000, {}),
              StatusIs(kInvalid, HasSubstr("roll_off 0")));
}

// `basebandctl recover --frame-samples` and Python's recover_carrier tell these.
TEST(TimingRecoverTest, AnyFrameHasAsManySamplesAsItsClientsSay) {
  Parameters parameters;
  parameters.max_clock_error = 0.0;
  EXPECT_EQ(SamplesFor({0.2, kMinSamplesPerSymbol, 1}, parameters, carrier::kMinSymbols), 33);
  parameters.max_clock_error = kMaxClockError;
  EXPECT_EQ(SamplesFor({0.2, kMaxSamplesPerSymbol, 1}, parameters, carrier::kMaxSymbols + 1) - 1,
            16794010);
}

TEST(TimingRecoverTest, SamplesThatAreNoNumbersMakeABadFrame) {
  const Receiver receiver = ReceiverOf("QPSK", {0.35, 2, 1});
  const TimingSpec spec = SpecOf(receiver, 1000, 12.0, 1);
  const std::vector<Iq> good = testing::MakeSamples(spec).samples;
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 2e15F}) {
    for (const size_t at : {size_t{0}, good.size() / 2, good.size() - 1}) {
      std::vector<Iq> samples = good;
      samples[at].q = value;
      const Timed timed = Recover(receiver, samples);
      EXPECT_EQ(timed.recovered.timing.bad_samples, 1);
      EXPECT_EQ(timed.recovered.carrier.bad_symbols, 1);
      EXPECT_NE(timed.recovered.timing.lock, Lock::kLocked);
      EXPECT_EQ(timed.corrected[0].i, 0.0F);
    }
  }
}

// Samples may be as large as symbols may; what the filter makes of them can be larger.
TEST(TimingRecoverTest, SymbolsTooLargeOfGoodSamplesAreTheCarriersBadOnes) {
  const Receiver receiver = ReceiverOf("QPSK", {0.35, 2, 1});
  TimingSpec spec = SpecOf(receiver, 1000, testing::kNoNoise, 1);
  spec.frequency = 0.0;
  std::vector<Iq> samples = testing::MakeSamples(spec).samples;
  float greatest = 0.0F;
  for (const Iq& x : samples) greatest = std::max(greatest, std::hypot(x.i, x.q));
  const float most = 0.999F * carrier::kMaxMagnitude;
  for (Iq& x : samples) x = {x.i * (most / greatest), x.q * (most / greatest)};
  const Timed good = Recover(receiver, samples);
  EXPECT_EQ(good.recovered.timing.lock, Lock::kLocked);
  EXPECT_EQ(good.recovered.carrier.bad_symbols, 0);
  // Around symbol 500 all samples have the signs of the filter's taps.
  const double time = spec.offset + 500.0 * (1.0 + spec.clock_error);
  for (size_t m = 990; m < 1020; ++m) {
    const double t = 0.5 * static_cast<double>(m) - time;
    samples[m] = {RootRaisedCosine(0.35, t) < 0.0 ? -most : most, 0.0F};
  }
  const Timed timed = Recover(receiver, samples);
  EXPECT_EQ(timed.recovered.timing.bad_samples, 0);
  EXPECT_EQ(timed.recovered.carrier.bad_symbols, 1);
  EXPECT_TRUE(std::isfinite(timed.recovered.timing.offset));
  EXPECT_EQ(timed.recovered.timing.refined, 0);
  for (const Iq& z : timed.corrected) ASSERT_EQ(z.i, 0.0F);
}

TEST(TimingRecoverTest, ZerosHaveNoSignal) {
  Receiver receiver = ReceiverOf("QPSK", {0.35, 2, 1});
  for (const double max_clock_error : {0.0, 1e-4}) {
    receiver.parameters.max_clock_error = max_clock_error;
    const Timed timed = Recover(receiver, std::vector<Iq>(3000));
    const Result& result = timed.recovered.timing;
    EXPECT_EQ(result.lock, Lock::kNoSignal);
    EXPECT_EQ(timed.recovered.carrier.lock, carrier::Lock::kNoSignal);
    EXPECT_EQ(result.bad_samples, 0);
    // Anything within a symbol, and within +-max_clock_error.
    EXPECT_NEAR(result.offset_stddev, std::sqrt(1.0 / 12.0), 1e-6);
    EXPECT_NEAR(result.centre_stddev, std::sqrt(1.0 / 12.0), 1e-6);
    EXPECT_NEAR(result.clock_error_stddev, max_clock_error / std::sqrt(3.0), 1e-10);
  }
}

}  // namespace
}  // namespace baseband::timing
