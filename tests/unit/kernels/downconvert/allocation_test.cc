// DownconvertOnCpu allocates nothing once a thread has done a block of this size. A program of its
// own, as it replaces the global operator new.

#include "gtest/gtest.h"
#include "kernels/downconvert/downconvert.h"
#include "tests/support/count_allocations.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::NoiseSamples;
using ::baseband::testing::SomeTaps;

TEST(DownconvertAllocationTest, ASecondBlockAllocatesNothing) {
  constexpr int64_t kSamples = 3 * kAnchorSpacing;
  Mask mask;
  mask.pass_edge = 0.004;
  mask.stop_edge = 0.006;
  const std::vector<FilterPtr> filters = {
      *Filter::FromTaps(SomeTaps(64, 1, 8, 1), 1, 8),
      *Filter::FromTaps(SomeTaps(64, 1, 1, 1), 1, 1),
      *Filter::FromTaps(SomeTaps(300, 3, 70, 1), 3, 70),
      *Filter::FromMask(mask, Design::kKaiser, 1, 64),
  };
  Retune retune;
  retune.index = 100000;
  retune.frequency = *Frequency::FromFraction(1, 7);
  Channel channel;
  Block block;
  block.num_samples = kSamples;
  std::vector<uint8_t> output(static_cast<size_t>(kSamples * 8));
  const std::vector<uint8_t> samples = NoiseSamples(InputFormat::kFloat32, kSamples, 1);
  const PhaseTrack plain = *PhaseTrack::Create(Frequency(), 0.0, {});
  const PhaseTrack retuned = *PhaseTrack::Create(Frequency(), 0.0, {&retune, 1});
  int allocations = 0;
  const auto convert_all = [&] {
    for (const FilterPtr& filter : filters) {
      channel.filter = filter;
      for (const InputFormat format : {InputFormat::kRealInt8, InputFormat::kFloat32}) {
        block.format = format;
        for (const NcoMethod method : {NcoMethod::kExact, NcoMethod::kFloat, NcoMethod::kTwoSum}) {
          channel.nco = method;
          channel.phase = method == NcoMethod::kExact ? retuned : plain;
          const int before = num_allocations;
          DownconvertOnCpu(channel, block, samples, OutputsOf(channel, block),
                           absl::MakeSpan(output));
          allocations += num_allocations - before;
        }
      }
    }
  };
  convert_all();
  EXPECT_GT(allocations, 0);
  allocations = 0;
  convert_all();
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace baseband::downconvert
