#include "server/device/object_store.h"

#include <string>
#include <vector>

#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

constexpr int64_t kObject = 8192;

class ObjectStoreTest : public ::testing::Test {
 protected:
  ObjectStoreTest() {
    limits_.max_bytes = 8 * kObject;
    limits_.max_bytes_per_owner = 4 * kObject;
    limits_.time_to_live = absl::Seconds(60);
    limits_.clock = [this] { return now_; };
    store_ = std::make_unique<ObjectStore>(limits_, pool_);
  }
  // Nobody uses it any more when this returns.
  absl::Status Make(const char* owner, const std::string& name, int64_t bytes = kObject) {
    return store_->Create({owner, name}, bytes).status();
  }
  absl::Status Find(const char* owner, const std::string& name) {
    return store_->Use({owner, name}).status();
  }
  static auto IsGone(const char* why) {
    return StatusIs(absl::StatusCode::kNotFound, HasSubstr(why));
  }

  absl::Time now_ = absl::UnixEpoch();
  ObjectLimits limits_;
  std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(8 * kObject);
  std::unique_ptr<ObjectStore> store_;
};

TEST_F(ObjectStoreTest, AnObjectIsFoundByItsKeyAndByNobodyElse) {
  uint8_t* data = nullptr;
  {
    const auto made = store_->Create({"a", "x"}, 100);
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ((*made)->bytes(), 100);
    data = (*made)->data();
    data[99] = 42;
  }
  const auto found = store_->Use({"a", "x"});
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ((*found)->data(), data);
  EXPECT_EQ((*found)->data()[99], 42);
  EXPECT_THAT(Find("b", "x"), IsGone("object 'x' is not there"));
  EXPECT_THAT(Find("a", "y"), IsGone("object 'y' is not there"));
}

TEST_F(ObjectStoreTest, AnObjectHasOneUserAtATime) {
  auto made = store_->Create({"a", "x"}, kObject);
  ASSERT_THAT(made, IsOk());
  const auto in_use = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use"));
  EXPECT_THAT(Find("a", "x"), in_use);
  EXPECT_THAT(Make("a", "x"), in_use);
  made->reset();
  EXPECT_THAT(Find("a", "x"), IsOk());
  EXPECT_THAT(Make("a", "x", 2 * kObject), IsOk());
  EXPECT_EQ(store_->usage().bytes, 2 * kObject);
}

TEST_F(ObjectStoreTest, ReadersShareAnObjectWithNobodyElse) {
  auto made = store_->Create({"a", "x"}, kObject);
  const auto in_use = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use"));
  EXPECT_THAT(store_->Share({"a", "x"}), in_use) << "its maker may write to it still";
  made->reset();
  auto first = store_->Share({"a", "x"});
  auto second = store_->Share({"a", "x"});
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->get(), second->get());
  EXPECT_THAT(Find("a", "x"), in_use);
  EXPECT_THAT(Make("a", "x"), in_use);
  first->reset();
  EXPECT_THAT(Find("a", "x"), in_use);
  for (const char* name : {"1", "2", "3", "4"}) ASSERT_THAT(Make("a", name), IsOk());
  EXPECT_THAT(Find("a", "1"), IsGone("its client's")) << "not the one that is in use";
  second->reset();
  auto used = store_->Use({"a", "x"});
  ASSERT_THAT(used, IsOk());
  EXPECT_THAT(store_->Share({"a", "x"}), in_use);
  used->reset();
  EXPECT_THAT(store_->Share({"a", "x"}), IsOk());
  EXPECT_THAT(store_->Share({"b", "x"}), IsGone("is not there"));
}

TEST_F(ObjectStoreTest, WhatIsRemovedWhileItIsInUseCountsUntilThatEnds) {
  std::vector<ObjectPin> pins;
  for (const char* name : {"1", "2", "3", "4"}) {
    pins.push_back(*store_->Create({"a", name}, kObject));
    store_->Remove({"a", name});
  }
  EXPECT_EQ(store_->usage().bytes, 4 * kObject);
  EXPECT_EQ(store_->usage().objects, 0);
  for (const char* name : {"1", "2", "3", "4"}) ASSERT_THAT(Make("b", name), IsOk());
  EXPECT_THAT(Make("a", "5"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("those of its client")));
  for (const char* name : {"1", "2", "3", "4"}) EXPECT_THAT(Find("b", name), IsOk());
  pins.pop_back();
  EXPECT_THAT(Make("a", "5"), IsOk());
  store_->Lose();
  EXPECT_EQ(store_->usage().bytes, 0);
  pins.clear();
  EXPECT_EQ(store_->usage().bytes, 0);
}

