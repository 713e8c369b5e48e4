// What the thread that serves --shm-listen waits for, and what it refuses.
#include "server/shm/region_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "tests/support/constants.h"
#include "tests/support/raw_regions.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawRegions;

constexpr uint32_t kResourceExhausted = 8;
constexpr uint32_t kUnavailable = 14;

// Of rings that nobody takes anything from, of 4096 bytes each.
class FakeRings final : public RingHost {
 public:
  absl::StatusOr<std::unique_ptr<OpenRing>> Open(const std::string&,
                                                 std::shared_ptr<const SharedMemory> memory,
                                                 uint64_t offset) override {
    if (offset % 4096 == 64) return absl::InvalidArgumentError("no ring is there");
    return std::make_unique<Ring>(std::move(memory), this);
  }
  int open() const { return open_; }
  int served() const { return served_; }
  void set_has_memory(bool has) { has_memory_ = has; }

 private:
  class Ring final : public OpenRing {
   public:
    Ring(std::shared_ptr<const SharedMemory> memory, FakeRings* rings)
        : memory_(std::move(memory)), rings_(*rings) {
      ++rings_.open_;
    }
    ~Ring() override {
      close(bell_fd_);
      --rings_.open_;
    }
    absl::Status Serve() override {
      if (!rings_.has_memory_) return absl::ResourceExhaustedError("no memory for a ring");
      ++rings_.served_;
      return absl::OkStatus();
    }
    int bell_fd() const override { return bell_fd_; }
    uint64_t bytes() const override { return 4096; }

   private:
    const std::shared_ptr<const SharedMemory> memory_;
    FakeRings& rings_;
    const int bell_fd_ = eventfd(0, EFD_CLOEXEC);
  };

  std::atomic<int> open_{0};
  std::atomic<int> served_{0};
  std::atomic<bool> has_memory_{true};
};

shm::RegionRequest RequestOf(shm::RegionKind kind, uint64_t bytes, const std::string& name = "") {
  shm::RegionRequest request;
  request.kind = kind;
  request.bytes = bytes;
  std::copy(name.begin(), name.end(), request.name);
  return request;
}

