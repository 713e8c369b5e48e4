#include "server/converters/bounded_cache.h"

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

// What an entry takes besides its value: found out, not assumed.
int64_t Overhead(size_t key_bytes) {
  BoundedCache<int> cache("things", 1 << 20);
  EXPECT_THAT(cache.Insert(std::string(key_bytes, 'k'), std::make_shared<int>(1), 0), IsOk());
  return cache.bytes();
}

class BoundedCacheTest : public ::testing::Test {
 protected:
  // Whether the value was kept; it is not in use afterwards.
  bool Insert(const std::string& key, int value, int64_t bytes) {
    const auto kept = cache_.Insert(key, std::make_shared<int>(value), bytes - overhead_);
    return kept.ok() && **kept == value;
  }
  bool Has(const std::string& key) { return cache_.Find(key) != nullptr; }

  const int64_t overhead_ = Overhead(1);
  BoundedCache<int> cache_{"things", 4000};
};

TEST_F(BoundedCacheTest, FindsWhatWasInsertedAndNothingElse) {
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Insert("a", 1, 1000));
  ASSERT_TRUE(Has("a"));
  EXPECT_EQ(*cache_.Find("a"), 1);
  EXPECT_FALSE(Has("b"));
  EXPECT_EQ(cache_.bytes(), 1000);
}

TEST_F(BoundedCacheTest, TheFirstValueOfAKeyStays) {
  EXPECT_TRUE(Insert("a", 1, 1000));
  EXPECT_FALSE(Insert("a", 2, 1000));
  EXPECT_EQ(*cache_.Find("a"), 1);
  EXPECT_EQ(cache_.bytes(), 1000);
}

TEST_F(BoundedCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  EXPECT_TRUE(Insert("a", 1, 1500));
  EXPECT_TRUE(Insert("b", 2, 1500));
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(Insert("c", 3, 1500));
  EXPECT_FALSE(Has("b"));
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(Has("c"));
}

TEST_F(BoundedCacheTest, WhatIsInUseIsCountedAndNeverLetGoOf) {
  EXPECT_TRUE(Insert("a", 1, 1500));
  auto used = cache_.Find("a");
  EXPECT_TRUE(Insert("b", 2, 1500));
  EXPECT_TRUE(Insert("c", 3, 1500));  // not "a", though it is the oldest
  EXPECT_TRUE(Has("a"));
  EXPECT_FALSE(Has("b"));
  EXPECT_THAT(cache_.Insert("d", std::make_shared<int>(4), 3000),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the things")));
  used = nullptr;
  EXPECT_TRUE(Insert("d", 4, 3000));
  EXPECT_LE(cache_.bytes(), 4000);
}

// Whoever is told to come again would be told so for ever.
TEST_F(BoundedCacheTest, WhatARequestAloneHasTooMuchOfIsItsFault) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto insert = [&](const char* key, int64_t bytes,
                          const std::vector<std::shared_ptr<const int>>& own) {
    return cache_.Insert(key, std::make_shared<int>(1), bytes - overhead_, own);
  };
  EXPECT_THAT(insert("x", 4001, {}), StatusIs(kInvalid, HasSubstr("take 4001 bytes")));
  const auto others = *insert("o", 500, {});
  const auto a = *insert("a", 1500, {});
  const auto b = *insert("b", 1500, {a});
  EXPECT_THAT(insert("c", 1001, {a, b, a}), StatusIs(kInvalid, HasSubstr("take 4001 bytes")));
  EXPECT_THAT(insert("c", 1000, {a, b, a}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("in flight use")))
      << "there is room once the others are done";
}

TEST_F(BoundedCacheTest, AValueThatGrowsPushesOthersOut) {
  EXPECT_TRUE(Insert("a", 1, 1000));
  EXPECT_TRUE(Insert("b", 2, 1000));
  cache_.Resize("b", 3500 - overhead_);
  EXPECT_FALSE(Has("a"));
  EXPECT_TRUE(Has("b"));
  EXPECT_EQ(cache_.bytes(), 3500);
  cache_.Resize("nobody", 1 << 20);
  EXPECT_EQ(cache_.bytes(), 3500);
}

