// The CPU device's outputs are the same, to the bit, however the samples are cut, on every
// instruction set.
#include <string>
#include <thread>

#include "kernels/downconvert/downconvert.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/every_target.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::Convert;
using ::baseband::testing::Converted;
using ::baseband::testing::OnEveryTarget;
using ::baseband::testing::Piece;

struct Case {
  std::string name;
  InputFormat format;
  FilterPtr filter;
  OutputFormat output;
};

FilterPtr Taps(int count, int up, int down) {
  return *Filter::FromTaps(testing::SomeTaps(count, up, down, 7), up, down);
}

FilterPtr Cascade(int up, int down) {
  Mask mask;
  mask.pass_edge = 0.3 * up / down;
  mask.stop_edge = 0.55 * up / down;
  return *Filter::FromMask(mask, Design::kKaiser, up, down);
}

std::vector<Case> Cases() {
  return {
      {"turned taps", InputFormat::kInt16, Taps(64, 1, 8), OutputFormat::kFloat32},
      {"mixed samples", InputFormat::kFloat32, Taps(61, 1, 1), OutputFormat::kFloat32},
      {"real samples", InputFormat::kRealInt16, Taps(33, 1, 4), OutputFormat::kInt16},
      {"real samples, rational", InputFormat::kRealInt8, Taps(50, 5, 3), OutputFormat::kFloat32},
      {"turned taps, rational", InputFormat::kInt8, Taps(192, 3, 28), OutputFormat::kFloat16},
      {"mixed samples, rational", InputFormat::kFloat32, Taps(190, 7, 8), OutputFormat::kFloat32},
      {"samples that no output sees", InputFormat::kInt16, Taps(7, 1, 50), OutputFormat::kInt16},
      {"several panels of taps", InputFormat::kInt16, Taps(1500, 1, 160), OutputFormat::kFloat32},
      {"one tap", InputFormat::kFloat32, Taps(1, 1, 1), OutputFormat::kFloat32},
      {"cascade", InputFormat::kInt16, Cascade(1, 64), OutputFormat::kFloat32},
      {"rational cascade", InputFormat::kRealFloat32, Cascade(3, 80), OutputFormat::kFloat32},
  };
}

// Three retunes, of both modes; the second and the third in one window of every filter above that
// has as many taps.
PhaseTrack TrackFrom(int64_t first, int64_t count) {
  std::vector<Retune> retunes(3);
  retunes[0].index = first + count / 3;
  retunes[0].frequency = *Frequency::FromFraction(-1234567, 64000000);
  retunes[0].mode = RetuneMode::kContinuous;
  retunes[1].index = first + count / 2 + 1;
  retunes[1].frequency = *Frequency::FromFraction(1, 3);
  retunes[1].mode = RetuneMode::kCoherent;
  retunes[2].index = retunes[1].index + 5;
  retunes[2].frequency = *Frequency::FromFraction(9123457, 64000000);
  retunes[2].mode = RetuneMode::kCoherent;
  return *PhaseTrack::Create(*Frequency::FromFraction(9123457, 64000000), 1.25, retunes);
}

// A recording that begins at an index, of which the first samples may be history.
struct Recording {
  Block block;
  std::vector<uint8_t> samples;
  int64_t end() const { return block.first_index + block.num_samples; }
};

Recording MakeRecording(InputFormat format, int64_t first, int64_t history, int64_t count) {
  Recording recording;
  recording.block.format = format;
  recording.block.scale = testing::ScaleOf(format);
  recording.block.first_index = first;
  recording.block.history = history;
  recording.block.num_samples = count;
  recording.samples = testing::NoiseSamples(format, count, 5);
  return recording;
}

Channel MakeChannel(const Case& test, const Recording& recording) {
  Channel channel;
  channel.phase = TrackFrom(recording.block.first_index, recording.block.num_samples);
  channel.filter = test.filter;
  channel.gain = test.output == OutputFormat::kInt16 ? 1.7F : 0.7F;
  channel.output = test.output;
  return channel;
}

// The recording in pieces that end at `cuts`.
Converted InPieces(const Channel& channel, const Recording& recording,
                   const std::vector<int64_t>& cuts) {
  Converted all;
  int64_t begin = recording.block.first_index + recording.block.history;
  for (const int64_t cut : cuts) {
    const Piece piece = testing::CutPiece(recording.block, recording.samples,
                                          channel.filter->history(), begin, cut);
    EXPECT_THAT(CheckBlock({&channel, 1}, piece.block), IsOk());
    const Converted part = Convert(channel, piece.block, piece.samples);
    all.output.insert(all.output.end(), part.output.begin(), part.output.end());
    all.saturated += part.saturated;
    begin = cut;
  }
  return all;
}

std::vector<int64_t> EqualCuts(const Recording& recording, int64_t size) {
  std::vector<int64_t> cuts;
  for (int64_t at = recording.block.first_index + recording.block.history; at < recording.end();) {
    at = std::min(at + size, recording.end());
    cuts.push_back(at);
  }
  return cuts;
}

std::vector<int64_t> RandomCuts(const Recording& recording, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> cuts;
  for (int64_t at = recording.block.first_index + recording.block.history; at < recording.end();) {
    // Sizes of all orders of magnitude.
    at += 1 + static_cast<int64_t>(random() % (uint32_t{1} << random() % 14));
    cuts.push_back(std::min(at, recording.end()));
  }
  return cuts;
}

