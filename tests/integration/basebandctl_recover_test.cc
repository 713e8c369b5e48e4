// basebandctl recover, carrier-signal and carrier-bench against the real server.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"
#include "tests/support/matchers.h"

namespace baseband::testing {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr char kQpsk[] = "--constellation=QPSK";
constexpr char kNeedsPilots[] = "--constellation=64APSK 132/180";

// What is wrong with `text` as XML, as far as our pictures use it; empty if nothing is.
std::string XmlError(const std::string& text) {
  std::vector<std::string> open;
  size_t at = 0;
  while ((at = text.find_first_of("<&", at)) != std::string::npos) {
    if (text[at] == '&') {
      const std::string entity = text.substr(at, text.find(';', at) + 1 - at);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") {
        return absl::StrCat("a bare & at ", at);
      }
      ++at;
      continue;
    }
    const size_t end = text.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (tag.empty() || std::count(tag.begin(), tag.end(), '"') % 2 != 0) {
      return absl::StrCat("a broken tag <", tag, ">");
    }
    const std::string name =
        tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) {
        return absl::StrCat("</", name, "> closes nothing");
      }
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty() ? "" : absl::StrCat("<", open.back(), "> is not closed");
}

nlohmann::json Parse(const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(json.is_discarded()) << text;
  return json;
}

std::vector<std::complex<float>> Samples(const std::string& bytes) {
  std::vector<std::complex<float>> samples(bytes.size() / 8);
  std::memcpy(static_cast<void*>(samples.data()), bytes.data(), samples.size() * 8);
  return samples;
}

class BasebandctlRecoverTest : public CtlTest {
 protected:
  // Frames in Path(name), made by carrier-signal.
  static void MakeSignal(const std::string& name, std::vector<std::string> flags) {
    flags.insert(flags.begin(), "carrier-signal");
    flags.push_back("--out=" + Path(name));
    const Outcome outcome = Run(flags);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  }
  // The JSON that recover prints; the exit code must be `exit_code`.
  static nlohmann::json Recover(const std::string& name, std::vector<std::string> flags,
                                int exit_code = 0) {
    flags.insert(flags.begin(), {"recover", Path(name), "--json"});
    const Outcome outcome = Run(flags);
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.output;
    return Parse(outcome.output);
  }
  static std::string Refused(std::vector<std::string> arguments, int exit_code) {
    const Outcome outcome = Run(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith("basebandctl: "));
    return outcome.output;
  }
};

TEST_F(BasebandctlRecoverTest, FrequencyAndPhaseAreWithinFourPredictedDeviations) {
  MakeSignal("in.cf32", {kQpsk, "--snr=10", "--frequency=0.0412345", "--phase=-30"});
  const nlohmann::json json = Recover("in.cf32", {kQpsk, "--symbol-rate=1e6"});
  ASSERT_EQ(json["frames_locked"], 1);
  const nlohmann::json& frame = json["frames"][0];
  const double deviation = frame["frequency_stddev"];
  EXPECT_NEAR(frame["frequency"], 0.0412345, 4 * deviation);
  // The Cramer-Rao bound for known symbols, N = 32400.
  EXPECT_NEAR(deviation, 2.11e-8, 0.3 * 2.11e-8);
  EXPECT_NEAR(frame["frequency_hz"], 41234.5, 4e6 * deviation);
  EXPECT_NEAR(frame["phase"], -30 * kPi / 180, 4 * frame["phase_stddev"].get<double>());
  EXPECT_EQ(frame["ambiguity"], 4);
  EXPECT_EQ(json["reach"]["max_frequency"], 0.125);
  EXPECT_EQ(json["reach"]["modulo"], 0.25);
  EXPECT_EQ(json["reach"]["coarse"], "power");
  EXPECT_NEAR(frame["snr_db"], 10, 0.2);
}

