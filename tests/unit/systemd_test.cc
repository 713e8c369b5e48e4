// What systemd hears, on a socket of its kind.
#include "server/service/systemd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace baseband::server {
namespace {

using ::testing::IsEmpty;

// A datagram socket at `name`, a path or "@" and an abstract name.
class Listener {
 public:
  explicit Listener(const std::string& name) : name_(name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())),
              0)
        << std::strerror(errno);
  }
  ~Listener() {
    close(fd_);
    if (name_[0] != '@') unlink(name_.c_str());
  }

  const std::string& name() const { return name_; }
  // The next datagram; empty if none comes for a minute, or none is there.
  std::string Hear() const { return Receive(0); }
  std::string HearNow() const { return Receive(MSG_DONTWAIT); }

 private:
  std::string Receive(int flags) const {
    const timeval wait = {60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    char buffer[1024];
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), flags);
    return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : "";
  }

  const std::string name_;
  const int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

std::string Path() { return ::testing::TempDir() + "systemd_test." + std::to_string(getpid()); }

bool Alive() { return true; }

TEST(SystemdTest, HearsOfStartServiceAndEnd) {
  const Listener listener(Path());
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
  const Listener listener("@baseband_systemd_test." + std::to_string(getpid()));
  Systemd systemd(listener.name(), absl::ZeroDuration());

  systemd.Status("here");

  EXPECT_EQ(listener.Hear(), "STATUS=here");
}

TEST(SystemdTest, TheWatchdogHearsOfTheLivingOnly) {
  const Listener listener(Path());
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
  const Listener listener(Path());
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
