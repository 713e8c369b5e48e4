// From flags and files to the channels of a request.
#include "client/ctl/downconvert/downconvert_flags.h"

#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/taps_file.h"
#include "client/ctl/downconvert/channels_json.h"
#include "client/ctl/downconvert/downconvert_run.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::PathOfTest;
using ::baseband::testing::WriteAll;

DownconvertFlags OneChannel() {
  DownconvertFlags flags;
  flags.sample_rate_hz = 64e6;
  flags.channels = {"9.1M:8"};
  return flags;
}

std::string Refusal(const DownconvertFlags& flags) {
  const auto plan = ToDownconvertPlan(flags, {});
  EXPECT_FALSE(plan.ok());
  return std::string(plan.status().message());
}

// On the wire it stands for 1: it would be taken for that silently.
TEST(DownconvertFlagsTest, AGainOfZeroIsRefused) {
  DownconvertFlags flags = OneChannel();
  EXPECT_EQ(ToDownconvertPlan(flags, {})->setup.channels(0).gain(), 1);
  for (const double gain : {0.0, 1e-60}) {
    flags.common.gain = gain;
    EXPECT_THAT(Refusal(flags), HasSubstr("gain (--gain) 0"));
  }
}

TEST(DownconvertFlagsTest, AChannelHasAMaskThatSuitsItsRate) {
  const auto plan = ToDownconvertPlan(OneChannel(), {});
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->setup.sample_rate_hz(), 64e6);
  ASSERT_EQ(plan->setup.channels_size(), 1);
  const v1::DownconvertChannel& channel = plan->setup.channels(0);
  EXPECT_EQ(channel.frequency().hz(), 9.1e6);
  EXPECT_EQ(channel.filter().down(), 8U);
  EXPECT_DOUBLE_EQ(channel.filter().mask().pass_edge_hz(), 3.2e6);
}

TEST(DownconvertFlagsTest, WithoutARateNothingIsFiltered) {
  DownconvertFlags flags = OneChannel();
  flags.channels = {"9.1M"};
  const auto plan = ToDownconvertPlan(flags, {});
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->setup.channels(0).filter().taps(), ElementsAre(1));
}

