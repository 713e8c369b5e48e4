#include "client/cpp/in_flight_limit.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <random>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/support/constants.h"

namespace baseband::client {
namespace {

using End = InFlightLimit::End;

// So many calls that are sent one after the other.
void SendOneByOne(int calls, End end, double timeouts, absl::Time now, InFlightLimit* limit) {
  for (int i = 0; i < calls; ++i) {
    limit->OnSend();
    limit->OnEnd(end, timeouts, now);
  }
}

// Sends as many at a time as it may, but `most`; they are in flight together.
int Fill(int most, absl::Time now, InFlightLimit* limit) {
  int sent = 0;
  for (; sent < most && limit->Room(now) >= 1.0; ++sent) limit->OnSend();
  return sent;
}
int SendTogether(int most, End end, double timeouts, absl::Time now, InFlightLimit* limit) {
  const int sent = Fill(most, now, limit);
  for (int i = 0; i < sent; ++i) limit->OnEnd(end, timeouts, now);
  return sent;
}

// A server that takes one after the other, in 1 / kCapacity, and a way there and back. Cells have a
// call each at every slot's begin.
class SlotLoad {
 public:
  // `noise`: the part of the calls whose answer is a timeout later, whatever else is in flight.
  explicit SlotLoad(int cells, double noise = 0.0) : cells_(cells), noise_(noise) {}

  // So many seconds; how many calls were in time, a second.
  double Run(double seconds, InFlightLimit* limit) {
    int in_time = 0;
    const double end = now_ + seconds;
    for (; now_ < end; now_ += kSlot) {
      TakeAnswers(now_, limit, &in_time);
      for (int i = 0; i < cells_; ++i) {
        if (limit != nullptr && limit->Room(kStart + absl::Seconds(now_)) < 1.0) continue;
        if (limit != nullptr) limit->OnSend();
        free_at_ = std::max(free_at_, now_) + kService;
        const bool is_noise = std::uniform_real_distribution<double>()(random_) < noise_;
        answers_.push({free_at_ + kWay + (is_noise ? kTimeout : 0.0), now_});
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
    bool operator<(const Answer& other) const { return at > other.at; }  // the first on top
  };

  void TakeAnswers(double until, InFlightLimit* limit, int* in_time) {
    for (; !answers_.empty() && answers_.top().at <= until; answers_.pop()) {
      const double timeouts = (answers_.top().at - answers_.top().sent) / kTimeout;
      const bool is_late = timeouts > 1.0;
      *in_time += is_late ? 0 : 1;
      if (limit == nullptr) continue;
      limit->OnEnd(is_late ? End::kLate : End::kInTime, timeouts,
                   kStart + absl::Seconds(answers_.top().at));
    }
  }

  const int cells_;
  const double noise_;
  std::mt19937 random_{1};
  double now_ = 0.0;
  double free_at_ = 0.0;
  std::priority_queue<Answer> answers_;
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

TEST(InFlightLimitTest, OneThatEndsOtherwiseIsInFlightNoMore) {
  InFlightLimit limit;
  SendTogether(100, End::kLate, 1.0, kStart, &limit);
  const int most = SendTogether(1000, End::kOtherwise, 0.1, kStart, &limit);
  EXPECT_LT(most, 100);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(SendTogether(1000, End::kOtherwise, 0.1, kStart, &limit), most);
  }
}

// One server of several that hangs, a network that is slow now and then, calls that are larger than
// most: they are late however few are in flight.
TEST(InFlightLimitTest, WhereCallsAreLateWhateverIsDoneMostAreSent) {
  for (const double part : {0.07, 0.25, 0.5, 1.0}) {
    InFlightLimit limit;
    std::mt19937 random{20262};
    std::bernoulli_distribution is_late(part);
    int64_t sent = 0;
    constexpr int kRounds = 100'000;  // of 1 ms
    for (int i = 0; i < kRounds; ++i) {
      const absl::Time now = kStart + absl::Milliseconds(i);
      const int together = Fill(100, now, &limit);
      sent += together;
      for (int j = 0; j < together; ++j) {
        limit.OnEnd(is_late(random) ? End::kLate : End::kInTime, 0.5, now);
      }
    }
    EXPECT_GT(sent, 0.75 * 100 * kRounds) << part;
  }
}

// A client whose cores do nothing but make calls: of two in flight most are late, of more all.
TEST(InFlightLimitTest, WhereItHelpsButALittleItIsKept) {
  InFlightLimit limit;
  std::mt19937 random{20263};
  std::bernoulli_distribution is_late(0.6);
  int in_time = 0;
  constexpr int kRounds = 100'000;  // of 1 ms
  for (int i = 0; i < kRounds; ++i) {
    const absl::Time now = kStart + absl::Milliseconds(i);
    const int together = Fill(100, now, &limit);
    for (int j = 0; j < together; ++j) {
      const bool late = together > 2 || is_late(random);
      in_time += late ? 0 : 1;
      limit.OnEnd(late ? End::kLate : End::kInTime, 1.0, now);
    }
  }
  EXPECT_GT(in_time, 0.3 * kRounds);  // of 0.4 to 0.8
}

TEST(InFlightLimitTest, OnceNoneWasLateForAWhileThereIsNone) {
  InFlightLimit limit;
  SendTogether(100, End::kLate, 1.0, kStart, &limit);
  EXPECT_LT(Fill(1000, kStart, &limit), 100);
  EXPECT_EQ(Fill(1000, kStart + InFlightLimit::kMemory, &limit), 1000);
}

TEST(InFlightLimitTest, WithoutItAServerOfLateAnswersIsFullOfThem) {
  EXPECT_LT(SlotLoad(/*cells=*/6).Run(1.0, nullptr), 0.05 * SlotLoad::kCapacity);
}

TEST(InFlightLimitTest, WithItAnOverloadedServerIsInTimeNearlyAsOftenAsItCan) {
  for (const int cells : {4, 6, 12, 30, 100}) {
    SlotLoad load(cells);
    InFlightLimit limit;
    load.Run(2.0, &limit);
    EXPECT_GT(load.Run(60.0, &limit), 0.8 * SlotLoad::kCapacity) << cells;
  }
}

// Fewer in flight would not help them. Where one of five is late it falls all the same, to so many
// as have most of their time left: not to one.
TEST(InFlightLimitTest, WhereSomeAreLateForNoLoadTheOthersAreSentAsBefore) {
  for (const double noise : {0.03, 0.06, 0.1, 0.2}) {
    for (const int cells : {2, 3, 6, 12, 30}) {
      SlotLoad load(cells, noise);
      InFlightLimit limit;
      load.Run(2.0, &limit);
      const double good = load.Run(60.0, &limit);
      const double all = std::min(SlotLoad::kCapacity, 2000.0 * cells);
      EXPECT_GT(good, (noise > 0.1 ? 0.65 : 0.9) * (1.0 - noise) * all) << noise << " " << cells;
    }
  }
}

TEST(InFlightLimitTest, ALoadThatIsBorneIsNotTouched) {
  SlotLoad load(2);
  InFlightLimit limit;
  EXPECT_NEAR(load.Run(5.0, &limit), 4000, 10);
}

}  // namespace
}  // namespace baseband::client
