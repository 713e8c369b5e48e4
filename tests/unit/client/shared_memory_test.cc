// What the client library makes of memory that a server shares with it, and of a server that does
// not do as it should.
#include <fcntl.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "client/cpp/reply_room.h"
#include "client/cpp/shared_arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/fake_regions.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using shm::RegionKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeRegions;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kKib = 1024;
// A region of the fake server's, usually.
constexpr int64_t kRegion = 256 * kKib;

class SharedArenaTest : public ::testing::Test {
 protected:
  std::shared_ptr<SharedArena> Connect() {
    auto arena = SharedArena::Connect(regions_.Capabilities(), 1);
    EXPECT_THAT(arena, IsOk());
    return *std::move(arena);
  }
  void AwaitCount(RegionKind kind, int count) const {
    while (regions_.Count(kind) < count) std::this_thread::yield();
  }

  FakeRegions regions_;
};

TEST_F(SharedArenaTest, WhileOneThreadWaitsForTheServerOthersGoOnWithWhatThereIs) {
  const std::shared_ptr<SharedArena> arena = Connect();
  absl::Notification may_answer;
  regions_.Handle([&](const auto &request) {
    may_answer.WaitForNotification();
    return regions_.Grant(request);
  });
  absl::StatusOr<Buffer> large;
  std::thread waiting([&] { large = arena->Loan(kRegion + 1); });
  AwaitCount(RegionKind::kGrant, 2);
  // All of this would wait for the server.
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<Buffer> small = arena->Loan(4 * kKib);
    ASSERT_THAT(small, IsOk());
  }
  EXPECT_THAT(arena->LoanAtOnce(kRegion + 1),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another thread asks")));
  EXPECT_GT(arena->RoomFor(1, 1000), 0);
  EXPECT_TRUE(arena->IsAlive());
  EXPECT_FALSE(may_answer.HasBeenNotified());
  may_answer.Notify();
  waiting.join();
  EXPECT_THAT(large, IsOk());
}

TEST_F(SharedArenaTest, WhoGivesARegionBackDoesNotWaitForTheServer) {
  const std::shared_ptr<SharedArena> arena = Connect();
  absl::Notification may_answer;
  regions_.Handle([&](const auto &request) {
    if (request.kind == RegionKind::kFree) may_answer.WaitForNotification();
    return regions_.Grant(request);
  });
  arena->Loan(kRegion)->Abandon();
  AwaitCount(RegionKind::kFree, 1);
  EXPECT_TRUE(arena->IsAlive());
  may_answer.Notify();
  // Its answer is not taken for another one's.
  EXPECT_THAT(arena->Loan(kRegion), IsOk());
  arena->Loan(kRegion)->Abandon();
  AwaitCount(RegionKind::kFree, 2);
  EXPECT_THAT(regions_.freed(), ElementsAre(FakeRegions::NameOf(1), FakeRegions::NameOf(2)));
}

TEST_F(SharedArenaTest, MemoryThatCannotBeMappedGoesBackToTheServer) {
  const std::shared_ptr<SharedArena> arena = Connect();
  regions_.Handle([&](const auto &request) {
    FakeRegions::Given given = regions_.Grant(request);
    if (given.fd >= 0) close(given.fd);
    given.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return given;
  });
  EXPECT_THAT(arena->Loan(2 * kRegion),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("cannot be mapped: ")));
  AwaitCount(RegionKind::kFree, 1);
  regions_.Handle([&](const auto &request) {
    FakeRegions::Given given = regions_.Grant(request);
    if (given.fd >= 0) close(given.fd);
    given.fd = -1;
    return given;
  });
  // More than was refused is not asked for at once again: less than that.
  EXPECT_THAT(arena->Loan(kRegion + 1), StatusIs(absl::StatusCode::kResourceExhausted,
                                                 HasSubstr("no descriptor came with it")));
  AwaitCount(RegionKind::kFree, 2);
  EXPECT_THAT(regions_.freed(), ElementsAre(FakeRegions::NameOf(2), FakeRegions::NameOf(3)));
  EXPECT_TRUE(arena->IsAlive());
}

