// What systemd hears, on a socket of its kind.
#include "server/process/systemd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "tests/support/notify_socket.h"
#include "tests/support/test_files.h"

namespace baseband::server {
namespace {

using ::baseband::testing::NotifySocket;
using ::testing::IsEmpty;

std::string Path() { return ::baseband::testing::FolderOfTests() + "/notify"; }

bool Alive() { return true; }

TEST(SystemdTest, HearsOfStartServiceAndEnd) {
  const NotifySocket listener(Path());
  Systemd systemd(listener.name(), absl::ZeroDuration());

  systemd.Status("testing the devices");
  EXPECT_EQ(listener.Hear(), "STATUS=testing the devices");
  systemd.Ready("serving", &Alive);
  EXPECT_EQ(listener.Hear(), "READY=1\nSTATUS=serving");
  systemd.Stopping("draining", absl::Seconds(32));
  EXPECT_EQ(listener.Hear(), "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=32000000");
  EXPECT_THAT(listener.HearNow(), IsEmpty());
}

TEST(SystemdTest, AnAbstractNameIsOne) {
  const NotifySocket listener("@baseband_systemd_test." + std::to_string(getpid()));
  Systemd systemd(listener.name(), absl::ZeroDuration());

  systemd.Status("here");

  EXPECT_EQ(listener.Hear(), "STATUS=here");
}

TEST(SystemdTest, TheWatchdogHearsOfTheLivingOnly) {
  const NotifySocket listener(Path());
  std::atomic<bool> alive{true};
  std::atomic<int> asked{0};
  Systemd systemd(listener.name(), absl::Milliseconds(20));
  systemd.Ready("serving", [&] {
    ++asked;
    return alive.load();
  });
  EXPECT_EQ(listener.Hear(), "READY=1\nSTATUS=serving");
  EXPECT_EQ(listener.Hear(), "WATCHDOG=1");
  EXPECT_EQ(listener.Hear(), "WATCHDOG=1");

  alive = false;
  const int before = asked;
  while (asked < before + 2) usleep(5000);  // whoever was asked before has been heard since
  while (!listener.HearNow().empty()) {
  }
  while (asked < before + 5) usleep(5000);
  EXPECT_THAT(listener.HearNow(), IsEmpty());
}

TEST(SystemdTest, TheEnvironmentSaysWhereAndHowOften) {
  const NotifySocket listener(Path());
  setenv("NOTIFY_SOCKET", listener.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "20000", 1);
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  {
    Systemd systemd;
    systemd.Ready("serving", &Alive);
    EXPECT_EQ(listener.Hear(), "READY=1\nSTATUS=serving");
    EXPECT_EQ(listener.Hear(), "WATCHDOG=1");
    EXPECT_TRUE(systemd.has_pulse());
  }
  while (!listener.HearNow().empty()) {
  }
  setenv("WATCHDOG_PID", std::to_string(getpid() + 1).c_str(), 1);
  {
    Systemd systemd;
    systemd.Ready("serving", &Alive);
    EXPECT_EQ(listener.Hear(), "READY=1\nSTATUS=serving");
    EXPECT_FALSE(systemd.has_pulse()) << "the watchdog is another process's";
  }
  for (const char* const name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
}

TEST(SystemdTest, WhereNobodyListensNothingHappens) {
  Systemd nowhere("", absl::Milliseconds(20));
  nowhere.Ready("serving", &Alive);
  Systemd gone(::testing::TempDir() + "nobody_is_here", absl::ZeroDuration());
  gone.Ready("serving", &Alive);
  Systemd too_long(std::string(200, 'x'), absl::ZeroDuration());
  too_long.Stopping("draining", absl::Seconds(1));
}

}  // namespace
}  // namespace baseband::server
