#include "client/ctl/common/symbols.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/carrier/known_symbols.h"
#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/outputs.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;
using ::baseband::testing::PathOfTest;

auto Refusal(const std::string& part) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part));
}

TEST(SymbolsTest, EveryHalfFloatSurvivesTheWayThereAndBack) {
  std::string bytes;
  for (int half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00) != 0x7c00 || (half & 0x3ff) == 0) {  // all but NaN
      bytes.push_back(static_cast<char>(half & 0xff));
      bytes.push_back(static_cast<char>(half >> 8));
    }
  }
  const std::vector<Complex> samples = ToComplex(bytes, v1::SAMPLE_FORMAT_FLOAT16, 1);
  EXPECT_EQ(FromComplex(samples, v1::SAMPLE_FORMAT_FLOAT16, 1), bytes);
}

TEST(SymbolsTest, HalfFloatsRoundToTheNearestAndTiesToEven) {
  const auto through = [](float value) {
    return ToComplex(FromComplex({Complex(value, 0)}, v1::SAMPLE_FORMAT_FLOAT16, 1),
                     v1::SAMPLE_FORMAT_FLOAT16, 1)[0]
        .real();
  };
  EXPECT_EQ(through(1.0F), 1.0F);
  EXPECT_EQ(through(1.0F + 0x1p-11F), 1.0F);                // a tie, to the even neighbour
  EXPECT_EQ(through(1.0F + 3 * 0x1p-11F), 1.0F + 0x1p-9F);  // likewise
  EXPECT_EQ(through(1.0F + 0x1.2p-11F), 1.0F + 0x1p-10F);
  EXPECT_EQ(through(-65504.0F), -65504.0F);
  EXPECT_TRUE(std::isinf(through(65520.0F)));
  EXPECT_EQ(through(0x1p-24F), 0x1p-24F);
  EXPECT_EQ(through(0x1p-26F), 0.0F);
}

TEST(SymbolsTest, Int16HasItsScaleAndSaturates) {
  const std::string bytes = FromComplex({{0.5F, -2}, {0.25F, 2}}, v1::SAMPLE_FORMAT_INT16,
                                        DefaultScale(v1::SAMPLE_FORMAT_INT16));
  EXPECT_THAT(ToComplex(bytes, v1::SAMPLE_FORMAT_INT16, 1),
              ElementsAre(Complex(16384, -32768), Complex(8192, 32767)));
}

