// More bytes than can be read, in simulated time: how many requests still end in time. Messages in
// flight share a pipe evenly, none faster than one connection is; what comes unasked, the window of
// a stream, comes of those too who are refused; a device works on one after the other.
#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/limits/read_queue.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

constexpr double kStep = 5e-6;
constexpr double kRoundTrip = 50e-6;
constexpr double kUnasked = 16 << 10;

struct Pipe {
  double rate = 10e9;    // bytes a second
  double each = 1.2e9;   // of one connection
  double device = 40e9;  // bytes a second
};

struct Traffic {
  double bytes = 1.38e6;
  double deadline_s = 2e-3;
  double offered = 1.0;  // of the pipe's rate
  double stalls = 0.0;   // part of them that begins so much later
  double stall_s = 5e-3;
  double delays = 0.0;  // part of them whose answer is so much later, for no load
  double delay_s = 0.0;
};

// Bytes.
struct Outcome {
  double arrived = 0.0;
  double good = 0.0;
  double refused = 0.0;
  double in_vain = 0.0;  // read, and late
};

constexpr double kSeconds = 0.12;
// What a way in of 10 GB/s, as of 16 cores, brings while arrivals are counted.
constexpr double kAll = 10e9 * kSeconds / 2;

class Simulation {
 public:
  // Without admission all is read as it comes.
  Simulation(const Pipe& pipe, bool admission, int seed)
      : pipe_(pipe),
        admission_(admission),
        random_(static_cast<unsigned>(seed)),
        queue_(4096, [this](const AnnouncedMessage&) {
          return ReadQueue::Devices{DeviceWait(), 1, /*is_known=*/true};
        }) {}

  // What becomes of each traffic's requests that come in the second half of `seconds`.
  std::vector<Outcome> Run(const std::vector<Traffic>& traffic, double seconds) {
    std::vector<Outcome> outcomes(traffic.size());
    std::vector<double> next;
    for (const Traffic& one : traffic) next.push_back(Gap(one));
    const double last_s = seconds + 0.025;  // by then all deadlines are over
    for (; now_s_ < last_s; now_s_ += kStep) {
      for (size_t i = 0; i < traffic.size(); ++i) {
        for (; next[i] <= now_s_; next[i] += Gap(traffic[i])) Arrive(traffic[i], i);
      }
      Flow();
      Work();
      Turns();
      for (auto call = calls_.begin(); call != calls_.end();) {
        if ((*call)->at != Call::kEnded) {
          ++call;
          continue;
        }
        if ((*call)->arrived_s > seconds / 2 && (*call)->arrived_s < seconds)
          Count(**call, outcomes[(*call)->traffic]);
        call = calls_.erase(call);
      }
    }
    return outcomes;
  }

 private:
  struct Call {
    enum At { kHeaders, kWaits, kReads, kDevice, kEnded };
    AnnouncedMessage message;
    size_t traffic = 0;
    At at = kHeaders;
    double arrived_s = 0.0, deadline_s = 0.0;
    double unasked = 0.0, left = 0.0;  // bytes still to come
    double stall_s = 0.0, delay_s = 0.0, asked_s = 0.0, read_s = 0.0;
    bool good = false, refused = false;
  };

  double DeviceWait() const {
    double bytes = -worked_;
    for (const Call* call : device_) bytes += static_cast<double>(call->message.bytes);
    return bytes / pipe_.device;
  }

  absl::Time Now() const { return kStart + absl::Seconds(now_s_); }
  double Gap(const Traffic& one) {
    return std::exponential_distribution<double>(one.offered * pipe_.rate / one.bytes)(random_);
  }

