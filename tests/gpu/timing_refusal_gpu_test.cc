// What LaunchTiming refuses. Needs no GPU: nothing is enqueued.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/timing_gpu_fixture.h"
#include "tests/support/status_matchers.h"

namespace baseband::timing {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST(TimingGpuRefusalTest, BrokenBatchesAreRefusedByName) {
  alignas(16) static uint8_t memory[64] = {};
  const Receiver receiver = MakeReceiver("QPSK", {0.35, 2, 1});
  const std::vector<uint32_t> lengths = {100, 200};
  TimingBatch good;
  good.model = receiver.model.get();
  good.pulse = receiver.pulse.get();
  good.frames = reinterpret_cast<const TimingFrame*>(memory);
  good.lengths = lengths;
  good.samples = memory;
  good.results = reinterpret_cast<Result*>(memory);
  good.carrier_results = reinterpret_cast<carrier::Result*>(memory);
  good.workspace = memory;
  good.workspace_bytes = int64_t{1} << 40;
  const auto expect = [](const TimingBatch& batch, const std::string& text) {
    EXPECT_THAT(LaunchTiming(batch, nullptr),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  TimingBatch batch = good;
  batch.model = nullptr;
  expect(batch, "model is null");
  batch = good;
  batch.pulse = nullptr;
  expect(batch, "pulse is null");
  for (const double wrong : {-1e-6, 1.1e-3, std::nan("")}) {
    batch = good;
    batch.parameters.max_clock_error = wrong;
    expect(batch, "max_clock_error");
  }
  batch = good;
  batch.lengths = {};
  expect(batch, "number of frames 0 is not in [1, 1048576]");
  const std::vector<uint32_t> falling = {200, 100};
  batch.lengths = falling;
  expect(batch, "100 follows 200");
  const int64_t least = receiver.SamplesFor(carrier::kMinSymbols);
  const int64_t most = receiver.SamplesFor(carrier::kMaxSymbols + 1) - 1;
  for (const int64_t length : {least - 1, most + 1}) {
    const std::vector<uint32_t> wrong = {static_cast<uint32_t>(length)};
    batch.lengths = wrong;
    expect(batch, std::to_string(length) + " is not in [" + std::to_string(least) + ", " +
                      std::to_string(most) + "]");
  }
  batch = good;
  batch.carrier.fine = carrier::Fine::kSweep;
  batch.carrier.sweep_step = 1e-9;
  expect(batch, "more than 8192 candidates");
  batch = good;
  batch.frames = reinterpret_cast<const TimingFrame*>(memory + 8);
  expect(batch, "frames is null or not");
  batch = good;
  batch.samples = nullptr;
  expect(batch, "samples is null");
  batch = good;
  batch.results = nullptr;
  expect(batch, "results is null");
  batch = good;
  batch.carrier_results = nullptr;
  expect(batch, "carrier_results is null");
  batch = good;
  batch.workspace = memory + 1;
  expect(batch, "workspace is null or not");
  batch = good;
  batch.workspace_bytes =
      WorkspaceBytes(batch.carrier, *receiver.pulse, batch.parameters, 200, 1) - 1;
  expect(batch, "workspace_bytes");
  batch = good;
  batch.carrier.want_corrected = true;
  expect(batch, "output is null");
  batch = good;
  batch.carrier.coarse = carrier::Coarse::kKnown;
  expect(batch, "known is null");
}

// One frame of any length up to the longest fits what WorkspaceBytes says of the longest.
TEST(TimingGpuRefusalTest, TheWorkspaceOfTheLongestDoesForEveryShorterFrame) {
  for (const PulseShape& shape :
       {PulseShape{0.05, 2, 1}, PulseShape{0.35, 5, 2}, PulseShape{1.0, 16, 1}}) {
    const Receiver receiver = MakeReceiver("QPSK", shape);
    for (const carrier::Fine fine : {carrier::Fine::kRemodulate, carrier::Fine::kPll}) {
      carrier::Parameters carrier;
      carrier.fine = fine;
      const auto bytes = [&](int64_t num_samples, int64_t num_frames) {
        return WorkspaceBytes(carrier, *receiver.pulse, receiver.parameters, num_samples,
                              num_frames);
      };
      int64_t before = 0;
      for (int64_t n = receiver.SamplesFor(carrier::kMinSymbols); n < (1 << 19); n += 1 + n / 7) {
        EXPECT_GE(bytes(n, 1), before) << n;
        EXPECT_GE(bytes(n, 100), bytes(n, 10)) << n;
        before = bytes(n, 1);
      }
    }
  }
}

}  // namespace
}  // namespace baseband::timing
