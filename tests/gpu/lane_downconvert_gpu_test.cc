// Downconvert jobs on the lanes of a GPU against the same jobs on the CPU.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/operations/downconvert/downconvert.h"
#include "tests/gpu/lane_gpu_fixture.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

// Outputs of channel `c`: no further apart than the devices' arithmetic and the format make them.
void ExpectNear(const downconvert::Channel& channel, size_t c, const DownconvertJob& gpu,
                const DownconvertJob& cpu, const std::string& what) {
  const double limit = downconvert::kDeviceTolerance * testing::GainLimitOf(*channel.filter);
  for (int64_t i = 0; i < 2 * gpu.ranges()[c].count; ++i) {
    const auto value = [&](const DownconvertJob& job) {
      return testing::ComponentOf(channel.output, job.reply.data() + job.reply_offsets()[c],
                                  static_cast<size_t>(i));
    };
    ASSERT_NEAR(value(gpu), value(cpu), limit + testing::RoundingOf(channel.output, value(cpu)))
        << what << ", output " << i / 2;
  }
}

// Three messages of a stream, by one plan that moves on, and what a fourth one's samples are not.
TEST_F(LaneGpuTest, AStreamsJobsGiveWhatTheCpuGivesByOnePlan) {
  using namespace downconvert;  // NOLINT
  constexpr int64_t kNew = 4000;
  auto channels = std::make_shared<std::vector<Channel>>(9);
  for (size_t c = 0; c < channels->size(); ++c) {
    Channel& channel = (*channels)[c];
    channel.phase =
        *PhaseTrack::Create(*Frequency::FromFraction(static_cast<int64_t>(c) + 1, 77), 0.2, {});
    channel.filter = *Filter::FromTaps(testing::SomeTaps(64, 1, 8, 1), 1, 8);
    channel.output = static_cast<OutputFormat>(c % 3);
  }
  Block block;
  block.format = InputFormat::kFloat32;
  block.history = HistoryOf(*channels);
  block.num_samples = block.history + kNew;
  block.first_index = 65000;
  DownconvertPlanPtr plan;
  const gpu::GpuPlan* first_plan = nullptr;
  for (int message = 0; message < 4; ++message, block.first_index += kNew) {
    std::vector<uint8_t> samples =
        testing::NoiseSamples(block.format, block.num_samples, static_cast<uint32_t>(message + 1));
    constexpr int64_t kBad = 1234;
    if (message == 3) std::fill_n(samples.begin() + 8 * (block.history + kBad), 8, 0xff);
    const auto split = samples.begin() + 8 * block.history;
    const auto make = [&](DownconvertPlanPtr last) {
      DownconvertPast past;
      past.received.assign(samples.begin(), split);
      std::vector<JobPtr> jobs;
      jobs.push_back(
          WithPayload(std::make_unique<DownconvertJob>(TestOperation("Downconvert"), channels,
                                                       block, std::move(past), std::move(last)),
                      std::string(split, samples.end())));
      return jobs;
    };
    const std::vector<JobPtr> expected = OnCpu(make(nullptr));
    const std::vector<JobPtr> got = OnGpu(make(std::move(plan)));
    auto& gpu = static_cast<DownconvertJob&>(*got[0]);
    const auto& cpu = static_cast<const DownconvertJob&>(*expected[0]);
    if (message == 0) first_plan = &gpu.plan()->gpu;
    EXPECT_EQ(&gpu.plan()->gpu, first_plan);
    EXPECT_EQ(gpu.plan()->gpu.block().first_index, block.first_index);
    EXPECT_EQ(gpu.has_non_finite(), message == 3);
    EXPECT_EQ(cpu.has_non_finite(), message == 3);
    EXPECT_EQ(FindNonFinite(block, gpu.input.span()),
              message == 3 ? block.history + kBad : block.num_samples);
    for (size_t c = 0; message < 3 && c < channels->size(); ++c) {
      ASSERT_NO_FATAL_FAILURE(ExpectNear((*channels)[c], c, gpu, cpu,
                                         absl::StrCat("message ", message, ", channel ", c)));
    }
    plan = gpu.TakePlan();
  }
}

// Jobs of all input formats whose channels differ in filter, output and retunes, in one batch. The
// first job's outputs need no gaps between channels, and are written where the reply wants them.
TEST_F(LaneGpuTest, MixedDownconvertJobsGiveWhatTheCpuGives) {
  using namespace downconvert;  // NOLINT
  const FilterPtr filters[] = {*Filter::FromTaps(testing::SomeTaps(64, 1, 8, 1), 1, 8),
                               *Filter::FromTaps(testing::SomeTaps(50, 5, 3, 2), 5, 3),
                               *Filter::FromTaps(testing::SomeTaps(33, 1, 1, 3), 1, 1)};
  const auto make = [&] {
    std::vector<JobPtr> jobs;
    for (int j = 0; j < 6; ++j) {
      Block block;
      block.format = testing::kInputFormats[j];
      block.scale = testing::ScaleOf(block.format);
      block.history = 70;
      block.first_index = (int64_t{1} << 53) + 1 + 1000 * j;
      block.num_samples = block.history + 3000 + 137 * j;
      auto channels = std::make_shared<std::vector<Channel>>(static_cast<size_t>(1 + 4 * j));
      for (size_t c = 0; c < channels->size(); ++c) {
        Channel& channel = (*channels)[c];
        std::vector<Retune> retunes(c % 3 == 1 ? 1 : 0);
        for (Retune& retune : retunes) {
          retune.index = block.first_index + 1500;
          retune.frequency = *Frequency::FromFraction(-5, 17);
        }
        const auto num = 9123457 - 1000003 * static_cast<int64_t>(c);
        channel.phase = *PhaseTrack::Create(*Frequency::FromFraction(num, 64000000), 0.2, retunes);
        channel.filter = filters[c % 3];
        channel.output = static_cast<OutputFormat>(c / 2 % 3);
      }
      const int64_t before_bytes = block.history * BytesPerSample(block.format);
      const std::vector<uint8_t> samples =
          testing::NoiseSamples(block.format, block.num_samples, static_cast<uint32_t>(j + 1));
      DownconvertPast past;
      past.received.assign(samples.begin(), samples.begin() + before_bytes);
      const std::string payload(samples.begin() + before_bytes, samples.end());
      auto job = std::make_unique<DownconvertJob>(TestOperation("Downconvert"), channels, block,
                                                  std::move(past));
      jobs.push_back(WithPayload(std::move(job), payload));
    }
    return jobs;
  };
  const std::vector<JobPtr> expected = OnCpu(make());
  const std::vector<JobPtr> got = OnGpu(make());

  for (size_t j = 0; j < got.size(); ++j) {
    const auto& gpu = static_cast<const DownconvertJob&>(*got[j]);
    const auto& cpu = static_cast<const DownconvertJob&>(*expected[j]);
    for (size_t c = 0; c < gpu.channels().size(); ++c) {
      ASSERT_NO_FATAL_FAILURE(
          ExpectNear(gpu.channels()[c], c, gpu, cpu, absl::StrCat("job ", j, ", channel ", c)));
      EXPECT_LE(std::abs(gpu.results[c].saturated - cpu.results[c].saturated), 2)
          << "job " << j << ", channel " << c;
    }
  }
}

}  // namespace
}  // namespace baseband::server
