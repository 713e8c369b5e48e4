// What the GPU's benches of down-conversion measure: channels, a block, and the memory of a launch,
// with its results checked against the CPU's. A failed check ends the program.
#ifndef BASEBAND_TESTS_BENCH_DOWNCONVERT_RIG_H_
#define BASEBAND_TESTS_BENCH_DOWNCONVERT_RIG_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/resources.h"
#include "kernels/downconvert/downconvert_gpu.h"
#include "tests/bench/device_memory.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::downconvert::bench {

inline constexpr int kLaunches = 5;  // that one measurement is the mean of
inline constexpr int kRepeats = 9;

inline void Check(bool ok, const std::string& what) {
  if (!ok) {
    std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    std::exit(1);
  }
}
inline void CheckCuda(cudaError_t error, const char* what) {
  const absl::Status status = cuda::ToStatus(error, what);
  Check(status.ok(), status.ToString());
}
template <typename T>
T Value(absl::StatusOr<T> result) {
  Check(result.ok(), result.status().ToString());
  return *std::move(result);
}
inline double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The median time of one of what `enqueue` puts on the stream.
template <typename Enqueue>
double Time(cudaStream_t stream, const Enqueue& enqueue) {
  return baseband::bench::TimesOf(stream, kRepeats, kLaunches, enqueue).median;
}

// A low pass for the rate 1 / down.
inline FilterPtr LowPass(int taps, int up, int down) {
  return Value(Filter::FromTaps(testing::SomeTaps(taps, up, down, 1), up, down));
}

inline std::vector<Channel> Channels(int count, const FilterPtr& filter, OutputFormat output) {
  std::vector<Channel> channels(static_cast<size_t>(count));
  for (int c = 0; c < count; ++c) {
    channels[c].phase = Value(PhaseTrack::Create(
        Value(Frequency::FromFraction(9123457 - 61379 * c, 64000000)), 0.1 * c, {}));
    channels[c].filter = filter;
    channels[c].output = output;
  }
  return channels;
}

inline Block BlockOf(InputFormat format, int64_t samples) {
  Block block;
  block.format = format;
  block.scale = testing::ScaleOf(format);
  block.num_samples = samples;
  return block;
}

// Noise, for speed a stretch of it again and again.
inline void FillWithNoise(InputFormat format, int64_t samples, uint8_t* to) {
  const int64_t stretch = std::min<int64_t>(samples, (1 << 20) + 7);
  const std::vector<uint8_t> noise = testing::NoiseSamples(format, stretch, 1);
  for (int64_t done = 0; done < samples; done += stretch) {
    const auto bytes = static_cast<size_t>(BytesPerSample(format));
    std::memcpy(to + static_cast<size_t>(done) * bytes, noise.data(),
                static_cast<size_t>(std::min(stretch, samples - done)) * bytes);
  }
}

// Channels, a block and all memory that its conversion takes, on the host and on the device.
class Rig {
 public:
  Rig(std::vector<Channel> channels, const Block& block)
      : channels_(std::move(channels)), block_(block) {
    Check(CheckBlock(channels_, block).ok(), "CheckBlock");
    input_bytes_ = static_cast<size_t>(block.num_samples * BytesPerSample(block.format));
    for (const Channel& channel : channels_) {
      offsets_.push_back(static_cast<int64_t>(output_bytes_));
      const OutputRange range = OutputsOf(channel, block);
      output_bytes_ +=
          static_cast<size_t>(range.count * BytesPerOutput(channel.output) + 15) / 16 * 16;
    }
    plan_.Build(channels_, block_, offsets_);
    const auto plan_bytes = static_cast<size_t>(plan_.layout().bytes);
    const auto workspace_bytes = static_cast<size_t>(plan_.workspace_bytes());
    host_samples_ = Value(cuda::CreatePinnedBuffer<uint8_t>(input_bytes_));
    FillWithNoise(block.format, block.num_samples, host_samples_.data());
    samples_ = Value(cuda::CreateDeviceBuffer<uint8_t>(input_bytes_));
    output_ = Value(cuda::CreateDeviceBuffer<uint8_t>(output_bytes_));
    results_ = Value(cuda::CreateDeviceBuffer<ChannelResult>(channels_.size()));
    plan_host_ = Value(cuda::CreatePinnedBuffer<uint8_t>(plan_bytes));
    plan_device_ = Value(cuda::CreateDeviceBuffer<uint8_t>(plan_bytes));
    workspace_ = Value(cuda::CreateDeviceBuffer<uint8_t>(workspace_bytes));
  }

  // The samples are those of a stream from now on, from `index` on: a multiple of all filters'
  // decimations, after a history as long as the block's.
  void MoveTo(int64_t index) {
    block_.first_index = index - block_.history;
    if (!plan_.MoveTo(block_)) plan_.Build(channels_, block_, offsets_);
    Check(plan_.layout().bytes <= plan_host_.size(), "plan_host");
    Check(plan_.workspace_bytes() <= workspace_.size(), "workspace");
  }

