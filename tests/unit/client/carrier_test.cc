// The parts of recover, carrier-signal and carrier-bench that need no server.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/ctl/carrier/carrier_flags.h"
#include "client/ctl/carrier/carrier_report.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/common/table.h"
#include "client/ctl/studies/carrier_bench.h"
#include "client/ctl/studies/carrier_bounds.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

constexpr double kPi = 3.141592653589793;

std::vector<Complex> Psk(int order) {
  std::vector<Complex> points;
  for (int k = 0; k < order; ++k) {
    points.push_back(std::polar(1.0F, static_cast<float>(2 * kPi * (k + 0.5) / order)));
  }
  return points;
}

CarrierFlags Qpsk() {
  CarrierFlags flags;
  flags.constellation = "QPSK";
  return flags;
}

TEST(CarrierFlagsTest, NamesBecomeEnums) {
  CarrierFlags flags = Qpsk();
  flags.coarse = "power";
  flags.amplitude = "unit";
  flags.fine = "sweep";
  flags.step = 1e-6;
  flags.reference = "centre";
  flags.expected_snr_db = 0;
  const auto group = ToCarrierGroup(flags);
  ASSERT_THAT(group, IsOk());
  EXPECT_EQ(group->coarse(), v1::COARSE_METHOD_POWER);
  EXPECT_EQ(group->amplitude(), v1::AMPLITUDE_WEIGHT_UNIT);
  EXPECT_EQ(group->fine(), v1::FINE_METHOD_SWEEP);
  EXPECT_EQ(group->sweep().step(), 1e-6);
  EXPECT_EQ(group->reference(), v1::PHASE_REFERENCE_CENTRE);
  EXPECT_TRUE(group->has_expected_snr_db());
  EXPECT_FALSE(ToCarrierGroup(Qpsk())->has_expected_snr_db());
}

TEST(CarrierFlagsTest, AFlagOfAnotherMethodIsRefusedWithTheMethodItNeeds) {
  CarrierFlags flags = Qpsk();
  flags.step = 1e-6;
  EXPECT_THAT(ToCarrierGroup(flags), IsInvalid("--step needs --fine=sweep"));
  flags = Qpsk();
  flags.fine = "sweep";
  flags.bandwidth = 0.01;
  EXPECT_THAT(ToCarrierGroup(flags), IsInvalid("--bandwidth needs --fine=pll"));
  flags = Qpsk();
  flags.coarse = "known";
  flags.power = 8;
  EXPECT_THAT(ToCarrierGroup(flags), IsInvalid("--power needs --coarse=power"));
}

// Of every value that `enumeration` has, UNSPECIFIED apart: `FINE_METHOD_SWEEP` is sweep.
void ExpectNamesOfTheContract(const google::protobuf::EnumDescriptor* enumeration,
                              std::string CarrierFlags::*flag,
                              const std::function<int(const v1::CarrierGroup&)>& value) {
  const std::string prefix(absl::StripSuffix(enumeration->value(0)->name(), "UNSPECIFIED"));
  for (int i = 1; i < enumeration->value_count(); ++i) {
    std::string name = absl::AsciiStrToLower(enumeration->value(i)->name());
    name = name.substr(prefix.size());
    for (const std::string& spelt : {name, absl::StrReplaceAll(name, {{"_", "-"}})}) {
      CarrierFlags flags = Qpsk();
      flags.*flag = spelt;
      const auto group = ToCarrierGroup(flags);
      ASSERT_TRUE(group.ok()) << group.status();
      EXPECT_EQ(value(*group), enumeration->value(i)->number()) << spelt;
    }
  }
}

TEST(CarrierFlagsTest, EveryStageIsCalledWhatTheContractCallsIt) {
  ExpectNamesOfTheContract(v1::CoarseMethod_descriptor(), &CarrierFlags::coarse,
                           [](const v1::CarrierGroup& group) { return group.coarse(); });
  ExpectNamesOfTheContract(v1::AmplitudeWeight_descriptor(), &CarrierFlags::amplitude,
                           [](const v1::CarrierGroup& group) { return group.amplitude(); });
  ExpectNamesOfTheContract(v1::FineMethod_descriptor(), &CarrierFlags::fine,
                           [](const v1::CarrierGroup& group) { return group.fine(); });
  ExpectNamesOfTheContract(v1::PhaseReference_descriptor(), &CarrierFlags::reference,
                           [](const v1::CarrierGroup& group) { return group.reference(); });
}

