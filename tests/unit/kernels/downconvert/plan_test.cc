// What a GPU is told to do. A plan that moved on along a signal is the one that is made anew there;
// what plans compute, the GPU's tests see.
#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/gpu_plan.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/status_matchers.h"

namespace baseband::downconvert::gpu {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::SomeTaps;

auto Fields(const TapWalk& w) {
  return std::make_tuple(w.num_taps, w.up, w.down, w.branches, w.depth, w.branch_steps,
                         w.depth_steps, w.step_slots);
}
auto Fields(const ProductTask& t) {
  return std::tuple_cat(
      Fields(t.walk),
      std::make_tuple(t.first_block, t.first_column, t.num_columns, t.warps_across,
                      t.first_remainder, t.history, t.branch_lanes, t.row, t.pitch),
      std::make_tuple(t.window_bytes, t.shared_bytes, t.format, t.is_in_workspace, t.looks, t.input,
                      t.input_samples, t.newest_sample, t.newest_index, t.num_outputs));
}
auto Fields(const Column& c) {
  return std::make_tuple(c.taps, c.output, c.anchors, c.first_anchor, c.step, c.amplitude,
                         c.channel, c.format, c.is_last);
}
auto Fields(const TapTask& t) {
  return std::tuple_cat(
      Fields(t.walk), std::make_tuple(t.taps, t.target, t.step, t.first_slot, t.num_slots, t.group,
                                      t.column, t.is_turned, t.is_fixed, t.exponent));
}
auto Fields(const AnchorTask& t) {
  return std::make_tuple(t.target, t.num, t.den, t.origin, t.origin_word, t.first_index,
                         t.num_anchors, t.is_negative);
}
auto Fields(const CheckTask& t) { return std::make_tuple(t.first_block, t.begin, t.end); }
auto Fields(const ProductLaunch& l) {
  return std::make_tuple(IndexOf(l.kind), l.first_task, l.num_tasks, l.num_blocks, l.shared_bytes);
}

template <typename T>
void ExpectSame(const char* what, absl::Span<const T> a, absl::Span<const T> b) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(Fields(a[i]), Fields(b[i])) << what << " " << i;
}

void ExpectSame(const GpuPlan& a, const GpuPlan& b) {
  ExpectSame("product", a.products(), b.products());
  ExpectSame("column", a.columns(), b.columns());
  ExpectSame("taps", a.tap_tasks(), b.tap_tasks());
  ExpectSame("anchors", a.anchor_tasks(), b.anchor_tasks());
  ExpectSame("launch", a.launches(), b.launches());
  EXPECT_EQ(a.layout().bytes, b.layout().bytes);
  EXPECT_EQ(a.workspace_bytes(), b.workspace_bytes());
  ExpectSame("check", a.checks(), b.checks());
  EXPECT_EQ(a.check_blocks(), b.check_blocks());
  EXPECT_EQ(a.block().first_index, b.block().first_index);
  EXPECT_TRUE(a.mixes().empty() && b.mixes().empty());
}

Channel MakeChannel(const FilterPtr& filter, int number, absl::Span<const Retune> retunes = {}) {
  Channel channel;
  channel.phase = *PhaseTrack::Create(*Frequency::FromFraction(9123457 - 313131 * number, 64000000),
                                      0.1 * number, retunes);
  channel.filter = filter;
  channel.output = static_cast<OutputFormat>(number % 3);
  return channel;
}

FilterPtr Taps(int count, int up, int down) {
  return *Filter::FromTaps(SomeTaps(count, up, down, 1), up, down);
}

// A chain of blocks of `new_samples`, each with the history that the channels need.
struct Stream {
  Stream(std::vector<Channel> all, InputFormat format, int64_t first, int64_t new_samples)
      : channels(std::move(all)), offsets(channels.size()) {
    for (size_t c = 0; c < offsets.size(); ++c) offsets[c] = static_cast<int64_t>(c) << 32;
    block.format = format;
    block.history = HistoryOf(channels);
    block.first_index = first - block.history;
    block.num_samples = block.history + new_samples;
    EXPECT_THAT(CheckBlock(channels, block), IsOk());
  }
  GpuPlan NewPlan() const {
    GpuPlan plan;
    plan.Build(channels, block, offsets);
    return plan;
  }
  void Advance(int64_t samples) { block.first_index += samples; }

