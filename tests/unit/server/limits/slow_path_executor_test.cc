// The slow path does all it has taken, shares its time between clients, and takes no more than it
// may.
#include "server/limits/slow_path_executor.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

// Work takes as long as it says: the clock goes only while somebody works.
class SlowPathExecutorTest : public ::testing::Test {
 protected:
  SlowPathExecutor::Options Options() {
    SlowPathExecutor::Options options;
    options.clock = [this] { return absl::UnixEpoch() + absl::Microseconds(now_us_.load()); };
    return options;
  }
  // Of `ms` milliseconds, in steps of a half.
  SlowPathExecutor::Work Working(const std::string& client, int ms) {
    return [this, client, ms](const ContinueCheck& turn) {
      for (int i = 0; i < 2 * ms; ++i) {
        EXPECT_EQ(++working_, 1) << "two at a time";
        now_us_ += 500;
        course_.push_back(client);
        --working_;
        EXPECT_THAT(turn(), IsOk());
      }
    };
  }
  // Holds the executor up until it is let go.
  SlowPathExecutor::Work Waiting() {
    return [this](const ContinueCheck&) {
      begun_.Notify();
      go_on_.WaitForNotification();
    };
  }

  std::atomic<int64_t> now_us_{0};
  std::atomic<int> working_{0};
  std::vector<std::string> course_;  // who worked, half a millisecond each
  absl::Notification begun_;
  absl::Notification go_on_;
};

TEST_F(SlowPathExecutorTest, AClientsWorkIsDoneInOrderAndBeforeFinishReturns) {
  std::vector<int> done;
  SlowPathExecutor slow_path(Options());
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(slow_path.Add("a", 1, [&done, i](const ContinueCheck&) { done.push_back(i); }),
                IsOk());
  }
  slow_path.Finish();
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  EXPECT_THAT(slow_path.Add("a", 1, [](const ContinueCheck&) {}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("down")));
}

TEST_F(SlowPathExecutorTest, OneClientsHourDelaysAnothersMillisecondByASlice) {
  SlowPathExecutor slow_path(Options());
  ASSERT_THAT(slow_path.Add("first", 0, Waiting()), IsOk());
  begun_.WaitForNotification();
  ASSERT_THAT(slow_path.Add("greedy", 0, Working("greedy", 1000)), IsOk());
  ASSERT_THAT(slow_path.Add("greedy", 0, Working("greedy", 1000)), IsOk());
  ASSERT_THAT(slow_path.Add("small", 0, Working("small", 3)), IsOk());
  go_on_.Notify();
  slow_path.Finish();
  ASSERT_EQ(course_.size(), 2U * 2003);
  size_t last = 0;
  for (size_t i = 0; i < course_.size(); ++i) {
    if (course_[i] == "small") last = i;
  }
  // 3 ms of its own, and as long for the greedy one, but for a slice of 2 ms.
  EXPECT_LE(last, 2U * (3 + 3 + 2));
}

TEST_F(SlowPathExecutorTest, ClientsShareEquallyHoweverManyPiecesTheyHave) {
  SlowPathExecutor slow_path(Options());
  ASSERT_THAT(slow_path.Add("first", 0, Waiting()), IsOk());
  begun_.WaitForNotification();
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(slow_path.Add("many", 0, Working("many", 30)), IsOk());
  }
  ASSERT_THAT(slow_path.Add("one", 0, Working("one", 100)), IsOk());
  ASSERT_THAT(slow_path.Add("other", 0, Working("other", 100)), IsOk());
  go_on_.Notify();
  slow_path.Finish();
  std::map<std::string, int> had;
  for (size_t i = 0; i < 2 * 240; ++i) ++had[course_[i]];  // while all three have work
  for (const char* const client : {"many", "one", "other"}) {
    EXPECT_NEAR(had[client], 2 * 80, 2 * 3) << client;
  }
}

TEST_F(SlowPathExecutorTest, WhoComesLaterHasNotSavedUpForIt) {
  SlowPathExecutor slow_path(Options());
  size_t before = 0;
  absl::Notification is_added;
  ASSERT_THAT(slow_path.Add("early", 0,
                            [&](const ContinueCheck& turn) {
                              Working("early", 200)(turn);
                              before = course_.size();
                              EXPECT_THAT(slow_path.Add("late", 0, Working("late", 100)), IsOk());
                              is_added.Notify();
                              Working("early", 200)(turn);
                            }),
              IsOk());
  is_added.WaitForNotification();
  slow_path.Finish();
  int early = 0;
  int with = 0;
  for (size_t i = before; i < course_.size() && with < 2 * 100; ++i) {
    ++(course_[i] == "late" ? with : early);
  }
  EXPECT_GE(early, 2 * 90) << "it has half, not nothing";
}

// Names are cheap: an address each. And a piece shorter than a slice never passes the turn on.
TEST_F(SlowPathExecutorTest, EverNewNamesAreForgottenWhileSomebodyAlwaysHasWork) {
  SlowPathExecutor::Options options = Options();
  options.max_clients = 4;
  SlowPathExecutor slow_path(options);
  int64_t most = 0;
  std::function<void(int)> add_next = [&](int i) {
    ASSERT_THAT(slow_path.Add(std::to_string(i), 0,
                              [&, i](const ContinueCheck&) {
                                now_us_ += 10;
                                // Before this one is done.
                                i < 1000 ? add_next(i + 1) : go_on_.Notify();
                                most = std::max(most, slow_path.CountClients());
                              }),
                IsOk());
  };
  add_next(0);
  go_on_.WaitForNotification();
  slow_path.Finish();
  EXPECT_GT(most, 1);
  EXPECT_LE(most, 2 * options.max_clients);
  EXPECT_EQ(slow_path.CountClients(), 0) << "nobody has work";
}