class SharedCacheTest : public BoundedCacheTest {
 protected:
  void InsertFor(const char* client, const std::string& key, int64_t bytes) {
    EXPECT_THAT(cache_.Insert(key, std::make_shared<int>(1), bytes - overhead_, {}, client),
                IsOk());
  }
  bool HasFor(const char* client, const std::string& key) {
    return cache_.Find(key, client) != nullptr;
  }
};

// However long ago the others have asked.
TEST_F(SharedCacheTest, WhoHasMostLosesItsOldest) {
  InsertFor("small", "s", 1000);
  for (const char* key : {"a", "b", "c", "d", "e"}) InsertFor("large", key, 1000);
  EXPECT_TRUE(HasFor("small", "s"));
  EXPECT_FALSE(HasFor("large", "a"));
  EXPECT_FALSE(HasFor("large", "b"));
  for (const char* key : {"c", "d", "e"}) EXPECT_TRUE(HasFor("large", key)) << key;
  // Until they have the same.
  for (const char* key : {"t", "u", "v"}) InsertFor("small", key, 1000);
  EXPECT_TRUE(HasFor("large", "e"));
  EXPECT_TRUE(HasFor("small", "v"));
  EXPECT_EQ(cache_.bytes(), 4000);
}

TEST_F(SharedCacheTest, WhatIsInUseStaysWhoeverHasMost) {
  const auto used = *cache_.Insert("a", std::make_shared<int>(1), 3000 - overhead_, {}, "large");
  InsertFor("small", "s", 1000);
  InsertFor("small", "t", 1000);
  EXPECT_TRUE(HasFor("large", "a"));
  EXPECT_FALSE(HasFor("small", "s"));
  EXPECT_TRUE(HasFor("small", "t"));
}

// Otherwise it would go with the rest of what is his who has most.
TEST_F(SharedCacheTest, AValueOfSeveralIsHisWhoHasLess) {
  InsertFor("large", "s", 1000);
  InsertFor("large", "a", 1000);
  EXPECT_TRUE(HasFor("small", "s"));
  EXPECT_TRUE(HasFor("large", "s"));  // stays the other's
  for (const char* key : {"b", "c", "d", "e"}) InsertFor("large", key, 1000);
  EXPECT_TRUE(HasFor("small", "s"));
  EXPECT_FALSE(HasFor("large", "b"));
  EXPECT_EQ(cache_.bytes(), 4000);
}

TEST_F(BoundedCacheTest, ThreadsTogetherNeverHoldMoreThanTheBound) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const std::string client = std::to_string(t % 3);
      std::mt19937 random(t);
      std::vector<std::shared_ptr<const int>> held;
      for (int i = 0; i < 5000; ++i) {
        const auto number = static_cast<int>(random() % 30);
        const std::string key = std::to_string(number);
        auto value = cache_.Find(key, client);
        if (value == nullptr) {
          auto kept = cache_.Insert(key, std::make_shared<int>(number), 300, {}, client);
          if (kept.ok()) value = *std::move(kept);
        }
        if (value != nullptr) {
          ASSERT_EQ(*value, number);
          held.push_back(std::move(value));
        }
        if (held.size() > random() % 3) held.erase(held.begin());
        ASSERT_LE(cache_.bytes(), 4000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(BoundedCacheTest, WhatNobodyUsesIsDroppedIfThatIsAsked) {
  const auto used = *cache_.Insert("u", std::make_shared<int>(1), 100);
  ASSERT_TRUE(Insert("a", 2, 1000));
  ASSERT_TRUE(Insert("b", 3, 1000));
  cache_.DropUnused();
  EXPECT_TRUE(Has("u"));
  EXPECT_FALSE(Has("a"));
  EXPECT_FALSE(Has("b"));
  EXPECT_EQ(cache_.bytes(), 100 + overhead_);
}

}  // namespace
}  // namespace baseband::server