TEST(SymbolFilesTest, TheNameTellsTheFormatAndAFlagDoesNotContradictIt) {
  const std::string bytes(16, '\0');
  EXPECT_EQ(ReadSymbols(FileOfTest("x.cs16", bytes), "")->format, v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(ReadSymbols(FileOfTest("x.cf16", bytes), "")->format, v1::SAMPLE_FORMAT_FLOAT16);
  EXPECT_EQ(ReadSymbols(FileOfTest("x.iq", bytes), "f32")->format, v1::SAMPLE_FORMAT_FLOAT32);
  EXPECT_EQ(ReadSymbols(FileOfTest("x.f32", bytes), "f32")->format, v1::SAMPLE_FORMAT_FLOAT32);
  EXPECT_THAT(ReadSymbols(PathOfTest("x.cs16"), "f32"),
              Refusal("--format cf32 contradicts " + PathOfTest("x.cs16") + ", which says ci16"));
  EXPECT_THAT(ReadSymbols(PathOfTest("x.iq"), ""),
              Refusal("x.iq does not say what its samples are: end its name in .cf32, .cf16, .ci16"
                      " or .sigmf-meta, or say it by --format"));
  EXPECT_EQ(ReadSymbols(PathOfTest("x.cs16"), "sc16")->format, v1::SAMPLE_FORMAT_INT16);
  EXPECT_THAT(ReadSymbols(PathOfTest("x.cs16"), "u8"), Refusal("is not one of cf32, cf16, ci16"));
  EXPECT_THAT(ReadSymbols(FileOfTest("x.cs8", bytes), ""),
              Refusal("x.cs8: its 'ci8' is not one of cf32, cf16, ci16"));
}

TEST(SymbolFilesTest, WhatIsWrittenIsWhatItsNameSays) {
  const auto format = [](const std::string& path, const std::string& asked) {
    return SymbolFormatToWrite("--out", path, asked, v1::SAMPLE_FORMAT_FLOAT16);
  };
  EXPECT_EQ(format("a.cs16", "").value(), v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(format("a.b/c.CF32", "").value(), v1::SAMPLE_FORMAT_FLOAT32);
  EXPECT_EQ(format("a.ci16", "sc16").value(), v1::SAMPLE_FORMAT_INT16);
  EXPECT_EQ(format("a.iq", "i16").value(), v1::SAMPLE_FORMAT_INT16);
  for (const char* path : {"a.b/c", ".cf"}) {
    EXPECT_EQ(format(path, "cf32").value(), v1::SAMPLE_FORMAT_FLOAT32) << path;
    EXPECT_THAT(format(path, ""), Refusal("does not say what its samples are")) << path;
  }
  for (const char* path : {"-", "", "/dev/fd/63"}) {
    EXPECT_EQ(format(path, "").value(), v1::SAMPLE_FORMAT_FLOAT16) << path;
    EXPECT_EQ(format(path, "cf32").value(), v1::SAMPLE_FORMAT_FLOAT32) << path;
  }
  EXPECT_THAT(format("a.cs16", "cf32"),
              Refusal("--format cf32 contradicts --out a.cs16, which says ci16"));
  EXPECT_THAT(format("a.iq", ""), Refusal("end its name in .cf32, .cf16, .ci16 or .sigmf-meta"));
  EXPECT_THAT(format("a.wav", "ci16"), Refusal("what ends in .wav is no file of samples"));
  EXPECT_THAT(format("a.sigmf", ""), Refusal("no file of samples"));
  EXPECT_THAT(format("a.i16", ""), Refusal("the format i16 of its name is not one of"));
}

TEST(SymbolFilesTest, IntegersAreWrittenAtAThirdOfFullScale) {
  const std::vector<Complex> samples = {{300, 0}, {0, -300}};
  const std::string floats = FromComplex(samples, v1::SAMPLE_FORMAT_FLOAT32, 1);
  const std::string integers =
      SymbolsToWrite(floats, v1::SAMPLE_FORMAT_FLOAT32, v1::SAMPLE_FORMAT_INT16);
  EXPECT_THAT(ToComplex(integers, v1::SAMPLE_FORMAT_INT16, 1),
              ElementsAre(Complex(10923, 0), Complex(0, -10923)));
  EXPECT_EQ(SymbolsToWrite(floats, v1::SAMPLE_FORMAT_FLOAT32, v1::SAMPLE_FORMAT_FLOAT32), floats);
  EXPECT_THAT(
      ToComplex(SymbolsToWrite(integers, v1::SAMPLE_FORMAT_INT16, v1::SAMPLE_FORMAT_FLOAT32),
                v1::SAMPLE_FORMAT_FLOAT32, 32768),
      ElementsAre(Complex(10923, 0), Complex(0, -10923)));
}

TEST(SymbolFilesTest, PartOfASampleIsRefused) {
  EXPECT_THAT(ReadSymbols(FileOfTest("odd.cf32", std::string(12, 'x')), ""),
              Refusal("has 12 bytes, not a multiple of the 8 of a sample (format cf32)"));
  EXPECT_THAT(ReadSymbols(FileOfTest("empty.cf32", ""), ""), Refusal("is empty"));
  EXPECT_THAT(ReadSymbols(PathOfTest("missing"), ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
}

TEST(SymbolFilesTest, SigmfComesBackAsItWasWritten) {
  SymbolFile file;
  file.format = v1::SAMPLE_FORMAT_INT16;
  file.bytes = std::string(20, 'a');
  file.sample_rate_hz = 2.5e6;
  Outputs outputs;
  const SampleOutput output = OpenSamples("--out", PathOfTest("r.sigmf-data"), &outputs);
  ASSERT_THAT(outputs.status(), IsOk());
  WriteSymbols(output, file, "a \"test\"");
  ASSERT_THAT(outputs.Commit(), IsOk());
  for (const char* name : {"r.sigmf-meta", "r.sigmf-data"}) {
    const auto read = ReadSymbols(PathOfTest(name), "");
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->format, file.format);
    EXPECT_EQ(read->bytes, file.bytes);
    EXPECT_EQ(read->sample_rate_hz, 2.5e6);
  }
  EXPECT_THAT(ReadSymbols(PathOfTest("r.sigmf-meta"), "f32"), Refusal("contradicts"));
  file.format = v1::SAMPLE_FORMAT_FLOAT16;
  EXPECT_THAT(SymbolFormatToWrite("--out", "r.sigmf-data", "", file.format),
              Refusal("SigMF has no 16-bit float"));
}

TEST(SymbolFilesTest, SigmfThatIsNotUnderstoodIsRefusedByName) {
  FileOfTest("x.sigmf-data", std::string(16, '\0'));
  const auto read = [](const std::string& meta) {
    return ReadSymbols(FileOfTest("x.sigmf-meta", meta), "");
  };
  EXPECT_THAT(read("{"), Refusal("is not JSON: line 1, column 2: "));
  EXPECT_THAT(read("[1]"), Refusal("is not SigMF"));
  EXPECT_THAT(read(R"({"global": {}})"), Refusal("says no core:datatype"));
  EXPECT_THAT(read(R"({"global": {"core:datatype": "ru8"}})"),
              Refusal("core:datatype ru8 is not one of cf32_le, ci16_le"));
  EXPECT_THAT(read(R"({"global": {"core:datatype": "cf32_le", "core:num_channels": 2}})"),
              Refusal("core:num_channels 2"));
  EXPECT_THAT(read(R"({"global": {"core:datatype": "cf32_le"},
                       "captures": [{"core:header_bytes": 64}]})"),
              Refusal("core:header_bytes"));
  EXPECT_THAT(read(R"({"global": {"core:datatype": "cf32_le", "core:sample_rate": "fast"}})"),
              Refusal("core:sample_rate \"fast\" is not a number"));
}

TEST(KnownSymbolsTest, DvbS2HasAHeaderAndPilotsAfterSixteenSlots) {
  const std::vector<uint32_t> positions = DvbS2Positions(90 + 10800 + 7 * 36);
  ASSERT_EQ(positions.size(), 90 + 7 * 36);
  EXPECT_EQ(positions[89], 89);
  EXPECT_EQ(positions[90], 90 + 1440);
  EXPECT_EQ(positions[125], 90 + 1440 + 35);
  EXPECT_EQ(positions[126], 90 + 1476 + 1440);
  EXPECT_EQ(DvbS2Positions(50).size(), 50);
}

TEST(KnownSymbolsTest, TextHasPositionsOrHasNone) {
  auto known = ParseKnownSymbols("# pilots\n3 1 -1\n\n7, 0.5, 0.25 # here\n");
  ASSERT_THAT(known, IsOk());
  EXPECT_THAT(known->positions(), ElementsAre(3, 7));
  EXPECT_THAT(known->values(), ElementsAre(1, -1, 0.5, 0.25));
  known = ParseKnownSymbols("1 0\n-1 0\n");
  ASSERT_THAT(known, IsOk());
  EXPECT_EQ(known->positions_size(), 0);
  EXPECT_THAT(known->values(), ElementsAre(1, 0, -1, 0));
}

TEST(KnownSymbolsTest, ErrorsNameTheLine) {
  EXPECT_THAT(ParseKnownSymbols("1 0\n\n3 1 0\n"), Refusal("line 3 is not"));
  EXPECT_THAT(ParseKnownSymbols("5 1 0\n5 1 0\n"), Refusal("line 2 has position 5"));
  EXPECT_THAT(ParseKnownSymbols("-1 1 0\n"), Refusal("line 1 has a position '-1'"));
  EXPECT_THAT(ParseKnownSymbols("0 one 0\n"), Refusal("line 1 has a value 'one'"));
  EXPECT_THAT(ParseKnownSymbols("# nothing\n"), Refusal("names no symbol"));
}

TEST(KnownSymbolsTest, AFileMustFitItsLayoutAndTheFrame) {
  const std::string values = FileOfTest(
      "k.cf32", FromComplex(std::vector<Complex>(126, {1, 0}), v1::SAMPLE_FORMAT_FLOAT32, 1));
  auto known = ReadKnownSymbols(values, "dvbs2", 90 + 1440 + 36 + 100);
  ASSERT_THAT(known, IsOk());
  EXPECT_EQ(known->positions(125), 90 + 1440 + 35);
  known = ReadKnownSymbols(values, "", 126);
  ASSERT_THAT(known, IsOk());
  EXPECT_EQ(known->positions_size(), 0);
  EXPECT_THAT(ReadKnownSymbols(values, "", 125), Refusal("position 125, but a frame has 125"));
  EXPECT_THAT(ReadKnownSymbols(values, "dvbs2", 1000), Refusal("there are 90: a header of 90"));
  EXPECT_THAT(ReadKnownSymbols(values, "dvbt", 1000), Refusal("'dvbt' is not one of dvbs2"));
  EXPECT_THAT(ReadKnownSymbols("", "dvbs2", 1000), Refusal("--known=FILE"));
  const std::string text = FileOfTest("k.txt", "0 1 0\n");
  EXPECT_THAT(ReadKnownSymbols(text, "dvbs2", 1000), Refusal("positions of its own"));
  EXPECT_THAT(ReadKnownSymbols(FileOfTest("bad.csv", "x\n"), "", 9), Refusal("bad.csv: line 1"));
}

}  // namespace
}  // namespace baseband::ctl
