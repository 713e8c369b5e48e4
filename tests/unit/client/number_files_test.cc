// Numbers of `minimize` from files, by the end of their names.
#include "client/ctl/minimize/number_files.h"

#include <string>

#include "client/ctl/minimize/minimize_flags.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;
using ::baseband::testing::PathOfTest;

template <typename Number>
std::string Bytes(std::initializer_list<Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.begin()), numbers.size() * sizeof(Number)};
}

TEST(ReadNumbersTest, TextIsSeparatedByWhatPeopleUse) {
  for (const char* name : {"a.txt", "a.csv", "a.TXT"}) {
    const auto file = ReadNumbers(FileOfTest(name, "1, 2.5\n# no\n-3e2;4 # five\n"));
    ASSERT_THAT(file, IsOk()) << name;
    EXPECT_THAT(file->numbers, ElementsAre(1, 2.5, -300, 4));
    EXPECT_FALSE(file->is_complex);
  }
  EXPECT_THAT(ReadNumbers(FileOfTest("b.txt", "1\n2 x")), IsInvalid("line 2: 'x'"));
}

TEST(ReadNumbersTest, TheNameSaysWhatTheBytesAre) {
  EXPECT_THAT(ReadNumbers(FileOfTest("a.f64", Bytes({1.5, -2.0e-300})))->numbers,
              ElementsAre(1.5, -2.0e-300));
  EXPECT_THAT(ReadNumbers(FileOfTest("a.f32", Bytes({1.5F, -2.0F})))->numbers,
              ElementsAre(1.5, -2));
  EXPECT_THAT(ReadNumbers(FileOfTest("a.i16", Bytes<int16_t>({16384, -32768})))->numbers,
              ElementsAre(0.5, -1));
  // What the reports of `minimize` called no number.
  const auto complex = ReadNumbers(FileOfTest("a.cf32", Bytes({1.5F, -2.0F, 3.0F, 4.0F})));
  ASSERT_THAT(complex, IsOk());
  EXPECT_THAT(complex->numbers, ElementsAre(1.5, -2, 3, 4));
  EXPECT_TRUE(complex->is_complex);
  EXPECT_THAT(ReadNumbers(FileOfTest("a.ci16", Bytes<int16_t>({16384, -8192})))->numbers,
              ElementsAre(0.5, -0.25));
  EXPECT_THAT(ReadNumbers(FileOfTest("a.cu8", Bytes<uint8_t>({0x80, 0xc0})))->numbers,
              ElementsAre(0.5 / 128, 64.5 / 128));
}

TEST(ReadNumbersTest, ARecordingMayHaveNoGaps) {
  FileOfTest("r.sigmf-data", Bytes<int16_t>({16384, 0, 0, -16384}));
  const auto meta = [](const char* captures) {
    return FileOfTest(
        "r.sigmf-meta",
        std::string("{\"global\": {\"core:datatype\": \"ci16_le\"}, \"captures\": [") + captures +
            "]}");
  };
  const auto file = ReadNumbers(meta("{\"core:sample_start\": 0, \"core:global_index\": 100}"));
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(file->numbers, ElementsAre(0.5, 0, 0, -0.5));
  EXPECT_TRUE(file->is_complex);
  EXPECT_THAT(ReadNumbers(meta("{\"core:sample_start\": 0}, {\"core:sample_start\": 1,"
                               " \"core:global_index\": 9}")),
              IsInvalid("has a gap before sample 9"));
}

TEST(ReadNumbersTest, WhatIsNotKnownIsRefusedByName) {
  for (const char* name : {"a.dat", "a", "a.cf64"}) {
    EXPECT_THAT(ReadNumbers(FileOfTest(name, "1 2 3")),
                IsInvalid(PathOfTest(name) + " does not say what its numbers are"));
  }
  EXPECT_THAT(ReadNumbers(FileOfTest("a.wav", "1 2 3")), IsInvalid("a.wav ends within its head"));
  EXPECT_THAT(ReadNumbers(FileOfTest("a.f64", std::string(12, 'x'))),
              IsInvalid("has 12 bytes, not a multiple of the 8 of a number"));
  EXPECT_THAT(ReadNumbers(FileOfTest("a.cf32", std::string(12, 'x'))), IsInvalid("has 12 bytes"));
  EXPECT_THAT(ReadNumbers(PathOfTest("missing.cf32")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing.cf32")));
}

TEST(MinimizeSignalTest, AFileOfComplexSamplesIsAComplexSignal) {
  MinimizeFlags flags;
  flags.builtin = "sinusoids";
  flags.axes = {"f=0:1:9"};
  flags.signal = FileOfTest("a.cf32", Bytes({1.5F, -2.0F, 3.0F, 4.0F}));
  auto request = ToMinimizeRequest(flags);
  ASSERT_THAT(request, IsOk());
  EXPECT_TRUE(request->sinusoids().is_complex());
  EXPECT_EQ(request->sinusoids().num_samples(), 2U);
  EXPECT_EQ(request->payload(), Bytes({1.5, -2.0, 3.0, 4.0}));
  flags.signal = FileOfTest("a.f32", Bytes({1.5F, -2.0F, 3.0F, 4.0F}));
  request = ToMinimizeRequest(flags);
  ASSERT_THAT(request, IsOk());
  EXPECT_FALSE(request->sinusoids().is_complex());
  EXPECT_EQ(request->sinusoids().num_samples(), 4U);

  MinimizeFlags formula;
  formula.expression = "a[0]";
  formula.axes = {"x=0:1:9"};
  formula.arrays = {"a=" + FileOfTest("a.cf32", Bytes({1.5F, -2.0F}))};
  EXPECT_THAT(ToMinimizeRequest(formula), IsInvalid("holds complex samples"));
}

}  // namespace
}  // namespace baseband::ctl
