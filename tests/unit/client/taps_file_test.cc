// Taps from files, as people and their programs write them.
#include "client/ctl/common/taps_file.h"

#include <string>

#include "client/ctl/common/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::baseband::testing::FileOfTest;
using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(TapsFileTest, AByteOrderMarkIsNoPartOfTheFirstTap) {
  for (const char* mark : {"", "\xef\xbb\xbf"}) {
    const auto taps = ReadTaps(FileOfTest("t.txt", std::string(mark) + "0.5, 1 # middle\n0.5\n"));
    ASSERT_THAT(taps, IsOk());
    EXPECT_THAT(*taps, ElementsAre(0.5F, 1.0F, 0.5F));
  }
  EXPECT_THAT(ReadTaps(FileOfTest("wide.txt",
                                  "\xff\xfe"
                                  "1")),
              StatusIs(kInvalid, HasSubstr("wide.txt is UTF-16: save it as UTF-8")));
}

// Of numbers as they are a mark is two of them.
TEST(TapsFileTest, NumbersAsTheyAreHaveNoMark) {
  const auto taps = ReadTaps(FileOfTest("t.f32", std::string("\xef\xbb\xbf\x3f\0\0\x80\x3f", 8)));
  ASSERT_THAT(taps, IsOk());
  ASSERT_EQ(taps->size(), 2U);
  EXPECT_EQ((*taps)[1], 1.0F);
}

TEST(TapsFileTest, MoreThanPeopleWriteIsRefused) {
  for (const char* name : {"t.txt", "t.f32"}) {
    const std::string path = FileOfTest(name, std::string(kMaxTextBytes + 1, ' '));
    EXPECT_THAT(ReadTaps(path), StatusIs(kInvalid, path + " has 16777217 bytes: at most 16777216 "
                                                          "are taken"));
  }
  EXPECT_THAT(ReadTaps("/dev/zero"), StatusIs(kInvalid, HasSubstr("/dev/zero has more than")));
  EXPECT_THAT(ReadTaps("/"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/ cannot be read: it is a folder")));
}

}  // namespace
}  // namespace baseband::ctl
