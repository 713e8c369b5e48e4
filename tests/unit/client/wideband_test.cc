// What basebandctl does with wideband recordings without a server: numbers, formats, SigMF, files,
// spectra, the test signal.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/frequency.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/common/wideband_file.h"
#include "client/ctl/common/wideband_format.h"
#include "client/ctl/downconvert/downconvert_plot.h"
#include "client/ctl/downconvert/spectrum.h"
#include "client/ctl/downconvert/wideband_signal.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::PathOfTest;
using ::baseband::testing::WriteAll;
using ::testing::_;

constexpr double kTwoPi = 6.283185307179586;

TEST(FrequencyTest, FrequenciesAreHertzOrFractions) {
  EXPECT_EQ(ParseFrequency("9.1M")->hz(), 9.1e6);
  EXPECT_EQ(ParseFrequency("-9123457/64000000")->fraction().num(), -9123457);
  EXPECT_EQ(ParseFrequency("1/9223372036854775808")->fraction().den(), uint64_t{1} << 63);
  for (const char* text : {"1/0", "1/2/3", "1M/64M", "/", "1/-2"}) {
    EXPECT_THAT(ParseFrequency(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fraction")));
  }
}

TEST(FrequencyTest, HertzHaveTheUnitThatSuitsThem) {
  EXPECT_EQ(Hertz(9123457), "9.123457 MHz");
  EXPECT_EQ(Hertz(-20e6), "-20 MHz");
  EXPECT_EQ(Hertz(0), "0 Hz");
  EXPECT_EQ(Hertz(1024e6), "1.024 GHz");
  EXPECT_EQ(Hertz(1000), "1 kHz");
  EXPECT_EQ(Hertz(0.25), "0.25 Hz");
}

TEST(WidebandFormatTest, SamplesSurviveTheWayThereAndBack) {
  const std::vector<Complex> samples = {{0.5F, -0.25F}, {-1, 0}, {0.984375F, 0.125F}};
  for (const WidebandFormat& format : WidebandFormats()) {
    const std::string bytes = WidebandFromComplex(samples, format);
    ASSERT_EQ(bytes.size(), 3U * static_cast<size_t>(format.bytes)) << format.name;
    const FileSamples in_file = SamplesOf(format);
    EXPECT_EQ(in_file.name(), format.name);
    EXPECT_EQ(in_file.bytes(), format.bytes);
    const std::vector<Complex> back =
        WidebandToComplex(ToWire(bytes, in_file), WireFormatOf(in_file));
    // None of these lies on a step of bytes whose zero is between two of them.
    const float half_a_step = in_file.encoding == Encoding::kUnsigned8 ? 0.5F / 128 : 0;
    ASSERT_EQ(back.size(), samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      EXPECT_NEAR(back[i].real(), samples[i].real(), half_a_step) << format.name;
      EXPECT_NEAR(back[i].imag(), format.is_complex ? samples[i].imag() : 0, half_a_step)
          << format.name;
    }
  }
}

TEST(WidebandFormatTest, IntegersSaturate) {
  const WidebandFormat& ci8 = **FindWidebandFormat("ci8");
  EXPECT_EQ(WidebandFromComplex({{{2, -2}}}, ci8), std::string("\x7f\x80"));
}

TEST(WidebandFormatTest, NamesAndEndingsAreKnown) {
  EXPECT_STREQ(FormatOfFileName("a/b.CS16")->name, "ci16");
  EXPECT_STREQ(FormatOfFileName("gnuradio.cfile")->name, "cf32");
  EXPECT_STREQ(FormatOfFileName("mono.i16")->name, "i16");
  EXPECT_EQ(FormatOfFileName("capture.bin"), nullptr);
  EXPECT_STREQ((*FormatOfSigmf("ri16_le"))->name, "i16");
  EXPECT_THAT(FormatOfSigmf("ci16_be"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("ci16_le")));
  EXPECT_THAT(FindWidebandFormat("c16"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--format 'c16'")));
}

TEST(SigmfTest, WhatIsWrittenIsReadBack) {
  SigmfMeta meta;
  meta.datatype = "cf32_le";
  meta.sample_rate_hz = 8e6;
  meta.captures.resize(2);
  meta.captures[1].sample_start = 100;
  meta.captures[1].global_index = (int64_t{1} << 61) + 1;
  meta.captures[1].frequency_hz = -1.5e6;
  const auto read = ParseSigmf(ToSigmfText(meta));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->datatype, "cf32_le");
  EXPECT_EQ(read->sample_rate_hz, 8e6);
  ASSERT_EQ(read->captures.size(), 2U);
  EXPECT_FALSE(read->captures[0].global_index.has_value());
  EXPECT_EQ(*read->captures[1].global_index, (int64_t{1} << 61) + 1);
  EXPECT_EQ(*read->captures[1].frequency_hz, -1.5e6);
}

TEST(SigmfTest, WhatIsNoneIsRefused) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"", "is empty"},
      {"{", "is not JSON: line 1, column 2: "},
      {"[]", "is not SigMF"},
      {R"({"global": {}})", "says no core:datatype"},
      {R"({"global": {"core:datatype": "ci8", "core:num_channels": 2}})", "num_channels 2"},
      {R"({"global": {"core:datatype": "ci8", "core:sample_rate": "6.24M"}})",
       R"(core:sample_rate "6.24M" is not a number)"},
      {R"({"global": {"core:datatype": "ci8", "core:sample_rate": 0}})",
       "core:sample_rate 0 is not > 0"},
      {R"({"global": {"core:datatype": "ci8", "core:num_channels": "1"}})",
       R"(core:num_channels "1" is not a number)"},
      {R"({"global": {"core:datatype": "ci8"}, "captures": [{"core:frequency": "868M"}]})",
       R"(core:frequency "868M" is not a number)"},
      {R"({"global": {"core:datatype": "ci8"}, "captures": [{"core:sample_start": -1}]})",
       "core:sample_start -1"},
      {R"({"global": {"core:datatype": "ci8"},
           "captures": [{"core:sample_start": 5}, {"core:sample_start": 4}]})",
       "not in the order"}};
  for (const auto& [text, why] : kWrong) {
    EXPECT_THAT(ParseSigmf(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  }
}

TEST(WidebandFileTest, APieceIsWhatWasAskedForUntilTheEnd) {
  WriteAll(PathOfTest("a.ci8"), std::string("abcdefghij"));
  auto file = WidebandFile::Open(PathOfTest("a.ci8"), "");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->num_samples(), 5);
  EXPECT_EQ(file->end(), 5);
  auto piece = file->Read(3);
  ASSERT_THAT(piece, IsOk());
  EXPECT_EQ(piece->bytes, "abcdef");
  piece = file->Read(3);
  EXPECT_EQ(piece->index, 3);
  EXPECT_EQ(piece->bytes, "ghij");
  EXPECT_EQ(file->Read(3)->bytes, "");
}