class RegionServerTest : public ::testing::Test {
 protected:
  void Serve(RegionServer::Options options = {}) {
    auto server = RegionServer::Start(path_, std::move(options), access_.get(), &table_);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  // As the driver of a GPU that is being reset.
  absl::StatusOr<std::unique_ptr<SharedMemory>> Make(int64_t bytes) {
    {
      const absl::MutexLock lock(&mutex_);
      ++made_;
      mutex_.Await(absl::Condition(
          +[](bool* is_stuck) { return !*is_stuck; }, &is_stuck_));
    }
    return SharedMemory::Create(bytes, {});
  }
  void SetStuck(bool is_stuck) {
    const absl::MutexLock lock(&mutex_);
    is_stuck_ = is_stuck;
  }
  int made() {
    const absl::MutexLock lock(&mutex_);
    return made_;
  }
  void AwaitMade(int count) {
    while (made() < count) std::this_thread::yield();
  }
  void AwaitNothingShared() {
    while (table_.usage().regions > 0) std::this_thread::yield();
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/regions", getpid(), ".sock");
  const std::unique_ptr<Access> access_ = *Access::Create(Config());
  absl::Mutex mutex_;
  bool is_stuck_ = false;
  int made_ = 0;
  RegionTable table_{{1024 * kMib, 512 * kMib}, [this](int64_t bytes) { return Make(bytes); }};
  std::unique_ptr<RegionServer> server_;
};

TEST_F(RegionServerTest, WhileADriverHangsOthersAreAnsweredAndGrantsEndInTime) {
  RegionServer::Options options;
  options.patience = absl::Milliseconds(300);
  Serve(options);
  RawRegions stuck(path_);
  RawRegions other(path_);
  const RawRegions::Answer before = other.Grant(kMib);
  ASSERT_EQ(before.code, 0U) << before.message;
  close(before.fd);
  SetStuck(true);
  RawRegions::Answer late;
  std::thread waiting([&] { late = stuck.Grant(kMib); });
  AwaitMade(2);
  const absl::Time begin = SteadyNow();
  EXPECT_EQ(other.Ask(shm::RegionRequest()).code, 0U);
  EXPECT_EQ(other.Free(before.name).code, 0U);
  EXPECT_LT(SteadyNow() - begin, options.patience);
  // Behind the one that hangs: not begun.
  const RawRegions::Answer behind = other.Grant(kMib);
  EXPECT_EQ(behind.code, kUnavailable);
  EXPECT_THAT(behind.message, HasSubstr("no region within 300ms"));
  waiting.join();
  EXPECT_EQ(late.code, kUnavailable) << late.message;
  SetStuck(false);
  AwaitNothingShared();  // what came too late
  EXPECT_EQ(made(), 2);
  const RawRegions::Answer again = stuck.Grant(kMib);
  EXPECT_EQ(again.code, 0U) << again.message;
  EXPECT_EQ(again.bytes, static_cast<uint64_t>(kMib));
  close(again.fd);
}

TEST_F(RegionServerTest, WhoGoesWhileItsRegionIsMadeLeavesNothing) {
  Serve();
  SetStuck(true);
  {
    RawRegions gone(path_);
    const auto request = RequestOf(shm::RegionKind::kGrant, kMib);
    ASSERT_TRUE(gone.Send(&request, sizeof(request)));
    AwaitMade(1);
  }
  SetStuck(false);
  AwaitNothingShared();
  RawRegions next(path_);
  const RawRegions::Answer granted = next.Grant(kMib);
  EXPECT_EQ(granted.code, 0U) << granted.message;
  close(granted.fd);
}

TEST_F(RegionServerTest, WhatIsBeingMadeWhenTheServerEndsIsFreed) {
  Serve();
  SetStuck(true);
  RawRegions raw(path_);
  const auto request = RequestOf(shm::RegionKind::kGrant, kMib);
  ASSERT_TRUE(raw.Send(&request, sizeof(request)));
  AwaitMade(1);
  std::thread end([&] { server_.reset(); });
  SetStuck(false);
  end.join();
  EXPECT_EQ(table_.usage().regions, 0);
  EXPECT_EQ(table_.usage().bytes, 0);
}

TEST_F(RegionServerTest,
       RingsAreOpenedWhileADriverHangsButNotBeforeTheirConnectionsGrantIsAnswered) {
  FakeRings rings;
  RegionServer::Options options;
  options.patience = absl::Minutes(1);
  Serve(options);
  RawRegions first(path_);
  RawRegions second(path_);
  const RawRegions::Answer granted = first.Grant(kMib);
  const RawRegions::Answer other = second.Grant(kMib);
  ASSERT_EQ(other.code, 0U) << other.message;
  close(granted.fd);
  close(other.fd);
  const shm::RegionRequest ring = RequestOf(shm::RegionKind::kRing, 0, granted.name);
  EXPECT_EQ(first.Ask(ring).code, kUnavailable) << "nobody serves rings yet";
  server_->SetRingHost(&rings);
  EXPECT_EQ(first.Ask(RequestOf(shm::RegionKind::kRing, 64, granted.name)).message,
            "no ring is there");
  SetStuck(true);
  const shm::RegionRequest more = RequestOf(shm::RegionKind::kGrant, 2 * kMib);
  ASSERT_TRUE(first.Send(&more, sizeof(more)));
  ASSERT_TRUE(first.Send(&ring, sizeof(ring)));
  AwaitMade(3);
  const RawRegions::Answer of_second = second.Ask(RequestOf(shm::RegionKind::kRing, 0, other.name));
  EXPECT_EQ(of_second.code, 0U) << of_second.message;
  EXPECT_GE(of_second.fd, 0);
  close(of_second.fd);
  EXPECT_EQ(rings.open(), 1);
  SetStuck(false);
  const RawRegions::Answer made = first.Receive();
  EXPECT_EQ(made.bytes, static_cast<uint64_t>(2 * kMib)) << made.message;
  close(made.fd);
  const RawRegions::Answer opened = first.Receive();
  EXPECT_EQ(opened.code, 0U) << opened.message;
  EXPECT_EQ(opened.bytes, 0U);
  uint64_t rung = 1;
  EXPECT_EQ(write(opened.fd, &rung, sizeof(rung)), static_cast<ssize_t>(sizeof(rung)));
  close(opened.fd);
  EXPECT_EQ(rings.open(), 2);

  EXPECT_EQ(second.Free(other.name).code, 0U);
  EXPECT_EQ(rings.open(), 1) << "it ends with its region";
  EXPECT_EQ(second.Ask(RequestOf(shm::RegionKind::kRing, 0, granted.name)).message,
            "name is no region of this connection");
  server_->SetRingHost(nullptr);
  EXPECT_EQ(rings.open(), 0);
  EXPECT_EQ(first.Ask(ring).code, kUnavailable) << "nobody serves rings any more";
  EXPECT_EQ(first.Free(granted.name).code, 0U) << "regions go on";
}

TEST_F(RegionServerTest, RingsOfAClientAreSoManyAndDoNotOverlap) {
  FakeRings rings;
  Serve();
  server_->SetRingHost(&rings);
  RawRegions raw(path_);
  const RawRegions::Answer granted = raw.Grant(kMib);
  close(granted.fd);
  const auto open = [&](RawRegions* by, uint64_t offset, const std::string& region) {
    const RawRegions::Answer opened = by->Ask(RequestOf(shm::RegionKind::kRing, offset, region));
    if (opened.fd >= 0) close(opened.fd);
    return opened;
  };
  EXPECT_EQ(open(&raw, 8192, granted.name).code, 0U);
  for (const uint64_t offset : {8192, 8192 - 4096 + 128, 8192 + 128}) {
    EXPECT_THAT(open(&raw, offset, granted.name).message,
                HasSubstr("overlaps the one from offset 8192 on"));
  }
  EXPECT_EQ(rings.open(), 1);
  EXPECT_EQ(rings.served(), 1) << "one that is refused was served for a moment";
  rings.set_has_memory(false);
  const RawRegions::Answer scarce = open(&raw, 8192 + 4096, granted.name);
  EXPECT_EQ(scarce.message, "no memory for a ring");
  EXPECT_LT(scarce.fd, 0);
  EXPECT_EQ(rings.open(), 1);
  rings.set_has_memory(true);
  for (int i = 1; i < RegionRings::kMaxClientRings; ++i) {
    EXPECT_EQ(open(&raw, 8192 + static_cast<uint64_t>(i) * 4096, granted.name).code, 0U) << i;
  }
  RawRegions again(path_);
  const RawRegions::Answer other = again.Grant(kMib);
  close(other.fd);
  EXPECT_THAT(open(&again, 0, other.name).message, HasSubstr("has 64 rings"));
  EXPECT_EQ(raw.Free(granted.name).code, 0U);
  EXPECT_EQ(open(&again, 0, other.name).code, 0U);
  server_->SetRingHost(nullptr);
}

TEST_F(RegionServerTest, ARingEndsWithItsConnectionAndItsMemoryGoesThen) {
  FakeRings rings;
  Serve();
  server_->SetRingHost(&rings);
  {
    RawRegions raw(path_);
    const RawRegions::Answer granted = raw.Grant(kMib);
    close(granted.fd);
    const RawRegions::Answer opened = raw.Ask(RequestOf(shm::RegionKind::kRing, 0, granted.name));
    EXPECT_EQ(opened.code, 0U) << opened.message;
    close(opened.fd);
    EXPECT_EQ(rings.open(), 1);
  }
  AwaitNothingShared();
  EXPECT_EQ(rings.open(), 0);
  server_->SetRingHost(nullptr);
}

TEST_F(RegionServerTest, WhoIsGrantedTooMuchMemoryASecondIsToldSo) {
  Serve();
  RawRegions raw(path_);
  RawRegions::Answer answer;
  int granted = 0;
  const absl::Time begin = SteadyNow();
  for (; granted < 60; ++granted) {
    answer = raw.Grant(512 * kMib);
    if (answer.code != 0) break;
    close(answer.fd);
    EXPECT_EQ(raw.Free(answer.name).code, 0U);
  }
  // Two at once, and one a second.
  EXPECT_GE(granted, 2);
  EXPECT_LE(granted, 3 + absl::ToDoubleSeconds(SteadyNow() - begin));
  EXPECT_EQ(answer.code, kResourceExhausted);
  EXPECT_THAT(answer.message, HasSubstr("bytes 536870912: "));
  EXPECT_THAT(answer.message, HasSubstr("more than 536870912 bytes a second"));
  const RawRegions::Answer little = raw.Grant(4096);
  EXPECT_EQ(little.code, 0U) << little.message;
  close(little.fd);
}

TEST_F(RegionServerTest, NoneIsGrantedWhileMemoryIsScarceOrWouldBe) {
  const auto memory = std::make_shared<MemorySteps>(1000 * kMib, 0);
  RegionServer::Options options;
  options.memory = memory;
  Serve(options);
  RawRegions raw(path_);
  memory->Update(500 * kMib);
  const RawRegions::Answer large = raw.Grant(400 * kMib);
  EXPECT_EQ(large.code, kResourceExhausted);
  EXPECT_EQ(large.message,
            "bytes 419430400: memory is scarce: 500 of 1000 MiB are in use, and no more than 870 "
            "are given away");
  const RawRegions::Answer small = raw.Grant(100 * kMib);
  EXPECT_EQ(small.code, 0U) << small.message;
  close(small.fd);
  memory->Update(900 * kMib);
  EXPECT_EQ(raw.Grant(1).code, kResourceExhausted);
  EXPECT_EQ(raw.Free(small.name).code, 0U) << "it may give back";
}

}  // namespace
}  // namespace baseband::server
