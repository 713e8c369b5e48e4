#include "kernels/minimize/expression/compile_cache.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::_;

CompileKey Key(const std::string& text, Precision precision = Precision::kFloat64) {
  Names names;
  names.variables = {"x"};
  CompileKey key;
  key.expression = *Expression::Parse(text, names);
  key.precision = precision;
  key.architecture = 90;
  return key;
}

using Cache = CompileCache<std::string>;

Cache::Compile Gives(const std::string& value) {
  return [value] { return std::make_shared<const std::string>(value); };
}

TEST(MinimizeCompileCacheTest, WhatIsThereIsNotCompiledAgain) {
  Cache cache(4);
  bool compiled = false;
  EXPECT_EQ(cache.Find(Key("x + 1")), nullptr);
  EXPECT_EQ(**cache.Get(Key("x + 1"), Gives("first"), &compiled), "first");
  EXPECT_TRUE(compiled);
  EXPECT_EQ(**cache.Get(Key("x+1"), Gives("second"), &compiled), "first");
  EXPECT_FALSE(compiled);
  EXPECT_EQ(*cache.Find(Key("(x + 1)")), "first");
  EXPECT_EQ(cache.Find(Key("x + 1", Precision::kFloat32)), nullptr);
  EXPECT_EQ(cache.Find(Key("x + 2")), nullptr);
}

TEST(MinimizeCompileCacheTest, TheOnesAskedForLastAreKept) {
  Cache cache(3);
  bool compiled = false;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(cache.Get(Key(absl::StrCat("x + ", i)), Gives(absl::StrCat(i)), &compiled).ok());
  }
  EXPECT_NE(cache.Find(Key("x + 0")), nullptr);
  ASSERT_TRUE(cache.Get(Key("x + 3"), Gives("3"), &compiled).ok());
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_NE(cache.Find(Key("x + 0")), nullptr);
  EXPECT_EQ(cache.Find(Key("x + 1")), nullptr);
}

TEST(MinimizeCompileCacheTest, AFailureIsNotKept) {
  Cache cache(3);
  bool compiled = false;
  EXPECT_THAT(
      cache.Get(
          Key("x"), []() -> absl::StatusOr<Cache::Pointer> { return absl::InternalError("no"); },
          &compiled),
      StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(**cache.Get(Key("x"), Gives("yes"), &compiled), "yes");
}

TEST(MinimizeCompileCacheTest, ManyWhoAskAtOnceGetOneCompilation) {
  Cache cache(3);
  std::atomic<int> compilations{0};
  absl::Notification go;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      bool compiled = false;
      const auto value = cache.Get(
          Key("x * x"),
          [&]() -> absl::StatusOr<Cache::Pointer> {
            compilations.fetch_add(1);
            go.WaitForNotification();  // the others come meanwhile, or later: all the same
            return std::make_shared<const std::string>("one");
          },
          &compiled);
      EXPECT_EQ(**value, "one");
    });
  }
  while (compilations.load() == 0) std::this_thread::yield();
  EXPECT_EQ(cache.Find(Key("x * x")), nullptr);  // does not wait
  go.Notify();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compilations.load(), 1);
}

}  // namespace
}  // namespace baseband::minimize
