// LaunchTiming against the CPU device, which timing_recover_test holds against the reference.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/timing/math/pulse_math.h"
#include "tests/gpu/timing_gpu_fixture.h"
#include "tests/support/status_matchers.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::TimingSpec;
using carrier::Iq;
using carrier::SampleFormat;

const PulseShape kTwoSamples = {0.2, 2, 1};

TEST_F(TimingGpuTest, EveryConstellationEqualsTheCpu) {
  for (const char* const name : {"QPSK", "8PSK", "16APSK 3/4", "32APSK 3/4", "64APSK 128/180"}) {
    SCOPED_TRACE(name);
    const Receiver receiver = MakeReceiver(name, kTwoSamples);
    std::vector<SampleFrame> frames;
    for (const int num_symbols : {4097, 8100, 8100, 16200}) {
      frames.push_back(FrameOf(receiver, num_symbols, frames.size() + 1, 4.0));
    }
    CompareAll(receiver, frames, frames.size());
  }
}

TEST_F(TimingGpuTest, EveryRateAndRolloffEqualsTheCpu) {
  // In lowest terms and not, phases side by side up to 16, and rates that have no phases.
  for (const auto& [samples, symbols] : {std::pair{2, 1},
                                         {5, 2},
                                         {8, 3},
                                         {6, 2},
                                         {4, 1},
                                         {16, 7},
                                         {16, 1},
                                         {256, 125},
                                         {4093, 1024}}) {
    for (const double rolloff : {0.05, 0.2, 0.35, 1.0}) {
      SCOPED_TRACE(std::to_string(samples) + " / " + std::to_string(symbols) + " roll-off " +
                   std::to_string(rolloff));
      const Receiver receiver = MakeReceiver("QPSK", {rolloff, samples, symbols});
      CompareAll(receiver, {FrameOf(receiver, 1500, 1, 9.0), FrameOf(receiver, 5000, 2, 9.0)}, 1);
    }
  }
}

TEST_F(TimingGpuTest, PulsesByTheirTapsEqualTheCpu) {
  // Of few and of as many rows as there may be, with and without phases.
  for (const auto& [samples, symbols] : {std::pair{2, 1}, {16, 7}, {16, 1}, {256, 125}}) {
    for (const auto& [rolloff, taps] :
         {std::pair{0.3, testing::WindowedTaps(0.2, 4, 8)},
          {0.25, testing::StraightEdgeTaps(0.25, 3, 24)},
          {0.05, testing::TapsOf([](double t) { return RootRaisedCosine(0.05, t); }, 2,
                                 kMaxTapsReach)}}) {
      SCOPED_TRACE(std::to_string(samples) + " / " + std::to_string(symbols) + " roll-off " +
                   std::to_string(rolloff));
      const Receiver receiver = MakeReceiver("QPSK", {rolloff, samples, symbols, taps});
      CompareAll(receiver, {FrameOf(receiver, 1500, 1, 9.0), FrameOf(receiver, 5000, 2, 9.0)}, 1);
    }
  }
}

// Nearly all that a launch may run, of so few symbols that compute-sanitizer is through in a
// minute.
TEST_F(TimingGpuTest, SmallFramesThroughEveryKernelEqualTheCpu) {
  // FFTs of 64 to 4096 points, with and without phases.
  for (const PulseShape& shape :
       {PulseShape{1.0, 2, 1}, PulseShape{0.35, 2, 1}, PulseShape{0.2, 5, 2}, PulseShape{0.2, 4, 1},
        PulseShape{0.05, 2, 1}, PulseShape{0.05, 4, 1}, PulseShape{0.05, 16, 1},
        PulseShape{0.2, 256, 125}}) {
    SCOPED_TRACE(shape.samples);
    const Receiver receiver = MakeReceiver("QPSK", shape);
    CompareAll(receiver, {FrameOf(receiver, 40, 1, 19.0), FrameOf(receiver, 1200, 2, 9.0)}, 1);
  }
}

TEST_F(TimingGpuTest, ClockErrorsUpToTheMostAndNoneEqualTheCpu) {
  for (const PulseShape& shape : {kTwoSamples, PulseShape{0.35, 16, 7}}) {
    Receiver receiver = MakeReceiver("QPSK", shape);
    for (const double max_clock_error : {0.0, 1e-5, kMaxClockError}) {
      SCOPED_TRACE(max_clock_error);
      receiver.parameters.max_clock_error = max_clock_error;
      std::vector<SampleFrame> frames;
      for (const int num_symbols : {2000, 20000, 32400}) {
        frames.push_back(FrameOf(receiver, num_symbols, frames.size() + 1));
      }
      const std::vector<Answer> answers = CompareAll(receiver, frames, frames.size());
      if (max_clock_error > 0.0) continue;
      for (const Answer& answer : answers) EXPECT_EQ(answer.found.timing.clock_error, 0.0);
    }
  }
}