TEST_F(BasebandctlRecoverTest, TheTableIsForPeople) {
  MakeSignal("one.cf32", {kQpsk});
  EXPECT_THAT(Run({"recover", Path("one.cf32"), kQpsk}).output,
              AllOf(HasSubstr("lock        yes\n"), HasSubstr(" cycles/symbol\n"),
                    HasSubstr("degrees at the first symbol, modulo 90"), HasSubstr("Es/N0"),
                    HasSubstr("reach       |frequency| <= 0.125, modulo 0.25 cycles/symbol\n")));
  MakeSignal("many.cf32", {kQpsk, "--frames=40", "--frame-symbols=2000"});
  const std::string table =
      Run({"recover", Path("many.cf32"), kQpsk, "--frame-symbols=2000"}).output;
  EXPECT_THAT(table, AllOf(HasSubstr("\n   31  yes "), Not(HasSubstr("\n   32  ")),
                           HasSubstr("(8 frames more: --all shows them"),
                           HasSubstr("Reach: |frequency| <= 0.125, modulo 0.25 cycles/symbol.\n"),
                           HasSubstr("40 of 40 frames locked\n")));
}

TEST_F(BasebandctlRecoverTest, CorrectedSymbolsLieAtThePoints) {
  MakeSignal("in.cf32", {kQpsk, "--snr=15", "--frequency=0.1", "--frames=3"});
  const nlohmann::json json =
      Recover("in.cf32", {kQpsk, "--frame-symbols=32400", "--out=" + Path("out.cf32")});
  const auto corrected = Samples(ReadAll(Path("out.cf32")));
  ASSERT_EQ(corrected.size(), 3 * 32400);
  for (int frame = 0; frame < 3; ++frame) {
    double error = 0;
    for (int n = 0; n < 32400; ++n) {
      const std::complex<float> z = corrected[frame * 32400 + n];
      error += std::norm(z - std::complex<float>(std::copysign(std::sqrt(0.5F), z.real()),
                                                 std::copysign(std::sqrt(0.5F), z.imag())));
    }
    const double evm = std::sqrt(error / 32400);
    EXPECT_NEAR(evm, std::pow(10, -15.0 / 20), 0.01 * evm);
    EXPECT_NEAR(json["frames"][frame]["evm"], evm, 0.01 * evm);
  }
}

TEST_F(BasebandctlRecoverTest, SigmfInAndOut) {
  MakeSignal("in.sigmf-meta", {kQpsk, "--format=i16", "--snr=12", "--symbol-rate=5e6",
                               "--frequency=-0.03", "--frames=2"});
  nlohmann::json json =
      Recover("in.sigmf-data", {kQpsk, "--frame-symbols=32400", "--out=" + Path("out.sigmf-meta")});
  EXPECT_EQ(json["symbol_rate_hz"], 5e6);
  EXPECT_NEAR(json["frames"][1]["frequency_hz"], -150e3, 1);
  // What is corrected has no frequency any more, and still its rate.
  json = Recover("out.sigmf-meta", {kQpsk, "--frame-symbols=32400"});
  EXPECT_EQ(json["symbol_rate_hz"], 5e6);
  EXPECT_NEAR(json["frames"][1]["frequency"], 0,
              4 * json["frames"][1]["frequency_stddev"].get<double>());
}

