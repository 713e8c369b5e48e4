// The CPU device finds the first sample that is not finite, wherever in the block it is and however
// the work is cut.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hwy/targets.h"
#include "kernels/downconvert/downconvert.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::NoiseSamples;
using ::baseband::testing::SomeTaps;

constexpr int64_t kFinite = -1;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void Set(std::vector<uint8_t>* samples, int64_t component, float value) {
  std::memcpy(samples->data() + 4 * component, &value, sizeof(value));
}

// The place of the first sample that is not finite, if one of the channel's parts of up to
// `part_outputs` has met any.
int64_t FirstNonFinite(const Channel& channel, const Block& block,
                       absl::Span<const uint8_t> samples, int64_t part_outputs) {
  const OutputRange range = OutputsOf(channel, block);
  std::vector<uint8_t> output(
      static_cast<size_t>(std::min(range.count, part_outputs) * BytesPerOutput(channel.output)));
  bool met = false;
  OutputRange part = {range.first, 0};
  do {
    part.count = std::min(part_outputs, range.first + range.count - part.first);
    const ChannelResult result =
        DownconvertOnCpu(channel, block, samples, part, absl::MakeSpan(output), SampleCheck::kYes);
    met |= result.has_non_finite != 0;
    part.first += part.count;
  } while (part.first < range.first + range.count);
  return met ? FindNonFinite(block, samples) : kFinite;
}

// Filters that see every sample, some of them, and of a block next to none.
std::vector<FilterPtr> Filters() {
  Mask mask;
  mask.pass_edge = 0.004;
  mask.stop_edge = 0.006;
  return {
      *Filter::FromTaps(SomeTaps(64, 1, 8, 1), 1, 8),
      *Filter::FromTaps(SomeTaps(3, 1, 100, 1), 1, 100),
      *Filter::FromTaps(SomeTaps(50, 7, 5, 1), 7, 5),
      *Filter::FromTaps(SomeTaps(9, 1, 4096, 1), 1, 4096),
      *Filter::FromMask(mask, Design::kKaiser, 1, 64),
  };
}

class FiniteTest : public ::testing::TestWithParam<InputFormat> {
 protected:
  FiniteTest() {
    block_.format = GetParam();
    block_.first_index = 1000000007;
    block_.num_samples = 9001;
  }
  int64_t components() const { return BytesPerSample(block_.format) / 4; }
  void Use(const FilterPtr& filter) {
    channel_.filter = filter;
    block_.history = std::min(block_.num_samples, filter->history());
  }

  Channel channel_;
  Block block_;
};

TEST_P(FiniteTest, TheFirstIsFoundWhereverItIs) {
  std::mt19937 random(3);
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    for (const FilterPtr& filter : Filters()) {
      Use(filter);
      std::vector<int64_t> places = {0, 1, 2047, 2048, block_.history, block_.num_samples - 1};
      for (int i = 0; i < 10; ++i) {
        places.push_back(
            static_cast<int64_t>(random() % static_cast<uint32_t>(block_.num_samples)));
      }
      for (const int64_t place : places) {
        std::vector<uint8_t> samples = NoiseSamples(block_.format, block_.num_samples, 1);
        const auto component = static_cast<int64_t>(random() % 2) % components();
        const float values[] = {kInfinity, -kInfinity, kNan, -kNan};
        Set(&samples, place * components() + component, values[random() % 4]);
        const int64_t later =
            std::min(block_.num_samples - 1, place + 1 + static_cast<int64_t>(random() % 3000));
        Set(&samples, later * components(), kNan);
        for (const int64_t part_outputs : {int64_t{1} << 20, int64_t{37}}) {
          ASSERT_EQ(FirstNonFinite(channel_, block_, samples, part_outputs), place)
              << "history " << filter->history() << ", parts of " << part_outputs;
        }
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST_P(FiniteTest, ABlockWithoutOutputsIsLookedAtAsWell) {
  Use(*Filter::FromTaps(SomeTaps(20, 1, 100, 1), 1, 100));
  block_.num_samples = block_.history + 3;
  ASSERT_EQ(OutputsOf(channel_, block_).count, 0);
  std::vector<uint8_t> samples = NoiseSamples(block_.format, block_.num_samples, 1);
  EXPECT_EQ(FirstNonFinite(channel_, block_, samples, 100), kFinite);
  Set(&samples, (block_.num_samples - 1) * components(), kNan);
  EXPECT_EQ(FirstNonFinite(channel_, block_, samples, 100), block_.num_samples - 1);
}

TEST_P(FiniteTest, TheLargestAndTheSmallestNumbersAreFinite) {
  Use(*Filter::FromTaps(SomeTaps(64, 1, 8, 1), 1, 8));
  std::vector<uint8_t> samples = NoiseSamples(block_.format, block_.num_samples, 1);
  const float limits[] = {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(),
                          std::numeric_limits<float>::denorm_min(), -0.0F};
  for (int64_t i = 0; i < block_.num_samples * components(); ++i) Set(&samples, i, limits[i % 4]);
  EXPECT_EQ(FirstNonFinite(channel_, block_, samples, 100), kFinite);
}

TEST_P(FiniteTest, NobodyLooksUnasked) {
  Use(*Filter::FromTaps(SomeTaps(64, 1, 8, 1), 1, 8));
  std::vector<uint8_t> samples = NoiseSamples(block_.format, block_.num_samples, 1);
  Set(&samples, 0, kNan);
  const OutputRange range = OutputsOf(channel_, block_);
  std::vector<uint8_t> output(static_cast<size_t>(range.count * 8));
  EXPECT_EQ(
      DownconvertOnCpu(channel_, block_, samples, range, absl::MakeSpan(output)).has_non_finite, 0);
}

INSTANTIATE_TEST_SUITE_P(Floats, FiniteTest,
                         ::testing::Values(InputFormat::kFloat32, InputFormat::kRealFloat32),
                         [](const auto& test) {
                           return test.param == InputFormat::kFloat32 ? "Complex" : "Real";
                         });

TEST(FiniteIntegerTest, IntegersAreFiniteWhateverTheirBits) {
  Channel channel;
  channel.filter = *Filter::FromTaps(SomeTaps(64, 1, 8, 1), 1, 8);
  for (const InputFormat format :
       {InputFormat::kInt8, InputFormat::kInt16, InputFormat::kRealInt8, InputFormat::kRealInt16}) {
    Block block;
    block.format = format;
    block.num_samples = 5000;
    const std::vector<uint8_t> samples(
        static_cast<size_t>(block.num_samples * BytesPerSample(format)), 0xff);
    EXPECT_EQ(FirstNonFinite(channel, block, samples, 100), kFinite);
  }
}

}  // namespace
}  // namespace baseband::downconvert
