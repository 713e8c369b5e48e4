// What may wait is bounded in requests and bytes; whoever finds no room learns which bound it was.
#include "server/batching/admission.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/metrics/unserved.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

TEST(AdmissionTest, RequestsTooManyAreRefusedUntilOneHasLeft) {
  Admission admission(2, 100);
  const auto first = admission.Enter(1);
  {
    const auto second = admission.Enter(1);
    ASSERT_THAT(second.status(), IsOk());
    EXPECT_THAT(admission.Check(1), StatusIs(kExhausted, HasSubstr("2 of 2 requests are waiting")));
    EXPECT_EQ(ReasonOf(admission.Enter(1).status()), UnservedReason::kQueueRequests);
  }
  EXPECT_THAT(admission.Check(1), IsOk());
}

TEST(AdmissionTest, BytesTooManyAreRefusedButALargeRequestMayComeAlone) {
  Admission admission(9, 100);
  {
    const auto large = admission.Enter(1000);
    ASSERT_THAT(large.status(), IsOk());
    EXPECT_EQ(ReasonOf(admission.Enter(1).status()), UnservedReason::kQueueBytes);
  }
  auto handed_on = admission.Enter(60);
  handed_on->HandOn();
  EXPECT_THAT(admission.Check(41), StatusIs(kExhausted, HasSubstr("no room for 41 more")));
  EXPECT_THAT(admission.Check(40), IsOk());
  admission.Leave(1, 60);
  EXPECT_EQ(admission.usage().requests, 0);
  EXPECT_EQ(admission.usage().bytes, 0);
}

}  // namespace
}  // namespace baseband::server
