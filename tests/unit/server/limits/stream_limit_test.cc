#include "server/limits/stream_limit.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST(StreamLimitTest, AnEndedStreamLeavesItsPlaceOnceHoweverOftenItMoved) {
  StreamLimit limit("streams", 1);
  auto first = limit.Enter();
  ASSERT_THAT(first, IsOk());
  StreamPlace place;
  place = *std::move(first);
  EXPECT_THAT(limit.Enter(), StatusIs(absl::StatusCode::kResourceExhausted,
                                      HasSubstr("1 streams are open already")));
  place = StreamPlace();
  place = StreamPlace();
  const auto second = limit.Enter();
  EXPECT_THAT(second, IsOk());
  EXPECT_THAT(limit.Enter(), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("")));
}

TEST(StreamLimitTest, WhoIsRefusedTakesNoPlaceHoweverManyTheyAre) {
  StreamLimit limit("streams", 1);
  auto first = limit.Enter();
  ASSERT_THAT(first, IsOk());
  std::vector<absl::StatusOr<StreamPlace>> refused;
  for (int i = 0; i < 100; ++i) refused.push_back(limit.Enter());
  first = StreamPlace();
  EXPECT_THAT(limit.Enter(), IsOk());
}

}  // namespace
}  // namespace baseband::server
