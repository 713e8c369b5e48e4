#include "server/limits/message_reads.h"

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

class Reader : public MessageReads::Reader {
 public:
  explicit Reader(const std::string& name) {
    bytes = 1 << 20;
    client = name;
  }

  std::atomic<int> turns{0};
  absl::Status status;
  absl::Notification turn;

 private:
  void OnTurn(const absl::Status& given) override {
    status = given;
    if (turns.fetch_add(1) == 0) turn.Notify();
  }
};

// Whoever enters from any thread has one turn, or is abandoned, and never both.
TEST(MessageReadsTest, EachHasOneTurnOrNone) {
  constexpr int kThreads = 8;
  constexpr int kEach = 500;
  MessageReads reads(4096);
  std::atomic<int> abandoned{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Reader reader("client " + std::to_string(t));
        ASSERT_TRUE(reads.Enter(&reader).ok());
        if (i % 3 == 0 && reads.Abandon(&reader)) {
          EXPECT_EQ(reader.turns, 0);
          ++abandoned;
          continue;
        }
        reader.turn.WaitForNotification();
        EXPECT_TRUE(reader.status.ok());
        EXPECT_FALSE(reads.Abandon(&reader));
        reads.Leave(&reader, i % 5 == 0 ? ReadQueue::End::kGivenUp : ReadQueue::End::kCame);
        EXPECT_EQ(reader.turns, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reads.Look().waiting, 0);
  EXPECT_EQ(reads.Look().reading, 0);
}

// Nobody leaves: those that are read are overdue, and nobody but the clock says so.
TEST(MessageReadsTest, WhoNeverSendsIsPassedOverWithoutAnybodysDoing) {
  MessageReads reads(4096);
  std::deque<Reader> silent;
  for (int i = 0; i < ReadQueue::kLeastReading; ++i) {
    ASSERT_TRUE(reads.Enter(&silent.emplace_back("silent")).ok());
  }
  Reader waits("other");
  ASSERT_TRUE(reads.Enter(&waits).ok());
  EXPECT_FALSE(waits.turn.HasBeenNotified());
  waits.turn.WaitForNotification();
  EXPECT_TRUE(waits.status.ok());
  reads.Leave(&waits, ReadQueue::End::kCame);
  for (Reader& reader : silent) reads.Leave(&reader, ReadQueue::End::kGivenUp);
}

TEST(MessageReadsTest, OnceItIsClosedNobodyWaitsAnyMore) {
  MessageReads reads(4096);
  std::deque<Reader> readers;
  for (int i = 0; i < 2 * ReadQueue::kLeastReading; ++i) {
    ASSERT_TRUE(reads.Enter(&readers.emplace_back("one")).ok());
  }
  reads.Close(absl::UnavailableError("the end"));
  for (Reader& reader : readers) {
    reader.turn.WaitForNotification();
    if (reader.status.ok()) reads.Leave(&reader, ReadQueue::End::kCame);
  }
  EXPECT_EQ(readers.back().status, absl::UnavailableError("the end"));
  Reader late("one");
  EXPECT_EQ(reads.Enter(&late), absl::UnavailableError("the end"));
}

TEST(MessageReadsTest, TheLastSizeOfAClientsMethodIsRemembered) {
  MessageReads reads(4096);
  EXPECT_EQ(reads.LastBytes("a", 3), 0);
  reads.SetLastBytes("a", 3, 1000);
  reads.SetLastBytes("b", 3, 2000);
  EXPECT_EQ(reads.LastBytes("a", 3), 1000);
  EXPECT_EQ(reads.LastBytes("a", 4), 0);
  EXPECT_EQ(reads.LastBytes("b", 3), 2000);
}

}  // namespace
}  // namespace baseband::server
