#include "server/shm/region_table.h"

#include <functional>
#include <limits>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;
using testing::IsInvalid;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kPage = 4096;

absl::StatusOr<std::unique_ptr<SharedMemory>> MakeOnHost(int64_t bytes) {
  return SharedMemory::Create(bytes, {});
}

class RegionTableTest : public ::testing::Test {
 protected:
  RegionTable::Grant Grant(int64_t bytes, const std::string& client = "uid:1") {
    auto grant = table_.Add(client, bytes);
    EXPECT_THAT(grant, IsOk());
    EXPECT_THAT(table_.Seal(grant->name), IsOk());
    return *std::move(grant);
  }
  // The status of a request with these ranges, and the request.
  absl::Status LookUp(absl::optional<MemoryRange> payload_at,
                      absl::optional<MemoryRange> reply_at = absl::nullopt) {
    request_ = Request();
    request_.payload_at = std::move(payload_at);
    request_.reply_at = std::move(reply_at);
    return table_.LookUp(&request_);
  }

  RegionTable table_{{10 * kPage, 6 * kPage, 3}, MakeOnHost};
  Request request_;
};

TEST_F(RegionTableTest, GrantsWholePagesOfZerosUnderNamesThatDiffer) {
  const RegionTable::Grant a = Grant(1);
  const RegionTable::Grant b = Grant(kPage + 1);
  EXPECT_EQ(a.memory->region().bytes, kPage);
  EXPECT_EQ(b.memory->region().bytes, 2 * kPage);
  EXPECT_EQ(a.name.size(), 16U);
  EXPECT_NE(a.name, b.name);
  EXPECT_NE(a.name, table_.server_id());
  for (int64_t i = 0; i < kPage; ++i) ASSERT_EQ(a.memory->region().base[i], 0);
  EXPECT_EQ(table_.usage().bytes, 3 * kPage);
  EXPECT_EQ(table_.usage().regions, 2);
}

TEST_F(RegionTableTest, EachBoundIsRefusedWithItsNumber) {
  EXPECT_THAT(table_.Add("a", 0), IsInvalid("bytes 0 is not in [1, 24576]"));
  EXPECT_THAT(table_.Add("a", -1), IsInvalid("bytes -1 is not in"));
  EXPECT_THAT(table_.Add("a", 6 * kPage + 1), IsInvalid("is not in [1, 24576]"));
  EXPECT_THAT(table_.Add("a", std::numeric_limits<int64_t>::max()), IsInvalid("is not in"));
  const RegionTable::Grant first = Grant(5 * kPage, "a");
  EXPECT_THAT(table_.Add("a", 2 * kPage),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("bytes 8192: a has 20480 of 24576 bytes of shared memory "
                                 "(--client-shm-mib)")));
  const RegionTable::Grant second = Grant(5 * kPage, "b");
  EXPECT_THAT(table_.Add("c", kPage),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("bytes 4096: clients have 40960 of 40960 bytes")));
}

TEST_F(RegionTableTest, AClientHasSoManyRegions) {
  for (int i = 0; i < 3; ++i) Grant(kPage, "a");
  EXPECT_THAT(table_.Add("a", kPage),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("a has 3 regions, and may have 3 at a time")));
  EXPECT_THAT(table_.Add("b", kPage), IsOk());
}

TEST_F(RegionTableTest, MemoryThatCannotBeMadeCountsForNobody) {
  RegionTable table({kPage, kPage, 1},
                    [](int64_t) -> absl::StatusOr<std::unique_ptr<SharedMemory>> {
                      return absl::ResourceExhaustedError("none");
                    });
  EXPECT_THAT(table.Add("a", kPage),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("none")));
  EXPECT_EQ(table.usage().bytes, 0);
  EXPECT_EQ(table.usage().regions, 0);
}