TEST_F(BasebandctlRecoverTest, ManyFramesGoAsManyRequestsAndComeBackInOrder) {
  MakeSignal("in.cf32", {"--constellation=16QAM", "--frames=300", "--frame-symbols=1024"});
  const std::vector<std::string> flags = {"--constellation=16qam", "--frame-symbols=1024",
                                          "--csv=" + Path("a.csv")};
  const nlohmann::json many = Recover("in.cf32", flags);
  EXPECT_GT(many["requests"], 4);
  const nlohmann::json one = Recover("in.cf32", {"--constellation=16qam", "--frame-symbols=1024",
                                                 "--in-flight=1", "--connections=1"});
  EXPECT_LT(one["requests"], many["requests"]);
  EXPECT_EQ(one["frames"], many["frames"]);
  const std::string csv = ReadAll(Path("a.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 301);
  EXPECT_THAT(csv, AllOf(StartsWith("frame,lock,frequency_cycles_per_symbol,"),
                         HasSubstr("\n299,locked,")));
}

TEST_F(BasebandctlRecoverTest, WithoutLockTheReasonIsToldAndTheExitCodeIsFour) {
  WriteAll(Path("zero.cf32"), std::string(8 * 1000, '\0'));
  Outcome outcome = Run({"recover", Path("zero.cf32"), kQpsk});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.output, HasSubstr("no signal: the frame is all zero"));

  MakeSignal("noise.cf32", {kQpsk, "--snr=-20", "--frames=2", "--frame-symbols=1000"});
  outcome = Run({"recover", Path("noise.cf32"), kQpsk, "--frame-symbols=1000"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.output, HasSubstr("0 of 2 frames locked: "));
}

TEST_F(BasebandctlRecoverTest, ATableHasNoHertzWithoutASymbolRate) {
  MakeSignal("in.cf32", {kQpsk, "--frame-symbols=1000", "--snr=12"});
  const auto row = [](const std::vector<std::string>& flags) {
    Recover("in.cf32", flags);
    const std::string csv = ReadAll(Path("h.csv"));
    const std::vector<std::string> lines = absl::StrSplit(csv, '\n');
    return std::vector<std::string>(absl::StrSplit(lines[1], ','));
  };
  const auto without = row({kQpsk, "--csv=" + Path("h.csv")});
  EXPECT_EQ(without.size(), 17U);
  EXPECT_EQ(without[4] + without[5], "");
  EXPECT_NE(row({kQpsk, "--csv=" + Path("h.csv"), "--symbol-rate=1M"})[4], "");
}

TEST_F(BasebandctlRecoverTest, PilotsFindWhatIsHopelessBlind) {
  MakeSignal("in.cf32", {kNeedsPilots, "--pilots=dvbs2", "--known-out=" + Path("pilots.cf32"),
                         "--snr=14.8", "--frequency=0.0712", "--phase=123", "--frames=4"});
  const std::string frame = "--frame-symbols=11142";
  const nlohmann::json blind = Recover("in.cf32", {kNeedsPilots, frame}, /*exit_code=*/4);
  EXPECT_EQ(blind["frames_locked"], 0);
  const nlohmann::json aided =
      Recover("in.cf32", {kNeedsPilots, frame, "--pilots=dvbs2", "--known=" + Path("pilots.cf32")});
  EXPECT_EQ(aided["frames_locked"], 4);
  for (const nlohmann::json& result : aided["frames"]) {
    EXPECT_NEAR(result["frequency"], 0.0712, 4.5 * result["frequency_stddev"].get<double>());
    EXPECT_NEAR(result["phase"], 123 * kPi / 180, 4.5 * result["phase_stddev"].get<double>());
    EXPECT_EQ(result["ambiguity"], 1);
    EXPECT_EQ(result["resolution"], "known_symbols");
  }
}

TEST_F(BasebandctlRecoverTest, WhatThePeakIsOfIsSaid) {
  MakeSignal("in.cf32", {kQpsk, "--pilots=dvbs2", "--known-out=" + Path("pilots.cf32")});
  const auto recover = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"recover", Path("in.cf32"), kQpsk});
    return Run(flags).output;
  };
  const std::string pilots = "--known=" + Path("pilots.cf32");
  EXPECT_THAT(recover({}), HasSubstr(" times the power of the next\n"));
  // At this SNR the pilots' line has more than one peak that may be the carrier's.
  EXPECT_THAT(recover({"--pilots=dvbs2", pilots}), HasSubstr(" times the power of the next\n"));
  EXPECT_THAT(recover({"--pilots=dvbs2", pilots, "--coarse=known_symbols"}),
              HasSubstr(" times the power of the next, by the known symbols alone\n"));
  EXPECT_THAT(recover({"--pilots=dvbs2", pilots, "--coarse=power"}),
              HasSubstr(" times the power of the next\n"));
  EXPECT_THAT(recover({"--coarse=none"}), Not(HasSubstr("the power of the next")));
}

TEST_F(BasebandctlRecoverTest, APointListOfYourOwnIsAConstellationToo) {
  MakeSignal("in.cf32", {kQpsk, "--frequency=0.01"});
  WriteAll(Path("points.txt"), "# QPSK, larger\n3 3\n-3 3\n-3 -3\n3 -3\n");
  const nlohmann::json json =
      Recover("in.cf32", {"--points=" + Path("points.txt"), "--plot=" + Path("plot.svg")});
  EXPECT_NEAR(json["frames"][0]["frequency"], 0.01, 1e-6);
  EXPECT_EQ(json["frames"][0]["ambiguity"], 4);
  EXPECT_EQ(XmlError(ReadAll(Path("plot.svg"))), "");
}