TEST(CarrierFlagsTest, UnknownNamesAreRefusedWithTheKnownOnes) {
  CarrierFlags flags = Qpsk();
  flags.fine = "magic";
  EXPECT_THAT(ToCarrierGroup(flags), IsInvalid("'magic' is not one of remodulate, interpolate"));
  EXPECT_THAT(ToCarrierGroup(CarrierFlags()), IsInvalid("no constellation is given"));
  flags = Qpsk();
  flags.points_file = "x";
  EXPECT_THAT(ToCarrierGroup(flags), IsInvalid("two constellations are given"));
}

TEST(CarrierFlagsTest, PointsAreTwoColumns) {
  EXPECT_THAT(ParsePoints("1 0\n0,1\n").value(), ElementsAre(Complex(1, 0), Complex(0, 1)));
  EXPECT_THAT(ParsePoints("0 1 0\n"), IsInvalid("three columns"));
}

TEST(ConstellationsTest, NamesThatBeginAlikeComeFirstElseThoseThatLookAlike) {
  const std::vector<std::string> names = {"QPSK", "16QAM", "16APSK 2/3", "16APSK 3/4",
                                          "64APSK 4/5"};
  EXPECT_THAT(NamesLike("16apsk", names, 5), ElementsAre("16APSK 2/3", "16APSK 3/4"));
  EXPECT_THAT(NamesLike("64-APSK 4/5", names, 5), ElementsAre("64APSK 4/5"));
  EXPECT_EQ(NamesLike("64APSK 3/5", names, 2).front(), "64APSK 4/5");
  EXPECT_EQ(NamesLike("qspk", names, 2).front(), "QPSK");
  EXPECT_THAT(NamesLike("elephants", names, 5), IsEmpty());
}

TEST(ConstellationsTest, CodeRatesOfOneKindShareALine) {
  EXPECT_THAT(GroupNames({"QPSK", "16QAM", "16APSK 2/3", "16APSK 3/4 short", "32APSK 3/4"}),
              ElementsAre("QPSK", "16QAM", "16APSK 2/3 3/4 short", "32APSK 3/4"));
}

TEST(CarrierSignalTest, TheNoiseHasTheVarianceOfItsSnrAndTheCarrierIsAsAskedFor) {
  const std::vector<Complex> points = Psk(4);
  SignalSpec spec;
  spec.points = points;
  spec.num_symbols = 200000;
  spec.snr_db = 7;
  spec.frequency = 0.123;
  spec.phase = 0.4;
  Random random(5);
  std::vector<Complex> sent;
  std::vector<Complex> received;
  AppendFrame(spec, {}, {}, &random, &sent, &received);
  double noise = 0;
  std::complex<double> line = 0;
  for (int n = 0; n < spec.num_symbols; ++n) {
    const std::complex<double> derotated =
        std::complex<double>(received[n]) * std::polar(1.0, -2 * kPi * 0.123 * n - 0.4);
    noise += std::norm(derotated - std::complex<double>(sent[n]));
    line += derotated * std::conj(std::complex<double>(sent[n]));
  }
  // Five deviations: of a mean of N exponential variables, and of a phase at this SNR.
  EXPECT_NEAR(noise / spec.num_symbols * std::pow(10, 0.7), 1, 5 / std::sqrt(200000.0));
  EXPECT_NEAR(std::arg(line), 0, 5 * PhaseBound(KnownInformation(std::pow(10, 0.7)), 200000));
}