TEST_F(RegionTableTest, WhatIsRemovedIsNotFoundAndCountsUntilNobodyUsesIt) {
  RegionTable::Grant grant = Grant(kPage);
  ASSERT_THAT(LookUp(MemoryRange{grant.name, 0, 64}), IsOk());
  table_.Remove(grant.name);
  EXPECT_EQ(table_.Find(grant.name), nullptr);
  grant.memory.reset();
  EXPECT_TRUE(table_.Reap()) << "the request uses it";
  EXPECT_EQ(table_.usage().bytes, kPage);
  const Request used = std::exchange(request_, Request());
  EXPECT_EQ(used.payload.data()[63], 0) << "it is mapped still";
  {
    const Request last = used;
    EXPECT_TRUE(table_.Reap());
  }
  const_cast<Request&>(used) = Request();
  EXPECT_FALSE(table_.Reap());
  EXPECT_EQ(table_.usage().bytes, 0);
  EXPECT_EQ(table_.usage().regions, 0);
  EXPECT_THAT(LookUp(MemoryRange{grant.name, 0, 64}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("payload_at.region")));
}

TEST_F(RegionTableTest, NothingIsFoundBeforeItIsSealed) {
  const auto grant = table_.Add("a", kPage);
  ASSERT_THAT(grant, IsOk());
  EXPECT_EQ(table_.Find(grant->name), nullptr);
  EXPECT_THAT(LookUp(MemoryRange{grant->name, 0, 64}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("its client has not said that it is mapped")));
  EXPECT_THAT(table_.Seal(grant->name), IsOk());
  EXPECT_THAT(table_.Seal(grant->name), IsOk()) << "again";
  EXPECT_THAT(LookUp(MemoryRange{grant->name, 0, 64}), IsOk());
  table_.Remove(grant->name);
  EXPECT_THAT(table_.Seal(grant->name), StatusIs(absl::StatusCode::kNotFound, HasSubstr("name")));
}

// Ends take their time where a client has the file, too: elsewhere, one after the other's freeing.
TEST_F(RegionTableTest, WhatIsEndedElsewhereCountsUntilItHasEnded) {
  RegionTable::Grant grant = Grant(6 * kPage, "a");
  table_.Remove(grant.name);
  grant.memory.reset();
  std::function<void()> end;
  EXPECT_FALSE(table_.Reap([&](std::function<void()> work) { end = std::move(work); }));
  EXPECT_EQ(table_.usage().bytes, 6 * kPage);
  EXPECT_EQ(table_.usage().regions, 1);
  EXPECT_THAT(table_.Add("a", kPage),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("a has 24576 of 24576")));
  std::thread later([&] {
    absl::SleepFor(absl::Milliseconds(20));
    end();
  });
  EXPECT_THAT(table_.Add("a", kPage), IsOk()) << "who has freed it gets it again";
  later.join();
}

TEST_F(RegionTableTest, ARangeBecomesThatPartOfTheRegion) {
  const RegionTable::Grant grant = Grant(kPage);
  ASSERT_THAT(LookUp(MemoryRange{grant.name, 128, 1001}, MemoryRange{grant.name, 2048, 2048}),
              IsOk());
  const MemoryRegion& region = grant.memory->region();
  EXPECT_EQ(request_.payload.data(), region.base + 128);
  EXPECT_EQ(request_.payload.bytes(), 1001);
  EXPECT_TRUE(request_.payload.is_shared());
  EXPECT_EQ(request_.reply_place.data, region.base + 2048);
  EXPECT_EQ(request_.reply_place.bytes, 2048);
}

