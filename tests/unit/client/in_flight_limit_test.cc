#include "client/cpp/in_flight_limit.h"

#include <algorithm>
#include <queue>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace baseband::client {
namespace {

using End = InFlightLimit::End;

const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

// So many calls that are sent one after the other.
void SendOneByOne(int calls, End end, double timeouts, absl::Time now, InFlightLimit* limit) {
  for (int i = 0; i < calls; ++i) {
    limit->OnSend();
    limit->OnEnd(end, timeouts, now);
  }
}

// Sends as many at a time as it may, but `most`; they are in flight together.
int Fill(int most, InFlightLimit* limit) {
  int sent = 0;
  for (; sent < most && limit->HasRoom(); ++sent) limit->OnSend();
  return sent;
}
int SendTogether(int most, End end, double timeouts, absl::Time now, InFlightLimit* limit) {
  const int sent = Fill(most, limit);
  for (int i = 0; i < sent; ++i) limit->OnEnd(end, timeouts, now);
  return sent;
}

// A server that takes one after the other, in 1 / kCapacity, and a way there and back. Cells have a
// call each at every slot's begin.
class SlotLoad {
 public:
  explicit SlotLoad(int cells) : cells_(cells) {}

  // So many seconds; how many calls were in time, a second.
  double Run(double seconds, InFlightLimit* limit) {
    int in_time = 0;
    const double end = now_ + seconds;
    for (; now_ < end; now_ += kSlot) {
      TakeAnswers(now_, limit, &in_time);
      for (int i = 0; i < cells_; ++i) {
        if (limit != nullptr && !limit->HasRoom()) continue;
        if (limit != nullptr) limit->OnSend();
        free_at_ = std::max(free_at_, now_) + kService;
        answers_.push({free_at_ + kWay, now_});
      }
    }
    TakeAnswers(now_, limit, &in_time);
    return in_time / seconds;
  }

  static constexpr double kCapacity = 6000;

 private:
  static constexpr double kSlot = 500e-6;
  static constexpr double kService = 1 / kCapacity;
  static constexpr double kWay = 800e-6;
  static constexpr double kTimeout = 2e-3;

  struct Answer {
    double at;
    double sent;
  };

  void TakeAnswers(double until, InFlightLimit* limit, int* in_time) {
    for (; !answers_.empty() && answers_.front().at <= until; answers_.pop()) {
      const double timeouts = (answers_.front().at - answers_.front().sent) / kTimeout;
      const bool is_late = timeouts > 1.0;
      *in_time += is_late ? 0 : 1;
      if (limit == nullptr) continue;
      limit->OnEnd(is_late ? End::kLate : End::kInTime, timeouts,
                   kStart + absl::Seconds(answers_.front().at));
    }
  }

  const int cells_;
  double now_ = 0.0;
  double free_at_ = 0.0;
  std::queue<Answer> answers_;
};

TEST(InFlightLimitTest, UntilOneIsLateThereIsNone) {
  InFlightLimit limit;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(SendTogether(5000, End::kInTime, 0.9, kStart, &limit), 5000);
  }
}

TEST(InFlightLimitTest, AFewThatAreLateChangeNothing) {
  InFlightLimit limit;
  for (int i = 0; i < 1000; ++i) {
    SendOneByOne(1, i % 25 == 0 ? End::kLate : End::kInTime, 0.5, kStart, &limit);
  }
  EXPECT_EQ(SendTogether(5000, End::kInTime, 0.5, kStart, &limit), 5000);
}

TEST(InFlightLimitTest, WhereAllAreLateOneIsStillSent) {
  InFlightLimit limit;
  for (int i = 0; i < 50; ++i) SendTogether(100, End::kLate, 1.0, kStart, &limit);
  EXPECT_EQ(SendTogether(100, End::kLate, 1.0, kStart, &limit), 1);
}

TEST(InFlightLimitTest, OneThatEndsOtherwiseIsInFlightNoMore) {
  InFlightLimit limit;
  for (int i = 0; i < 50; ++i) SendTogether(100, End::kLate, 1.0, kStart, &limit);
  const int most = SendTogether(100, End::kOtherwise, 0.1, kStart, &limit);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(SendTogether(100, End::kOtherwise, 0.1, kStart, &limit), most);
  }
}

// A network that takes most of the time that calls have, and more for half of them.
TEST(InFlightLimitTest, WhereEvenTheQuickestIsSlowItDoesNotFall) {
  InFlightLimit limit;
  for (int i = 0; i < 1000; ++i) {
    const int sent = Fill(8, &limit);
    EXPECT_EQ(sent, 8);
    for (int j = 0; j < sent; ++j) {
      limit.OnEnd(j % 2 == 0 ? End::kInTime : End::kLate, j % 2 == 0 ? 0.85 : 1.0, kStart);
    }
  }
}

TEST(InFlightLimitTest, WithoutItAServerOfLateAnswersIsFullOfThem) {
  EXPECT_LT(SlotLoad(/*cells=*/6).Run(1.0, nullptr), 0.05 * SlotLoad::kCapacity);
}

TEST(InFlightLimitTest, WithItAnOverloadedServerIsInTimeNearlyAsOftenAsItCan) {
  for (const int cells : {4, 6, 12, 30, 100}) {
    SlotLoad load(cells);
    InFlightLimit limit;
    load.Run(2.0, &limit);
    EXPECT_GT(load.Run(10.0, &limit), 0.8 * SlotLoad::kCapacity) << cells;
  }
}

TEST(InFlightLimitTest, ALoadThatIsBorneIsNotTouched) {
  SlotLoad load(2);
  InFlightLimit limit;
  EXPECT_NEAR(load.Run(5.0, &limit), 4000, 10);
}

TEST(InFlightLimitTest, SoonAfterAServerThatHungAllIsSentAgain) {
  InFlightLimit limit;
  SendTogether(64, End::kInTime, 0.2, kStart, &limit);
  for (int i = 0; i < 50; ++i) SendTogether(64, End::kLate, 1.0, kStart, &limit);
  // The first ones by and by, and after a while without a late one twice as many each time.
  absl::Time now = kStart + InFlightLimit::kMemory;
  int ended = 0;
  while (ended < 1000 && SendTogether(64, End::kInTime, 0.2, now, &limit) < 64) ++ended;
  EXPECT_LT(ended, 300);
  EXPECT_EQ(SendTogether(64, End::kInTime, 0.2, now, &limit), 64);
}

}  // namespace
}  // namespace baseband::client