  std::vector<Channel> channels;
  std::vector<int64_t> offsets;
  Block block;
};

std::vector<FilterPtr> Filters() {
  Mask narrow;
  narrow.pass_edge = 0.004;
  narrow.stop_edge = 0.006;
  Mask rising;
  rising.pass_edge = 0.3;
  return {Taps(64, 1, 8),
          Taps(700, 1, 20),
          Taps(190, 7, 8),
          Taps(3, 1, 100),
          Taps(50, 5, 1),
          *Filter::FromMask(narrow, Design::kKaiser, 1, 64),
          *Filter::FromMask(rising, Design::kKaiser, 147, 160)};
}

TEST(GpuPlanTest, APlanThatMovedIsTheOneMadeAnewThere) {
  std::mt19937 random(9);
  const std::vector<FilterPtr> filters = Filters();
  constexpr int64_t kInStep = 8 * 5 * 5 * 64 * 160;
  for (int round = 0; round < 200; ++round) {
    std::vector<Channel> channels;
    const size_t count = 1 + random() % 40;
    for (size_t c = 0; c < count; ++c) {
      channels.push_back(MakeChannel(filters[random() % filters.size()], static_cast<int>(c)));
    }
    const int64_t first = 300000 + static_cast<int64_t>(random()) * (round % 3);
    Stream stream(channels, static_cast<InputFormat>(random() % 6), first, 1 + random() % 200000);
    GpuPlan plan = stream.NewPlan();
    for (int i = 0; i < 3; ++i) {
      stream.Advance(kInStep * (1 + random() % 40));
      ASSERT_TRUE(plan.MoveTo(stream.block));
      ExpectSame(plan, stream.NewPlan());
    }
    if (HasFailure()) return;
  }
}

TEST(GpuPlanTest, APlanMovesWhileItsFiltersAreInStep) {
  Stream stream({MakeChannel(Taps(64, 1, 8), 1), MakeChannel(Taps(50, 3, 20), 2)},
                InputFormat::kInt16, 1000, 4000);
  GpuPlan plan = stream.NewPlan();
  for (const int64_t distance : {39, 8, 20, -40}) {
    Block block = stream.block;
    block.first_index += distance;
    EXPECT_FALSE(plan.MoveTo(block)) << distance;
    ExpectSame(plan, stream.NewPlan());
  }
  stream.Advance(40);
  EXPECT_TRUE(plan.MoveTo(stream.block));
}

TEST(GpuPlanTest, ABlockOfAnotherShapeHasAnotherPlan) {
  const Stream stream({MakeChannel(Taps(64, 1, 8), 1)}, InputFormat::kInt16, 1000, 4000);
  GpuPlan plan = stream.NewPlan();
  const auto expect_other = [&](auto change) {
    Block block = stream.block;
    block.first_index += 8;
    change(&block);
    EXPECT_FALSE(plan.MoveTo(block));
    ExpectSame(plan, stream.NewPlan());
  };
  expect_other([](Block* b) { b->num_samples += 8; });
  expect_other([](Block* b) { b->history += 8; });
  expect_other([](Block* b) { b->scale = 2.0F; });
  expect_other([](Block* b) { b->format = InputFormat::kInt8; });
}

TEST(GpuPlanTest, NoPlanMovesAcrossARetune) {
  Retune retune;
  retune.index = 20000;
  retune.frequency = *Frequency::FromFraction(1, 7);
  Stream stream({MakeChannel(Taps(64, 1, 8), 1), MakeChannel(Taps(64, 1, 8), 2, {&retune, 1})},
                InputFormat::kInt16, 1000, 4000);
  GpuPlan plan = stream.NewPlan();
  stream.Advance(15000);  // ends where the retune begins
  ASSERT_TRUE(plan.MoveTo(stream.block));
  ExpectSame(plan, stream.NewPlan());
  stream.Advance(8);
  EXPECT_FALSE(plan.MoveTo(stream.block));
  plan = stream.NewPlan();
  EXPECT_FALSE(plan.mixes().empty());
  stream.Advance(8);
  EXPECT_FALSE(plan.MoveTo(stream.block));
  stream.Advance(20000);
  plan = stream.NewPlan();
  stream.Advance(8);
  ASSERT_TRUE(plan.MoveTo(stream.block));
  ExpectSame(plan, stream.NewPlan());
}

