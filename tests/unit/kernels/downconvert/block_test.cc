// What a block may be, what it gives, and by which name it is refused.
#include <limits>

#include "kernels/downconvert/downconvert.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

FilterPtr SomeFilter(int num_taps, int up, int down) {
  return *Filter::FromTaps(std::vector<float>(static_cast<size_t>(num_taps), 0.25F), up, down);
}

class DownconvertBlockTest : public ::testing::Test {
 protected:
  DownconvertBlockTest() {
    channels_.resize(2);
    channels_[0].filter = SomeFilter(16, 1, 4);
    channels_[1].filter = SomeFilter(64, 1, 8);
    block_.first_index = 1000;
    block_.history = 63;
    block_.num_samples = 500;
  }

  // Expects a refusal whose message has all of these in it.
  template <typename... Parts>
  void ExpectRefusal(const Parts&... parts) {
    EXPECT_THAT(CheckBlock(channels_, block_),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(parts)...)));
  }

  std::vector<Channel> channels_;
  Block block_;
};

TEST_F(DownconvertBlockTest, ABlockWithEnoughHistoryIsAccepted) {
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
}

TEST_F(DownconvertBlockTest, OutputsAreThoseWhoseNewestSampleIsPastTheHistory) {
  const OutputRange range = OutputsOf(channels_[1], block_);
  EXPECT_EQ(range.first, 133);        // 1064 / 8
  EXPECT_EQ(range.count, 188 - 133);  // 1500 / 8, rounded up
}

TEST_F(DownconvertBlockTest, ConsecutiveBlocksGiveConsecutiveOutputs) {
  channels_[0].filter = SomeFilter(100, 7, 5);
  for (const Channel& channel : channels_) {
    Block next = block_;
    next.first_index = 1500 - 70;
    next.history = 70;
    const OutputRange before = OutputsOf(channel, block_);
    EXPECT_EQ(before.first + before.count, OutputsOf(channel, next).first);
  }
}

TEST_F(DownconvertBlockTest, HistoryIsTheMostThatAFilterNeeds) {
  EXPECT_EQ(HistoryOf(channels_), 63);
  EXPECT_EQ(HistoryOf({}), 0);
}

TEST_F(DownconvertBlockTest, NoChannelOrTooManyAreRefused) {
  channels_.clear();
  ExpectRefusal("setup.channels has 0 entries", "1 to 1024");
  channels_.resize(kMaxChannels + 1);
  ExpectRefusal("setup.channels has 1025 entries");
}

TEST_F(DownconvertBlockTest, ScaleIsFiniteAndPositive) {
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    block_.scale = scale;
    ExpectRefusal("setup.scale ", "is not finite and > 0");
  }
}

TEST_F(DownconvertBlockTest, IndicesStayBelowTwoToThe62) {
  block_.first_index = -1;
  ExpectRefusal("first_sample -1 is not in [0, 2^62)");
  block_.first_index = kMaxSampleIndex;
  ExpectRefusal("first_sample 4611686018427387904 is not in");
  block_.first_index = kMaxSampleIndex - 499;
  ExpectRefusal("payload has 500 samples, not in", "[1, 499]");
  block_.first_index = kMaxSampleIndex - 500;
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
  block_.num_samples = 0;
  ExpectRefusal("payload has 0 samples, not in");
  block_.num_samples = std::numeric_limits<int64_t>::max();
  ExpectRefusal("payload has 9223372036854775807 samples, not in");
}

TEST_F(DownconvertBlockTest, HistoryIsPartOfTheBlock) {
  block_.history = 501;
  ExpectRefusal("history 501 is not in", "[0, 500]");
  block_.history = -1;
  ExpectRefusal("history -1 is not in");
}

TEST_F(DownconvertBlockTest, MissingHistoryIsRefusedButBeforeSample0) {
  block_.history = 62;
  ExpectRefusal("history 62 is less than the 63 samples", "setup.channels[1].filter");
  block_.first_index = 0;
  block_.history = 0;
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
}

TEST_F(DownconvertBlockTest, AChannelWithoutAFilterIsRefused) {
  channels_[1].filter = nullptr;
  ExpectRefusal("setup.channels[1].filter is missing");
}

TEST_F(DownconvertBlockTest, GainIsFiniteAloneAndTimesScale) {
  channels_[1].gain = std::numeric_limits<float>::quiet_NaN();
  ExpectRefusal("setup.channels[1].gain nan is not finite");
  channels_[1].gain = 1e30F;
  block_.scale = 1e30F;
  ExpectRefusal("setup.channels[1].gain 1e+30 times setup.scale 1e+30");
}

TEST_F(DownconvertBlockTest, UnknownEnumeratorsAreRefused) {
  channels_[0].output = static_cast<OutputFormat>(3);
  ExpectRefusal("setup.channels[0].output 3");
  channels_[0].output = OutputFormat::kInt16;
  channels_[0].nco = static_cast<NcoMethod>(7);
  ExpectRefusal("setup.channels[0].nco 7");
  block_.format = static_cast<InputFormat>(6);
  ExpectRefusal("setup.format 6");
}

TEST_F(DownconvertBlockTest, OutputsBeyondInt64AreRefused) {
  channels_[1].filter = SomeFilter(64, 3, 1);
  block_.first_index = kMaxSampleIndex - 500;
  ExpectRefusal("first_sample 4611686018427387404", "setup.channels[1].filter.up 3");
  channels_[1].filter = SomeFilter(64, 3, 2);
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
  EXPECT_GT(OutputsOf(channels_[1], block_).first, kMaxSampleIndex);
}

TEST_F(DownconvertBlockTest, MethodsForStudyBeginAtSample0WithOneFrequency) {
  channels_.resize(1);
  channels_[0].nco = NcoMethod::kFast2Sum;
  ExpectRefusal("first_sample 1000 is not 0", "setup.channels[0].nco");
  block_.first_index = 0;
  block_.num_samples = kMaxStudySamples + 1;
  ExpectRefusal("payload has 4194305 samples", "setup.channels[0].nco");
  block_.num_samples = kMaxStudySamples;
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
  channels_[0].study_segment = 0;
  ExpectRefusal("setup.channels[0].nco_segment 0");
  channels_[0].nco = NcoMethod::kFloat;
  EXPECT_THAT(CheckBlock(channels_, block_), IsOk());
  Retune retune;
  retune.index = 5;
  channels_[0].phase = *PhaseTrack::Create(Frequency(), 0.0, {&retune, 1});
  ExpectRefusal("retunes has 1 of setup.channels[0]");
}

}  // namespace
}  // namespace baseband::downconvert