TEST_F(ObjectStoreTest, AnOwnerThatHasTooManyLosesItsLeastRecentlyUsed) {
  ASSERT_THAT(Make("b", "0"), IsOk());
  for (const char* name : {"1", "2", "3", "4"}) ASSERT_THAT(Make("a", name), IsOk());
  ASSERT_THAT(Find("a", "1"), IsOk());
  ASSERT_THAT(Make("a", "5"), IsOk());
  EXPECT_THAT(Find("a", "2"), IsGone("its client's objects took more than they may"));
  ASSERT_THAT(Make("a", "6", 2 * kObject), IsOk());
  for (const char* name : {"3", "4"}) EXPECT_THAT(Find("a", name), IsGone("its client's"));
  for (const char* name : {"1", "5", "6"}) EXPECT_THAT(Find("a", name), IsOk());
  EXPECT_THAT(Find("b", "0"), IsOk());
  EXPECT_EQ(store_->usage().bytes, 5 * kObject);
  EXPECT_THAT(store_->usage().dropped, ElementsAre(3, 0, 0, 0));
  EXPECT_THAT(Make("a", "7", 4 * kObject + 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("more than the 32768")));
}

TEST_F(ObjectStoreTest, WhereThereIsNoRoomTheLeastRecentlyUsedOfAllGoes) {
  for (const char* owner : {"a", "b"}) {
    for (const char* name : {"1", "2", "3", "4"}) ASSERT_THAT(Make(owner, name), IsOk());
  }
  ASSERT_THAT(Find("a", "1"), IsOk());
  ASSERT_THAT(Make("c", "1", 2 * kObject), IsOk());
  for (const char* name : {"2", "3"})
    EXPECT_THAT(Find("a", name), IsGone("others needed the room"));
  EXPECT_THAT(Find("a", "1"), IsOk());
  EXPECT_THAT(store_->usage().dropped[static_cast<size_t>(ObjectLoss::kRoom)], 2);
}

TEST_F(ObjectStoreTest, WhatIsInUseDoesNotGo) {
  std::vector<ObjectPin> pins;
  for (const char* name : {"1", "2", "3"}) pins.push_back(*store_->Create({"a", name}, kObject));
  ASSERT_THAT(Make("a", "4"), IsOk());
  ASSERT_THAT(Make("a", "5"), IsOk());
  EXPECT_THAT(Find("a", "4"), IsGone("its client's"));
  EXPECT_THAT(Make("a", "6", 2 * kObject),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("those of its client")));
  for (const char* name : {"1", "2", "3", "4"})
    pins.push_back(*store_->Create({"b", name}, kObject));
  pins.push_back(*store_->Create({"a", "6"}, kObject));
  EXPECT_THAT(Make("c", "1"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("in use leave too little")));
  now_ += absl::Hours(1);
  pins.pop_back();
  EXPECT_THAT(Find("a", "6"), IsGone("nobody used it"));
  pins.clear();
  EXPECT_EQ(store_->usage().objects, 0);
}

TEST_F(ObjectStoreTest, WhatNobodyUsesForLongGoes) {
  ASSERT_THAT(Make("a", "1"), IsOk());
  ASSERT_THAT(Make("a", "2"), IsOk());
  now_ += absl::Seconds(59);
  ASSERT_THAT(Find("a", "1"), IsOk());
  now_ += absl::Seconds(1);
  EXPECT_EQ(store_->usage().objects, 1);
  EXPECT_EQ(pool_->used(), kObject);
  EXPECT_THAT(Find("a", "2"), IsGone("nobody used it for too long"));
  EXPECT_THAT(Find("a", "1"), IsOk());
  EXPECT_THAT(store_->usage().dropped, ElementsAre(0, 0, 1, 0));
}

