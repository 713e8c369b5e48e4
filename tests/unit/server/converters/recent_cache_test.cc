#include "server/converters/recent_cache.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::server {
namespace {

using ::testing::Eq;
using ::testing::Optional;

TEST(RecentCacheTest, FindsWhatWasInsertedAndNothingElse) {
  RecentCache<int> cache(2);
  EXPECT_THAT(cache.Find("a"), Eq(std::nullopt));
  EXPECT_EQ(cache.Insert("a", 1), 1);
  EXPECT_THAT(cache.Find("a"), Optional(1));
  EXPECT_THAT(cache.Find("b"), Eq(std::nullopt));
}

TEST(RecentCacheTest, TheFirstValueOfAKeyStays) {
  RecentCache<int> cache(2);
  cache.Insert("a", 1);
  EXPECT_EQ(cache.Insert("a", 2), 1);
  EXPECT_THAT(cache.Find("a"), Optional(1));
}

TEST(RecentCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  RecentCache<int> cache(2);
  cache.Insert("a", 1);
  cache.Insert("b", 2);
  cache.Find("a");
  cache.Insert("c", 3);
  EXPECT_THAT(cache.Find("b"), Eq(std::nullopt));
  EXPECT_THAT(cache.Find("a"), Optional(1));
  EXPECT_THAT(cache.Find("c"), Optional(3));
}

TEST(RecentCacheTest, SoDoesWhatMakesItTooLargeButNotTheLast) {
  RecentCache<int> cache(10, 100);
  cache.Insert("a", 1, 40);
  cache.Insert("b", 2, 40);
  cache.Insert("c", 3, 40);
  EXPECT_THAT(cache.Find("a"), Eq(std::nullopt));
  EXPECT_THAT(cache.Find("b"), Optional(2));
  EXPECT_THAT(cache.Find("c"), Optional(3));
  cache.Insert("d", 4, 200);
  EXPECT_THAT(cache.Find("c"), Eq(std::nullopt));
  EXPECT_THAT(cache.Find("d"), Optional(4));
}

}  // namespace
}  // namespace baseband::server