TEST(GpuPlanTest, NoPlanMovesFromTheBeginningOfTheSignal) {
  Stream stream({MakeChannel(Taps(64, 1, 8), 1)}, InputFormat::kInt16, 1000, 4000);
  stream.block.first_index = 0;
  GpuPlan plan = stream.NewPlan();
  stream.Advance(8);
  EXPECT_FALSE(plan.MoveTo(stream.block));
}

// How often each sample of the block is looked at, by sums or where it lies in memory.
std::vector<int> Looks(const GpuPlan& plan) {
  const Block& block = plan.block();
  std::vector<int> looks(static_cast<size_t>(block.num_samples));
  for (const ProductTask& task : plan.products()) {
    if (!task.looks) continue;
    EXPECT_FALSE(task.is_in_workspace);
    for (int64_t t = 0; t < task.num_outputs; ++t) {
      const int64_t upsampled = task.first_remainder + t * task.walk.down;
      const int64_t newest = task.newest_sample + upsampled / task.walk.up;
      for (int64_t k = upsampled % task.walk.up; k < task.walk.num_taps; k += task.walk.up) {
        const int64_t sample = newest - k / task.walk.up;
        if (sample >= 0) ++looks.at(static_cast<size_t>(sample));
      }
    }
  }
  const auto floats = static_cast<uint64_t>(BytesPerSample(block.format) / 4);
  uint64_t blocks = 0;
  for (const CheckTask& task : plan.checks()) {
    EXPECT_EQ(task.first_block, blocks);
    EXPECT_LT(task.begin, task.end);
    EXPECT_EQ(task.begin % 4, 0);
    EXPECT_TRUE(task.end % 4 == 0 || task.end == looks.size() * floats);
    for (uint64_t f = task.begin; f < task.end; ++f) ++looks.at(f / floats);
    blocks += (task.end - task.begin + kCheckFloats - 1) / kCheckFloats;
  }
  EXPECT_EQ(blocks, plan.check_blocks());
  return looks;
}

TEST(GpuPlanTest, EverySampleThatMayBeNoNumberIsLookedAt) {
  std::mt19937 random(3);
  const std::vector<FilterPtr> filters = Filters();
  for (int round = 0; round < 300; ++round) {
    Retune retunes[2];
    for (Retune& retune : retunes) retune.frequency = *Frequency::FromFraction(1, 7);
    retunes[0].index = 300000 + static_cast<int64_t>(random() % 3000);
    retunes[1].index = retunes[0].index + 1 + static_cast<int64_t>(random() % 3000);
    std::vector<Channel> channels;
    const size_t count = 1 + random() % 6;
    for (size_t c = 0; c < count; ++c) {
      channels.push_back(MakeChannel(filters[random() % filters.size()], static_cast<int>(c),
                                     {retunes, random() % 3}));
    }
    Stream stream(channels, round % 2 == 0 ? InputFormat::kFloat32 : InputFormat::kRealFloat32,
                  300000, 1 + static_cast<int64_t>(random() % 9000));
    if (round % 5 == 0) {  // the signal's begin
      stream.block.first_index = 0;
      stream.block.history = 0;
      if (round % 10 == 0) stream.channels.back().nco = NcoMethod::kFloat;
    }
    const std::vector<int> looks = Looks(stream.NewPlan());
    for (size_t n = 0; n < looks.size(); ++n) {
      ASSERT_GT(looks[n], 0) << "sample " << n << " of " << looks.size() << ", round " << round;
    }
  }
}

// The samples are in a product's registers anyway: to read them for this alone took as long as
// half of a down-conversion.
TEST(GpuPlanTest, WhatAProductSeesIsNotReadForALookAlone) {
  for (const FilterPtr& filter : {Taps(64, 1, 8), Taps(700, 1, 20), Taps(190, 7, 8)}) {
    for (const size_t channels : {size_t{1}, size_t{7}}) {
      const Stream stream(std::vector<Channel>(channels, MakeChannel(filter, 1)),
                          InputFormat::kFloat32, 100000, 100000);
      const GpuPlan plan = stream.NewPlan();
      uint64_t floats = 0;
      for (const CheckTask& task : plan.checks()) floats += task.end - task.begin;
      EXPECT_LE(floats, 2 * (filter->down() + 4));
    }
  }
}