TEST(CarrierSignalTest, KnownSymbolsStandWhereTheyBelong) {
  const std::vector<Complex> points = Psk(8);
  SignalSpec spec;
  spec.points = points;
  spec.num_symbols = 10;
  spec.snr_db = 200;
  Random random(1);
  std::vector<Complex> received;
  AppendFrame(spec, {2, 7}, {{5, 0}, {0, 6}}, &random, nullptr, &received);
  EXPECT_NEAR(std::abs(received[2] - Complex(5, 0)), 0, 1e-6);
  EXPECT_NEAR(std::abs(received[7] - Complex(0, 6)), 0, 1e-6);
  EXPECT_NEAR(std::abs(received[3]), 1, 1e-6);
}

TEST(CarrierSignalTest, PhasesWrapIntoTheirRange) {
  EXPECT_NEAR(WrapPhase(3 * kPi / 2), -kPi / 2, 1e-12);
  EXPECT_NEAR(WrapPhase(kPi / 2 + 0.1, 4), 0.1, 1e-12);
  EXPECT_NEAR(WrapPhase(-kPi / 4, 4), -kPi / 4, 1e-12);
  EXPECT_NEAR(WrapPhase(kPi / 4, 4), -kPi / 4, 1e-12);
}

// J = 2 SNR E[tanh^2]-like losses; by simulation of the score itself.
TEST(CarrierBoundsTest, BlindInformationIsTheMeanSquareOfTheScore) {
  for (const int order : {2, 4, 8}) {
    const std::vector<Complex> points = Psk(order);
    const double snr = order;
    const double s2 = 1 / snr;
    Random random(7);
    std::vector<Complex> received;
    SignalSpec spec;
    spec.points = points;
    spec.num_symbols = 200000;
    spec.snr_db = 10 * std::log10(snr);
    AppendFrame(spec, {}, {}, &random, nullptr, &received);
    double sum = 0;
    double sum2 = 0;
    for (const Complex& z : received) {
      double density = 0;
      std::complex<double> soft = 0;
      for (const Complex& s : points) {
        const double weight = std::exp(-std::norm(z - s) / s2);
        density += weight;
        soft += weight * std::complex<double>(s);
      }
      const double score = 2 / s2 * (std::complex<double>(z) * std::conj(soft / density)).imag();
      sum += score * score;
      sum2 += std::pow(score, 4);
    }
    const double n = spec.num_symbols;
    const double mean = sum / n;
    EXPECT_NEAR(BlindInformation(points, snr), mean, 5 * std::sqrt((sum2 / n - mean * mean) / n))
        << order;
  }
}

TEST(CarrierBoundsTest, WithoutNoiseBlindIsAsGoodAsKnown) {
  EXPECT_NEAR(BlindInformation(Psk(4), 1000) / KnownInformation(1000), 1, 1e-6);
  EXPECT_LT(BlindInformation(Psk(8), 2), 0.1 * KnownInformation(2));
}

TEST(CarrierBoundsTest, PilotsThatFillTheFrameAreAllSymbols) {
  std::vector<uint32_t> positions;
  for (uint32_t n = 0; n < 1000; ++n) {
    positions.push_back(n);
  }
  EXPECT_NEAR(FrequencyBound(10, positions) / FrequencyBound(10, 1000), 1, 1e-9);
  // 6 / ((2 pi)^2 SNR N (N^2 - 1)) for N = 32400 at 10 dB.
  EXPECT_NEAR(FrequencyBound(KnownInformation(10), 32400), 2.114e-8, 2e-11);
}

TEST(CarrierBenchTest, FramesDependOnTheirSeedAloneAndLieOffTheGrid) {
  NamedPoints qpsk;
  qpsk.name = "QPSK";
  qpsk.points = Psk(4);
  FramesSpec spec;
  spec.constellation = &qpsk;
  spec.num_symbols = 100;
  spec.count = 7;
  spec.snr_db = 3;
  spec.frequency = 0.02;
  spec.frequency_range = 0.005;
  const Frames a = MakeFrames(spec);
  const Frames b = MakeFrames(spec);
  EXPECT_EQ(a.received, b.received);
  EXPECT_EQ(a.received.size(), 7 * 100 * 8);
  for (const double frequency : a.frequency) {
    EXPECT_NEAR(frequency, 0.02, 0.005);
  }
  spec.seed = 2;
  EXPECT_NE(MakeFrames(spec).received, a.received);
}

