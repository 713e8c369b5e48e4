// Numbers and durations as all our programs read them.
#include "common/numbers/numbers.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/matchers.h"

namespace baseband {
namespace {

using ::testing::_;

TEST(NumbersTest, SuffixesMoveTheDecimalPointAndNothingElse) {
  EXPECT_EQ(*ParseNumber("9.1M"), 9100000.0);
  EXPECT_EQ(*ParseNumber("-20k"), -20000.0);
  EXPECT_EQ(*ParseNumber("1.1G"), 1100000000.0);
  EXPECT_EQ(*ParseNumber("0.3M"), 300000.0);
  EXPECT_EQ(*ParseNumber("9.1 MHz"), 9100000.0);
  EXPECT_EQ(*ParseNumber("6.4e7"), 64e6);
  for (const char* text : {"", "M", "9.1m", "9,1M", "1e3k", "nan", "inf", "0x10", "0x1p3", "9.1MM"}) {
    EXPECT_THAT(ParseNumber(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }
}

TEST(NumbersTest, WholeNumbersAreExact) {
  EXPECT_EQ(*ParseWhole("10k"), 10000);
  EXPECT_EQ(*ParseWhole("64Ki"), 65536);
  EXPECT_EQ(*ParseWhole("1e3"), 1000);
  EXPECT_EQ(*ParseWhole("-9223372036854775807"), -9223372036854775807);
  EXPECT_THAT(ParseWhole("1.5"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("'1.5' is not a whole number")));
  EXPECT_THAT(ParseWhole("1e30"), StatusIs(absl::StatusCode::kInvalidArgument, _));
  int value = 7;
  EXPECT_FALSE(ParseWholeIn("5k", 1, 4096, &value));
  EXPECT_EQ(value, 7);
  EXPECT_TRUE(ParseWholeIn("4Ki", 1, 4096, &value));
  EXPECT_EQ(value, 4096);
}

TEST(NumbersTest, NumbersAreWrittenAsShortAsTheyAreRead) {
  for (const char* text : {"50M", "1Mi", "4096", "0.5", "64Ki", "-20k", "0"}) {
    EXPECT_EQ(ShortNumber(*ParseNumber(text)), text);
  }
}

TEST(NumbersTest, DurationsHaveAUnit) {
  EXPECT_EQ(*ParseDuration("250ns"), absl::Nanoseconds(250));
  EXPECT_EQ(*ParseDuration("500us"), absl::Microseconds(500));
  EXPECT_EQ(*ParseDuration("5ms"), absl::Milliseconds(5));
  EXPECT_EQ(*ParseDuration("1.5s"), absl::Milliseconds(1500));
  EXPECT_EQ(*ParseDuration("2min"), absl::Minutes(2));
  EXPECT_EQ(*ParseDuration("1h30min"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("0s"), absl::ZeroDuration());
  for (const char* text : {"5", "0", "1.5", "1e3"}) {
    const std::string needs =
        absl::StrCat(text, ": a duration needs a unit, as ", text, "s or ", text, "ms");
    EXPECT_THAT(ParseDuration(text), StatusIs(absl::StatusCode::kInvalidArgument, needs));
    EXPECT_THAT(ParseSeconds(text), StatusIs(absl::StatusCode::kInvalidArgument, needs));
  }
  for (const char* text : {"", "s", "soon", "-5s", "inf", "5k", "5 parsecs", "5S", "nan"}) {
    const std::string is_none = absl::StrCat("'", text, "' is not a duration");
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(is_none)));
    EXPECT_THAT(ParseSeconds(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(is_none)));
  }
}

TEST(NumbersTest, SecondsAreTheDoubleNextToWhatIsSaid) {
  EXPECT_EQ(*ParseSeconds("16.276ns"), 16.276e-9);
  EXPECT_EQ(*ParseSeconds("0.3ms"), 0.3e-3);
  EXPECT_EQ(*ParseSeconds("1.5min"), 90.0);
  EXPECT_EQ(*ParseSeconds("2h"), 7200.0);
}

TEST(NumbersTest, DurationsAreWrittenAsTheyAreRead) {
  for (const char* text : {"0s", "500us", "1.5s", "24h", "1h30m"}) {
    EXPECT_EQ(DurationText(*ParseDuration(text)), text);
  }
}

}  // namespace
}  // namespace baseband