  void Arrive(const Traffic& one, size_t i) {
    auto call = std::make_unique<Call>();
    call->traffic = i;
    call->arrived_s = now_s_;
    call->deadline_s = now_s_ + one.deadline_s;
    call->unasked = std::min(one.bytes, kUnasked);
    call->left = one.bytes - call->unasked;
    const bool stalls = std::uniform_real_distribution<double>()(random_) < one.stalls;
    call->stall_s = stalls ? one.stall_s : 0.0;
    const bool delays = std::uniform_real_distribution<double>()(random_) < one.delays;
    call->delay_s = delays ? one.delay_s : 0.0;
    call->message.bytes = static_cast<int64_t>(one.bytes);
    call->message.client = std::to_string(i);
    call->message.deadline = kStart + absl::Seconds(call->deadline_s);
    if (!admission_) {
      Ask(*call);
    } else if (queue_.Enter(&call->message, Now()).ok()) {
      call->at = Call::kWaits;
    } else {
      call->refused = true;
    }
    calls_.push_back(std::move(call));
  }

  void Ask(Call& call) {
    call.at = Call::kReads;
    call.asked_s = now_s_;
  }

  void Turns() {
    for (auto turn = queue_.Next(Now()); turn.message != nullptr; turn = queue_.Next(Now())) {
      Call& call = **std::find_if(calls_.begin(), calls_.end(),
                                  [&](const auto& one) { return &one->message == turn.message; });
      if (turn.status.ok()) {
        Ask(call);
      } else {
        call.refused = true;
        call.at = Call::kHeaders;
      }
    }
  }

  void Flow() {
    std::vector<double*> flows;
    for (const auto& call : calls_) {
      if (call->unasked > 0.0) {
        flows.push_back(&call->unasked);
      } else if (call->at == Call::kReads && now_s_ >= call->asked_s + kRoundTrip + call->stall_s) {
        flows.push_back(&call->left);
      }
    }
    const double share =
        std::min(pipe_.each, pipe_.rate / static_cast<double>(std::max<size_t>(1, flows.size())));
    for (double* left : flows) *left -= share * kStep;
    for (const auto& call : calls_) {
      if (call->refused && call->unasked <= 0.0 && call->at == Call::kHeaders) {
        call->at = Call::kEnded;
      } else if (call->at == Call::kReads) {
        const bool came = call->unasked <= 0.0 && call->left <= 0.0;
        const bool gone = now_s_ >= call->deadline_s;
        if (!came && !gone) continue;
        if (admission_) {
          queue_.Leave(&call->message, came ? ReadQueue::End::kCame : ReadQueue::End::kLate, Now());
        }
        call->at = came ? Call::kDevice : Call::kEnded;
        call->read_s = now_s_;
        if (came) device_.push_back(call.get());
      }
    }
  }

  void Work() {
    for (double budget = pipe_.device * kStep; !device_.empty();) {
      Call& call = *device_.front();
      const auto bytes = static_cast<double>(call.message.bytes);
      const bool hopeless = now_s_ + (bytes - worked_) / pipe_.device > call.deadline_s;
      if (!hopeless && bytes - worked_ > budget) {
        worked_ += budget;
        return;
      }
      if (!hopeless) {
        budget -= bytes - worked_;
        call.good = now_s_ + call.delay_s <= call.deadline_s;
        if (admission_) {
          const double work_s = bytes / pipe_.device;
          queue_.Answered(call.message, work_s + call.delay_s, work_s, call.good);
        }
      }
      worked_ = 0.0;
      call.at = Call::kEnded;
      device_.pop_front();
    }
  }

  static void Count(const Call& call, Outcome& outcome) {
    const auto bytes = static_cast<double>(call.message.bytes);
    outcome.arrived += bytes;
    (call.good ? outcome.good : call.refused ? outcome.refused : outcome.in_vain) += bytes;
  }

  const Pipe pipe_;
  const bool admission_;
  std::mt19937 random_;
  ReadQueue queue_;
  std::deque<std::unique_ptr<Call>> calls_;
  std::deque<Call*> device_;
  double worked_ = 0.0;
  double now_s_ = 0.0;
};

class ReadOverloadTest : public ::testing::TestWithParam<double> {};