TEST_F(SharedArenaTest, ARefusalCountsForAWhileAndForNoLonger) {
  const std::shared_ptr<SharedArena> arena = Connect();
  regions_.Handle([](const auto &) { return FakeRegions::Refuse(8, "no more now"); });
  const absl::Time begin = SteadyNow();
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(arena->Loan(2 * kRegion),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no more now")));
  }
  if (SteadyNow() - begin < SharedArena::kRefusedFor) {
    EXPECT_EQ(regions_.Count(RegionKind::kGrant), 2);
  }
  regions_.Handle(nullptr);
  while (!arena->Loan(2 * kRegion).ok()) std::this_thread::yield();
  EXPECT_GE(SteadyNow() - begin, SharedArena::kRefusedFor);
  EXPECT_EQ(regions_.Count(RegionKind::kGrant), 3);
}

TEST_F(SharedArenaTest, SignalsDoNotEndTheTalkWithTheServer) {
  struct sigaction nothing {};
  struct sigaction before {};
  nothing.sa_handler = [](int) {};
  sigaction(SIGUSR1, &nothing, &before);
  const std::shared_ptr<SharedArena> arena = Connect();
  absl::Notification may_answer;
  regions_.Handle([&](const auto &request) {
    may_answer.WaitForNotification();
    return regions_.Grant(request);
  });
  absl::StatusOr<Buffer> buffer;
  std::thread waiting([&] { buffer = arena->Loan(2 * kRegion); });
  AwaitCount(RegionKind::kGrant, 2);
  for (int i = 0; i < 100; ++i) {
    pthread_kill(waiting.native_handle(), SIGUSR1);
    absl::SleepFor(absl::Milliseconds(1));
  }
  may_answer.Notify();
  waiting.join();
  EXPECT_THAT(buffer, IsOk());
  EXPECT_TRUE(arena->IsAlive());
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(SharedArenaTest, ASocketThatIsNotToBeReachedIsToldOfByItsPath) {
  v1::SharedMemoryCapabilities shared = regions_.Capabilities();
  shared.set_listen("unix:no/such.sock");
  EXPECT_THAT(SharedArena::Connect(shared, 1).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("shared_memory.listen unix:no/such.sock: No such file"),
                             HasSubstr("a relative path is looked for in this process's folder"))));
  shared.set_listen("unix:/" + std::string(200, 'x'));
  EXPECT_THAT(SharedArena::Connect(shared, 1).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has a path of 201 bytes, not in [1, 107]")));
  shared = regions_.Capabilities();
  shared.set_server_id(std::string(16, 'x'));
  EXPECT_THAT(SharedArena::Connect(shared, 1).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("another server is there")));
}

TEST(ReplyRoomTest, WhatIsLearnedIsForgottenAfterAWhile) {
  constexpr int kKind = 3;
  const absl::Time begin = SteadyNow();
  const auto after = [begin](double times) { return begin + times * ReplyRoom::kMemory; };
  ReplyRoom room;
  EXPECT_EQ(room.Ratio(kKind, begin), 1);
  room.Learn(kKind, 50, begin);
  room.Learn(kKind, 0.25, after(0.5));
  EXPECT_EQ(room.Ratio(kKind, after(0.9)), 50);
  EXPECT_EQ(room.Ratio(kKind + 1, after(0.9)), 1) << "of another kind";
  room.Learn(kKind, 0.25, after(1.1));
  EXPECT_EQ(room.Ratio(kKind, after(1.9)), 50);
  room.Learn(kKind, 0.5, after(2.2));
  EXPECT_EQ(room.Ratio(kKind, after(2.3)), 0.5);
  EXPECT_EQ(room.Ratio(kKind, after(10)), 1) << "all of it";
}

}  // namespace
}  // namespace baseband::client
