// LaunchRecover against RecoverOnCpu, which carrier_recover_test holds against the reference.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/carrier_gpu_fixture.h"
#include "tests/support/status_matchers.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::Pilots;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

const char* const kNames[] = {
    "BPSK",           "QPSK",  "8PSK",   "16APSK 3/4",      "32APSK 3/4",
    "64APSK 128/180", "16QAM", "256QAM", "128APSK 135/180", "256APSK 135/180"};

TEST_F(CarrierGpuTest, DefaultMethodEqualsTheCpuForEveryKindOfConstellation) {
  for (const char* const name : kNames) {
    SCOPED_TRACE(name);
    const ModelPtr model = MakeModel(name);
    Parameters parameters;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames;
    for (const int num_symbols : {4097, 8100, 8100, 16200}) {
      frames.push_back(FrameOf(*model, parameters, num_symbols, frames.size() + 1));
    }
    CompareAll(*model, parameters, frames);
  }
}

TEST_F(CarrierGpuTest, EveryMethodEqualsTheCpu) {
  for (const char* const name : {"QPSK", "16APSK 3/4", "64APSK 128/180", "64QAM"}) {
    const ModelPtr model = MakeModel(name);
    for (const Coarse coarse : {Coarse::kNone, Coarse::kPower, Coarse::kKnown}) {
      for (const Fine fine :
           {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll}) {
        for (const Pilots pilots : {Pilots::kNone, Pilots::kDvbS2}) {
          if (coarse == Coarse::kKnown && pilots == Pilots::kNone) continue;
          SCOPED_TRACE(std::string(name) + " coarse " + std::to_string(static_cast<int>(coarse)) +
                       " fine " + std::to_string(static_cast<int>(fine)) +
                       (pilots == Pilots::kNone ? "" : " pilots"));
          Parameters parameters;
          parameters.coarse = coarse;
          parameters.fine = fine;
          parameters.sweep_step = 2e-6;
          parameters.sweep_guard_bins = 1;
          parameters.sweep_interpolate = pilots == Pilots::kDvbS2;
          parameters.want_corrected = true;
          parameters.want_curve = true;
          parameters.reference = pilots == Pilots::kNone ? Reference::kLast : Reference::kCentre;
          CompareAll(*model, parameters,
                     {FrameOf(*model, parameters, 3000, 1, pilots, 8.0),
                      FrameOf(*model, parameters, 5000, 2, pilots, 8.0)});
        }
      }
    }
  }
}

TEST_F(CarrierGpuTest, EveryFormatEqualsTheCpu) {
  const ModelPtr model = MakeModel("16QAM");
  for (const SampleFormat format :
       {SampleFormat::kFloat32, SampleFormat::kFloat16, SampleFormat::kInt16}) {
    Parameters parameters;
    parameters.format = format;
    parameters.scale = format == SampleFormat::kInt16 ? 1.0F / 8192 : 2.0F;
    parameters.want_corrected = true;
    CompareAll(*model, parameters,
               {FrameOf(*model, parameters, 2047, 1, Pilots::kNone, 8.0),
                FrameOf(*model, parameters, 2049, 2, Pilots::kNone, 8.0)});
  }
}

TEST_F(CarrierGpuTest, LengthsAroundEveryBlockSizeEqualTheCpu) {
  const ModelPtr model = MakeModel("QPSK");
  Parameters parameters;
  parameters.want_corrected = true;
  parameters.want_curve = true;
  std::vector<Frame> frames;
  for (int num_symbols = 16; num_symbols <= 65; ++num_symbols) {
    frames.push_back(
        FrameOf(*model, parameters, num_symbols, frames.size() + 1, Pilots::kNone, 19.0));
  }
  for (const int size : {128, 256, 512, 1024, 2048, 4096, 8192, 32768}) {
    for (const int off : {-1, 0, 1}) {
      frames.push_back(
          FrameOf(*model, parameters, size + off, frames.size() + 1, Pilots::kNone, 9.0));
    }
  }
  CompareAll(*model, parameters, frames);
}

TEST_F(CarrierGpuTest, TheLongestFramesEqualTheCpu) {
  const ModelPtr model = MakeModel("16QAM");
  Parameters parameters;
  CompareAll(
      *model, parameters,
      {FrameOf(*model, parameters, (1 << 19) + 1, 1), FrameOf(*model, parameters, 1 << 20, 2)});
}