TEST(GpuPlanTest, IntegersAreNotLookedAt) {
  for (const InputFormat format :
       {InputFormat::kInt8, InputFormat::kInt16, InputFormat::kRealInt8, InputFormat::kRealInt16}) {
    const Stream stream({MakeChannel(Taps(64, 1, 8), 1), MakeChannel(Taps(3, 1, 100), 2)}, format,
                        1000, 4000);
    const GpuPlan plan = stream.NewPlan();
    EXPECT_TRUE(plan.checks().empty());
    EXPECT_EQ(plan.check_blocks(), 0);
    for (const ProductTask& task : plan.products()) EXPECT_FALSE(task.looks);
  }
}

// By channel: whether its first stage, where it is not mixed, is computed exactly.
std::vector<bool> AreFixed(const GpuPlan& plan, size_t channels) {
  std::vector<bool> are_fixed(channels);
  for (const ProductLaunch& launch : plan.launches()) {
    if (launch.kind.samples != Samples::kComplexFixed) continue;
    for (const ProductTask& task : plan.products().subspan(launch.first_task, launch.num_tasks)) {
      for (const Column& column : plan.columns().subspan(task.first_column, task.num_columns)) {
        are_fixed.at(column.channel) = true;
      }
    }
  }
  return are_fixed;
}
size_t NumFixed(const std::vector<Channel>& channels, InputFormat format) {
  const std::vector<bool> are_fixed =
      AreFixed(Stream(channels, format, 100000, 4000).NewPlan(), channels.size());
  return static_cast<size_t>(std::count(are_fixed.begin(), are_fixed.end(), true));
}
std::vector<Channel> Alike(size_t count, const FilterPtr& filter) {
  std::vector<Channel> channels;
  for (size_t c = 0; c < count; ++c) channels.push_back(MakeChannel(filter, static_cast<int>(c)));
  return channels;
}

TEST(GpuPlanTest, ManyChannelsOfOneShapeAndComplexIntegersAreExact) {
  const FilterPtr filter = Taps(64, 1, 8);
  for (const InputFormat format : testing::kInputFormats) {
    const bool is_complex_integer = format == InputFormat::kInt8 || format == InputFormat::kInt16;
    for (const size_t count : {7, 8, 9, 64}) {
      EXPECT_EQ(NumFixed(Alike(count, filter), format),
                is_complex_integer && count >= 8 ? count : 0)
          << count << " channels, format " << static_cast<int>(format);
    }
  }
}

TEST(GpuPlanTest, WhatStagesAreExactDependsOnTheirShape) {
  struct Case {
    FilterPtr filter;
    bool is_fixed;
  };
  std::vector<float> spread(1000, 0x1p-12F);
  spread[500] = 1.0F;
  const Case cases[] = {
      {Taps(1, 1, 1), true},
      {Taps(61, 1, 7), true},
      {Taps(512, 1, 64), true},
      {Taps(4096, 1, 160), true},
      {Taps(4097, 1, 160), false},  // too many
      {Taps(64, 1, 4096), false},   // too far apart for shared memory
      {Taps(190, 7, 8), false},     // interpolates
      {*Filter::FromTaps(spread, 1, 8), false},
      {Filters()[5], true},  // a cascade, of which only the first stage sees integers
  };
  for (const Case& one : cases) {
    EXPECT_EQ(NumFixed(Alike(12, one.filter), InputFormat::kInt16), one.is_fixed ? 12 : 0)
        << one.filter->stages()[0].taps.size() << " taps";
  }
}

// Gains by which float32 could not hold exponents of sums keep float32; the others are exact.
TEST(GpuPlanTest, ChannelsOfExtremeGainsAreNotExact) {
  std::vector<Channel> channels = Alike(12, Taps(64, 1, 8));
  channels[3].gain = 1e-35F;
  channels[5].gain = 1e30F;
  channels[7].gain = 0.0F;
  const std::vector<bool> are_fixed =
      AreFixed(Stream(channels, InputFormat::kInt16, 100000, 4000).NewPlan(), channels.size());
  for (size_t c = 0; c < channels.size(); ++c) {
    EXPECT_EQ(are_fixed[c], c != 3 && c != 5 && c != 7) << c;
  }
}

