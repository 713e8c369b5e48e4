// Alarms go off in their order and in time, each once.
#include "common/grpc/steady_alarm.h"

#include <atomic>
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"

namespace baseband {
namespace {

class SteadyAlarmTest : public ::testing::Test {
 protected:
  ~SteadyAlarmTest() override {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    EXPECT_FALSE(queue_.Next(&tag, &ok)) << "an event too many";
  }
  void ExpectNext(const void* expected, bool rang) {
    void* tag = nullptr;
    bool ok = !rang;
    ASSERT_TRUE(queue_.Next(&tag, &ok));
    EXPECT_EQ(tag, expected);
    EXPECT_EQ(ok, rang);
  }
  void Set(SteadyAlarm& alarm, absl::Time when) { alarm.Set(&queue_, when, &alarm); }

  grpc::CompletionQueue queue_;
  SteadyTimer timer_;
};

TEST_F(SteadyAlarmTest, GoesOffNotBeforeItsTime) {
  SteadyAlarm alarm(&timer_);
  for (const absl::Time when : {SteadyNow() + absl::Milliseconds(20), absl::InfinitePast()}) {
    Set(alarm, when);
    ExpectNext(&alarm, true);
    EXPECT_GE(SteadyNow(), when);
  }
  alarm.Cancel();  // nothing is set
}

TEST_F(SteadyAlarmTest, TheEarlierGoesOffFirstWhicheverWasSetFirst) {
  SteadyAlarm late(&timer_);
  SteadyAlarm early(&timer_);
  const absl::Time now = SteadyNow();
  Set(late, now + absl::Seconds(1));
  Set(early, now + absl::Milliseconds(10));
  ExpectNext(&early, true);
  ExpectNext(&late, true);
}

TEST_F(SteadyAlarmTest, CancelledItSaysSoAtOnceAndCanBeSetAgain) {
  SteadyAlarm alarm(&timer_);
  Set(alarm, absl::InfiniteFuture());
  alarm.Cancel();
  alarm.Cancel();
  ExpectNext(&alarm, false);
  Set(alarm, SteadyNow());
  ExpectNext(&alarm, true);
}

TEST_F(SteadyAlarmTest, DestroyedItIsCancelled) {
  auto alarm = std::make_unique<SteadyAlarm>(&timer_);
  alarm->Set(&queue_, SteadyNow() + absl::Hours(1), this);
  alarm.reset();
  ExpectNext(this, false);
}

// Whoever takes a task back may destroy it then.
TEST(SteadyTimerTest, TakingBackATaskWaitsForItWhileItRuns) {
  class SlowTask final : private SteadyTimer::Task {
   public:
    explicit SlowTask(SteadyTimer* timer) : Task(timer) { Schedule(SteadyNow()); }
    ~SlowTask() override {
      while (!begun_) std::this_thread::yield();
      EXPECT_FALSE(Unschedule());
      EXPECT_TRUE(ended_);
    }

   private:
    void Run() override {
      begun_ = true;
      absl::SleepFor(absl::Milliseconds(20));
      ended_ = true;
    }

    std::atomic<bool> begun_{false};
    std::atomic<bool> ended_{false};
  };
  SteadyTimer timer;
  const SlowTask task(&timer);
}

}  // namespace
}  // namespace baseband