TEST_F(BasebandctlRecoverTest, PlotsAreXmlWithSymbolsAndACurve) {
  MakeSignal("a&b.cf32", {"--constellation=16APSK 3/4", "--frames=2", "--frame-symbols=5000"});
  const auto draw = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"recover", Path("a&b.cf32"), "--constellation=16APSK 3/4",
                                 "--frame-symbols=5000", "--plot=" + Path("plot.svg")});
    const Outcome outcome = Run(flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    const std::string svg = ReadAll(Path("plot.svg"));
    EXPECT_EQ(XmlError(svg), "");
    EXPECT_THAT(svg, AllOf(StartsWith("<svg"), HasSubstr("a&amp;b.cf32, frame ")));
    return svg;
  };
  EXPECT_THAT(draw({}), HasSubstr("power of the coarse spectrum"));
  EXPECT_THAT(draw({"--plot-frame=1", "--fine=sweep"}),
              AllOf(HasSubstr("frame 1"), HasSubstr("equation 8")));
  EXPECT_THAT(Refused({"recover", Path("a&b.cf32"), "--constellation=16APSK 3/4",
                       "--frame-symbols=5000", "--plot=x.svg", "--plot-frame=2"},
                      1),
              HasSubstr("--plot-frame 2 is not in [0, 1]"));
}