TEST(DownconvertFlagsTest, FlagsHoldForAllChannelsAndEachMayHaveItsOwnRate) {
  DownconvertFlags flags = OneChannel();
  flags.channels = {"9.1M", "-20M:64"};
  flags.fractions = {"1/4"};
  flags.common.down = 16;
  flags.common.phase_degrees = 180;
  flags.output = "ci16";
  flags.nco = "2sum";
  const auto plan = ToDownconvertPlan(flags, {});
  ASSERT_THAT(plan, IsOk());
  ASSERT_EQ(plan->setup.channels_size(), 3);
  EXPECT_EQ(plan->setup.channels(0).filter().down(), 16U);
  EXPECT_EQ(plan->setup.channels(1).filter().down(), 64U);
  EXPECT_EQ(plan->setup.channels(2).frequency().fraction().den(), 4U);
  EXPECT_NEAR(plan->setup.channels(2).phase(), 3.14159265, 1e-8);
  EXPECT_EQ(plan->setup.channels(2).output(), v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(plan->setup.channels(2).nco(), v1::NCO_METHOD_2SUM);
}

TEST(DownconvertFlagsTest, TheRateOfTheRecordingIsTakenUnlessAFlagSaysOtherwise) {
  DownconvertFlags flags = OneChannel();
  flags.sample_rate_hz = 0;
  EXPECT_EQ(ToDownconvertPlan(flags, {20e6, {}, false})->setup.sample_rate_hz(), 20e6);
  EXPECT_THAT(Refusal(flags), HasSubstr("--rate=64M"));
  EXPECT_THAT(ToDownconvertPlan(flags, {0, {}, false, "a.sigmf-meta"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.sigmf-meta says no core:sample_rate: add --rate")));
}

TEST(DownconvertFlagsTest, WhatContradictsTheRecordingIsTakenAndTold) {
  const Band band = {64e6, 433e6, false, "a.wav"};
  DownconvertFlags flags = OneChannel();
  flags.centre_hz = 433e6;
  EXPECT_THAT(ToDownconvertPlan(flags, band)->notes, IsEmpty());
  flags.sample_rate_hz = 60e6;
  flags.centre_hz = 434e6;
  const auto plan = ToDownconvertPlan(flags, band);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->setup.sample_rate_hz(), 60e6);
  EXPECT_THAT(
      plan->notes,
      ElementsAre(
          "--rate 60000000 contradicts a.wav, which says 64000000: 60000000 is taken",
          "--centre 434000000 contradicts a.wav, which says 433000000: 434000000 is taken"));
  EXPECT_THAT(ToDownconvertPlan(flags, {})->notes, IsEmpty());
}

TEST(DownconvertFlagsTest, RetunesAreReadAndSorted) {
  DownconvertFlags flags = OneChannel();
  flags.retunes = {"0@5M=9.2M:coherent", "0@4611686018427387903=1/3", "0@1000=9M"};
  const auto plan = ToDownconvertPlan(flags, {});
  ASSERT_THAT(plan, IsOk());
  ASSERT_EQ(plan->retunes.size(), 3U);
  EXPECT_EQ(plan->retunes[0].index(), 1000U);
  EXPECT_EQ(plan->retunes[0].mode(), v1::RETUNE_MODE_PHASE_CONTINUOUS);
  EXPECT_EQ(plan->retunes[1].index(), 5000000U);
  EXPECT_EQ(plan->retunes[1].mode(), v1::RETUNE_MODE_PHASE_COHERENT);
  EXPECT_EQ(plan->retunes[2].index(), 4611686018427387903U);
  EXPECT_EQ(plan->retunes[2].frequency().fraction().den(), 3U);
}

// Half the sample rate is the last that there is.
TEST(DownconvertFlagsTest, AFrequencyBeyondTheBandIsRefused) {
  DownconvertFlags flags = OneChannel();
  for (const char* inside : {"32M:8", "-32M:8", "1/2:8", "-1/2:8", "0:8"}) {
    flags.channels = {inside};
    EXPECT_THAT(ToDownconvertPlan(flags, {}), IsOk()) << inside;
  }
  for (const char* beyond : {"32000001:8", "-40M:8", "65M:8", "9.1G:8", "3/4:8", "-64/127:8"}) {
    flags.channels = {"1M:8", beyond};
    EXPECT_THAT(Refusal(flags), AllOf(HasSubstr("channel 1 frequency "),
                                      HasSubstr("is beyond the band"), HasSubstr("32 MHz")))
        << beyond;
    flags.channels = {"1M:8"};
    flags.retunes = {absl::StrCat("0@5=", std::string(beyond, std::strlen(beyond) - 2))};
    EXPECT_THAT(Refusal(flags), AllOf(HasSubstr(flags.retunes[0]), HasSubstr("beyond the band")));
    flags.retunes.clear();
  }
}

TEST(DownconvertFlagsTest, ARadioFrequencyIsTakenFromTheCentre) {
  DownconvertFlags flags;
  flags.channels = {"@433.92M:8", "@401M", "-1M:4"};
  flags.retunes = {"0@5M=@434M:coherent"};
  const auto plan = ToDownconvertPlan(flags, {64e6, 433e6, false});
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->setup.channels(0).frequency().hz(), 0.92e6);
  EXPECT_EQ(plan->setup.channels(0).filter().down(), 8U);
  EXPECT_EQ(plan->setup.channels(1).frequency().hz(), -32e6);  // the last that there is
  EXPECT_EQ(plan->setup.channels(2).frequency().hz(), -1e6);
  EXPECT_EQ(plan->retunes[0].frequency().hz(), 1e6);
  EXPECT_EQ(plan->centre_hz, 433e6);

  flags.centre_hz = 434e6;  // a flag comes before the file
  flags.channels.resize(1);
  flags.retunes.clear();
  EXPECT_EQ(ToDownconvertPlan(flags, {64e6, 440e6, false})->setup.channels(0).frequency().hz(),
            -0.08e6);
}

TEST(DownconvertFlagsTest, ARadioFrequencyThatCannotBeIsNamed) {
  DownconvertFlags flags;
  const auto refusal = [&](const Band& band) {
    return std::string(ToDownconvertPlan(flags, band).status().message());
  };
  flags.channels = {"1M", "@500M:8"};
  EXPECT_EQ(refusal({64e6, 433e6, false}),
            "channel 1 frequency @500 MHz is beyond the band, which is from 401 MHz to 465 MHz");
  EXPECT_THAT(refusal({64e6, {}, false}), HasSubstr("does not say its centre: say it by --centre"));
  EXPECT_THAT(refusal({64e6, {}, true}), HasSubstr("has several centres"));
  flags.channels = {"1M"};
  flags.retunes = {"0@5=@500M"};
  EXPECT_THAT(refusal({64e6, 433e6, false}),
              HasSubstr("--retune 0@5=@500M frequency @500 MHz is beyond the band"));
  flags.channels = {"@1/4"};
  EXPECT_THAT(refusal({64e6, 433e6, false}), HasSubstr("'@1/4' is a fraction"));
}

TEST(DownconvertFlagsTest, ARetuneThatIsNeverReachedIsNamed) {
  DownconvertFlags flags = OneChannel();
  flags.retunes = {"0@199999=9M", "0@200k=9.2M"};
  const auto plan = ToDownconvertPlan(flags, {});
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(CheckReached(plan->retunes, 200001), IsOk());
  EXPECT_THAT(CheckReached(plan->retunes, 200000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--retune at sample 200000 of channel 0 is past the end: the last"
                                 " sample is 199999")));
}

TEST(DownconvertFlagsTest, WhatCannotBeReadIsNamed) {
  DownconvertFlags flags = OneChannel();
  flags.channels = {"9.1M:x"};
  EXPECT_THAT(Refusal(flags), HasSubstr("--channel '9.1M:x' is not FREQUENCY[:DOWN]"));
  flags.channels = {"abc"};
  EXPECT_THAT(Refusal(flags), HasSubstr("--channel 'abc' is not a number"));
  flags.channels.clear();
  EXPECT_THAT(Refusal(flags), HasSubstr("no channel is given"));
  flags.fractions = {"9.1M"};
  EXPECT_THAT(Refusal(flags), HasSubstr("--fraction '9.1M' is not NUM/DEN"));
  flags = OneChannel();
  flags.output = "cf64";
  EXPECT_THAT(Refusal(flags), HasSubstr("--output 'cf64' is not one of cf32, cf16, ci16"));
  flags = OneChannel();
  flags.nco = "quick";
  EXPECT_THAT(Refusal(flags), HasSubstr("--nco 'quick' is not one of exact"));
  for (const char* retune :
       {"5=9M", "0@x=9M", "0@5", "0@5=9M:now", "x@5=9M", "0@5=9M:coherent:1"}) {
    flags = OneChannel();
    flags.retunes = {retune};
    EXPECT_THAT(Refusal(flags), HasSubstr("--retune")) << retune;
  }
}

TEST(DownconvertFlagsTest, TapsAreTextOrFloats) {
  WriteAll(PathOfTest("taps.txt"), "# half-band\n0.25, 0.5\n0.25 # the end\n");
  EXPECT_THAT(*ReadTaps(PathOfTest("taps.txt")), ElementsAre(0.25F, 0.5F, 0.25F));
  WriteAll(PathOfTest("taps.f32"), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_THAT(*ReadTaps(PathOfTest("taps.f32")), ElementsAre(1.0F, 2.0F));
  WriteAll(PathOfTest("taps.txt"), "1\n2 three\n");
  EXPECT_THAT(ReadTaps(PathOfTest("taps.txt")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: 'three'")));
  WriteAll(PathOfTest("taps.txt"), "# none\n");
  EXPECT_THAT(ReadTaps(PathOfTest("taps.txt")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no taps")));
}

TEST(DownconvertFlagsTest, TapsAndAMaskContradictEachOther) {
  DownconvertFlags flags = OneChannel();
  flags.common.taps = {1};
  flags.common.attenuation_db = 60;
  EXPECT_THAT(Refusal(flags), HasSubstr("channel 0 has taps and a mask"));
}

TEST(ChannelsJsonTest, KeysOverrideWhatIsCommon) {
  ChannelSpec common;
  common.down = 16;
  common.ripple_db = 0.5;
  const auto file = ParseChannels(
      R"({"sample_rate": "64M", "channels": [
          {"frequency": "9.1M", "down": 8, "pass": "3M", "design": "kaiser", "output": "ci16"},
          {"frequency": "1/3", "gain": 2, "phase": 90, "nco": "double", "segment": 512},
          {"frequency": -5e6, "up": 3, "taps": [0.5, 0.5]},
          {"frequency": "@433.92M"}]})",
      common);
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->sample_rate_hz, 64e6);
  ASSERT_EQ(file->channels.size(), 4U);
  EXPECT_TRUE(file->channels[3].frequency.is_radio);
  EXPECT_FALSE(file->channels[2].frequency.is_radio);
  EXPECT_EQ(file->channels[0].down, 8);
  EXPECT_EQ(file->channels[0].pass_hz, 3e6);
  EXPECT_EQ(file->channels[0].ripple_db, 0.5);
  EXPECT_TRUE(file->channels[0].kaiser);
  EXPECT_EQ(file->channels[0].output, v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(file->channels[1].down, 16);
  EXPECT_EQ(file->channels[1].frequency.oscillator.fraction().den(), 3U);
  EXPECT_EQ(file->channels[1].segment, 512);
  EXPECT_EQ(file->channels[2].frequency.oscillator.hz(), -5e6);
  EXPECT_THAT(file->channels[2].taps, ElementsAre(0.5F, 0.5F));
  EXPECT_EQ(file->channels[2].ripple_db, 0);
}

TEST(ChannelsJsonTest, WhatIsWrongIsNamedByItsPlace) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"{", "is not JSON: line 1, column 2: "},
      {"[]", "is not a JSON list"},
      {"[1]", "channels[0] is not an object"},
      {R"([{"down": 8}])", "with a \"frequency\""},
      {R"([{"frequency": 1}, {"frequency": 1, "decimate": 8}])",
       "channels[1]: 'decimate' is not one of frequency"},
      {R"([{"frequency": 1, "down": 2.5}])", "channels[0].down: 2.5 is not a whole number"},
      {R"([{"frequency": true}])", "channels[0].frequency: true is not a text"},
      {R"([{"frequency": 1, "taps": ["a"]}])", "channels[0].taps: \"a\" is not a number"},
      {R"([{"frequency": 1, "design": "fir1"}])", "channels[0].design: 'fir1' is not one of"},
      {R"({"sample_rate": "fast", "channels": [{"frequency": 1}]})", "sample_rate: 'fast'"}};
  for (const auto& [text, why] : kWrong) {
    EXPECT_THAT(ParseChannels(text, ChannelSpec()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }
}

TEST(DownconvertRunTest, AMessageIsAboutAMebibyteOfWhicheverSideIsLarger) {
  DownconvertFlags flags = OneChannel();
  const RequestLimits limits;
  EXPECT_EQ(DefaultChunk(ToDownconvertPlan(flags, {})->setup, 4, limits), 1 << 18);
  flags.channels.assign(64, "1M:8");
  EXPECT_EQ(DefaultChunk(ToDownconvertPlan(flags, {})->setup, 4, limits), 1 << 14);
}

}  // namespace
}  // namespace baseband::ctl