TEST(CarrierBenchTest, AccuracyCountsWhatIsLockedAndWrong) {
  Frames frames;
  frames.num_symbols = 101;
  frames.frequency = {0.01, 0.02, 0.03};
  frames.phase = {0, 0.5, 1};
  std::vector<v1::CarrierResult> results(3);
  for (int i = 0; i < 3; ++i) {
    results[i].set_frequency(frames.frequency[i]);
    results[i].set_ambiguity(4);
    results[i].set_phase(WrapPhase(frames.CentrePhase(i) + 0.01 + kPi / 2, 4));
    results[i].set_lock(v1::CARRIER_LOCK_LOCKED);
  }
  results[1].set_frequency(0.0203);
  results[2].set_lock(v1::CARRIER_LOCK_BAD_FIT);  // says itself that it is not to be trusted
  results[2].set_frequency(0.03005);
  const Accuracy accuracy = Compare(frames, results, 1e-4);
  EXPECT_EQ(accuracy.locked, 2);
  EXPECT_EQ(accuracy.right, 2);
  EXPECT_EQ(accuracy.locked_wrong, 1);
  EXPECT_NEAR(accuracy.phase_rms, 0.01, 1e-9);
  EXPECT_EQ(accuracy.frequency_rms, 0);
}

TEST(PulseSignalTest, RatesAreFractionsInLowestTerms) {
  for (const char* text : {"5/2", "2.5", "2.500", "10/4"}) {
    const auto rate = ParseSamplesPerSymbol(text);
    ASSERT_THAT(rate, IsOk()) << text;
    EXPECT_EQ(ToText(*rate), "5/2");
  }
  EXPECT_EQ(ToText(ParseSamplesPerSymbol("16").value()), "16");
  EXPECT_THAT(ParseSamplesPerSymbol("1.99"), IsInvalid("1.99 is not in [2, 16]"));
  EXPECT_THAT(ParseSamplesPerSymbol("4.00001"), IsInvalid("whose numerator is not in [2, 4096]"));
  for (const char* text : {"", "x", "5/", "5/0", "-5/2", "2.5/1", "2.", "0x4", "2.5.1"}) {
    EXPECT_THAT(ParseSamplesPerSymbol(text), IsInvalid("is no number of samples")) << text;
  }
}

TEST(PulseSignalTest, SamplesAndSymbolsFollowFromEachOther) {
  // A symbol's centre may lie up to one symbol behind the first sample.
  EXPECT_EQ(SymbolsOf({2, 1}, 0, 33), 16);
  EXPECT_EQ(SymbolsOf({2, 1}, 0, 32), 15);
  EXPECT_EQ(SamplesFor({2, 1}, 0, 16), 33);
  // As the server rounds: 300003 / (5 * 1.00001) is 60000.
  EXPECT_EQ(SymbolsOf({5, 2}, 1e-5, 150005), 60001);
  for (const SamplesPerSymbol& rate : {SamplesPerSymbol{2, 1}, {5, 2}, {16, 1}, {4095, 2047}}) {
    for (const int64_t symbols : {16, 17, 1000, 1 << 20}) {
      const int64_t samples = SamplesFor(rate, 1e-4, symbols);
      EXPECT_EQ(SymbolsOf(rate, 1e-4, samples), symbols);
      EXPECT_EQ(SymbolsOf(rate, 1e-4, samples - 1), symbols - 1);
    }
  }
}

