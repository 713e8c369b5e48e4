// Random schedules of jobs with zero, tiny, huge and nonsensical work. The same under libFuzzer:
// tests/fuzz/schedule_fuzzer.cc.
#include "tests/support/random_schedule.h"

#include <random>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

TEST(RandomScheduleTest, WhateverWorkComesNumbersStayFiniteAndServiceGoesOn) {
  constexpr uint32_t kSchedules = 200;
  constexpr int kSteps = 400;
  for (uint32_t seed = 0; seed < kSchedules; ++seed) {
    std::mt19937 random(seed);
    RandomSchedule schedule([&](uint32_t below) { return random() % below; });
    for (int i = 0; i < kSteps && schedule.fault().empty(); ++i) schedule.Step();
    schedule.Finish();
    ASSERT_EQ(schedule.fault(), "") << "seed " << seed;
    schedule.CheckSteadyService();
    ASSERT_EQ(schedule.fault(), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace baseband::server