  // Whether some first stages are computed exactly, in integers.
  bool is_exact() const {
    const auto launches = plan_.launches();
    return std::any_of(launches.begin(), launches.end(), [](const gpu::ProductLaunch& launch) {
      return launch.kind.samples == gpu::Samples::kComplexFixed;
    });
  }
  size_t input_bytes() const { return input_bytes_; }
  size_t output_bytes() const { return output_bytes_; }

  void Upload(cudaStream_t stream) const {
    CheckCuda(cudaMemcpyAsync(samples_.data(), host_samples_.data(), input_bytes_,
                              cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync");
  }
  void Launch(cudaStream_t stream) const {
    DownconvertLaunch launch;
    launch.plan = &plan_;
    launch.samples = samples_.data();
    launch.output = output_.data();
    launch.results = results_.data();
    launch.plan_device = plan_device_.data();
    launch.plan_bytes = static_cast<int64_t>(plan_host_.size());
    launch.workspace = workspace_.data();
    launch.workspace_bytes = static_cast<int64_t>(workspace_.size());
    plan_.CopyTo(plan_host_.data());
    CheckCuda(cudaMemcpyAsync(plan_device_.data(), plan_host_.data(), plan_.layout().bytes,
                              cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync");
    CheckCuda(cudaMemsetAsync(results_.data(), 0, channels_.size() * sizeof(ChannelResult), stream),
              "cudaMemsetAsync");
    const absl::Status status = LaunchDownconvert(launch, stream);
    Check(status.ok(), status.ToString());
  }
  void Download(cudaStream_t stream, uint8_t* to) const {
    CheckCuda(cudaMemcpyAsync(to, output_.data(), output_bytes_, cudaMemcpyDeviceToHost, stream),
              "cudaMemcpyAsync");
  }

  // Converts, and compares outputs spread over the block with the CPU's.
  void CheckResults(const std::string& name) const {
    const auto stream = Value(cuda::Stream::Create());
    std::vector<uint8_t> output(output_bytes_);
    CheckCuda(cudaMemset(output_.data(), 0xff, output_bytes_), "cudaMemset");
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    Upload(stream.get());
    Launch(stream.get());
    Download(stream.get(), output.data());
    CheckCuda(cudaStreamSynchronize(stream.get()), name.c_str());
    CompareWithCpu(name, output.data());
  }
  void CompareWithCpu(const std::string& name, const uint8_t* output) const {
    const absl::Span<const uint8_t> samples(host_samples_.data(), input_bytes_);
    const size_t every = std::max<size_t>(1, channels_.size() / 8);
    for (size_t c = 0; c < channels_.size(); c += every) {
      const Channel& channel = channels_[c];
      const OutputRange range = OutputsOf(channel, block_);
      const int64_t count = std::min<int64_t>(range.count, 400);
      const double limit =
          kDeviceTolerance * std::abs(channel.gain) * testing::GainLimitOf(*channel.filter);
      for (int place = 0; place < 5; ++place) {
        OutputRange part;
        part.first = range.first + (range.count - count) * place / 4;
        part.count = count;
        const int bytes = BytesPerOutput(channel.output);
        std::vector<uint8_t> cpu(static_cast<size_t>(count * bytes));
        DownconvertOnCpu(channel, block_, samples, part, absl::MakeSpan(cpu));
        const uint8_t* const gpu = output + offsets_[c] + bytes * (part.first - range.first);
        for (int64_t i = 0; i < 2 * count; ++i) {
          const auto at = static_cast<size_t>(i);
          const double expected = testing::ComponentOf(channel.output, cpu.data(), at);
          const double found = testing::ComponentOf(channel.output, gpu, at);
          Check(std::abs(expected - found) <= limit + testing::RoundingOf(channel.output, expected),
                absl::StrCat(name, ", channel ", c, ", output ", part.first + i / 2, ": CPU ",
                             expected, ", GPU ", found));
        }
      }
    }
  }

 private:
  std::vector<Channel> channels_;
  Block block_;
  size_t input_bytes_ = 0;
  size_t output_bytes_ = 0;
  std::vector<int64_t> offsets_;
  gpu::GpuPlan plan_;
  cuda::PinnedBuffer<uint8_t> host_samples_;
  cuda::DeviceBuffer<uint8_t> samples_;
  cuda::DeviceBuffer<uint8_t> output_;
  cuda::DeviceBuffer<ChannelResult> results_;
  cuda::PinnedBuffer<uint8_t> plan_host_;
  cuda::DeviceBuffer<uint8_t> plan_device_;
  cuda::DeviceBuffer<uint8_t> workspace_;
};

}  // namespace baseband::downconvert::bench

#endif  // BASEBAND_TESTS_BENCH_DOWNCONVERT_RIG_H_