TEST_F(RegionTableTest, AHoldIsTakenOnceAndReleasedByWhoeverHasTheLastPart) {
  const RegionTable::Grant grant = Grant(kPage);
  auto* const word = reinterpret_cast<uint64_t*>(grant.memory->region().base + 1024);
  const auto look_up = [&](uint64_t payload_offset, uint64_t number) {
    request_ = Request();
    request_.payload_at = MemoryRange{grant.name, payload_offset, 64};
    request_.reply_at = MemoryRange{grant.name, 128, 64};
    request_.hold = MemoryHold{grant.name, 1024, number};
    return table_.LookUp(&request_);
  };
  const auto is_refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                   HasSubstr("was withdrawn, or has come before"));
  *word = 40;
  ASSERT_THAT(look_up(0, 40), IsOk());
  EXPECT_EQ(*word, 41U);
  Payload payload = request_.payload;
  ReplyPlace place = request_.reply_place;
  EXPECT_THAT(look_up(0, 40), is_refused) << "the same again";
  EXPECT_EQ(*word, 41U);
  payload = Payload();
  EXPECT_EQ(*word, 41U);
  place = ReplyPlace();
  EXPECT_EQ(*word, 42U);
  EXPECT_THAT(look_up(0, 40), is_refused) << "afterwards";
  // Withdrawn, and meanwhile another's.
  for (const uint64_t there : {43U, 44U, 0U}) {
    *word = there;
    EXPECT_THAT(look_up(0, 40), is_refused);
    EXPECT_EQ(*word, there);
  }
  // A request that is refused for something else has it no more.
  *word = 44;
  EXPECT_THAT(look_up(1, 44), IsInvalid("payload_at.offset 1"));
  EXPECT_EQ(*word, 46U);
  *word = 44;
  EXPECT_THAT(
      look_up(1024, 44),
      IsInvalid("hold.offset 1024 is within the 64 bytes from offset 1024 on of payload_at"));
  // Who has the answer may go on before the server has let go.
  *word = 48;
  ASSERT_THAT(look_up(0, 48), IsOk());
  *word = 52;
  request_ = Request();
  EXPECT_EQ(*word, 52U);
  EXPECT_THAT(look_up(0, 50), IsInvalid("hold.number 50 is not a multiple of 4"));
  // What lies in memory that nobody has written to.
  *word = 0;
  EXPECT_THAT(look_up(0, 0), IsInvalid("hold.number 0 is not a multiple of 4 from 4 on"));
  EXPECT_EQ(*word, 0U);
  request_ = Request();
  request_.hold = MemoryHold{grant.name, kPage, 4};
  EXPECT_THAT(table_.LookUp(&request_), IsInvalid("hold: 8 bytes from offset 4096"));
}

TEST_F(RegionTableTest, EveryRangeThatIsNotWithinIsRefusedByName) {
  const std::string name = Grant(kPage).name;
  constexpr auto kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(LookUp(MemoryRange{"", 0, 64}), IsInvalid("payload_at.region has 0 bytes"));
  EXPECT_THAT(LookUp(MemoryRange{name + "x", 0, 64}), IsInvalid("payload_at.region has 17"));
  EXPECT_THAT(LookUp(MemoryRange{std::string(16, 'x'), 0, 64}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("none that this server")));
  EXPECT_THAT(LookUp(MemoryRange{name, 1, 64}), IsInvalid("payload_at.offset 1 is not a multiple"));
  for (const auto& [offset, bytes] : std::vector<std::pair<uint64_t, uint64_t>>{{0, kPage + 1},
                                                                                {64, kPage},
                                                                                {kPage, 1},
                                                                                {kPage + 64, 0},
                                                                                {kMost - 63, 64},
                                                                                {kMost - 63, kMost},
                                                                                {64, kMost},
                                                                                {64, kMost - 63}}) {
    EXPECT_THAT(LookUp(MemoryRange{name, offset, bytes}), IsInvalid("are not within a region"))
        << offset << " " << bytes;
  }
  EXPECT_THAT(LookUp(absl::nullopt, MemoryRange{name, 0, 65}),
              IsInvalid("reply_at.bytes 65 is not a multiple of 64"));
  EXPECT_THAT(LookUp(absl::nullopt, MemoryRange{name, 64, kPage}),
              IsInvalid("reply_at: 4096 bytes"));
  EXPECT_THAT(
      LookUp(MemoryRange{name, 0, 65}, MemoryRange{name, 64, 64}),
      IsInvalid("payload_at: its 65 bytes from offset 0 on overlap the 64 bytes from offset "
                "64 on of reply_at"));
  EXPECT_THAT(LookUp(MemoryRange{name, 64, 65}, MemoryRange{name, 0, 128}), IsInvalid("overlap"));
  EXPECT_THAT(LookUp(MemoryRange{name, 0, 64}, MemoryRange{name, 64, 64}), IsOk());
  EXPECT_THAT(LookUp(MemoryRange{name, kPage, 0}), IsOk()) << "of nothing";
  Request both;
  both.payload = Payload({{reinterpret_cast<const uint8_t*>("x"), 1, nullptr}});
  both.payload_at = MemoryRange{name, 0, 64};
  EXPECT_THAT(table_.LookUp(&both), IsInvalid("payload and payload_at are both set"));
}

}  // namespace
}  // namespace baseband::server
