// Whose tables stay on devices, and who finds them there.
#include "server/operations/minimize/search_tables.h"

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/schwefel.h"
#include "server/operations/minimize/minimize.h"
#include "tests/support/fake_device.h"
#include "tests/support/minimize_search.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;

constexpr int64_t kBytes = 100 << 10;

class SearchTablesTest : public ::testing::Test {
 protected:
  SearchTablesTest() {
    ObjectLimits limits;
    limits.max_bytes = limits.max_bytes_per_owner = 1 << 20;
    for (FakeDevice* device : {&first_, &second_}) {
      device->set_objects(
          std::make_shared<ObjectStore>(limits, *HostPool::CreatePageable(limits.max_bytes)));
    }
    Device* const devices[] = {&first_, &second_, &without_};
    tables_ = std::make_unique<const KeptTables>("client", devices);
  }
  // A batch that finds or brings the tables, and ends well.
  BatchTables::Place Batch(Device& device) {
    BatchTables batch;
    const BatchTables::Place place = batch.Find(device.objects(), tables_.get(), kBytes);
    batch.Publish();
    return place;
  }

  FakeDevice first_{"first"};
  FakeDevice second_{"second"};
  FakeDevice without_{"without"};
  std::unique_ptr<const KeptTables> tables_;
};

TEST_F(SearchTablesTest, TheFirstBatchOnADeviceBringsThemAndOthersFindThem) {
  for (Device* const device : {&first_, &second_}) {
    const BatchTables::Place brought = Batch(*device);
    ASSERT_NE(brought.data, nullptr);
    EXPECT_TRUE(brought.is_new);
    BatchTables beside;
    EXPECT_EQ(beside.Find(device->objects(), tables_.get(), kBytes).data, brought.data);
    const BatchTables::Place found = Batch(*device);
    EXPECT_EQ(found.data, brought.data);
    EXPECT_FALSE(found.is_new);
    EXPECT_EQ(device->objects()->usage().bytes, kBytes);
  }
}

TEST_F(SearchTablesTest, NobodyFindsThemBeforeTheyAreAllThere) {
  BatchTables first;
  ASSERT_TRUE(first.Find(first_.objects(), tables_.get(), kBytes).is_new);
  EXPECT_EQ(Batch(first_).data, nullptr) << "brings its own along";
  first.Publish();
  EXPECT_EQ(Batch(first_).data, nullptr) << "its batch has them still";
}

TEST_F(SearchTablesTest, WhatABatchThatFailedHasBroughtIsNotThere) {
  {
    BatchTables failed;
    ASSERT_TRUE(failed.Find(first_.objects(), tables_.get(), kBytes).is_new);
  }
  EXPECT_EQ(first_.objects()->usage().objects, 0);
  EXPECT_TRUE(Batch(first_).is_new);
  {
    BatchTables failed_later;
    EXPECT_FALSE(failed_later.Find(first_.objects(), tables_.get(), kBytes).is_new);
  }
  EXPECT_FALSE(Batch(first_).is_new) << "that one only read them";
}

TEST_F(SearchTablesTest, WhatIsGoneIsBroughtAgain) {
  Batch(first_);
  ASSERT_THAT(first_.objects()->Create({"other", "all"}, 1 << 20), IsOk());
  EXPECT_TRUE(absl::IsNotFound(first_.objects()->Share(tables_->key()).status()));
  EXPECT_TRUE(Batch(first_).is_new);
  first_.objects()->Lose();
  EXPECT_EQ(Batch(first_).data, nullptr) << "the device was lost";
  first_.objects()->Renew(*HostPool::CreatePageable(1 << 20));
  EXPECT_TRUE(Batch(first_).is_new);
}

TEST_F(SearchTablesTest, WhereThereIsNoRoomNothingStays) {
  const auto all = first_.objects()->Create({"other", "all"}, 1 << 20);
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(Batch(first_).data, nullptr);
  EXPECT_EQ(Batch(without_).data, nullptr);
  BatchTables batch;
  EXPECT_EQ(batch.Find(second_.objects(), nullptr, kBytes).data, nullptr);
}

TEST_F(SearchTablesTest, TheyGoWithTheirSearch) {
  Batch(first_);
  Batch(second_);
  tables_.reset();
  EXPECT_EQ(first_.objects()->usage().bytes + second_.objects()->usage().bytes, 0);
}

TEST_F(SearchTablesTest, OnlyLargeTablesOfLongSearchesStay) {
  const auto pool = *HostPool::CreatePageable(1 << 20);
  const auto stays = [&](int64_t bytes, double pieces) {
    minimize::Settings settings;
    settings.functional = minimize::MakeSchwefel(1);
    settings.grid = testing::MakeGrid({{-500.0, 0.1, 10000}});
    SearchPlan plan;
    plan.problem = testing::MakeProblem(settings);
    plan.image = *pool->Lease(bytes);
    minimize::PieceLimits limits;
    limits.operations = plan.problem->cost() / pieces;
    Device* const devices[] = {&first_};
    KeepTables("client", devices, limits, &plan);
    return plan.tables != nullptr;
  };
  EXPECT_TRUE(stays(kMinKeptTableBytes, 1.5));
  EXPECT_FALSE(stays(kMinKeptTableBytes, 1.0));
  EXPECT_FALSE(stays(kMinKeptTableBytes - 1, 1.5));
}

}  // namespace
}  // namespace baseband::server