TEST_F(TimingGpuTest, ThePhaseAtEveryReferenceEqualsTheCpu) {
  for (const carrier::Reference reference :
       {carrier::Reference::kFirst, carrier::Reference::kCentre, carrier::Reference::kLast}) {
    SCOPED_TRACE(static_cast<int>(reference));
    Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
    receiver.carrier.reference = reference;
    CompareAll(receiver,
               {FrameOf(receiver, 100, 1, 15.0), FrameOf(receiver, 101, 2, 15.0),
                FrameOf(receiver, 3000, 3), FrameOf(receiver, 3001, 4)},
               2);
  }
}

TEST_F(TimingGpuTest, NoiselessFramesAreFoundWhereTheyAre) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  std::vector<TimingSpec> specs;
  std::vector<SampleFrame> frames;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    specs.push_back(SpecOf(receiver, 3000 + 1000 * static_cast<int64_t>(seed), seed));
    specs.back().snr_db = testing::kNoNoise;
    frames.push_back(ToFrame(receiver, specs.back()));
  }
  const std::vector<Answer> answers = RecoverOnGpu(receiver, frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    const Result& found = answers[i].found.timing;
    ASSERT_EQ(found.lock, Lock::kLocked);
    // Five of the deviations that are told, modulo a symbol.
    EXPECT_LE(std::fabs(testing::WrappedDifference(found.offset, specs[i].offset, 1.0)),
              5.0 * static_cast<double>(found.offset_stddev));
    EXPECT_NEAR(found.clock_error, specs[i].clock_error,
                5.0 * static_cast<double>(found.clock_error_stddev));
    EXPECT_LT(found.offset_stddev, 1e-3F);
    EXPECT_NEAR(answers[i].found.carrier.frequency, specs[i].frequency, 1e-6);
  }
}

TEST_F(TimingGpuTest, EveryFormatEqualsTheCpu) {
  for (const SampleFormat format :
       {SampleFormat::kFloat32, SampleFormat::kFloat16, SampleFormat::kInt16}) {
    SCOPED_TRACE(static_cast<int>(format));
    Receiver receiver = MakeReceiver("16APSK 3/4", {0.35, 5, 2});
    receiver.carrier.format = format;
    receiver.carrier.scale = format == SampleFormat::kInt16 ? 1.0F / 8192 : 2.0F;
    CompareAll(receiver,
               {FrameOf(receiver, 2047, 1), FrameOf(receiver, 2049, 2), FrameOf(receiver, 9000, 3)},
               3);
  }
}

TEST_F(TimingGpuTest, LengthsAroundEveryTileAndTheShortestEqualTheCpu) {
  const Receiver receiver = MakeReceiver("QPSK", {0.35, 2, 1});
  std::vector<SampleFrame> frames;
  for (int num_symbols = 16; num_symbols <= 65; num_symbols += 7) {
    frames.push_back(FrameOf(receiver, num_symbols, frames.size() + 1, 19.0));
  }
  for (const int size : {128, 256, 512, 1024, 2048, 2304, 4096, 4608, 8192, 32768}) {
    for (const int off : {-1, 0, 1}) {
      frames.push_back(FrameOf(receiver, size + off, frames.size() + 1, 9.0));
    }
  }
  CompareAll(receiver, frames, 20);
}

TEST_F(TimingGpuTest, TheShortestBesideTheLongestEqualTheCpu) {
  const Receiver receiver = MakeReceiver("QPSK", {0.35, 2, 1});
  CompareAll(receiver,
             {FrameOf(receiver, 16, 1, 19.0), FrameOf(receiver, 16, 2, 19.0),
              FrameOf(receiver, 32400, 3), FrameOf(receiver, 1 << 20, 4)},
             2);
}

TEST_F(TimingGpuTest, NeighboursPlaceAndRoundsChangeNothing) {
  for (const PulseShape& shape : {kTwoSamples, PulseShape{0.35, 256, 125}}) {
    const Receiver receiver = MakeReceiver("16APSK 3/4", shape);
    std::vector<SampleFrame> frames;
    for (const int num_symbols : {700, 1000, 1025, 2000, 5000, 9257, 9257, 16200, 33000}) {
      for (int i = 0; i < 5; ++i) {
        frames.push_back(FrameOf(receiver, num_symbols, frames.size() + 1));
      }
    }
    const std::vector<Answer> together = RecoverOnGpu(receiver, frames);
    const std::vector<Answer> in_rounds =
        RecoverOnGpu(receiver, frames,
                     WorkspaceBytes(receiver.carrier, *receiver.pulse, receiver.parameters,
                                    frames.back().num_samples, 1));
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(in_rounds[i], together[i]);
      if (i % 7 == 0) ExpectSame(RecoverOnGpu(receiver, {frames[i]})[0], together[i]);
    }
  }
}

