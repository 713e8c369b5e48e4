// A launch of down-conversion with all that it needs, and comparison of its results with the CPU's.
#ifndef BASEBAND_TESTS_SUPPORT_DOWNCONVERT_GPU_H_
#define BASEBAND_TESTS_SUPPORT_DOWNCONVERT_GPU_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/downconvert/downconvert_gpu.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/gpu_test.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

inline constexpr uint8_t kOutputGuard =
    0xa5;  // fills the output before a launch, and 16 bytes between channels
inline constexpr size_t kOutputGuardBytes = 16;
// Device memory for a launch, as large as the launch says and no larger.
class DownconvertLauncher {
 public:
  // By `plan` if there is one, of this block and offsets.
  DownconvertLauncher(const std::vector<downconvert::Channel>& channels,
                      const downconvert::Block& block, absl::Span<const uint8_t> samples,
                      const downconvert::gpu::GpuPlan* plan = nullptr)
      : channels_(channels),
        offsets_(OutputOffsets(channels, block)),
        samples_(ToDevice(std::vector<uint8_t>(samples.begin(), samples.end()))) {
    output_ = ToDevice(std::vector<uint8_t>(static_cast<size_t>(offsets_.back()), kOutputGuard));
    offsets_.pop_back();
    results_ = ToDevice(std::vector<downconvert::ChannelResult>(
        channels.size(), downconvert::ChannelResult{-1, -1}));
    plan_.Build(channels_, block, offsets_);
    launch_.plan = plan != nullptr ? plan : &plan_;
    const auto plan_bytes = static_cast<size_t>(launch_.plan->layout().bytes);
    const auto workspace_bytes = static_cast<size_t>(launch_.plan->workspace_bytes());
    std::vector<uint8_t> tables(plan_bytes + 1);  // never null
    launch_.plan->CopyTo(tables.data());
    plan_device_ = ToDevice(tables);
    workspace_ = ToDevice(std::vector<uint8_t>(workspace_bytes, 0xff));
    launch_.samples = samples_.data();
    launch_.output = output_.data();
    launch_.results = results_.data();
    launch_.plan_device = plan_device_.data();
    launch_.plan_bytes = static_cast<int64_t>(plan_bytes);
    launch_.workspace = workspace_.data();
    launch_.workspace_bytes = static_cast<int64_t>(workspace_bytes);
  }
  // Where each channel's outputs begin, and the size of all; with guards between them.
  static std::vector<int64_t> OutputOffsets(const std::vector<downconvert::Channel>& channels,
                                            const downconvert::Block& block) {
    std::vector<int64_t> offsets = {0};
    for (const downconvert::Channel& channel : channels) {
      offsets.push_back(
          offsets.back() +
          static_cast<int64_t>((OutputBytes(channel, block) + 15) / 16 * 16 + kOutputGuardBytes));
    }
    return offsets;
  }
  downconvert::DownconvertLaunch& launch() { return launch_; }
  absl::Status Launch() const {
    EXPECT_EQ(
        cudaMemsetAsync(results_.data(), 0, channels_.size() * sizeof(downconvert::ChannelResult),
                        cudaStreamPerThread),
        cudaSuccess);
    return downconvert::LaunchDownconvert(launch_, cudaStreamPerThread);
  }

  // What every channel became; checks that nothing else was written.
  std::vector<Converted> Results() const {
    const std::vector<uint8_t> output = ToHost(output_);
    const std::vector<downconvert::ChannelResult> results = ToHost(results_);
    std::vector<Converted> all(channels_.size());
    for (size_t c = 0; c < channels_.size(); ++c) {
      const auto begin = output.begin() + offsets_[c];
      const auto end =
          begin + static_cast<std::ptrdiff_t>(OutputBytes(channels_[c], launch_.plan->block()));
      const auto next = c + 1 < channels_.size() ? output.begin() + offsets_[c + 1] : output.end();
      all[c].output.assign(begin, end);
      all[c].saturated = results[c].saturated;
      all[c].has_non_finite = results[c].has_non_finite;
      EXPECT_TRUE(std::all_of(end, next, [](uint8_t b) { return b == kOutputGuard; }))
          << "written past the output of channel " << c;
    }
    return all;
  }
  bool OutputIsUntouched() const {
    const std::vector<uint8_t> output = ToHost(output_);
    return std::all_of(output.begin(), output.end(), [](uint8_t b) { return b == kOutputGuard; });
  }

