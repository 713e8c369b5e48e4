// How much of a socket its reader gets, and that it hears when there is more.
#include "server/service/read_brake.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "server/service/shared_socket.h"

namespace baseband::server {
namespace {

enum class Family { kTcp, kUnix };

// Both ends of a connection; that of the server is read as gRPC does, by recvmsg and an epoll that
// tells of events, not of states.
class Connection {
 public:
  explicit Connection(Family family) {
    int ends[2] = {-1, -1};
    if (family == Family::kUnix) {
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    } else {
      const int listener = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      socklen_t size = sizeof(address);
      EXPECT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), size), 0);
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
      listen(listener, 1);
      ends[1] = socket(AF_INET, SOCK_STREAM, 0);
      EXPECT_EQ(connect(ends[1], reinterpret_cast<const sockaddr*>(&address), size), 0);
      ends[0] = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      close(listener);
    }
    server_ = ends[0];
    client_ = ends[1];
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, server_, &event);
    HasNews(0);  // that it may be written to
  }
  ~Connection() {
    for (const int fd : {server_, client_, epoll_}) close(fd);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return server_; }
  void Send(const std::string& text) const {
    EXPECT_EQ(send(client_, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  void HangUp() { close(std::exchange(client_, -1)); }
  void Reset() {
    const linger at_once = {1, 0};
    setsockopt(client_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    HangUp();
  }
  // In pieces of 4, 4 and `last` bytes; "EAGAIN" if nothing is there.
  std::string Read(size_t last = 100) const {
    std::array<std::string, 3> pieces = {std::string(4, 0), std::string(4, 0),
                                         std::string(last, 0)};
    std::array<iovec, 3> places{};
    for (size_t i = 0; i < 3; ++i) places[i] = {pieces[i].data(), pieces[i].size()};
    msghdr message{};
    message.msg_iov = places.data();
    message.msg_iovlen = places.size();
    const ssize_t n = recvmsg(server_, &message, 0);
    if (n < 0) return errno == EAGAIN ? "EAGAIN" : "an error";
    EXPECT_EQ(message.msg_iov, places.data());
    EXPECT_EQ(message.msg_iovlen, 3u);
    return (pieces[0] + pieces[1] + pieces[2]).substr(0, static_cast<size_t>(n));
  }
  bool HasNews(int ms) const {
    epoll_event event{};
    return epoll_wait(epoll_, &event, 1, ms) == 1 && (event.events & EPOLLIN) != 0;
  }

 private:
  const int epoll_ = epoll_create1(0);
  int server_ = -1;
  int client_ = -1;
};

class ReadBrakeTest : public ::testing::TestWithParam<Family> {
 protected:
  Connection connection_{GetParam()};
  const int fd_ = connection_.fd();
  const ino_t inode_ = InodeOf(fd_);
};

TEST_P(ReadBrakeTest, ItIsInPlace) { EXPECT_TRUE(read_brake::IsInPlace()); }

TEST_P(ReadBrakeTest, WhoIsNotBrakedReadsAll) {
  connection_.Send("0123456789");
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(), "0123456789");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
}

TEST_P(ReadBrakeTest, OfABrakedSocketSoMuchIsReadAndTheRestWhenItMay) {
  read_brake::Set(fd_, inode_, 10);
  connection_.Send("0123456789abcdefghij");
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(0), "01234567");
  EXPECT_FALSE(read_brake::IsHeld(fd_, inode_));
  EXPECT_EQ(connection_.Read(), "89");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  EXPECT_TRUE(read_brake::IsHeld(fd_, inode_));
  EXPECT_FALSE(connection_.HasNews(0));
  read_brake::Allow(fd_, inode_, 3, 100);
  EXPECT_FALSE(read_brake::IsHeld(fd_, inode_));
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(), "abc");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  read_brake::Release(fd_, inode_);
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(), "defghij");
}