TEST(PulseSignalTest, APulseByItsTapsIsThePulse) {
  SignalSpec spec;
  const std::vector<Complex> points = Psk(4);
  spec.points = points;
  spec.num_symbols = 500;
  spec.snr_db = 100.0;
  PulseSpec pulses = {{5, 2}, /*roll_off=*/0.3, /*offset=*/0.35, /*clock_error=*/2e-4};
  const auto samples_of = [&] {
    Random random(3);
    std::vector<Complex> received;
    AppendSamples(spec, pulses, PulseTable(pulses), {}, {}, &random, nullptr, &received);
    return received;
  };
  const std::vector<Complex> expected = samples_of();
  pulses.taps_per_symbol = 3;
  // Of any scale; as far as makes both pulses as long, so that the same symbols are drawn.
  for (int n = -96; n <= 96; ++n) {
    pulses.taps.push_back(static_cast<float>(7 * RootRaisedCosine(n / 3.0, 0.3)));
  }
  const std::vector<Complex> samples = samples_of();
  ASSERT_EQ(samples.size(), expected.size());
  double error = 0;
  for (size_t m = 0; m < samples.size(); ++m) {
    error += std::norm(samples[m] - expected[m]) / static_cast<double>(samples.size());
  }
  // Either pulse is cut off somewhere, at 60 dB.
  EXPECT_LT(error, 1e-5);
}

// The matched filter by its definition, at the instants that were asked for.
TEST(PulseSignalTest, AMatchedFilterFindsTheSymbolsAndTheNoise) {
  const std::vector<Complex> points = Psk(4);
  SignalSpec spec;
  spec.points = points;
  spec.num_symbols = 1200;
  spec.frequency = 0.003;
  spec.phase = 0.7;
  PulseSpec pulses = {{5, 2}, /*roll_off=*/0.3, /*offset=*/0.35, /*clock_error=*/2e-4};
  for (const double snr_db : {8.0, 100.0}) {
    spec.snr_db = snr_db;
    Random random(3);
    std::vector<Complex> sent;
    std::vector<Complex> received;
    AppendSamples(spec, pulses, PulseTable(pulses), {}, {}, &random, &sent, &received);
    ASSERT_EQ(sent.size(), 1200);
    ASSERT_EQ(received.size(), SamplesFor({5, 2}, kDefaultMaxClockError, 1200));
    double error = 0;
    constexpr int kEdge = 60;  // symbols whose pulse is not all there
    for (int k = kEdge; k < 1200 - kEdge; ++k) {
      const double centre = 0.35 + k * (1 + 2e-4);
      std::complex<double> sum = 0;
      for (size_t m = 0; m < received.size(); ++m) {
        const double t = static_cast<double>(m) / 2.5;
        // At the carrier's frequency.
        sum += std::complex<double>(received[m]) * RootRaisedCosine(t - centre, 0.3) / 2.5 *
               std::polar(1.0, -0.7 - 2 * kPi * 0.003 * (t - 0.35) / (1 + 2e-4));
      }
      error += std::norm(sum - std::complex<double>(sent[k])) / (1200 - 2 * kEdge);
    }
    // Five deviations of a mean of squares; the pulse is cut off at 60 dB, and its table has steps.
    EXPECT_NEAR(error, std::pow(10, -snr_db / 10),
                5 / std::sqrt(1080.0) * std::pow(10, -snr_db / 10) + 3e-6);
  }
}

TEST(CarrierReportTest, AFrameWithoutTimingIsNotLocked) {
  Recovered recovered;
  recovered.frames.resize(2);
  recovered.timings.resize(2);
  for (v1::CarrierResult& result : recovered.frames) result.set_lock(v1::CARRIER_LOCK_LOCKED);
  recovered.timings[0].set_lock(v1::TIMING_LOCK_LOCKED);
  recovered.timings[0].set_offset(0.25);
  recovered.timings[0].set_refined(true);
  recovered.timings[0].set_spectrum_centre(0.125);
  recovered.timings[1].set_lock(v1::TIMING_LOCK_NO_LINE);
  CarrierReport report;
  report.recovered = &recovered;
  EXPECT_EQ(report.locked(), 1);
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["frames"][0]["timing"]["offset"], 0.25);
  EXPECT_EQ(json["frames"][0]["locked"], true);
  EXPECT_EQ(json["frames"][1]["locked"], false);
  EXPECT_EQ(json["frames"][1]["timing"]["lock"], "no_line");
  const std::string csv = ToCsv(report);
  EXPECT_THAT(csv, HasSubstr(",locked,0.25,0,0,0,0,true,0,0.125\n"));
  for (const auto& item : json["frames"][0]["timing"].items()) {
    EXPECT_THAT(csv, HasSubstr((item.key() == "lock" ? ",timing_" : ",") + item.key())) << csv;
  }
  for (const auto lock :
       {v1::TIMING_LOCK_NO_SIGNAL, v1::TIMING_LOCK_NO_LINE, v1::TIMING_LOCK_TOO_SHORT}) {
    EXPECT_LE(ShortReason(lock).size(), kShortReason);
    EXPECT_NE(ShortReason(lock), "no");
    EXPECT_GT(LongReason(lock).size(), 20);
  }
}

