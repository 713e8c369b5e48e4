#include "server/device/host_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

std::shared_ptr<HostPool> Pool(int64_t capacity) { return *HostPool::CreatePageable(capacity); }

TEST(HostPoolTest, LeasesOfAStreamLieSideBySide) {
  const auto pool = Pool(1 << 20);
  const HostLease a = *pool->Lease(100);
  const HostLease b = *pool->Lease(1);
  const HostLease c = *pool->Lease(64);
  EXPECT_EQ(b.data(), a.data() + 128);
  EXPECT_EQ(c.data(), b.data() + 64);
  EXPECT_EQ(a.size(), 100);
}

TEST(HostPoolTest, StreamsStartApart) {
  const auto pool = Pool(1 << 20);
  const HostLease a = *pool->Lease(64, 0);
  const HostLease b = *pool->Lease(64, 1);
  EXPECT_EQ(b.data() - a.data(), (1 << 20) / HostPool::kNumStreams);
}

TEST(HostPoolTest, AFullPoolSaysSoAndServesAgainAfterAReturn) {
  const auto pool = Pool(1024);
  HostLease all = *pool->Lease(1024);
  EXPECT_EQ(pool->used(), 1024);
  EXPECT_THAT(pool->Lease(1),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1024 of 1024 bytes")));
  all.Reset();
  EXPECT_EQ(pool->used(), 0);
  EXPECT_THAT(pool->Lease(1024), IsOk());
}

TEST(HostPoolTest, APoolThatIsAllFreeBeginsAnewWithTheSameMemory) {
  const auto pool = Pool(1 << 20);
  const uint8_t* const first = pool->Lease(100)->data();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pool->Lease(100)->data(), first);
  }
}

TEST(HostLeaseTest, OfOthersMemoryKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<uint8_t>>(100);
  const MemoryRegion region = {owner->data(), 100};
  const std::weak_ptr<const void> watched = owner;
  HostLease lease(region, absl::MakeSpan(*owner).subspan(10, 50), owner);
  owner.reset();
  HostLease moved = std::move(lease);
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(moved.data(), region.base + 10);
  EXPECT_EQ(moved.size(), 50);
  EXPECT_EQ(moved.region(), &region);
  moved.Reset();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(moved.region(), nullptr);
}

TEST(HostPoolTest, AnEmptyLeaseIsALeaseToo) {
  const auto pool = Pool(1024);
  const HostLease lease = *pool->Lease(0);
  EXPECT_NE(lease.data(), nullptr);
  EXPECT_EQ(lease.size(), 0);
}

TEST(HostPoolTest, ALeaseOutlivesTheLastReferenceToItsPool) {
  auto pool = Pool(1024);
  HostLease lease = *pool->Lease(10);
  pool.reset();
  lease.data()[9] = 1;  // ASan would object
}

TEST(HostPoolTest, RandomLeasesNeverOverlapAndAllMemoryComesBack) {
  const auto pool = Pool(64 << 10);
  std::mt19937 random(7);
  std::vector<HostLease> leases;
  for (int i = 0; i < 20000; ++i) {
    if (!leases.empty() && random() % 2 == 0) {
      const size_t victim = random() % leases.size();
      // Its owner's mark is still there: nobody else got the same bytes.
      const HostLease& lease = leases[victim];
      for (const uint8_t byte : lease.span()) {
        ASSERT_EQ(byte, static_cast<uint8_t>(lease.size()));
      }
      leases.erase(leases.begin() + static_cast<int64_t>(victim));
    } else if (auto lease = pool->Lease(random() % 3000, static_cast<int>(random() % 4));
               lease.ok()) {
      for (uint8_t& byte : lease->span()) {
        byte = static_cast<uint8_t>(lease->size());
      }
      leases.push_back(*std::move(lease));
    }
  }
  leases.clear();
  EXPECT_EQ(pool->used(), 0);
  EXPECT_THAT(pool->Lease(64 << 10), IsOk());  // in one piece
}

// Pages of the pool that are there.
int64_t ResidentPages(const HostPool& pool) {
  constexpr int64_t kPage = 4096;
  std::vector<unsigned char> there(static_cast<size_t>(pool.capacity() / kPage));
  EXPECT_EQ(mincore(pool.region().base, static_cast<size_t>(pool.capacity()), there.data()), 0);
  return std::count_if(there.begin(), there.end(), [](unsigned char page) { return page & 1; });
}

TEST(HostPoolTest, WhatIsFreeIsGivenBackAndWhatIsLeasedIsNot) {
  constexpr int64_t kBytes = 1 << 20;
  const auto pool = Pool(64 * kBytes);
  std::vector<HostLease> leases;
  for (int i = 0; i < 60; ++i) {
    leases.push_back(*pool->Lease(kBytes - 100, i));
    std::fill_n(leases.back().data(), leases.back().size(), static_cast<uint8_t>(i + 1));
  }
  for (size_t i = 0; i < leases.size(); ++i) {
    if (i % 3 != 0) leases[i].Reset();
  }
  pool->GiveBack();
  for (size_t i = 0; i < leases.size(); i += 3) {
    EXPECT_TRUE(std::all_of(leases[i].span().begin(), leases[i].span().end(), [i](uint8_t byte) {
      return byte == i + 1;
    })) << i;
  }
  EXPECT_LE(ResidentPages(*pool), 20 * 257);
  const HostLease again = *pool->Lease(kBytes);  // is there again where it is needed
  std::fill_n(again.data(), again.size(), uint8_t{7});
  EXPECT_EQ(again.data()[kBytes - 1], 7);
}

}  // namespace
}  // namespace baseband::server