// Lines at the end of the range of frequencies, whatever is left of it behind them.
TEST_F(CarrierGpuTest, ALineAtTheRangesEndHasNoSecondPeakInItsShoulders) {
  const ModelPtr model = MakeModel("QPSK");
  constexpr int kSymbols = 2000;
  constexpr double kHalfBin = 0.5 / 2048 / 4;  // of the carrier
  testing::FrameSpec spec;
  spec.constellation = *Constellation::FromName("QPSK");
  spec.num_symbols = kSymbols;
  spec.snr_db = 30.0;
  for (int last = 801; last <= 865; ++last) {
    SCOPED_TRACE(last);
    Parameters parameters;
    parameters.max_frequency = last * kHalfBin;
    std::vector<Frame> frames;
    for (const double before : {1.0, 3.0, 5.0, 7.0}) {
      spec.frequency = (last - before) * kHalfBin;
      frames.push_back(ToFrame(parameters, testing::MakeFrame(spec)));
      spec.frequency = -spec.frequency;
      frames.push_back(ToFrame(parameters, testing::MakeFrame(spec)));
    }
    CompareAll(*model, parameters, frames);
  }
}

// Few frames are judged by four warps each with registers to spare, more by four, many by one.
TEST_F(CarrierGpuTest, HowManyThereAreChangesNothing) {
  const ModelPtr model = MakeModel("16APSK 3/4");
  const Parameters parameters;
  std::vector<Frame> frames;
  for (int i = 0; i < 1500; ++i) frames.push_back(FrameOf(*model, parameters, 200, i + 1));
  const std::vector<Recovered> many = RecoverOnGpu(*model, parameters, frames);
  for (const size_t count : {size_t{100}, size_t{600}}) {
    const std::vector<Recovered> fewer = RecoverOnGpu(
        *model, parameters, {frames.begin(), frames.begin() + static_cast<int>(count)});
    for (size_t i = 0; i < count; ++i) ExpectSame(fewer[i], many[i]);
  }
}

TEST_F(CarrierGpuTest, NeighboursPlaceAndRoundsChangeNothing) {
  const ModelPtr model = MakeModel("16APSK 3/4");
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 5e-6;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames;
    for (const int num_symbols : {700, 1000, 1024, 1025, 2000, 5000, 9257, 9257, 16200, 33000}) {
      for (int i = 0; i < 9; ++i) {
        frames.push_back(FrameOf(*model, parameters, num_symbols, frames.size() + 1));
      }
    }
    const std::vector<Recovered> together = RecoverOnGpu(*model, parameters, frames);
    const std::vector<Recovered> in_rounds =
        RecoverOnGpu(*model, parameters, frames,
                     RecoverWorkspaceBytes(parameters, frames.back().num_symbols, 1));
    for (size_t i = 0; i < frames.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(in_rounds[i], together[i]);
      if (i % 7 == 0) ExpectSame(RecoverOnGpu(*model, parameters, {frames[i]})[0], together[i]);
    }
  }
}

TEST_F(CarrierGpuTest, BadAndSilentFramesAreSaidToBeSoAndHarmNoOther) {
  const ModelPtr model = MakeModel("QPSK");
  for (const Fine fine : {Fine::kRemodulate, Fine::kSweep, Fine::kPll}) {
    Parameters parameters;
    parameters.fine = fine;
    parameters.sweep_step = 5e-6;
    parameters.want_corrected = true;
    parameters.want_curve = true;
    std::vector<Frame> frames(4, FrameOf(*model, parameters, 3000, 1, Pilots::kDvbS2));
    const auto set = [&](size_t frame, size_t number, float value) {
      std::memcpy(frames[frame].symbols.data() + 4 * number, &value, sizeof(value));
    };
    set(0, 2999, NAN);
    set(1, 17, 1e16F);
    std::fill(frames[2].symbols.begin(), frames[2].symbols.end(), uint8_t{0});
    const std::vector<Recovered> recovered = RecoverOnGpu(*model, parameters, frames);
    EXPECT_EQ(recovered[0].result.bad_symbols, 1);
    EXPECT_EQ(recovered[1].result.bad_symbols, 1);
    EXPECT_EQ(recovered[2].result.bad_symbols, 0);
    EXPECT_EQ(recovered[2].result.lock, Lock::kNoSignal);
    EXPECT_THAT(recovered[1].corrected, ::testing::Each(0));
    EXPECT_THAT(recovered[2].curve, ::testing::Each(0.0F));
    ExpectSame(recovered[3], RecoverOnGpu(*model, parameters, {frames[3]})[0]);
  }
}

