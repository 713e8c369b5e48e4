#include "server/service/hand_over_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace baseband::server {
namespace {

using ::testing::Contains;
using ::testing::Field;

// [0] is handed over, [1] tells what became of it.
std::array<int, 2> SocketPair() {
  std::array<int, 2> pair{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  return pair;
}

bool IsClosed(int other_end) {
  char byte = 0;
  return recv(other_end, &byte, 1, 0) == 0;
}

TEST(HandOverThreadsTest, WhoKeepsAThreadHoldsUpNobody) {
  absl::Notification release;
  HandOverThreads threads;
  threads.Start();
  const auto kept = SocketPair();
  threads.Add(kept[0], [&](size_t, int fd) {
    release.WaitForNotification();
    close(fd);
  });
  for (int i = 0; i < 100; ++i) {
    const auto next = SocketPair();
    threads.Add(next[0], [](size_t, int fd) { close(fd); });
    EXPECT_TRUE(IsClosed(next[1]));  // never comes if it waits for the first
    close(next[1]);
  }
  const std::vector<HandOverThreads::InWork> in_work = threads.GetInWork();
  EXPECT_THAT(in_work, Contains(Field(&HandOverThreads::InWork::fd, kept[0])));
  release.Notify();
  EXPECT_TRUE(IsClosed(kept[1]));
  close(kept[1]);
}

TEST(HandOverThreadsTest, TheEndClosesWhatWaitsAndAwaitsWhatIsInWork) {
  constexpr size_t kSockets = HandOverThreads::kThreads + 1;
  absl::Notification release;
  std::atomic<size_t> begun{0};
  std::atomic<size_t> handed_over{0};
  std::array<std::array<int, 2>, kSockets> sockets;
  {
    HandOverThreads threads;
    threads.Start();
    for (auto& pair : sockets) {
      pair = SocketPair();
      threads.Add(pair[0], [&](size_t, int fd) {
        ++begun;
        release.WaitForNotification();
        ++handed_over;
        close(fd);
      });
    }
    while (begun < HandOverThreads::kThreads) absl::SleepFor(absl::Milliseconds(1));
    threads.Finish();
    EXPECT_TRUE(IsClosed(sockets.back()[1]));
    EXPECT_EQ(threads.GetInWork().size(), HandOverThreads::kThreads);
    EXPECT_EQ(handed_over, 0u);
    release.Notify();
  }
  EXPECT_EQ(handed_over, HandOverThreads::kThreads);
  for (const auto& pair : sockets) close(pair[1]);
}

}  // namespace
}  // namespace baseband::server
