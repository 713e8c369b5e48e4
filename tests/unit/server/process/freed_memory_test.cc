#include "server/process/freed_memory.h"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/metrics/process_sampler.h"
#include "tests/support/constants.h"

namespace baseband::server {
namespace {

// A thread that receives messages: its first block stays, what comes after it is freed again.
class Receiver {
 public:
  explicit Receiver(int64_t bytes) : bytes_(bytes) { received_.WaitForNotification(); }
  void GiveBack() {
    wanted_.Notify();
    given_.WaitForNotification();
  }
  ~Receiver() {
    if (!wanted_.HasBeenNotified()) wanted_.Notify();
    ended_.Notify();
    thread_.join();
  }

 private:
  void Run() {
    GiveBackOwnIfWanted();
    const auto stays = std::make_unique<char[]>(100);
    {
      std::vector<std::unique_ptr<char[]>> slices;
      constexpr size_t kSlice = 64 << 10;
      for (int64_t i = 0; i < bytes_; i += kSlice) {
        slices.push_back(std::make_unique<char[]>(kSlice));
        std::memset(slices.back().get(), 1, kSlice);
      }
    }
    received_.Notify();
    wanted_.WaitForNotification();
    GiveBackOwnIfWanted();
    given_.Notify();
    ended_.WaitForNotification();
  }

  const int64_t bytes_;
  absl::Notification received_;
  absl::Notification wanted_;
  absl::Notification given_;
  absl::Notification ended_;
  std::thread thread_{[this] { Run(); }};
};

int64_t ResidentBytes() { return static_cast<int64_t>(ProcessResidentBytes()); }

class FreedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "a sanitizer's own malloc";
#endif
    KeepFreedMemory();
  }
};

TEST_F(FreedMemoryTest, WhatThreadsKeepAtTheEndsOfTheirHeapsGoesBackTheMomentTheyAreAsked) {
  const int64_t before = ResidentBytes();
  std::vector<std::unique_ptr<Receiver>> receivers;
  // Less than a heap, about one, and several.
  for (const int64_t mib : {5, 20, 50, 62, 100, 300}) {
    receivers.push_back(std::make_unique<Receiver>(mib * kMib));
  }
  EXPECT_GT(ResidentBytes() - before, 150 * kMib);
  EXPECT_GT(FreedBytes(), 300 * kMib);
  GiveBackFreed();
  for (const auto& receiver : receivers) receiver->GiveBack();
  EXPECT_LT(ResidentBytes() - before, 10 * kMib);
}

TEST_F(FreedMemoryTest, WithoutBeingAskedItStays) {
  const int64_t before = ResidentBytes();
  Receiver receiver(50 * kMib);
  receiver.GiveBack();
  EXPECT_GT(ResidentBytes() - before, 45 * kMib);
}

}  // namespace
}  // namespace baseband::server
