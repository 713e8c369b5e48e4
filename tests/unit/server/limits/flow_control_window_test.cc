#include "server/limits/flow_control_window.h"

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/constants.h"
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

// Answers `count` requests of a megabyte, as many in flight as may be; returns how many that are.
int64_t Answer(FlowControlWindow& window, int64_t& credits, int count, bool in_time) {
  int64_t most = 0;
  for (uint64_t sent = 1, answered = 1; answered <= static_cast<uint64_t>(count); ++answered) {
    while (credits >= kMib || sent == answered) {
      EXPECT_THAT(window.Open(sent, kMib), IsOk());
      credits -= kMib;
      ++sent;
    }
    most = std::max(most, static_cast<int64_t>(sent - answered));
    if (answered == static_cast<uint64_t>(count)) {  // and the rest
      for (; answered < sent; ++answered) credits += window.Close(answered, in_time);
      break;
    }
    credits += window.Close(answered, in_time);
  }
  return most;
}

TEST(FlowControlWindowTest, WhatIsAnsweredInTimeLetsTheWindowGrowToAllThereIs) {
  FlowControlWindow window({1024, 64 * kMib});
  int64_t credits = window.first().bytes;
  EXPECT_EQ(credits, FlowControlWindow::kFirstBytes);
  EXPECT_EQ(Answer(window, credits, 500, true), 64);
  EXPECT_EQ(credits, 64 * kMib);
}

TEST(FlowControlWindowTest, WhatIsLateShrinksTheWindowToOneRequest) {
  FlowControlWindow window({1024, 64 * kMib});
  int64_t credits = window.first().bytes;
  Answer(window, credits, 500, true);
  Answer(window, credits, 500, false);
  EXPECT_EQ(Answer(window, credits, 1, false), 1);
  // Slowly, now: a request for each window's worth.
  EXPECT_LE(Answer(window, credits, 10, true), 5);
  EXPECT_GE(Answer(window, credits, 100, true), 10);
}

TEST(FlowControlWindowTest, AWindowThatIsNotUsedDoesNotGrow) {
  FlowControlWindow window({1024, 64 * kMib});
  for (uint64_t id = 1; id < 1000; ++id) {
    EXPECT_THAT(window.Open(id, kMib), IsOk());
    EXPECT_EQ(window.Close(id, true), kMib);
  }
}

}  // namespace
}  // namespace baseband::server