// A slot of 150 code blocks each: 1.38 MB, which take 1.2 ms alone.
TEST_P(ReadOverloadTest, WithoutAdmissionNobodyIsInTimeBeyondTheCapacity) {
  const Outcome below = Simulation(Pipe(), false, 1).Run({{1.38e6, GetParam(), 0.6}}, kSeconds)[0];
  EXPECT_GT(below.good, 0.85 * below.arrived);
  for (const double offered : {2.0, 10.0}) {
    const Outcome beyond =
        Simulation(Pipe(), false, 1).Run({{1.38e6, GetParam(), offered}}, kSeconds / 2)[0];
    EXPECT_LT(beyond.good, 0.2 * kAll / 2) << offered;
  }
}

TEST_P(ReadOverloadTest, WithAdmissionTheWayInIsUsedForWhatIsInTime) {
  for (const int seed : {1, 2, 3}) {
    const auto run = [&](double offered) {
      return Simulation(Pipe(), true, seed).Run({{1.38e6, GetParam(), offered}}, kSeconds)[0];
    };
    const Outcome below = run(0.8);
    EXPECT_GT(below.good, 0.85 * below.arrived) << seed;
    const Outcome twice = run(2.0);
    EXPECT_GT(twice.good, 0.85 * kAll) << seed;
    EXPECT_LT(twice.in_vain, 0.05 * kAll) << seed;
    // What comes unasked of ten times as many takes an eighth.
    const Outcome ten = run(10.0);
    EXPECT_GT(ten.good, 0.8 * kAll) << seed;
    EXPECT_LT(ten.in_vain, 0.05 * kAll) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Deadlines, ReadOverloadTest, ::testing::Values(2e-3, 20e-3),
                         [](const auto& test) { return test.param < 5e-3 ? "2ms" : "20ms"; });

TEST(ReadOverloadMixTest, AFewThatStallCostLittleMoreThanThemselves) {
  Traffic traffic = {1.38e6, 3e-3, 2.0};
  traffic.stalls = 0.01;
  constexpr double kLong = 5 * kSeconds;
  const Outcome outcome = Simulation(Pipe(), true, 1).Run({traffic}, kLong)[0];
  EXPECT_GT(outcome.good, 0.85 * 5 * kAll);
}

// As on a CPU device: what is read must not wait there until it is late.
TEST(ReadOverloadMixTest, WhatDevicesCannotDoInTimeIsNotRead) {
  Pipe pipe;
  pipe.device = 1e9;
  for (const double deadline_s : {10e-3, 40e-3}) {
    for (const double beyond : {0.8, 2.0, 10.0, 50.0}) {  // of what the device does
      Simulation simulation(pipe, true, 1);
      const double offered = beyond * pipe.device / pipe.rate;
      const Outcome outcome = simulation.Run({{1.38e6, deadline_s, offered}}, 4 * kSeconds)[0];
      const double most = std::min(1.0, beyond) * pipe.device * 2 * kSeconds;
      EXPECT_GT(outcome.good, 0.8 * most) << deadline_s << " " << beyond;
      EXPECT_LT(outcome.in_vain, 0.1 * most) << deadline_s << " " << beyond;
    }
  }
}

// As on a host whose threads wake late now and then: less to read would not help them.
TEST(ReadOverloadMixTest, WhereSomeAreLateForNoLoadTheOthersAreReadAsBefore) {
  for (const double part : {0.1, 0.2}) {
    for (const double offered : {0.8, 2.0, 10.0}) {
      Traffic traffic = {1.38e6, 2.5e-3, offered};
      traffic.delays = part;
      traffic.delay_s = 2e-3;
      const Outcome outcome = Simulation(Pipe(), true, 1).Run({traffic}, 5 * kSeconds)[0];
      EXPECT_GT(outcome.good, 0.8 * (1.0 - part) * 5 * kAll * std::min(offered, 1.0))
          << part << " " << offered;
    }
  }
}

TEST(ReadOverloadMixTest, ShortDeadlinesAreServedBesideLongOnes) {
  const std::vector<Outcome> both =
      Simulation(Pipe(), true, 1).Run({{1.38e6, 3e-3, 1.0}, {1.38e6, 20e-3, 1.0}}, kSeconds);
  EXPECT_GT(both[0].good, 0.25 * kAll);
  EXPECT_GT(both[0].good + both[1].good, 0.85 * kAll);
}

}  // namespace
}  // namespace baseband::server