TEST(WidebandFileTest, CapturesOfSigmfAreGaps) {
  WriteAll(PathOfTest("a.sigmf-data"), std::string("aabbccddee"));
  WriteAll(PathOfTest("a.sigmf-meta"),
           R"({"global": {"core:datatype": "ci8", "core:sample_rate": 1e6}, "captures": [
               {"core:sample_start": 0, "core:global_index": 1000, "core:frequency": 5e6},
               {"core:sample_start": 2, "core:global_index": 1002},
               {"core:sample_start": 3, "core:global_index": 2000}]})");
  auto file = WidebandFile::Open(PathOfTest("a.sigmf-meta"), "");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->sample_rate_hz(), 1e6);
  EXPECT_EQ(file->centre_hz(), 5e6);
  EXPECT_EQ(file->end(), 2002);
  auto piece = file->Read(100);
  EXPECT_EQ(piece->index, 1000);
  EXPECT_EQ(piece->bytes, "aabbcc");
  piece = file->Read(100);
  EXPECT_EQ(piece->index, 2000);
  EXPECT_EQ(piece->bytes, "ddee");
  EXPECT_EQ(file->Read(100)->bytes, "");
}

TEST(WidebandFileTest, WhatCannotBeReadIsRefusedByName) {
  EXPECT_THAT(WidebandFile::Open(PathOfTest("missing.ci16"), ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.ci16")));
  WriteAll(PathOfTest("a.bin"), "abc");
  EXPECT_THAT(WidebandFile::Open(PathOfTest("a.bin"), ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("or say it by --format")));
  EXPECT_THAT(WidebandFile::Open(PathOfTest("a.bin"), "ci16"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("has 3 bytes, not a multiple of the 4")));
  WriteAll(PathOfTest("empty.ci8"), "");
  EXPECT_THAT(WidebandFile::Open(PathOfTest("empty.ci8"), ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is empty")));
  EXPECT_THAT(WidebandFile::Open(::testing::TempDir(), "ci8"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("folder")));
}

// As many steps above as below.
TEST(WidebandFileTest, UnsignedBytesAreAsFarAboveZeroAsBelow) {
  WriteAll(PathOfTest("a.cu8"), std::string("\x80\xff\x00\x7f", 4));
  auto file = WidebandFile::Open(PathOfTest("a.cu8"), "");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->samples().name(), "cu8");
  EXPECT_EQ(file->num_samples(), 2);
  EXPECT_THAT(WidebandToComplex(file->Read(2)->bytes, file->wire_format()),
              ElementsAre(Complex(0.5F / 128, 127.5F / 128), Complex(-127.5F / 128, -0.5F / 128)));
}

TEST(WidebandFileTest, TheZeroOfUnsignedBytesMayBeSaid) {
  WriteAll(PathOfTest("a.cu8"), std::string("\x80\xff\x00\x7f", 4));
  auto file = WidebandFile::Open(PathOfTest("a.cu8"), "", 128);
  EXPECT_STREQ(file->wire_format().name, "ci8");  // which holds them, in half the bytes
  EXPECT_EQ(file->Read(2)->bytes, std::string("\x00\x7f\x80\xff", 4));
  file = WidebandFile::Open(PathOfTest("a.cu8"), "", 127.25);
  EXPECT_THAT(WidebandToComplex(file->Read(1)->bytes, file->wire_format()),
              ElementsAre(Complex(0.75F / 128, 127.75F / 128)));
}

TEST(WidebandFileTest, TheCentreIsThatOfAllPartsOrOfNone) {
  WriteAll(PathOfTest("a.sigmf-data"), std::string("aabb"));
  const auto open = [](const char* second) {
    WriteAll(PathOfTest("a.sigmf-meta"),
             absl::StrCat(R"({"global": {"core:datatype": "ci8"}, "captures": [
                              {"core:sample_start": 0, "core:frequency": 5e6},
                              {"core:sample_start": 1)",
                          second, "}]}"));
    return WidebandFile::Open(PathOfTest("a.sigmf-meta"), "");
  };
  EXPECT_EQ(open("")->centre_hz(), 5e6);
  EXPECT_EQ(open(R"(, "core:frequency": 5e6)")->centre_hz(), 5e6);
  const auto several = open(R"(, "core:frequency": 6e6)");
  EXPECT_EQ(several->centre_hz(), absl::nullopt);
  EXPECT_TRUE(several->has_several_centres());
}

TEST(SpectrumTest, AToneShowsItsPowerAtItsFrequencyAndNothingElsewhere) {
  std::vector<Complex> tone;
  for (int n = 0; n < 4096; ++n) {
    const double angle = kTwoPi * 37 / 256 * n;
    tone.emplace_back(static_cast<float>(0.1 * std::cos(angle)),
                      static_cast<float>(0.1 * std::sin(angle)));
  }
  Spectrum spectrum(256);
  spectrum.Add(tone, 100);
  EXPECT_EQ(spectrum.segments(), 31);
  const std::vector<double> decibels = spectrum.Decibels();
  EXPECT_NEAR(decibels[128 + 37], -20, 1e-3);
  for (int i = 0; i < 256; ++i) {
    if (std::abs(i - 128 - 37) > 4) {
      EXPECT_LT(decibels[i], -20 - 90) << i;
    }
  }
}

TEST(SpectrumTest, WhiteNoiseShowsThePowerOfABin) {
  WidebandSpec spec;
  spec.noise_db = -30;
  Spectrum spectrum(64);
  spectrum.Add(WidebandSignal(spec).Next(200000), 5000);
  double mean = 0;
  for (const double value : spectrum.Decibels()) {
    mean += std::pow(10, value / 10) / 64;
  }
  EXPECT_NEAR(10 * std::log10(mean), -30 + 10 * std::log10(Spectrum::kNoiseBandwidthBins / 64),
              0.1);
}

TEST(SpectrumTest, SizesLeaveSomethingToAverage) {
  EXPECT_EQ(SpectrumSize(0, 4096), 8);
  EXPECT_EQ(SpectrumSize(10000, 4096), 1024);
  EXPECT_EQ(SpectrumSize(int64_t{1} << 40, 4096), 4096);
}

TEST(DownconvertSpectraTest, ChannelsAreMarkedAndNothingAtAllIsStillAPicture) {
  DownconvertPlan plan;
  plan.setup.set_sample_rate_hz(64e6);
  plan.setup.add_channels()->mutable_filter()->set_down(8);
  DownconvertReport report;
  report.input = "a < b";
  report.plan = plan;
  v1::ChannelDescription& channel = report.totals.descriptions.emplace_back();
  channel.set_frequency_hz(9.1e6);
  channel.set_output_rate_hz(8e6);
  DownconvertSpectra spectra(**FindWidebandFormat("ci16"), plan, -1);
  const std::string svg = RenderSvg(spectra.Finish(report));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("channel 0: 9.1 MHz, 8 MHz wide"));
  EXPECT_THAT(svg, HasSubstr("frequency [MHz], bins of 15.62 kHz"));
  EXPECT_THAT(svg, HasSubstr("from its centre [MHz], bins of 7.812 kHz"));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.16\""));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(WidebandSignalTest, PiecesDoNotMatter) {
  WidebandSpec spec;
  spec.stations = ExampleStations(spec.sample_rate_hz);
  const std::vector<Complex> whole = WidebandSignal(spec).Next(1000);
  WidebandSignal in_pieces(spec);
  std::vector<Complex> joined = in_pieces.Next(1);
  for (const int count : {7, 500, 492}) {
    const std::vector<Complex> piece = in_pieces.Next(count);
    joined.insert(joined.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(joined, whole);
}

TEST(WidebandSignalTest, StationsAreReadFromText) {
  EXPECT_EQ(ParseTone("9.1M:-20")->level_db, -20);
  EXPECT_EQ(ParseFmStation("-20M")->deviation_hz, 75e3);
  EXPECT_EQ(ParseFmStation("1M:-3:5k:400")->audio_hz, 400);
  EXPECT_THAT(ParseTone("1M:2:3"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("FREQ")));
  EXPECT_THAT(ParseFmStation("1M:2:3:0"), StatusIs(absl::StatusCode::kInvalidArgument, _));
}

TEST(TextTableTest, ColumnsLineUpAndEmptyOnesGo) {
  TextTable table({{"a"}, {"empty"}, {"name", false}});
  table.Add({"1", "", "x"});
  table.Add({"100", "", "yy"});
  EXPECT_EQ(table.ToText(), "  a  name\n  1  x\n100  yy\n");
}

}  // namespace
}  // namespace baseband::ctl