TEST_F(SlowPathExecutorTest, WhoHasHadMuchIsRememberedAmongManyWhoHaveHadLittle) {
  SlowPathExecutor::Options options = Options();
  options.max_clients = 4;
  SlowPathExecutor slow_path(options);
  absl::Notification all_is_added;
  ASSERT_THAT(slow_path.Add("steady", 0, Waiting()), IsOk());
  begun_.WaitForNotification();
  ASSERT_THAT(slow_path.Add("greedy", 0, [&](const ContinueCheck&) { now_us_ += 100000; }), IsOk());
  ASSERT_THAT(slow_path.Add("steady", 0, Working("steady", 1)), IsOk());
  // It is there until all has been added, and so is whoever it adds.
  ASSERT_THAT(slow_path.Add("adder", 0,
                            [&](const ContinueCheck& turn) {
                              for (int i = 0; i < 20; ++i) {
                                (void)slow_path.Add(std::to_string(i), 0,
                                                    [&](const ContinueCheck&) { now_us_ += 10; });
                                now_us_ += 3000;
                                EXPECT_THAT(turn(), IsOk());
                              }
                              course_.clear();
                              EXPECT_THAT(slow_path.Add("greedy", 0, Working("greedy", 10)),
                                          IsOk());
                              EXPECT_THAT(slow_path.Add("other", 0, Working("other", 10)), IsOk());
                              all_is_added.Notify();
                              EXPECT_THAT(turn(), IsOk());
                            }),
              IsOk());
  go_on_.Notify();
  all_is_added.WaitForNotification();
  slow_path.Finish();
  ASSERT_EQ(course_.size(), 40U);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(course_[i], "other") << i;
}

TEST_F(SlowPathExecutorTest, WorkOfMoreThanThereMayBeIsDoneAlone) {
  SlowPathExecutor::Options options = Options();
  options.max_bytes = 200;
  SlowPathExecutor slow_path(options);
  int done = 0;
  const auto add = [&](int64_t bytes) {
    return slow_path.Add("a", bytes, [&done](const ContinueCheck&) { ++done; });
  };
  absl::Notification is_added;
  ASSERT_THAT(slow_path.Add("b", 0,
                            [&](const ContinueCheck&) {
                              EXPECT_THAT(add(1000), IsOk());
                              EXPECT_THAT(add(1), StatusIs(absl::StatusCode::kResourceExhausted,
                                                           HasSubstr("1000 bytes wait")));
                              is_added.Notify();
                            }),
              IsOk());
  is_added.WaitForNotification();
  slow_path.Finish();
  EXPECT_EQ(done, 1);
}

TEST_F(SlowPathExecutorTest, WhatIsThereIsBoundedInClientsBytesAndByClient) {
  SlowPathExecutor::Options options = Options();
  options.max_clients = 3;
  options.max_of_client = 3;
  options.max_bytes = 200;
  SlowPathExecutor slow_path(options);
  ASSERT_THAT(slow_path.Add("a", 60, Waiting()), IsOk());
  begun_.WaitForNotification();  // it holds its bytes still
  std::atomic<int> done{0};
  const auto add = [&](const char* client, int64_t bytes) {
    return slow_path.Add(client, bytes, [&done](const ContinueCheck&) { ++done; });
  };
  constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
  EXPECT_THAT(add("b", 141), StatusIs(kExhausted, HasSubstr("1 requests of 60 bytes wait")));
  EXPECT_THAT(add("a", 41), StatusIs(kExhausted, HasSubstr("at most 3 of 100 bytes may")));
  EXPECT_THAT(add("a", 40), IsOk());
  EXPECT_THAT(add("a", 0), IsOk());
  EXPECT_THAT(add("a", 0),
              StatusIs(kExhausted, HasSubstr("3 requests of 100 bytes of this client")));
  EXPECT_THAT(add("b", 100), IsOk()) << "one alone may be as large as there is room";
  EXPECT_THAT(add("c", 1), StatusIs(kExhausted, HasSubstr("200 bytes may")));
  EXPECT_THAT(add("c", 0), IsOk());
  EXPECT_THAT(add("d", 0), StatusIs(kExhausted, HasSubstr("of 3 clients wait")));
  EXPECT_THAT(add("b", 0), IsOk()) << "one of the three";
  go_on_.Notify();
  slow_path.Finish();
  EXPECT_EQ(done, 5);
}

TEST_F(SlowPathExecutorTest, WhatIsDoneMakesRoom) {
  SlowPathExecutor::Options options = Options();
  options.max_clients = options.max_of_client = 1;
  options.max_bytes = 10;
  SlowPathExecutor slow_path(options);
  for (const char* client : {"a", "b", "a", "c"}) {
    absl::Status status;
    do {  // what went before is out a moment after it is done
      status = slow_path.Add(client, 10, [](const ContinueCheck&) {});
    } while (absl::IsResourceExhausted(status));
    EXPECT_THAT(status, IsOk());
  }
}

}  // namespace
}  // namespace baseband::server