TEST_F(ObjectStoreTest, WhatIsRemovedIsNotReported) {
  ASSERT_THAT(Make("a", "1"), IsOk());
  store_->Remove({"a", "1"});
  store_->Remove({"a", "2"});
  EXPECT_THAT(Find("a", "1"), IsGone("is not there"));
  EXPECT_EQ(pool_->used(), 0);
  EXPECT_THAT(store_->usage().dropped, ElementsAre(0, 0, 0, 0));
}

TEST_F(ObjectStoreTest, ObjectsGoWithTheirDeviceButNotTheMemoryOfThoseInUse) {
  ASSERT_THAT(Make("a", "1"), IsOk());
  ObjectPin pin = *store_->Create({"a", "2"}, kObject);
  store_->Lose();
  EXPECT_THAT(Find("a", "1"), IsGone("its device was lost"));
  EXPECT_THAT(Find("a", "2"), IsGone("its device was lost"));
  EXPECT_THAT(Make("a", "1"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lost")));
  EXPECT_EQ(pool_->used(), kObject);
  pin->data()[0] = 1;
  const std::weak_ptr<HostPool> old = pool_;
  pool_ = *HostPool::CreatePageable(8 * kObject);
  store_->Renew(pool_);
  EXPECT_FALSE(old.expired());
  pin.reset();
  EXPECT_TRUE(old.expired());
  EXPECT_THAT(Make("a", "1"), IsOk());
  EXPECT_THAT(Find("a", "1"), IsOk());
  EXPECT_EQ(store_->usage().bytes, kObject);
}

// A kernel that does not end may still run in it, and to free it would wait for that.
TEST_F(ObjectStoreTest, ALostDevicesMemoryIsFreedWhenAnotherTakesItsPlace) {
  std::vector<uint8_t> bytes(8 * kObject);
  bool freed = false;
  store_->Renew(HostPool::Create({bytes.data(), 8 * kObject, /*is_page_locked=*/false}, [&] {
    freed = true;
    EXPECT_EQ(store_->usage().bytes, 0) << "it is not freed under the store's lock";
  }));
  ASSERT_THAT(Make("a", "1"), IsOk());
  store_->Lose();
  EXPECT_FALSE(freed);
  EXPECT_THAT(Make("a", "1"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lost")));
  store_->Renew(nullptr);
  EXPECT_TRUE(freed);
  EXPECT_THAT(Make("a", "1"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lost")));
  store_->Renew(pool_);
  EXPECT_THAT(Make("a", "1"), IsOk());
}

TEST_F(ObjectStoreTest, APinKnowsThatItsDeviceWasLost) {
  const ObjectPin kept = *store_->Create({"a", "1"}, kObject);
  const ObjectPin removed = *store_->Create({"a", "2"}, kObject);
  store_->Remove({"a", "2"});
  EXPECT_FALSE(kept->is_lost());
  EXPECT_FALSE(removed->is_lost());
  store_->Lose();
  EXPECT_TRUE(kept->is_lost());
  EXPECT_TRUE(removed->is_lost());
  store_->Renew(pool_);
  EXPECT_TRUE(kept->is_lost());
  EXPECT_FALSE((*store_->Create({"a", "1"}, kObject))->is_lost());
}

TEST_F(ObjectStoreTest, WhyAnObjectWentIsKnownOfTheLastOnesOnly) {
  for (size_t i = 0; i < ObjectStore::kMaxGone + 5; ++i) {
    ASSERT_THAT(Make("a", std::to_string(i)), IsOk());
  }
  EXPECT_THAT(Find("a", "0"), IsGone("object '0' is not there"));
  EXPECT_THAT(Find("a", "1"), IsGone("its client's"));
}

TEST_F(ObjectStoreTest, SmallObjectsCountForMoreThanTheyHave) {
  for (int i = 0; i < 100; ++i) ASSERT_THAT(Make("a", std::to_string(i), 1), IsOk());
  EXPECT_EQ(store_->usage().objects, 8);  // of 4096 bytes in what an owner may have
  EXPECT_THAT(Make("a", ""), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 bytes")));
  EXPECT_THAT(Make("a", std::string(257, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("257 bytes, not 1 to 256")));
}

}  // namespace
}  // namespace baseband::server