void ExpectSameInPieces(const Case& test, const Recording& recording,
                        const std::vector<int64_t>& cuts) {
  const Channel channel = MakeChannel(test, recording);
  const Converted whole = Convert(channel, recording.block, recording.samples);
  const Converted pieces = InPieces(channel, recording, cuts);
  ASSERT_EQ(whole.output.size(), pieces.output.size());
  EXPECT_TRUE(whole.output == pieces.output) << test.name;
  EXPECT_EQ(whole.saturated, pieces.saturated) << test.name;
  EXPECT_GT(whole.output.size(), 0U) << test.name;
}

TEST(DownconvertChunksTest, OutputsDoNotDependOnTheChunksFromSample0) {
  OnEveryTarget([] {
    for (const Case& test : Cases()) {
      const Recording recording = MakeRecording(test.format, 0, 0, 3001);
      for (const int64_t size : {1, 7, 1023}) {
        ExpectSameInPieces(test, recording, EqualCuts(recording, size));
      }
      for (uint32_t seed = 0; seed < 5; ++seed) {
        ExpectSameInPieces(test, recording, RandomCuts(recording, seed));
      }
    }
  });
}

TEST(DownconvertChunksTest, OutputsDoNotDependOnTheChunksInALongSignal) {
  for (const Case& test : Cases()) {
    const Recording recording = MakeRecording(test.format, 0, 0, 300000);
    for (const int64_t size : {int64_t{1023}, kAnchorSpacing, kAnchorSpacing + 1}) {
      ExpectSameInPieces(test, recording, EqualCuts(recording, size));
    }
    ExpectSameInPieces(test, recording, RandomCuts(recording, 9));
  }
}

TEST(DownconvertChunksTest, OutputsDoNotDependOnTheChunksAtLargeIndices) {
  constexpr int64_t kCount = 12000;
  for (const int64_t first :
       {(int64_t{1} << 53) + 1, int64_t{1000000000000037}, kMaxSampleIndex - kCount - 3}) {
    for (const Case& test : Cases()) {
      const Recording recording = MakeRecording(test.format, first, test.filter->history(), kCount);
      for (const int64_t size : {7, 1023}) {
        ExpectSameInPieces(test, recording, EqualCuts(recording, size));
      }
      ExpectSameInPieces(test, recording, RandomCuts(recording, 3));
    }
  }
}

TEST(DownconvertChunksTest, PartsOfABlocksOutputsAreThoseOfTheWhole) {
  OnEveryTarget([] {
    for (const Case& test : Cases()) {
      const Recording recording = MakeRecording(test.format, 0, 0, 20000);
      const Channel channel = MakeChannel(test, recording);
      const Converted whole = Convert(channel, recording.block, recording.samples);
      const OutputRange range = OutputsOf(channel, recording.block);
      const auto bytes = static_cast<size_t>(BytesPerOutput(test.output));
      std::mt19937 random(11);
      std::vector<uint8_t> output(whole.output.size());
      int64_t saturated = 0;
      for (int64_t done = 0; done < range.count;) {
        OutputRange part;
        part.first = range.first + done;
        part.count = std::min<int64_t>(range.count - done, 1 + random() % 700);
        const auto at = static_cast<size_t>(done) * bytes;
        saturated += DownconvertOnCpu(channel, recording.block, recording.samples, part,
                                      absl::MakeSpan(output).subspan(
                                          at, static_cast<size_t>(part.count) * bytes))
                         .saturated;
        done += part.count;
      }
      EXPECT_TRUE(output == whole.output) << test.name;
      EXPECT_EQ(saturated, whole.saturated) << test.name;
    }
  });
}

// 64 channels of one block, of all kinds, in turns on two threads.
TEST(DownconvertChunksTest, ChannelsDoNotDependOnEachOther) {
  const Recording recording = MakeRecording(InputFormat::kInt16, 0, 0, 10000);
  const std::vector<Case> cases = Cases();
  std::vector<Channel> channels;
  for (int c = 0; c < 64; ++c) {
    Channel channel = MakeChannel(cases[static_cast<size_t>(c) % cases.size()], recording);
    channel.phase = *PhaseTrack::Create(*Frequency::FromFraction(2 * c - 64, 129), 0.1 * c, {});
    channels.push_back(std::move(channel));
  }
  ASSERT_THAT(CheckBlock(channels, recording.block), IsOk());
  std::vector<Converted> together(channels.size());
  std::vector<std::thread> threads;
  for (const size_t odd : {0U, 1U}) {
    threads.emplace_back([&, odd] {
      for (size_t c = odd; c < channels.size(); c += 2) {
        together[c] = Convert(channels[c], recording.block, recording.samples);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t c = 0; c < channels.size(); ++c) {
    const Converted alone = InPieces(channels[c], recording, EqualCuts(recording, 1023));
    EXPECT_TRUE(together[c].output == alone.output) << c;
    EXPECT_EQ(together[c].saturated, alone.saturated) << c;
  }
}

// A client that sends more history than is needed gets the same.
TEST(DownconvertChunksTest, MoreHistoryChangesNothing) {
  for (const Case& test : Cases()) {
    const Recording recording = MakeRecording(test.format, 0, 0, 6000);
    const Channel channel = MakeChannel(test, recording);
    const int64_t history = test.filter->history();
    const Piece enough = testing::CutPiece(recording.block, recording.samples, history, 4003, 6000);
    const Piece more =
        testing::CutPiece(recording.block, recording.samples, history + 777, 4003, 6000);
    EXPECT_TRUE(Convert(channel, enough.block, enough.samples).output ==
                Convert(channel, more.block, more.samples).output)
        << test.name;
  }
}

}  // namespace
}  // namespace baseband::downconvert