TEST_F(CarrierGpuTest, ASpectrumOfZerosHasItsLineAtZeroAsOnTheCpu) {
  const ModelPtr model = MakeModel("QPSK");
  for (const Fine fine : {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate}) {
    SCOPED_TRACE(static_cast<int>(fine));
    Parameters parameters;
    parameters.coarse = Coarse::kKnown;
    parameters.fine = fine;
    parameters.sweep_step = 1e-5;
    Frame frame = FrameOf(*model, parameters, 3000, 23, Pilots::kDvbS2);
    const auto symbol_bytes = static_cast<size_t>(BytesPerSymbol(parameters.format));
    for (size_t n = 0; n < frame.known.size(); ++n) {
      if (frame.known[n].i == 0.0F && frame.known[n].q == 0.0F) continue;
      std::memset(frame.symbols.data() + n * symbol_bytes, 0, symbol_bytes);
    }
    const Recovered gpu = CompareAll(*model, parameters, {frame})[0];
    EXPECT_EQ(gpu.result.coarse_frequency, 0.0);
    EXPECT_EQ(gpu.result.peak_ratio, 0.0F);
  }
}

TEST_F(CarrierGpuTest, NoiseLocksNothing) {
  const ModelPtr model = MakeModel("8PSK");
  Parameters parameters;
  std::vector<Frame> frames;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    frames.push_back(FrameOf(*model, parameters, 1000, seed, Pilots::kNone, -46.0));
  }
  for (const Recovered& recovered : RecoverOnGpu(*model, parameters, frames)) {
    EXPECT_NE(recovered.result.lock, Lock::kLocked);
  }
}

// Needs no GPU: nothing is enqueued.
TEST(CarrierGpuRefusalTest, BrokenBatchesAreRefusedByName) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  alignas(16) static uint8_t memory[64] = {};
  const ModelPtr model = MakeModel("QPSK");
  const std::vector<uint32_t> lengths = {100, 200};
  RecoverBatch good;
  good.model = model.get();
  good.frames = reinterpret_cast<const RecoverFrame*>(memory);
  good.lengths = lengths;
  good.symbols = memory;
  good.results = reinterpret_cast<Result*>(memory);
  good.workspace = memory;
  good.workspace_bytes = int64_t{1} << 40;
  const auto expect = [](const RecoverBatch& batch, const std::string& text) {
    EXPECT_THAT(LaunchRecover(batch, nullptr), StatusIs(kInvalid, HasSubstr(text)));
  };
  RecoverBatch batch = good;
  batch.model = nullptr;
  expect(batch, "model is null");
  batch = good;
  batch.lengths = {};
  expect(batch, "number of frames 0 is not in [1, 1048576]");
  const std::vector<uint32_t> falling = {200, 100};
  batch.lengths = falling;
  expect(batch, "100 follows 200");
  for (const uint32_t length : {15U, (1U << 20) + 1}) {
    const std::vector<uint32_t> wrong = {length};
    batch.lengths = wrong;
    expect(batch, std::to_string(length) + " is not in [16, 1048576]");
  }
  batch = good;
  batch.parameters.fine = Fine::kSweep;
  batch.parameters.sweep_step = 1e-9;
  expect(batch, "more than 8192 candidates");
  batch = good;
  batch.frames = reinterpret_cast<const RecoverFrame*>(memory + 8);
  expect(batch, "frames is null or not");
  batch = good;
  batch.symbols = nullptr;
  expect(batch, "symbols is null");
  batch = good;
  batch.results = nullptr;
  expect(batch, "results is null");
  batch = good;
  batch.workspace = memory + 1;
  expect(batch, "workspace is null or not");
  batch = good;
  batch.workspace_bytes = RecoverWorkspaceBytes(batch.parameters, 200, 1) - 1;
  expect(batch, "workspace_bytes");
  batch = good;
  batch.parameters.want_corrected = true;
  expect(batch, "output is null");
  batch = good;
  batch.parameters.coarse = Coarse::kKnown;
  expect(batch, "known is null");
}

}  // namespace
}  // namespace baseband::carrier