TEST_P(ReadBrakeTest, WhatIsNotUsedIsKeptUpToTheMost) {
  read_brake::Set(fd_, inode_, 4);
  connection_.Send("01");
  EXPECT_EQ(connection_.Read(), "01");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  EXPECT_FALSE(read_brake::IsHeld(fd_, inode_)) << "there was nothing";
  read_brake::Allow(fd_, inode_, 100, 6);
  connection_.Send("0123456789");
  EXPECT_EQ(connection_.Read(), "012345");
  read_brake::Release(fd_, inode_);
}

TEST_P(ReadBrakeTest, TheEndIsHeardOnceItMayBe) {
  read_brake::Set(fd_, inode_, 1);
  connection_.Send("01");
  connection_.HangUp();
  EXPECT_EQ(connection_.Read(), "0");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  connection_.HasNews(0);
  read_brake::Allow(fd_, inode_, 100, 100);
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(), "1");
  EXPECT_EQ(connection_.Read(), "");
  read_brake::Release(fd_, inode_);
}

TEST_P(ReadBrakeTest, AnEndAfterAllThatMayBeReadIsHeard) {
  read_brake::Set(fd_, inode_, 4);
  connection_.Send("0123");
  EXPECT_EQ(connection_.Read(), "0123");
  connection_.Reset();
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  connection_.HasNews(0);
  read_brake::Allow(fd_, inode_, 4, 4);
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_NE(connection_.Read(), "EAGAIN");
  read_brake::Release(fd_, inode_);
}

TEST_P(ReadBrakeTest, ADroppedSocketsReaderHearsTheEnd) {
  read_brake::Set(fd_, inode_, 4);
  connection_.Send("0123456789");
  EXPECT_EQ(connection_.Read(), "0123");
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  EXPECT_EQ(DropSocket(fd_, inode_), ResetOutcome::kReset);
  EXPECT_EQ(connection_.Read(), "EAGAIN");
  connection_.HasNews(0);
  read_brake::Release(fd_, inode_);
  EXPECT_TRUE(connection_.HasNews(1000));
  EXPECT_EQ(connection_.Read(), "");
}

TEST_P(ReadBrakeTest, ALaterSocketWithTheSameDescriptorIsAnotherOne) {
  read_brake::Set(fd_, inode_, 0);
  Connection other(GetParam());
  ASSERT_EQ(dup2(other.fd(), fd_), fd_);  // closes what was there
  other.Send("0123");
  EXPECT_EQ(connection_.Read(), "0123") << "it is not braked";
  const ino_t inode = InodeOf(fd_);
  read_brake::Set(fd_, inode, 2);
  read_brake::Release(fd_, inode_);
  other.Send("0123");
  EXPECT_EQ(connection_.Read(), "01") << "nor let go for the first";
  read_brake::Release(fd_, inode);
}

TEST_P(ReadBrakeTest, WhatElseIsReadIsReadAsItIs) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_INQ, &on, sizeof(on));
  read_brake::Set(fd_, inode_, 4);
  connection_.Send("0123456789");
  std::array<char, 64> bytes{};
  std::array<char, 64> control{};
  iovec place = {bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const bool is_tcp = GetParam() == Family::kTcp;
  EXPECT_TRUE(!is_tcp || recvmsg(fd_, &message, MSG_ERRQUEUE) == -1) << "there are no errors";
  EXPECT_FALSE(read_brake::IsHeld(fd_, inode_));
  message.msg_controllen = control.size();
  EXPECT_EQ(recvmsg(fd_, &message, 0), 4);
  const cmsghdr* const more = CMSG_FIRSTHDR(&message);
  EXPECT_EQ(more != nullptr, is_tcp);
  if (more != nullptr) {
    int unread = 0;
    std::memcpy(&unread, CMSG_DATA(more), sizeof(unread));
    EXPECT_EQ(unread, 6);
  }
  read_brake::Release(fd_, inode_);
}

INSTANTIATE_TEST_SUITE_P(, ReadBrakeTest, ::testing::Values(Family::kTcp, Family::kUnix),
                         [](const auto& tested) {
                           return tested.param == Family::kTcp ? "Tcp" : "Unix";
                         });

}  // namespace
}  // namespace baseband::server