// Filters of one shape count together; those of others, and what is mixed for study, do not.
TEST(GpuPlanTest, ChannelsOfOneShapeAreCountedWhateverTheirFilters) {
  std::vector<Channel> channels;
  for (int c = 0; c < 24; ++c) {
    channels.push_back(MakeChannel(
        c % 3 == 0 ? *Filter::FromTaps(SomeTaps(64, 1, 8, static_cast<uint32_t>(c)), 1, 8)
                   : Taps(40 + c, 1, 8 + c % 3),
        c));
  }
  EXPECT_EQ(NumFixed(channels, InputFormat::kInt16), 8);
  channels.erase(channels.begin());
  EXPECT_EQ(NumFixed(channels, InputFormat::kInt16), 0);
  Stream stream(Alike(8, Taps(64, 1, 8)), InputFormat::kInt16, 100000, 4000);
  stream.channels[0].nco = NcoMethod::kDouble;
  stream.block.first_index = 0;
  stream.block.history = 0;
  EXPECT_EQ(AreFixed(stream.NewPlan(), 8), std::vector<bool>(8));
}

// Else the pieces of a stream would not be alike.
TEST(GpuPlanTest, WhichChannelsAreExactDoesNotDependOnTheBlock) {
  std::vector<Channel> channels;
  for (int c = 0; c < 20; ++c) {
    Retune retune;
    retune.index = 101000 + 500 * (c % 4);
    retune.frequency = *Frequency::FromFraction(1, 7);
    channels.push_back(MakeChannel(c % 5 == 0 ? Taps(50, 3, 20) : Taps(64, 1, 8), c,
                                   {&retune, c % 2 == 0 ? 1U : 0U}));
  }
  for (const int64_t samples : {8, 64, 500, 3000}) {
    Stream stream(channels, InputFormat::kInt16, 100000, samples);
    for (int i = 0; i < 6; ++i, stream.Advance(samples)) {
      const GpuPlan plan = stream.NewPlan();
      const std::vector<bool> are_fixed = AreFixed(plan, channels.size());
      std::vector<bool> are_mixed(channels.size());
      for (const ProductLaunch& launch : plan.launches()) {
        for (const ProductTask& task :
             plan.products().subspan(launch.first_task, launch.num_tasks)) {
          for (const Column& column : plan.columns().subspan(task.first_column, task.num_columns)) {
            if (task.is_in_workspace) are_mixed[column.channel] = true;
          }
        }
      }
      for (size_t c = 0; c < channels.size(); ++c) {
        EXPECT_TRUE(c % 5 == 0 ? !are_fixed[c] : are_fixed[c] || are_mixed[c]) << c;
      }
    }
  }
}

// A request that fits a server's memory as sums of float32 fits it as sums of integers.
TEST(GpuPlanTest, ExactStagesTakeNoMoreMemoryThanOthers) {
  std::mt19937 random(4);
  const std::vector<FilterPtr> filters = Filters();
  for (int round = 0; round < 100; ++round) {
    std::vector<Channel> channels;
    const size_t count = 1 + random() % 100;
    const FilterPtr own =
        Taps(1 + static_cast<int>(random() % 900), 1, 1 + static_cast<int>(random() % 70));
    for (size_t c = 0; c < count; ++c) {
      channels.push_back(MakeChannel(random() % 4 == 0 ? filters[random() % filters.size()] : own,
                                     static_cast<int>(c)));
    }
    const int64_t samples = 1 + static_cast<int64_t>(random() % 20000);
    const GpuPlan fixed = Stream(channels, InputFormat::kInt16, 300000, samples).NewPlan();
    const GpuPlan other = Stream(channels, InputFormat::kRealInt16, 300000, samples).NewPlan();
    EXPECT_LE(fixed.workspace_bytes(), other.workspace_bytes());
    EXPECT_LE(fixed.layout().bytes, other.layout().bytes);
  }
}

TEST(GpuPlanTest, APlanOutlivesTheChannelsItIsMadeOf) {
  std::vector<uint8_t> expected;
  std::vector<uint8_t> found;
  GpuPlan plan;
  {
    const Stream stream({MakeChannel(Taps(64, 1, 8), 1)}, InputFormat::kInt16, 1000, 4000);
    plan = stream.NewPlan();
    expected.resize(plan.layout().bytes);
    plan.CopyTo(expected.data());
  }
  found.resize(plan.layout().bytes);
  plan.CopyTo(found.data());
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace baseband::downconvert::gpu
