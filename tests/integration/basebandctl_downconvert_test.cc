// basebandctl downconvert and wideband-signal against the real server: what they print, what they
// write, how they exit.
#include <cmath>
#include <complex>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/ctl_test.h"
#include "tests/support/matchers.h"
#include "tests/support/server_process.h"

namespace baseband::testing {
namespace {

constexpr size_t kSamples = 200000;

std::vector<std::complex<float>> ReadComplex(const std::string& path) {
  const std::string bytes = ReadAll(path);
  std::vector<std::complex<float>> samples(bytes.size() / sizeof(std::complex<float>));
  std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(std::complex<float>));
  return samples;
}

class BasebandctlDownconvertTest : public CtlTest {
 protected:
  static void SetUpTestSuite() {
    CtlTest::SetUpTestSuite();
    if (HasFatalFailure()) return;
    const Outcome outcome =
        Run({"wideband-signal", "-o", Path(kSignal), absl::StrCat("--samples=", kSamples)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  }

  // The test signal through `downconvert`, to Path(name).0.cf32 and so on.
  static Outcome Downconvert(const std::string& name, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {"downconvert", Path(kSignal), "--rate=64M", "-o",
                                          Path(name)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Run(arguments);
  }

  static constexpr char kSignal[] = "signal.ci16";
};

TEST_F(BasebandctlDownconvertTest, TheTwoLinesOfTheHelpShowAToneAtItsPlace) {
  Outcome outcome = Run({"wideband-signal", "-o", Path("test.sigmf-meta"), "--samples=500k"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  outcome = Run({"downconvert", Path("test.sigmf-meta"), "--channel", "9.1M:8", "--channel",
                 "-20M:64", "-o", Path("out"), "--plot", Path("out.svg")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("+9.1 MHz"), HasSubstr("-20 MHz"),
                                    HasSubstr("500000 samples (ci16)"), HasSubstr("no gaps")));

  const auto tone = ReadComplex(Path("out.0.cf32"));
  ASSERT_EQ(tone.size(), 500000U / 8);
  for (size_t n = 1000; n < tone.size(); n += 997) {
    EXPECT_NEAR(std::abs(tone[n]), 0.1, 0.005) << n;  // -20 dB, and noise of -50 dB - 9 dB
  }
  EXPECT_EQ(ReadComplex(Path("out.1.cf32")).size(), 500000U / 64 + 1);
  EXPECT_THAT(ReadAll(Path("out.svg")), AllOf(StartsWith("<svg"), HasSubstr("channel 1")));
}

TEST_F(BasebandctlDownconvertTest, TheWayTheSamplesTravelDoesNotMatter) {
  const std::vector<std::string> channels = {"--channel=9.1M:8", "--channel=9123457/64000000:5",
                                             "--retune=0@50k=9.2M",
                                             "--retune=0@120001=9.1M:coherent"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), channels.begin(), channels.end());
    return flags;
  };
  ASSERT_EQ(Downconvert("whole", with({"--chunk=1M"})).exit_code, 0);
  const std::string first = ReadAll(Path("whole.0.cf32"));
  const std::string second = ReadAll(Path("whole.1.cf32"));
  EXPECT_EQ(first.size(), 8 * kSamples / 8);
  for (const std::vector<std::string>& way :
       std::vector<std::vector<std::string>>{{},
                                             {"--chunk=1023"},
                                             {"--chunk=4k", "--in-flight=1"},
                                             {"--unary", "--chunk=50k"},
                                             {"--unary", "--chunk=777"}}) {
    const Outcome outcome = Downconvert("way", with(way));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(ReadAll(Path("way.0.cf32")), first) << absl::StrJoin(way, " ");
    EXPECT_EQ(ReadAll(Path("way.1.cf32")), second) << absl::StrJoin(way, " ");
  }
}

TEST_F(BasebandctlDownconvertTest, ItStandsInAPipe) {
  ASSERT_EQ(Downconvert("file", {"--channel=9.1M:8"}).exit_code, 0);
  const std::string command = absl::StrCat(
      "cat ", Path(kSignal), " | ", ProgramPath("basebandctl"), " --target=", server_->target(),
      " downconvert - --format ci16 --rate 64M --channel 9.1M:8 -o - > ", Path("piped"));
  const Outcome outcome = RunProgram("/bin/sh", {"-c", command});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("standard input: 200000 samples"));
  EXPECT_EQ(ReadAll(Path("piped")), ReadAll(Path("file.0.cf32")));
}

// Whose end nobody knows before.
TEST_F(BasebandctlDownconvertTest, ARetunePastTheEndOfAPipeIsToldAsNotDone) {
  const std::string command = absl::StrCat(
      "cat ", Path(kSignal), " | ", ProgramPath("basebandctl"), " --target=", server_->target(),
      " downconvert - --format ci16 --rate 64M --channel 9.1M:8 --retune 0@100k=9M --retune"
      " 0@200k=9.2M -o ",
      Path("retuned"));
  const Outcome outcome = RunProgram("/bin/sh", {"-c", command});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("MHz, 1 retune "),
                                    HasSubstr("--retune at sample"
                                              " 200000 of channel 0"),
                                    HasSubstr("not done:")));
}

TEST_F(BasebandctlDownconvertTest, SigmfSaysRateAndFrequencyOfEachPart) {
  WriteAll(Path("in.sigmf-data"), ReadAll(Path(kSignal)));
  WriteAll(Path("in.sigmf-meta"),
           R"({"global": {"core:datatype": "ci16_le", "core:sample_rate": 64e6},
               "captures": [{"core:sample_start": 0, "core:frequency": 100e6}]})");
  const Outcome outcome =
      Run({"downconvert", Path("in.sigmf-data"), "--channel=9.1M:8", "--retune=0@80k=-3M",
           "--output=ci16", "--sigmf", "-o", Path("out")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(ReadAll(Path("out.0.sigmf-data")).size(), 4 * kSamples / 8);
  EXPECT_THAT(
      ReadAll(Path("out.0.sigmf-meta")),
      AllOf(HasSubstr("\"core:datatype\": \"ci16_le\""),
            HasSubstr("\"core:sample_rate\": 8000000.0"),
            HasSubstr("\"core:frequency\": 109100000.0"), HasSubstr("\"core:sample_start\": 10000"),
            HasSubstr("\"core:frequency\": 97000000.0")));
  EXPECT_THAT(outcome.output, HasSubstr("1 retune"));
}

// A receiver whose I has a tenth too much and an offset, and which writes WAV, with its centre.
TEST_F(BasebandctlDownconvertTest, WhatTheReceiverDidIsToldAndRemoved) {
  std::string bytes = ReadAll(Path(kSignal));
  std::vector<int16_t> numbers(bytes.size() / sizeof(int16_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  for (size_t n = 0; n < numbers.size(); n += 2) {
    numbers[n] = static_cast<int16_t>(std::lround(1.1 * numbers[n]) + 300);
  }
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  const auto little = [](uint32_t number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  WriteAll(Path("air.wav"), "RIFF" + little(0) + "WAVEfmt " + little(16) +
                                std::string("\1\0\2\0", 4) + little(64000000) + little(256000000) +
                                std::string("\4\0\x10\0", 4) + "auxi" + little(36) +
                                std::string(32, '\0') + little(433000000) + "data" +
                                little(static_cast<uint32_t>(bytes.size())) + bytes);
  // The image of the tone at 9.1 MHz.
  const auto image = [&](const std::vector<std::string>& flags, std::string* told) {
    std::vector<std::string> arguments = {"downconvert", Path("air.wav"), "--channel=@423.9M:64",
                                          "-o", Path("image")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    *told = outcome.output;
    std::complex<double> sum;
    const auto samples = ReadComplex(Path("image.0.cf32"));
    for (const std::complex<float>& sample : samples) {
      sum += std::complex<double>(sample);
    }
    return std::abs(sum) / static_cast<double>(samples.size());
  };
  std::string told;
  EXPECT_NEAR(image({}, &told), 0.1 * 0.1 / 2, 0.0005);
  EXPECT_THAT(told, AllOf(HasSubstr("200000 samples (ci16), 3.12 ms at 64 MHz"),
                          HasSubstr("-9.1 MHz"), HasSubstr("front end: DC -"),
                          HasSubstr("dB; image -26.4 dB (I/Q gain +0.83 dB, phase ")));
  EXPECT_LT(image({"--remove-dc", "--correct-iq"}, &told), 0.0002);
  EXPECT_THAT(told, AllOf(HasSubstr("dB, removed; image"), HasSubstr("degrees), removed")));

  const Outcome beyond = Run({"downconvert", Path("air.wav"), "--channel=@500M:8"});
  EXPECT_EQ(beyond.exit_code, 1);
  EXPECT_THAT(beyond.output, HasSubstr("channel 0 frequency @500 MHz is beyond the band, which is"
                                       " from 401 MHz to 465 MHz"));
  WriteAll(Path("real.f32"), std::string(8192, '\1'));
  EXPECT_THAT(
      Run({"downconvert", Path("real.f32"), "--rate=1M", "--channel=0", "--correct-iq"}).output,
      HasSubstr("--correct-iq"));
  EXPECT_THAT(Run({"downconvert", Path("air.wav"), "--channel=0:8", "--cu8-centre=128"}).output,
              HasSubstr("--cu8-centre is of unsigned bytes"));
}

TEST_F(BasebandctlDownconvertTest, GapsAreReportedAndBothFormsTakeThemAlike) {
  WriteAll(Path("in.sigmf-data"), ReadAll(Path(kSignal)));
  WriteAll(Path("in.sigmf-meta"),
           R"({"global": {"core:datatype": "ci16_le", "core:sample_rate": 64e6},
               "captures": [{"core:sample_start": 0, "core:global_index": 7000},
                            {"core:sample_start": 100000, "core:global_index": 5000000}]})");
  for (const char* const form : {"--chunk=30k", "--unary"}) {
    const Outcome outcome =
        Run({"downconvert", Path("in.sigmf-meta"), "--channel=9.1M:8", form, "-o", Path(form)});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("1 gap of 4893000 samples")) << form;
  }
  EXPECT_EQ(ReadAll(Path("--unary.0.cf32")), ReadAll(Path("--chunk=30k.0.cf32")));
}

TEST_F(BasebandctlDownconvertTest, DescribeNeedsNoFileAndTellsWhatTheChannelIs) {
  const Outcome outcome = Run({"downconvert", "--describe", "--rate=64M", "--channel=9.1M:8",
                               "--channel=0.1:64", "--attenuation=100"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("+9.1 MHz = 91/640 of the sample rate"), HasSubstr("8 MHz, 1/8 of"),
                    HasSubstr("taps"), HasSubstr("3.2 MHz either side, ripple 0."),
                    HasSubstr("from 4.8 MHz on, 10"), HasSubstr("Hz from 0.1 Hz)")));
}

TEST_F(BasebandctlDownconvertTest, APlanOfManyChannelsHasTheRateAndTheFilters) {
  std::string plan = R"({"sample_rate": "64M", "channels": [)";
  for (int c = 0; c < 40; ++c) {
    absl::StrAppend(&plan, c == 0 ? "" : ",", R"({"frequency": ")", c - 20,
                    R"(M", "down": 64, "output": "ci16", "gain": 100})");
  }
  WriteAll(Path("plan.json"), plan + "]}");
  const Outcome outcome =
      Run({"downconvert", Path(kSignal), "--channels", Path("plan.json"), "-o", Path("out")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("8 channels more"), HasSubstr("did not fit")));
  EXPECT_EQ(ReadAll(Path("out.39.ci16")).size(), 4 * kSamples / 64);
}

TEST_F(BasebandctlDownconvertTest, JsonHasAllNumbers) {
  const Outcome outcome = Downconvert("out", {"--channel=9.1M:8", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(StartsWith("{"), HasSubstr("\"samples\": 25000"), HasSubstr("\"gaps\": 0"),
                    HasSubstr("\"frequency_num\": 91"), HasSubstr("\"taps\": ")));
}

TEST_F(BasebandctlDownconvertTest, ASignalIsWhatItsNameSays) {
  const auto refused = [](const std::string& name, const std::string& format) {
    const Outcome outcome =
        Run({"wideband-signal", "--samples=10", "-o", Path(name), "--format=" + format});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_FALSE(std::ifstream(Path(name)).good()) << name;
    return outcome.output;
  };
  EXPECT_THAT(refused("x.cf16", "ci16"), HasSubstr("the format cf16 of its name is not one of"));
  EXPECT_THAT(refused("x.wav", "ci16"), HasSubstr("no file of samples"));
  EXPECT_THAT(refused("x.sigmf", "ci16"), HasSubstr("no file of samples"));
  EXPECT_THAT(refused("x.cs8", "cs16"), HasSubstr("--format ci16 contradicts"));
  EXPECT_EQ(Run({"wideband-signal", "--samples=10", "-o", Path("x.cs8")}).exit_code, 0);
  EXPECT_EQ(ReadAll(Path("x.cs8")).size(), 20U);
  for (const char* output : {"cs16", "i16"}) {
    EXPECT_EQ(Run({"downconvert", Path("x.cs8"), "--rate=64M", "--channel=0:1", "-o", Path("y"),
                   absl::StrCat("--output=", output)})
                  .exit_code,
              0);
    EXPECT_EQ(ReadAll(Path("y.0.ci16")).size(), 40U);
  }
}

TEST_F(BasebandctlDownconvertTest, AStationBeyondTheBandIsRefusedAndClippingIsTold) {
  for (const char* station : {"--tone=40M", "--tone=-32.1M:-6", "--fm=31.99M"}) {
    const Outcome outcome =
        Run({"wideband-signal", "--samples=10", "-o", Path("no.ci16"), station});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr("is beyond the band, which ends at 32 MHz"));
  }
  const auto told = [](const char* name) {
    return Run({"wideband-signal", "--samples=10", "-o", Path(name), "--tone=1M:-5",
                "--tone=2M:-5"})
        .output;
  };
  EXPECT_THAT(told("loud.ci16"), HasSubstr("warning: the stations together reach 1.0 dB above"));
  EXPECT_THAT(told("loud.cf32"), ::testing::Not(HasSubstr("warning")));
}

TEST_F(BasebandctlDownconvertTest, RealAndUnsignedRecordingsAreTaken) {
  for (const char* const format : {"ci8", "cu8", "cf32", "i8", "u8", "i16", "f32"}) {
    ASSERT_EQ(Run({"wideband-signal", "-o", Path(format), "--format", format, "--samples=50k",
                   "--tone=9.1M:-6"})
                  .exit_code,
              0);
    const Outcome outcome = Run({"downconvert", Path(format), "--format", format, "--rate=64M",
                                 "--channel=9.1M:8", "-o", Path("out")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    // Half of a real tone is at the negative frequency.
    const bool is_complex = format[0] == 'c';
    const auto tone = ReadComplex(Path("out.0.cf32"));
    EXPECT_NEAR(std::abs(tone[tone.size() / 2]), is_complex ? 0.5 : 0.25, 0.02) << format;
  }
}

TEST_F(BasebandctlDownconvertTest, StudyOscillatorsTakeOnePieceOnly) {
  const Outcome outcome = Downconvert("out", {"--channel=9.1M:8", "--nco=segmented"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  ASSERT_EQ(
      Run({"wideband-signal", "-o", Path("long.ci8"), "--samples=4194305", "--tone=1M"}).exit_code,
      0);
  const Outcome refused = Run({"downconvert", Path("long.ci8"), "--rate=64M", "--channel=9.1M:8",
                               "--nco=float", "-o", Path("out")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("at most 4194304 samples"));
}

TEST_F(BasebandctlDownconvertTest, WhatIsWrongIsSaidInOneLineAndNothingIsWritten) {
  const std::pair<std::vector<std::string>, const char*> kLocal[] = {
      {{}, "no channel is given"},
      {{"--channel=9.1X:8"}, "--channel '9.1X'"},
      {{"--channel=9.1M:8", "--output=cf16", "--sigmf"}, "SigMF has no 16-bit float"},
      {{"--channel=9.1M:8", "--format=c16"}, "--format 'c16'"},
      {{"--channel=9.1M:8", "--channels=/nowhere.json"}, "/nowhere.json"},
      {{"--channel=9.1M:8", "--pass=64Q"}, "--pass '64Q' is not a number"},
      {{"--channel=9.1M:5000"}, "with DOWN in [1, 4096]"},
      {{"--channel=65M:8"}, "channel 0 frequency 65 MHz is beyond the band"},
      {{"--channel=9.1M:8", "--retune=0@200k=9M"}, "past the end: the last sample is 199999"},
      {{"--channel=9.1M:8", "--attenuation=200"}, "--attenuation 200 is not in [20, 140]"},
      {{"--channel=9.1M:8", "--ripple=1e-14"}, "--ripple 1e-14 is not in [5e-07, 3]"}};
  for (const auto& [flags, why] : kLocal) {
    const Outcome outcome = Downconvert("refused", flags);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(StartsWith("basebandctl: "), HasSubstr(why)));
  }
  const std::pair<std::vector<std::string>, const char*> kByTheServer[] = {
      {{"--channel=9.1M:8", "--retune=1@5=9M"}, "retunes[0].channel (--retune) 1"},
      {{"--channel=9.1M:8", "--pass=5M"}, "(--pass)"}};
  for (const auto& [flags, why] : kByTheServer) {
    for (const char* form : {"--chunk=10k", "--unary"}) {
      std::vector<std::string> all = flags;
      all.emplace_back(form);
      const Outcome outcome = Downconvert("refused", all);
      EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
      EXPECT_THAT(outcome.output, HasSubstr(why));
    }
  }
  EXPECT_FALSE(std::ifstream(Path("refused.0.cf32")).good());
  EXPECT_THAT(Run({"downconvert", Path(kSignal), "--rate=64M", "--channel=1M:8", "--channel=2M:8",
                   "-o", "-"})
                  .output,
              HasSubstr("-o - takes one channel, there are 2"));
}

}  // namespace
}  // namespace baseband::testing
