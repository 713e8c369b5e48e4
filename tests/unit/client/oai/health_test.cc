#include "gtest/gtest.h"

extern "C" {
#include "client/oai/health.h"
}

namespace baseband::testing {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(OaiHealthTest, WhatChangesIsSaidOnce) {
  bo_health health{};
  uint64_t now = 100 * kSecond;
  EXPECT_EQ(bo_health_note(&health, true, now), BO_NO_NEWS);
  EXPECT_EQ(bo_health_note(&health, false, now), BO_NEWS_AWAY);
  EXPECT_EQ(bo_health_note(&health, false, now += 5 * kSecond), BO_NO_NEWS);
  EXPECT_EQ(bo_health_note(&health, true, now += 5 * kSecond), BO_NEWS_BACK);
  EXPECT_EQ(bo_health_note(&health, true, now += 5 * kSecond), BO_NO_NEWS);
  EXPECT_EQ(health.library_calls, 2U);
}

TEST(OaiHealthTest, AServerThatComesAndGoesIsSpokenOfOnceASecond) {
  bo_health health{};
  int said = 0;
  for (uint64_t now = 100 * kSecond; now < 110 * kSecond; now += kSecond / 100) {
    said += bo_health_note(&health, now / (kSecond / 100) % 2 == 0, now) != BO_NO_NEWS;
  }
  EXPECT_GE(said, 8);
  EXPECT_LE(said, 11);
}

}  // namespace
}  // namespace baseband::testing
