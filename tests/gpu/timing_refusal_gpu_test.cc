// What LaunchTiming refuses. But for the last test no GPU is needed: nothing is enqueued.
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

using ::baseband::testing::IsOk;
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

TEST_F(TimingGpuTest, ARefusedBatchEnqueuesNothing) {
  ASSERT_THAT(PrepareTiming(), IsOk());
  const Receiver receiver = MakeReceiver("QPSK", {0.2, 2, 1});
  const std::vector<SampleFrame> frames = {FrameOf(receiver, 500, 1), FrameOf(receiver, 900, 2)};
  DeviceBatch batch(receiver, frames);
  const auto stream = cuda::Stream::Create();
  ASSERT_THAT(stream, IsOk());
  const TimingBatch good = batch.batch();
  const auto expect_nothing = [&](TimingBatch broken) {
    ASSERT_EQ(cudaStreamBeginCapture(stream->get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_THAT(LaunchTiming(broken, stream->get()),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream->get(), &graph), cudaSuccess);
    size_t nodes = 1;
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 0);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  };
  TimingBatch broken = good;
  broken.workspace_bytes = WorkspaceBytes(receiver.carrier, *receiver.pulse, receiver.parameters,
                                          frames[1].num_samples, 1) -
                           1;
  expect_nothing(broken);
  // What only the carrier's launch would see.
  broken = good;
  broken.carrier.fine = carrier::Fine::kSweep;
  broken.carrier.sweep_step = 1e-9;
  expect_nothing(broken);
  broken = good;
  broken.carrier.coarse = carrier::Coarse::kKnown;
  broken.known = nullptr;
  expect_nothing(broken);
  broken = good;
  const std::vector<uint32_t> falling = {good.lengths[1], good.lengths[0]};
  broken.lengths = falling;
  expect_nothing(broken);
  EXPECT_TRUE(batch.IsUntouched());
}

}  // namespace
}  // namespace baseband::timing
