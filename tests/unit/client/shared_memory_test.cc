// What the client library makes of memory that a server shares with it, and of a server that does
// not do as it should.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "client/cpp/reply_room.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/shared_bulk.h"
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

TEST_F(SharedArenaTest, MemoryThatMightFaultIsNotMapped) {
  const auto refuses = [this](int fd) {
    const std::shared_ptr<SharedArena> arena = Connect();
    regions_.Handle([&](const auto &request) {
      FakeRegions::Given given = regions_.Grant(request);
      if (request.kind != RegionKind::kGrant) return given;
      close(given.fd);
      given.fd = fd;
      return given;
    });
    EXPECT_THAT(arena->Loan(2 * kRegion), StatusIs(absl::StatusCode::kResourceExhausted,
                                                   HasSubstr("cannot be mapped: it is no sealed")));
    EXPECT_TRUE(arena->IsAlive());
    regions_.Handle(nullptr);
  };
  const auto memory = [](unsigned flags, int64_t bytes, int seals) {
    const int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    EXPECT_EQ(ftruncate(fd, bytes), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
  };
  refuses(memory(0, 4 * kRegion, F_SEAL_GROW));
  refuses(memory(0, kRegion, F_SEAL_SHRINK));
  const int probe = memfd_create("probe", MFD_CLOEXEC | MFD_HUGETLB);
  if (probe < 0) return;  // this kernel has none
  close(probe);
  refuses(memory(MFD_HUGETLB, 1 << 30, F_SEAL_SHRINK));
}

TEST_F(SharedArenaTest, MoreDescriptorsThanOneAreClosed) {
  const auto count = [] {
    int open = 0;
    for (int fd = 0; fd < 256; ++fd) open += fcntl(fd, F_GETFD) >= 0;
    return open;
  };
  const std::shared_ptr<SharedArena> arena = Connect();
  regions_.Handle([&](const auto &request) {
    FakeRegions::Given given = regions_.Grant(request);
    given.copies = 2;
    return given;
  });
  const int before = count();
  std::vector<Buffer> lent;  // each in a region of its own
  for (int i = 0; i < 4; ++i) lent.push_back(*arena->Loan(2 * kRegion));
  EXPECT_LE(count(), before + 1) << "which the fake may be about to close";
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

class SharedBulkTest : public SharedArenaTest {
 protected:
  std::shared_ptr<SharedBulk> Create(const v1::EncodeRequest &request) {
    auto bulk = BulkOf(arena_, kSubmitEncode, request);
    if (bulk == nullptr) return bulk;
    named_ = request;
    bulk->NameIn(&named_);
    return bulk;
  }
  // The hold's, as a server sees it.
  uint64_t &Word() const {
    return *reinterpret_cast<uint64_t *>(
        regions_.Memory(named_.hold().region(), named_.hold().offset()));
  }
  // Whether the memory of `named_` can be lent.
  bool IsFree() const {
    const absl::StatusOr<Buffer> other = arena_->Loan(4 * kKib);
    return other->region() == named_.hold().region() && other->offset() == named_.hold().offset();
  }
  static v1::EncodeRequest RequestOf(size_t bytes) {
    v1::EncodeRequest request;
    request.add_groups()->set_count(7);
    for (size_t i = 0; i < bytes; ++i) request.mutable_payload()->push_back(static_cast<char>(i));
    return request;
  }

  const std::shared_ptr<SharedArena> arena_ = Connect();
  v1::EncodeRequest named_;
};

TEST_F(SharedBulkTest, NamesWhatHoldsTheSameBytesAndCanUndoIt) {
  const v1::EncodeRequest request = RequestOf(5000);
  const auto bulk = Create(request);
  ASSERT_NE(bulk, nullptr);
  EXPECT_TRUE(named_.payload().empty());
  const v1::MemoryRange &payload = named_.payload_at();
  EXPECT_EQ(std::string(
                reinterpret_cast<const char *>(regions_.Memory(payload.region(), payload.offset())),
                payload.bytes()),
            request.payload());
  EXPECT_GE(named_.reply_at().bytes(), 5000U);
  EXPECT_EQ(named_.reply_at().bytes() % 64, 0U);
  EXPECT_NE(named_.hold().number(), 0U);
  EXPECT_EQ(named_.hold().number() % 4, 0U);
  EXPECT_EQ(Word(), named_.hold().number());
  v1::EncodeRequest again = named_;
  bulk->Undo(&again);
  EXPECT_EQ(again.SerializeAsString(), request.SerializeAsString());
}

TEST_F(SharedBulkTest, APayloadInPlaceIsNamedWhereItLiesAndOnlyTheAnswersMemoryIsHeld) {
  const v1::EncodeRequest request = RequestOf(5000);
  const Buffer placed = *arena_->Loan(8 * kKib);
  auto *const begin = reinterpret_cast<char *>(placed.data()) + 64;
  request.payload().copy(begin, request.payload().size());
  const auto bulk =
      SharedBulk::CreateInPlace(arena_, kSubmitEncode, {begin, request.payload().size()}, placed);
  ASSERT_NE(bulk, nullptr);
  named_ = request;
  bulk->NameIn(&named_);
  EXPECT_TRUE(named_.payload().empty());
  EXPECT_EQ(named_.payload_at().region(), placed.region());
  EXPECT_EQ(named_.payload_at().offset(), placed.offset() + 64);
  EXPECT_EQ(named_.payload_at().bytes(), 5000U);
  EXPECT_GE(named_.reply_at().bytes(), 5000U);
  EXPECT_EQ(named_.reply_at().offset(), named_.hold().offset() + 64);
  EXPECT_EQ(Word(), named_.hold().number());
  v1::EncodeRequest again = named_;
  bulk->Undo(&again);
  EXPECT_EQ(again.SerializeAsString(), request.SerializeAsString());
  bulk->End(absl::OkStatus());
  EXPECT_TRUE(IsFree());
  EXPECT_EQ(absl::string_view(begin, 5000), request.payload());
}

TEST_F(SharedBulkTest, ThereIsNoneForWhatNamesMemoryItselfOrIsTooLarge) {
  EXPECT_EQ(Create(RequestOf(0)), nullptr);
  EXPECT_EQ(Create(RequestOf(2 << 20)), nullptr);
  v1::EncodeRequest request = RequestOf(100);
  request.mutable_hold();
  EXPECT_EQ(Create(request), nullptr);
}

TEST_F(SharedBulkTest, TheWordSaysWhatBecomesOfTheMemory) {
  const absl::Status lost = absl::UnavailableError("");
  {
    Create(RequestOf(100))->End(absl::OkStatus());
    EXPECT_TRUE(IsFree());
  }
  {  // The server never had it: if it comes after all, it is refused.
    Create(RequestOf(100))->End(lost);
    EXPECT_EQ(Word(), named_.hold().number() + shm::kWithdrawn);
    EXPECT_TRUE(IsFree());
  }
  {
    const auto bulk = Create(RequestOf(100));
    Word() += shm::kReleased;
    bulk->End(lost);
    EXPECT_TRUE(IsFree());
  }
  {
    const auto bulk = Create(RequestOf(100));
    Word() += shm::kTaken;
    bulk->TryAgain();
    EXPECT_EQ(Word(), named_.hold().number() + shm::kTaken) << "it has it still";
    bulk->End(lost);
    EXPECT_FALSE(IsFree());
    Word() = named_.hold().number() + shm::kReleased;
    EXPECT_TRUE(IsFree());
  }
  {
    const auto bulk = Create(RequestOf(100));
    Word() += shm::kReleased;
    bulk->TryAgain();
    EXPECT_EQ(Word(), named_.hold().number());
    bulk->End(absl::OkStatus());
    EXPECT_TRUE(IsFree());
  }
}

TEST_F(SharedBulkTest, WhatIsPlacedIsPutInAndWhatLiesOutsideIsRefused) {
  const auto bulk = Create(RequestOf(100));
  const v1::MemoryRange &reply = named_.reply_at();
  std::copy_n("answer", 6, regions_.Memory(reply.region(), reply.offset()));
  const auto bring = [&](uint64_t offset, uint64_t bytes) {
    v1::EncodeResponse response;
    v1::PlacedField &placed = *response.add_placed();
    placed.set_field(v1::EncodeResponse::kPayloadFieldNumber);
    placed.set_offset(offset);
    placed.set_bytes(bytes);
    return Parse<v1::EncodeResponse>(bulk->BringHome(Serialize(response)));
  };
  const auto response = bring(reply.offset(), 6);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->payload(), "answer");
  EXPECT_EQ(response->placed_size(), 0);
  const auto is_outside = StatusIs(absl::StatusCode::kInternal, HasSubstr("lies outside"));
  EXPECT_THAT(bring(reply.offset() + reply.bytes() + 4096, 1), is_outside);
  EXPECT_THAT(bring(reply.offset(), uint64_t{1} << 40), is_outside);
  EXPECT_THAT(bring(~uint64_t{0} - 63, 64), is_outside);
  EXPECT_THAT(bring(reply.offset(), ~uint64_t{0}), is_outside);
  const grpc::Slice none("\x7f\xff");
  EXPECT_THAT(bulk->BringHome(grpc::ByteBuffer(&none, 1)).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("cannot be parsed")));
  EXPECT_THAT(bulk->BringHome(absl::AbortedError("x")).status(),
              StatusIs(absl::StatusCode::kAborted, "x"));
}

TEST_F(SharedBulkTest, WhatIsRefusedForItsMemoryIsSentOnceWithout) {
  const v1::EncodeRequest request = RequestOf(5000);
  const auto bulk = Create(request);
  Repetition repetition = RepetitionOf(bulk, WithoutPayload(request));
  EXPECT_FALSE(repetition.instead(absl::UnavailableError("")).has_value());
  const absl::Status refusal = absl::FailedPreconditionError("no such region");
  absl::optional<grpc::ByteBuffer> instead = repetition.instead(refusal);
  ASSERT_TRUE(instead.has_value());
  EXPECT_EQ(Parse<v1::EncodeRequest>(*instead)->SerializeAsString(), request.SerializeAsString());
  EXPECT_TRUE(bulk->is_over());
  EXPECT_TRUE(IsFree());
  EXPECT_FALSE(repetition.instead(refusal).has_value()) << "it was without";
  repetition.before();
  v1::EncodeResponse response;
  response.set_payload("x");
  EXPECT_THAT(bulk->BringHome(Serialize(response)), IsOk());
  bulk->End(absl::OkStatus());
}

}  // namespace
}  // namespace baseband::client