TEST(CarrierReportTest, EveryReasonHasPlainWords) {
  v1::CarrierResult result;
  for (const auto lock : {v1::CARRIER_LOCK_NO_SIGNAL, v1::CARRIER_LOCK_NO_PEAK,
                          v1::CARRIER_LOCK_AMBIGUOUS, v1::CARRIER_LOCK_BAD_FIT}) {
    result.set_lock(lock);
    EXPECT_LE(ShortReason(lock).size(), kShortReason);
    EXPECT_NE(ShortReason(lock), "no");
    EXPECT_GT(LongReason(result).size(), 20);
  }
}

constexpr const char* kUnits[] = {"_cycles_per_symbol", "_hz",   "_rad",    "_db",
                                  "_fraction",          "_nats", "_symbols"};

TEST(CarrierReportTest, CsvAndJsonHaveARowAFrame) {
  Recovered recovered;
  recovered.frames.resize(2);
  recovered.frames[0].set_lock(v1::CARRIER_LOCK_LOCKED);
  recovered.frames[0].set_frequency(0.0123456789012);
  recovered.frames[1].set_lock(v1::CARRIER_LOCK_NO_PEAK);
  CarrierReport report;
  report.recovered = &recovered;
  EXPECT_EQ(report.locked(), 1);
  const std::string csv = ToCsv(report);
  EXPECT_THAT(csv, HasSubstr("\n0,locked,0.0123456789012,"));
  EXPECT_THAT(csv, HasSubstr("\n1,no_peak,"));
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["frames"].size(), 2);
  EXPECT_EQ(json["frames"][1]["lock"], "no_peak");
  EXPECT_EQ(json["frames_locked"], 1);
}

// A header without them leaves a reader to guess at degrees and per cent.
TEST(CarrierReportTest, TheHeaderOfTheCsvHasTheUnits) {
  Recovered recovered;
  recovered.frames.resize(1);
  recovered.timings.resize(1);
  CarrierReport report;
  report.recovered = &recovered;
  const std::string csv = ToCsv(report);
  const std::vector<absl::string_view> columns =
      absl::StrSplit(absl::string_view(csv).substr(0, csv.find('\n')), ',');
  const std::set<absl::string_view> without = {"frame",       "lock",    "ambiguity",
                                               "resolution",  "gain",    "peak_ratio",
                                               "timing_lock", "refined", "line"};
  for (const absl::string_view column : columns) {
    EXPECT_TRUE(without.count(column) > 0 ||
                std::any_of(std::begin(kUnits), std::end(kUnits),
                            [&](const char* unit) { return absl::EndsWith(column, unit); }))
        << column;
  }
  const std::string row = csv.substr(csv.find('\n') + 1);
  EXPECT_EQ(std::count(row.begin(), row.end(), ','), static_cast<int64_t>(columns.size()) - 1);
}

TEST(TableTest, WordsAreQuotedWhereTheyMustBeAndWhatIsNoNumberIsEmpty) {
  Table table;
  table.Add({{"name", std::string("16APSK 3/4")}, {"value", 0.25}});
  table.Add({{"name", std::string("a\"b")}, {"value", std::nan("")}});
  EXPECT_EQ(table.ToCsv(), "name,value\n\"16APSK 3/4\",0.25\n\"a\"\"b\",\n");
  EXPECT_EQ(table.ToJson()[0]["value"], 0.25);
}

}  // namespace
}  // namespace baseband::ctl
