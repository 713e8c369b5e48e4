#include "server/limits/flow_control_window.h"

#include <map>
#include <random>

#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

TEST(FlowControlWindowTest, AnIdInFlightIsRefusedByNameAndFreeAgainAfterItsResponse) {
  FlowControlWindow window({4, 1000});
  EXPECT_THAT(window.Open(7, 10), IsOk());
  EXPECT_THAT(window.Open(7, 10), IsInvalid("id 7 is in flight already"));
  EXPECT_EQ(window.Close(7, true), 10);
  EXPECT_TRUE(window.empty());
  EXPECT_THAT(window.Open(7, 10), IsOk());
}

TEST(FlowControlWindowTest, IdZeroIsRefusedWithItsRange) {
  FlowControlWindow window({4, 1000});
  EXPECT_THAT(window.Open(0, 10), IsInvalid("id 0 is not in [1, 18446744073709551615]"));
  EXPECT_TRUE(window.empty());
}

TEST(FlowControlWindowTest, MoreThanTheCreditsIsRefusedWithTheFigures) {
  FlowControlWindow window({2, 1000});
  EXPECT_THAT(window.Open(1, 600), IsOk());
  EXPECT_THAT(window.Open(2, 401), StatusIs(absl::StatusCode::kResourceExhausted,
                                            HasSubstr("600 bytes are in flight on this stream, of "
                                                      "1000: no room for 401 more")));
  EXPECT_THAT(window.Open(2, 400), IsOk());
  EXPECT_THAT(window.Open(3, 0),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("2 requests are in flight on this stream, of 2")));
}

TEST(FlowControlWindowTest, WhatIsLargerThanAllBytesGoesAlone) {
  FlowControlWindow window({8, 1000});
  EXPECT_THAT(window.Open(1, 5000), IsOk());
  EXPECT_THAT(window.Open(2, 1), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("5000")));
  EXPECT_EQ(window.Close(1, true), 5000);
  EXPECT_THAT(window.Open(2, 1), IsOk());
  EXPECT_THAT(window.Open(3, 5000),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("id 3")));
}

TEST(FlowControlWindowTest, ARefusalLeavesEverythingAsItWas) {
  constexpr int64_t kRequests = 5;
  constexpr int64_t kBytes = 100;
  FlowControlWindow window({kRequests, kBytes});
  std::map<uint64_t, int64_t> model;
  int64_t in_flight = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t id = random() % 9;
    const auto bytes = static_cast<int64_t>(random() % 60);
    const bool fits = static_cast<int64_t>(model.size()) < kRequests &&
                      (model.empty() || in_flight + bytes <= kBytes);
    ASSERT_EQ(window.Open(id, bytes).ok(), id != 0 && model.count(id) == 0 && fits);
    if (id != 0 && model.count(id) == 0 && fits) {
      model[id] = bytes;
      in_flight += bytes;
    } else if (model.count(id) > 0) {
      ASSERT_EQ(window.Close(id, true), model[id]);
      in_flight -= model[id];
      model.erase(id);
    }
    ASSERT_EQ(window.empty(), model.empty());
  }
}

}  // namespace
}  // namespace baseband::server