// Of the first one the pieces are in more slots than of the second, which is longer.
TEST_F(TimingGpuTest, FramesOfMoreSlotsThanLongerOnesKeepThemApart) {
  const Receiver receiver = MakeReceiver("QPSK", {1.0, 2, 1});
  std::vector<SampleFrame> frames;
  for (const int64_t num_samples : {131104, 131136}) {
    TimingSpec spec = SpecOf(receiver, 1000, frames.size() + 1);
    spec.num_samples = num_samples;
    frames.push_back(ToFrame(receiver, spec));
  }
  const std::vector<Answer> together = RecoverOnGpu(receiver, frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectSame(RecoverOnGpu(receiver, {frames[i]})[0], together[i]);
  }
}

TEST_F(TimingGpuTest, APermutedBatchHasPermutedAnswers) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  std::vector<SampleFrame> frames;
  for (uint64_t seed = 1; seed <= 40; ++seed) frames.push_back(FrameOf(receiver, 1500, seed));
  std::vector<size_t> order(frames.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937(7));
  std::vector<SampleFrame> permuted;
  for (const size_t i : order) permuted.push_back(frames[i]);
  const std::vector<Answer> answers = RecoverOnGpu(receiver, frames);
  const std::vector<Answer> of_permuted = RecoverOnGpu(receiver, permuted);
  for (size_t i = 0; i < order.size(); ++i) ExpectSame(of_permuted[i], answers[order[i]]);
}

TEST_F(TimingGpuTest, KnownSymbolsEqualTheCpuAndLeaveNoAmbiguity) {
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  std::vector<SampleFrame> frames;
  for (const int num_symbols : {2000, 5000, 16200}) {
    TimingSpec spec = SpecOf(receiver, num_symbols, frames.size() + 1);
    spec.offset = 0.5;  // so that symbol 0 is the first in every estimate
    SampleFrame frame = ToFrame(receiver, spec);
    const std::vector<Iq> sent = testing::MakeSamples(spec).sent;
    frame.known.resize(static_cast<size_t>(num_symbols));
    for (size_t k = 0; k < frame.known.size(); ++k) {
      if (k % 90 < 20) frame.known[k] = sent[k];
    }
    frames.push_back(frame);
  }
  for (const Answer& answer : CompareAll(receiver, frames, frames.size())) {
    EXPECT_EQ(answer.found.carrier.ambiguity, 1);
    EXPECT_EQ(answer.found.carrier.resolved, carrier::Resolved::kKnownSymbols);
  }
}

// As far apart as they tell no carrier beyond a small one, and none that lies around its alias.
TEST_F(TimingGpuTest, KnownSymbolsFarApartEqualTheCpu) {
  Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  receiver.carrier.coarse = carrier::Coarse::kKnown;
  for (const size_t apart : {size_t{4}, size_t{33}}) {
    std::vector<SampleFrame> frames;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      TimingSpec spec = SpecOf(receiver, 1200, seed);
      spec.offset = 0.5;
      spec.frequency = (seed % 2 == 0 ? 0.4 : -0.4) / static_cast<double>(apart);
      SampleFrame frame = ToFrame(receiver, spec);
      const std::vector<Iq> sent = testing::MakeSamples(spec).sent;
      frame.known.resize(1200);
      for (size_t k = 0; k < frame.known.size(); k += apart) frame.known[k] = sent[k];
      frames.push_back(frame);
    }
    CompareAll(receiver, frames, frames.size());
  }
}

TEST_F(TimingGpuTest, EveryMethodOfTheCarrierEqualsTheCpu) {
  for (const carrier::Fine fine : {carrier::Fine::kNone, carrier::Fine::kInterpolate,
                                   carrier::Fine::kSweep, carrier::Fine::kPll}) {
    SCOPED_TRACE(static_cast<int>(fine));
    Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
    receiver.carrier.fine = fine;
    receiver.carrier.sweep_step = 2e-6;
    receiver.carrier.reference = carrier::Reference::kLast;
    CompareAll(receiver, {FrameOf(receiver, 3000, 1, 8.0), FrameOf(receiver, 5000, 2, 8.0)}, 2);
  }
}

// In a process of its own, where nothing was prepared.
using TimingUnpreparedGpuDeathTest = TimingGpuTest;
TEST_F(TimingUnpreparedGpuDeathTest, LaunchesAreRefusedBeforePrepareTiming) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Receiver receiver = MakeReceiver("QPSK", kTwoSamples);
  const std::vector<SampleFrame> frames = {FrameOf(receiver, 500, 1)};
  EXPECT_EXIT(
      {
        DeviceBatch batch(receiver, frames);
        const absl::Status status = LaunchTiming(batch.batch(), cudaStreamPerThread);
        std::_Exit(absl::IsFailedPrecondition(status) && batch.IsUntouched() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace baseband::timing
