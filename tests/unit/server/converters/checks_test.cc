// What converters say of a value that they refuse: the field with its place, the value, the range.
#include "server/converters/checks.h"

#include <cmath>
#include <limits>

#include "server/metrics/unserved.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

TEST(ChecksTest, ARefusedFieldIsToldWithItsPlace) {
  EXPECT_THAT(InGroup(3, Within("filter.", CheckRange("up", 5000, 1, 4096))),
              IsInvalid("groups[3].filter.up 5000 is not in [1, 4096]"));
}

TEST(ChecksTest, WhatThereIsNoRoomForIsToldWithItsPlaceToo) {
  const auto told = [](const char* what) {
    return InGroup(3, Within("filter.", absl::ResourceExhaustedError(what)));
  };
  const auto is = [](const char* message) {
    return StatusIs(absl::StatusCode::kResourceExhausted, std::string(message));
  };
  EXPECT_THAT(told("mask: no time"), is("groups[3].filter.mask: no time"));
  EXPECT_THAT(told("the models take too much"), is("groups[3].filter: the models take too much"));
  EXPECT_THAT(InGroup(3, Within("code: ", absl::ResourceExhaustedError("the codes take too much"))),
              is("groups[3].code: the codes take too much"));
}

TEST(ChecksTest, AReasonStaysWithItsRefusal) {
  const absl::Status status =
      InGroup(3, Because(UnservedReason::kPreparation, absl::ResourceExhaustedError("no time")));
  EXPECT_EQ(ReasonOf(status), UnservedReason::kPreparation);
}

TEST(ChecksTest, WhatIsNoFaultOfTheRequestStaysAsItIs) {
  const absl::Status status = absl::DeadlineExceededError("the deadline passed");
  EXPECT_EQ(InGroup(3, status), status);
  EXPECT_EQ(InGroup(3, absl::OkStatus()), absl::OkStatus());
}

TEST(ChecksTest, NotANumberIsInNoRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(CheckReal("phase", nan, -1e9, 1e9), IsInvalid("phase nan"));
  EXPECT_THAT(CheckReal("phase", HUGE_VAL, -1e9, 1e9), IsInvalid("phase inf"));
  // As many digits as tell it from the end of the range.
  EXPECT_THAT(CheckReal("roll_off", std::nextafter(1.0, 2.0), 0.05, 1.0),
              IsInvalid("roll_off 1.0000000000000002 is not in [0.05, 1]"));
  EXPECT_THAT(PositiveOr("scale", nan, 1e9, 1.0), IsInvalid("scale nan"));
}

TEST(ChecksTest, ZeroStandsForTheFallback) {
  const absl::StatusOr<double> fallback = PositiveOr("scale", 0.0, 1e9, 2.5);
  ASSERT_THAT(fallback, IsOk());
  EXPECT_EQ(*fallback, 2.5);
  EXPECT_THAT(PositiveOr("scale", -1.0, 1e9, 2.5), IsInvalid("scale -1 is not in (0, 1e+09]"));
}

}  // namespace
}  // namespace baseband::server
