// LaunchTiming of frames that have no timing that may be told.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/timing_gpu_fixture.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::TimingSpec;
using carrier::Iq;

const PulseShape kTwoSamples = {0.2, 2, 1};

TEST_F(TimingGpuTest, BadAndSilentFramesAreSaidToBeSoAndHarmNoOther) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  std::vector<SampleFrame> frames(4, FrameOf(receiver, 3000, 1));
  const auto set = [&](size_t frame, size_t number, float value) {
    std::memcpy(frames[frame].samples.data() + 4 * number, &value, sizeof(value));
  };
  set(0, 2 * static_cast<size_t>(frames[0].num_samples) - 1, NAN);
  set(1, 17, 1e16F);
  std::fill(frames[2].samples.begin(), frames[2].samples.end(), uint8_t{0});
  const std::vector<Answer> answers = RecoverOnGpu(receiver, frames);
  for (const size_t bad : {0, 1}) {
    EXPECT_EQ(answers[bad].found.timing.bad_samples, 1);
    EXPECT_EQ(answers[bad].found.carrier.bad_symbols, 1);
  }
  EXPECT_EQ(answers[2].found.timing.bad_samples, 0);
  EXPECT_EQ(answers[2].found.timing.lock, Lock::kNoSignal);
  EXPECT_EQ(answers[2].found.carrier.lock, carrier::Lock::kNoSignal);
  for (const size_t lost : {0, 1, 2}) {
    EXPECT_THAT(answers[lost].corrected, ::testing::Each(0));
    EXPECT_THAT(answers[lost].curve, ::testing::Each(0.0F));
  }
  ExpectSame(answers[3], RecoverOnGpu(receiver, {frames[3]})[0]);
}

TEST_F(TimingGpuTest, NothingWithoutASymbolRateLocks) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  const int64_t num_samples = receiver.SamplesFor(4000);
  std::vector<SampleFrame> frames;
  const auto add = [&](const auto& at) {
    std::vector<Iq> samples;
    for (int64_t m = 0; m < num_samples; ++m) samples.push_back(at(m));
    SampleFrame frame;
    frame.samples = testing::ToSamples(samples, receiver.carrier.format);
    frame.num_samples = num_samples;
    frames.push_back(frame);
  };
  add([](int64_t) { return Iq{1.0F, -0.5F}; });
  for (const double frequency : {0.01, -0.11, 0.25, 0.4}) {
    add([&](int64_t m) {
      const double angle = 2.0 * M_PI * frequency * static_cast<double>(m);
      return Iq{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    });
  }
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 50; ++i) add([&](int64_t) { return Iq{normal(random), normal(random)}; });
  for (const Answer& answer : RecoverOnGpu(receiver, frames)) {
    EXPECT_NE(answer.found.timing.lock, Lock::kLocked);
  }
}

TEST_F(TimingGpuTest, AnotherSymbolRateLocksNeitherTimingNorCarrier) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  std::vector<SampleFrame> frames;
  for (const auto& [samples, symbols] : {std::pair{4, 1}, {11, 5}, {9, 4}}) {
    const Receiver sender = MakeReceiver("QPSK", {0.2, samples, symbols});
    TimingSpec spec = SpecOf(sender, 3000, frames.size() + 1, 15.0);
    spec.num_samples = receiver.SamplesFor(4000);
    frames.push_back(ToFrame(receiver, spec));
  }
  for (const Answer& answer : CompareAll(receiver, frames, 0)) {
    EXPECT_EQ(answer.found.timing.lock, Lock::kNoLine);
    EXPECT_NE(answer.found.carrier.lock, carrier::Lock::kLocked);
  }
}

TEST_F(TimingGpuTest, ClockErrorsBeyondTheMostEqualTheCpu) {
  Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  for (const double max_clock_error : {0.0, 1e-4}) {
    receiver.parameters.max_clock_error = max_clock_error;
    for (const double slip : {0.03, 0.5, -0.5, 3.0}) {
      SCOPED_TRACE(std::to_string(max_clock_error) + ", slip " + std::to_string(slip));
      std::vector<SampleFrame> frames;
      for (const int num_symbols : {1000, 8000, 32400}) {
        TimingSpec spec = SpecOf(receiver, num_symbols, frames.size() + 1, 15.0);
        const double beyond = 2.0 * slip / num_symbols;
        spec.clock_error = beyond + std::copysign(max_clock_error, beyond);
        frames.push_back(ToFrame(receiver, spec));
      }
      const bool is_told = std::fabs(slip) < 0.1;
      const std::vector<Answer> answers = CompareAll(receiver, frames, is_told ? frames.size() : 0);
      if (is_told) continue;
      for (const Answer& answer : answers) EXPECT_EQ(answer.found.timing.lock, Lock::kNoLine);
    }
  }
}

// Told modulo what the symbols leave open. Deviations equal the CPU device's, which
// deviations_test.cc holds against errors.
TEST_F(TimingGpuTest, CarriersBeyondTheReachEqualTheCpu) {
  for (const char* const name : {"QPSK", "16QAM"}) {
    SCOPED_TRACE(name);
    const Receiver receiver = MakeReceiver(name, kTwoSamples);
    std::vector<SampleFrame> frames;
    for (const int num_symbols : {1000, 2000, 8000}) {
      for (const double frequency : {0.15, -0.19}) {
        TimingSpec spec = SpecOf(receiver, num_symbols, frames.size() + 1, 12.0);
        spec.frequency = frequency;
        frames.push_back(ToFrame(receiver, spec));
      }
    }
    const std::vector<Answer> answers = CompareAll(receiver, frames, frames.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      const Answer cpu = RecoverOne(receiver, frames[i]);
      EXPECT_EQ(cpu.found.carrier.lock, carrier::Lock::kLocked) << i;
      EXPECT_NEAR(answers[i].found.carrier.frequency_stddev / cpu.found.carrier.frequency_stddev,
                  1.0F, 0.02F);
      EXPECT_NEAR(answers[i].found.carrier.phase_stddev / cpu.found.carrier.phase_stddev, 1.0F,
                  0.02F);
    }
  }
}

}  // namespace
}  // namespace baseband::timing