TEST_F(BasebandctlRecoverTest, APlotWithoutACoarseStageHasTheSymbolsAlone) {
  MakeSignal("in.cf32", {kQpsk, "--frequency=0"});
  const Outcome outcome =
      Run({"recover", Path("in.cf32"), kQpsk, "--coarse=none", "--plot=" + Path("plot.svg")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(ReadAll(Path("plot.svg")),
              AllOf(StartsWith("<svg"), Not(HasSubstr("coarse spectrum"))));
}

TEST_F(BasebandctlRecoverTest, EveryFineMethodIsOffered) {
  MakeSignal("in.cf32", {kQpsk, "--snr=12", "--frequency=0.0213"});
  for (const char* fine : {"none", "interpolate", "sweep", "remodulate", "pll"}) {
    const nlohmann::json json = Recover("in.cf32", {kQpsk, absl::StrCat("--fine=", fine)});
    EXPECT_NEAR(json["frames"][0]["frequency"], 0.0213, 0.5 / 32400) << fine;
  }
}

TEST_F(BasebandctlRecoverTest, ASweepNeedsNoFlagsForTheLongestFrames) {
  MakeSignal("long.cf32", {kQpsk, "--snr=12", "--frame-symbols=1Mi", "--frequency=0.0213"});
  const nlohmann::json json = Recover("long.cf32", {kQpsk, "--fine=sweep"});
  EXPECT_NEAR(json["frames"][0]["frequency"], 0.0213, 0.25 / (1 << 20));
}

// 0 Hz would be a frequency.
TEST_F(BasebandctlRecoverTest, WhatIsNotKnownIsNull) {
  MakeSignal("in.cf32", {kQpsk, "--snr=12", "--frame-symbols=2000"});
  const nlohmann::json json = Recover("in.cf32", {kQpsk, "--csv=" + Path("in.csv")});
  EXPECT_TRUE(json["symbol_rate_hz"].is_null());
  EXPECT_TRUE(json["frames"][0]["frequency_hz"].is_null());
  EXPECT_TRUE(json["frames"][0]["frequency_stddev_hz"].is_null());
  EXPECT_TRUE(json["frames"][0]["peak_ratio"].is_number());
  EXPECT_EQ(Recover("in.cf32", {kQpsk, "--symbol-rate=2M"})["symbol_rate_hz"], 2e6);
  MakeSignal("zero.cf32", {kQpsk, "--snr=12", "--frame-symbols=2000", "--frequency=0"});
  EXPECT_TRUE(Recover("zero.cf32", {kQpsk, "--coarse=none"})["frames"][0]["peak_ratio"].is_null());
}

TEST_F(BasebandctlRecoverTest, SamplesBecomeSymbolsWithTheirTiming) {
  const std::vector<std::string> pulses = {kQpsk, "--samples-per-symbol=5/2", "--roll-off=0.25"};
  std::vector<std::string> made = pulses;
  made.insert(made.end(), {"--timing-offset=0.62", "--clock-error=33e-6", "--frames=2",
                           "--frame-symbols=8000", "--snr=12", "--symbol-rate=1M"});
  MakeSignal("in.sigmf-meta", made);
  std::vector<std::string> flags = pulses;
  flags.insert(flags.end(), {"--frame-samples=20003", "--out=" + Path("out.cf32"),
                             "--csv=" + Path("t.csv"), "--plot=" + Path("t.svg")});
  const nlohmann::json json = Recover("in.sigmf-data", flags);
  EXPECT_EQ(json["frames_locked"], 2);
  EXPECT_EQ(json["frame_symbols"], 8000);
  EXPECT_NEAR(json["symbol_rate_hz"], 1e6, 1e-6);
  for (const nlohmann::json& frame : json["frames"]) {
    const nlohmann::json& timing = frame["timing"];
    EXPECT_EQ(timing["lock"], "locked");
    EXPECT_NEAR(timing["offset"], 0.62, 5 * timing["offset_stddev"].get<double>());
    EXPECT_NEAR(timing["clock_error"], 33e-6, 5 * timing["clock_error_stddev"].get<double>());
    EXPECT_NEAR(frame["frequency"], 0.0625, 5 * frame["frequency_stddev"].get<double>());
    EXPECT_NEAR(frame["snr_db"], 12, 0.3);
  }
  EXPECT_EQ(ReadAll(Path("out.cf32")).size(), 2 * 8000 * 8);
  EXPECT_THAT(ReadAll(Path("t.csv")),
              AllOf(HasSubstr(",coarse_frequency_cycles_per_symbol,timing_lock,offset_symbols,"),
                    HasSubstr(",locked,0.6")));
  EXPECT_EQ(XmlError(ReadAll(Path("t.svg"))), "");
  flags.insert(flags.begin(), {"recover", Path("in.sigmf-meta")});
  EXPECT_THAT(Run(flags).output, AllOf(HasSubstr("offset"), HasSubstr("clock ppm"),
                                       HasSubstr("2 frames of 8000 symbols of QPSK\n"),
                                       HasSubstr("2 of 2 frames locked\n")));
}

TEST_F(BasebandctlRecoverTest, PulsesOfOwnTapsAreMadeAndFound) {
  // A root-raised-cosine pulse of roll-off 0.25, cut off by a Hann window at six symbols.
  std::string text = "# 4 a symbol\n";
  for (int n = -24; n <= 24; ++n) {
    const double t = 0.25 * n + 1e-7;
    const double pulse =
        (std::sin(0.75 * M_PI * t) + t * std::cos(1.25 * M_PI * t)) / (M_PI * t * (1 - t * t));
    absl::StrAppend(&text, pulse * std::pow(std::cos(M_PI * n / 48.0), 2), "\n");
  }
  WriteAll(Path("pulse.txt"), text);
  const std::vector<std::string> pulses = {kQpsk, "--samples-per-symbol=5/2",
                                           "--taps=" + Path("pulse.txt"), "--taps-per-symbol=4"};
  std::vector<std::string> made = pulses;
  made.insert(made.end(), {"--timing-offset=0.62", "--frame-symbols=8000", "--snr=12"});
  MakeSignal("in.cf32", made);
  std::vector<std::string> flags = pulses;
  flags.push_back("--roll-off=0.4");
  const nlohmann::json frame = Recover("in.cf32", flags)["frames"][0];
  EXPECT_EQ(frame["timing"]["lock"], "locked");
  EXPECT_NEAR(frame["timing"]["offset"], 0.62, 5 * frame["timing"]["offset_stddev"].get<double>());
  // What such short pulses leave of each other is 24 dB below them.
  EXPECT_NEAR(frame["snr_db"], 11.8, 0.3);
  flags.back() = "--roll-off=0.1";
  flags.insert(flags.begin(), {"recover", Path("in.cf32")});
  EXPECT_THAT(Refused(flags, 1), HasSubstr("groups[0].timing.taps have "));
  WriteAll(Path("pulse.txt"), "1 2 2 1\n");
  made.insert(made.begin(), {"carrier-signal", "--out=" + Path("none.cf32")});
  EXPECT_THAT(Refused(made, 1), HasSubstr("has 4 numbers, not an odd number in [3, 513]"));
}

TEST_F(BasebandctlRecoverTest, WithoutATimingAFrameIsNotLocked) {
  MakeSignal("in.cf32", {kQpsk, "--samples-per-symbol=4", "--frame-symbols=2000", "--snr=12"});
  Outcome outcome =
      Run({"recover", Path("in.cf32"), kQpsk, "--samples-per-symbol=4", "--roll-off=0.2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("timing      +0.29"), HasSubstr("clock       "),
                                    HasSubstr(" ppm\n"), HasSubstr("lock        yes\n")));
  // 4.1 samples a symbol were not sent.
  outcome = Run({"recover", Path("in.cf32"), kQpsk, "--samples-per-symbol=4.1", "--roll-off=0.2"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("no line at the symbol rate stands out of the noise"));
}

TEST_F(BasebandctlRecoverTest, WhatSamplesNeedIsAskedFor) {
  MakeSignal("in.cf32", {kQpsk, "--samples-per-symbol=2", "--frame-symbols=2000"});
  const std::string in = Path("in.cf32");
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=17"}, 1),
              HasSubstr("--samples-per-symbol 17 is not in [2, 16]"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=two"}, 1),
              HasSubstr("'two' is no number of samples, such as 4, 5/2 or 2.5"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=2"}, 1),
              HasSubstr("--samples-per-symbol needs --roll-off"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=2", "--roll-off=0.2",
                       "--frame-symbols=100"},
                      1),
              HasSubstr("of samples it is --frame-samples"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--frame-samples=100"}, 1),
              HasSubstr("--frame-samples needs --samples-per-symbol"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--roll-off=0.3"}, 1),
              HasSubstr("--samples-per-symbol"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=2", "--roll-off=0.2",
                       "--frame-samples=20", "--drop"},
                      1),
              HasSubstr("--frame-samples 20 is not in [33, 16794010]"));
  // With clock errors it takes one more.
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--samples-per-symbol=2", "--roll-off=0.2",
                       "--frame-samples=33", "--drop"},
                      1),
              HasSubstr("frame_samples (--frame-samples) 33 is not in [34, "));
}

TEST_F(BasebandctlRecoverTest, WhatIsWrittenIsWhatItsNameSays) {
  const auto size = [](const char* name) { return ReadAll(Path(name)).size(); };
  MakeSignal("q.cs16", {kQpsk, "--frame-symbols=4000", "--snr=12"});
  EXPECT_EQ(size("q.cs16"), 4U * 4000);
  Recover("q.cs16", {kQpsk, "--out=" + Path("out.cf32")});
  EXPECT_EQ(size("out.cf32"), 8U * 4000);
  Recover("out.cf32", {kQpsk, "--out=" + Path("again.cf16")});
  Recover("out.cf32", {kQpsk, "--out=" + Path("again.ci16")});
  for (const char* name : {"again.cf16", "again.ci16"}) {
    EXPECT_EQ(size(name), 4U * 4000) << name;
    Recover(name, {kQpsk});
  }
  for (const char* name : {"x.wav", "x.sigmf", "x.ci8", "x.iq"}) {
    EXPECT_THAT(Refused({"carrier-signal", kQpsk, "-o", Path(name)}, 1), HasSubstr(name));
    EXPECT_THAT(Refused({"recover", Path("q.cs16"), kQpsk, "-o", Path(name)}, 1), HasSubstr(name));
  }
  EXPECT_THAT(Refused({"carrier-signal", kQpsk, "--format=cs16", "-o", Path("x.cf32")}, 1),
              HasSubstr("--format ci16 contradicts"));
}

TEST_F(BasebandctlRecoverTest, RefusalsSayWhatWouldDo) {
  MakeSignal("in.cf32", {kQpsk, "--frame-symbols=1000", "--snr=12"});
  const std::string in = Path("in.cf32");
  EXPECT_THAT(Refused({"recover", in, "--constellation=16APSK"}, 1),
              HasSubstr("did you mean 16APSK "));
  EXPECT_THAT(Refused({"recover", in, "--constellation=QPKS"}, 1), HasSubstr("QPSK"));
  EXPECT_THAT(Refused({"recover", in}, 1), HasSubstr("--constellation, --points"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--frame-symbols=300"}, 1),
              HasSubstr("not a multiple of the 300 of a frame; --drop leaves the last 100 out"));
  EXPECT_EQ(Run({"recover", in, kQpsk, "--frame-symbols=300", "--drop"}).exit_code, 0);
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--frame-symbols=2000"}, 1),
              HasSubstr("fewer than the 2000 of a frame"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--step=1e-6"}, 1), HasSubstr("--fine=sweep"));
  WriteAll(Path("long.cf32"), std::string(8 * ((1 << 20) + 1), '\0'));
  EXPECT_THAT(
      Refused({"recover", Path("long.cf32"), kQpsk}, 1),
      HasSubstr("more than the 1048576 of one frame: cut it into frames by --frame-symbols"));
  // The server's own refusals.
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--max-frequency=0.2"}, 1),
              AllOf(HasSubstr("max_frequency (--max-frequency)"), HasSubstr("0.125")));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--fine=sweep", "--range=1e-6", "--step=1e-5"}, 1),
              HasSubstr("step"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--frame-symbols=10"}, 1),
              HasSubstr("--frame-symbols 10 is not in [16, 1Mi]"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--fine=pll", "--bandwidth=0.5"}, 1),
              HasSubstr("--bandwidth 0.5 is not in (0, 0.5)"));
  EXPECT_THAT(Refused({"recover", in, kQpsk, "--symbol-rate=2e15"}, 1),
              HasSubstr("--symbol-rate 2e15 is not in (0, "));
  EXPECT_THAT(Refused({"carrier-signal", "-o", in, "--constellation=512PSK"}, 1),
              HasSubstr("the server knows no constellation '512PSK'"));
}

TEST_F(BasebandctlRecoverTest, InfoListsConstellationsAndLimits) {
  EXPECT_THAT(Run({"info"}).output,
              AllOf(HasSubstr("BPSK QPSK 8PSK"), HasSubstr("64APSK 128/180 132/180"),
                    HasSubstr("16 to 1048576 symbols")));
}

TEST_F(BasebandctlRecoverTest, ABenchGivesTheSameTableWhateverTheTiming) {
  std::vector<std::string> tables;
  for (const char* in_flight : {"1", "7"}) {
    const Outcome outcome = Run({"carrier-bench", "figure13", "--frames=3", "--snr=10,20",
                                 absl::StrCat("--in-flight=", in_flight), "--csv=" + Path("f.csv"),
                                 "--plot=" + Path("f.svg")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    tables.push_back(ReadAll(Path("f.csv")));
  }
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_EQ(XmlError(ReadAll(Path("f.svg"))), "");
  // nmse_times_snr of the default method at 20 dB: the noise alone, whose own spread over 97200
  // symbols is 0.3 %.
  for (const absl::string_view row : absl::StrSplit(tables[0], '\n')) {
    if (absl::StartsWith(row, "remodulate,20,")) {
      const std::vector<std::string> cells = absl::StrSplit(row, ',');
      EXPECT_NEAR(std::stod(cells[4]), 1, 0.015);
    }
  }
}

TEST_F(BasebandctlRecoverTest, EveryExperimentRuns) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"accuracy", "--frames=4", kQpsk, "--snr=2,6"},
                                             {"thresholds", "--frames=4", kQpsk},
                                             {"pilots", "--frames=4", kNeedsPilots}}) {
    std::vector<std::string> all = {"carrier-bench", "--csv=" + Path("e.csv"),
                                    "--plot=" + Path("e.svg")};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Outcome outcome = Run(all);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(ReadAll(Path("e.csv")), AllOf(StartsWith("constellation,"), HasSubstr("PSK")))
        << arguments[0];
    EXPECT_EQ(XmlError(ReadAll(Path("e.svg"))), "") << arguments[0];
  }
  EXPECT_THAT(Refused({"carrier-bench", "everything"}, 1), HasSubstr("figure13, accuracy"));
}

}  // namespace
}  // namespace baseband::testing