 private:
  static size_t OutputBytes(const downconvert::Channel& channel, const downconvert::Block& block) {
    return static_cast<size_t>(downconvert::OutputsOf(channel, block).count *
                               downconvert::BytesPerOutput(channel.output));
  }

  std::vector<downconvert::Channel> channels_;
  std::vector<int64_t> offsets_;
  downconvert::gpu::GpuPlan plan_;
  cuda::DeviceBuffer<uint8_t> samples_;
  cuda::DeviceBuffer<uint8_t> output_;
  cuda::DeviceBuffer<downconvert::ChannelResult> results_;
  cuda::DeviceBuffer<uint8_t> plan_device_;
  cuda::DeviceBuffer<uint8_t> workspace_;
  downconvert::DownconvertLaunch launch_;
};

inline std::vector<Converted> ConvertOnGpu(const std::vector<downconvert::Channel>& channels,
                                           const downconvert::Block& block,
                                           absl::Span<const uint8_t> samples) {
  EXPECT_THAT(downconvert::CheckBlock(channels, block), IsOk());
  const DownconvertLauncher launcher(channels, block, samples);
  EXPECT_THAT(launcher.Launch(), IsOk());
  return launcher.Results();
}

struct Recording {
  downconvert::Block block;
  std::vector<uint8_t> samples;
};
inline Recording MakeRecording(downconvert::InputFormat format, int64_t first, int64_t history,
                               int64_t count) {
  Recording recording;
  recording.block.format = format;
  recording.block.scale = ScaleOf(format);
  recording.block.first_index = first;
  recording.block.history = first > 0 ? history : 0;
  recording.block.num_samples = recording.block.history + count;
  recording.samples = NoiseSamples(format, recording.block.num_samples, 3);
  return recording;
}

inline void ExpectAgrees(const std::string& name, const downconvert::Channel& channel,
                         const downconvert::Block& block, absl::Span<const uint8_t> samples,
                         const Converted& gpu) {
  const Converted cpu = Convert(channel, block, samples);
  ASSERT_EQ(cpu.output.size(), gpu.output.size()) << name;
  const double tolerance =
      downconvert::kDeviceTolerance * std::abs(channel.gain) * GainLimitOf(*channel.filter);
  const size_t components =
      cpu.output.size() * 2 / static_cast<size_t>(downconvert::BytesPerOutput(channel.output));
  double worst = 0.0;
  size_t worst_at = 0;
  size_t num_beyond = 0;
  for (size_t i = 0; i < components; ++i) {
    const double expected = ComponentOf(channel.output, cpu.output.data(), i);
    const double found = ComponentOf(channel.output, gpu.output.data(), i);
    double error = std::abs(found - expected) - RoundingOf(channel.output, expected);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error > worst) {
      worst = error;
      worst_at = i;
    }
    num_beyond += error > tolerance ? 1 : 0;
  }
  EXPECT_LE(worst, tolerance) << name << ": " << num_beyond << " of " << components
                              << " components; the worst is the " << (worst_at % 2 == 0 ? 'I' : 'Q')
                              << " of output " << worst_at / 2 << " of the block, CPU "
                              << ComponentOf(channel.output, cpu.output.data(), worst_at)
                              << ", GPU "
                              << ComponentOf(channel.output, gpu.output.data(), worst_at);
  // Values at the edge of int16 may fall to either side.
  EXPECT_NEAR(static_cast<double>(gpu.saturated), static_cast<double>(cpu.saturated),
              1.0 + 1e-3 * static_cast<double>(cpu.saturated))
      << name;
}

inline void ExpectAgree(const std::string& name, const std::vector<downconvert::Channel>& channels,
                        const Recording& recording) {
  const std::vector<Converted> gpu = ConvertOnGpu(channels, recording.block, recording.samples);
  for (size_t c = 0; c < channels.size(); ++c) {
    ExpectAgrees(name + ", channel " + std::to_string(c), channels[c], recording.block,
                 recording.samples, gpu[c]);
  }
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_DOWNCONVERT_GPU_H_
