#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "server/auth/strangers.h"

namespace baseband::server {
namespace {

TEST(StrangersKeysTest, AKeyIsTheSameOfGrpcsPeer) {
  EXPECT_EQ(KeyOfPeer("ipv4:192.0.2.7:50000"), "192.0.2.7:50000");
  EXPECT_EQ(KeyOfPeer("ipv6:%5B2001:db8::7%5D:50000"), "2001:db8::7:50000");
  EXPECT_EQ(KeyOfPeer("ipv6:[2001:db8::7]:50000"), "2001:db8::7:50000");
  EXPECT_EQ(KeyOfPeer("ipv6:%5Bfe80::1%25eth0%5D:50000"), "fe80::1:50000");
  EXPECT_EQ(KeyOfPeer("fd:7"), "fd:7");
  EXPECT_EQ(KeyOfPeer("unix:"), "");
  EXPECT_EQ(KeyOfPeer(""), "");
}

// The key of a connection to `listener` at `address`, as the listener's side sees it, and the port
// of the one who came.
template <typename Address>
std::string KeyOfConnection(int family, const Address& listen, const Address& connect_to) {
  const int listener = socket(family, SOCK_STREAM, 0);
  Address bound = listen;
  socklen_t size = sizeof(bound);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&listen), sizeof(listen)) != 0) {
    close(listener);
    return "no such family here";
  }
  ::listen(listener, 1);
  getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
  const int client = socket(family, SOCK_STREAM, 0);
  Address to = connect_to;
  std::memcpy(reinterpret_cast<char*>(&to) + 2, reinterpret_cast<const char*>(&bound) + 2, 2);
  EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  Address own = listen;
  getsockname(client, reinterpret_cast<sockaddr*>(&own), &size);
  uint16_t port = 0;
  std::memcpy(&port, reinterpret_cast<const char*>(&own) + 2, 2);
  const int accepted = accept(listener, nullptr, nullptr);
  std::string key = KeyOfSocket(accepted);
  const std::string end = ":" + std::to_string(ntohs(port));
  EXPECT_TRUE(key.size() > end.size() && key.substr(key.size() - end.size()) == end) << key;
  key.resize(key.size() - std::min(key.size(), end.size()));
  for (const int fd : {accepted, client, listener}) close(fd);
  return key;
}

TEST(StrangersKeysTest, AKeyIsTheSameOfTheSocket) {
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(KeyOfConnection(AF_INET, loopback, loopback), "127.0.0.1");
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  sockaddr_in6 mapped = any;
  inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
  const std::string key = KeyOfConnection(AF_INET6, any, mapped);
  EXPECT_TRUE(key == "127.0.0.1" || key == "no such family here") << key;

  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  EXPECT_EQ(KeyOfSocket(pair[0]), "fd:" + std::to_string(pair[0]));
  close(pair[0]);
  close(pair[1]);
}

TEST(StrangersKeysTest, WhoIsLetInIsNoStranger) {
  const std::string key = "192.0.2.7:50000";
  Strangers strangers;
  const uint64_t first = strangers.Add(key);
  const uint64_t second = strangers.Add(key);  // from the same port, to another address
  const uint64_t other = strangers.Add("192.0.2.7:50001");
  EXPECT_TRUE(strangers.Has(key, first));
  strangers.LetIn(key);
  EXPECT_FALSE(strangers.Has(key, first));
  EXPECT_FALSE(strangers.Has(key, second));
  EXPECT_TRUE(strangers.Has("192.0.2.7:50001", other));
  EXPECT_FALSE(strangers.empty());
}

TEST(StrangersKeysTest, TheEndOfAConnectionIsNotThatOfTheNextOneFromThere) {
  const std::string key = "192.0.2.7:50000";
  Strangers strangers;
  const uint64_t old = strangers.Add(key);
  const uint64_t next = strangers.Add(key);
  strangers.Remove(key, old);
  EXPECT_FALSE(strangers.Has(key, old));
  EXPECT_TRUE(strangers.Has(key, next));
  strangers.Remove(key, next);
  EXPECT_TRUE(strangers.empty());
  EXPECT_EQ(strangers.Add(""), 0u);
  EXPECT_TRUE(strangers.empty());
}

// What a watcher was told.
struct Listener final : Strangers::Watcher {
  void OnLetIn(uint64_t id) override { let_in.push_back(id); }
  void OnManyGuesses(uint64_t id) override { guessers.push_back(id); }
  void OnManyCalls(uint64_t id) override { callers.push_back(id); }
  std::vector<uint64_t> let_in;
  std::vector<uint64_t> guessers;
  std::vector<uint64_t> callers;
};

TEST(StrangersKeysTest, WhoMakesManyCallsIsTold) {
  const absl::Time start = absl::UnixEpoch() + absl::Hours(1);
  const std::string key = "fd:7";
  Strangers strangers;
  Listener listener;
  const uint64_t id = strangers.Add(key, &listener);
  const uint64_t other = strangers.Add("fd:8", &listener);
  for (int i = 0; i < Strangers::kCalls; ++i) strangers.CountCall(key, start);
  // As many as may be, for a minute.
  for (int i = 0; i < 60 * static_cast<int>(Strangers::kCallsPerSecond); ++i) {
    strangers.CountCall(key, start + absl::Seconds((i + 1) / Strangers::kCallsPerSecond));
  }
  EXPECT_TRUE(listener.callers.empty());
  for (int i = 0; i < 10; ++i) strangers.CountCall(key, start + absl::Seconds(60));
  EXPECT_EQ(listener.callers, std::vector<uint64_t>{id}) << "once";
  strangers.LetIn("fd:8");
  EXPECT_EQ(listener.let_in, std::vector<uint64_t>{other});
  for (int i = 0; i < 2 * Strangers::kCalls; ++i) strangers.CountCall("fd:8", start);
  EXPECT_EQ(listener.callers.size(), 1u) << "who was let in may";
}

TEST(StrangersKeysTest, WrongTokensAreLookedAtAFewTimesAndThenOnceASecond) {
  const absl::Time start = absl::UnixEpoch() + absl::Hours(1);
  const std::string key = "192.0.2.7:50000";
  Strangers strangers;
  Listener listener;
  const uint64_t id = strangers.Add(key, &listener);
  strangers.Add("192.0.2.7:50001", &listener);
  for (int i = 0; i < Strangers::kGuesses; ++i) {
    EXPECT_TRUE(strangers.MayShowToken(key, start)) << i;
    strangers.CountGuess(key, start);
  }
  EXPECT_FALSE(strangers.MayShowToken(key, start));
  EXPECT_TRUE(strangers.MayShowToken("192.0.2.7:50001", start));
  EXPECT_TRUE(strangers.MayShowToken("192.0.2.8:50000", start)) << "who is no stranger";
  EXPECT_EQ(listener.guessers, std::vector<uint64_t>{id});
  int guesses = 0;
  for (int ms = 0; ms < 60000; ms += 10) {
    const absl::Time now = start + absl::Milliseconds(ms);
    if (!strangers.MayShowToken(key, now)) continue;
    strangers.CountGuess(key, now);
    ++guesses;
  }
  EXPECT_NEAR(guesses, 60 * Strangers::kGuessesPerSecond, 2);
  EXPECT_EQ(listener.guessers.size(), 1u) << "told once";
  EXPECT_TRUE(strangers.MayShowToken(key, start + absl::Seconds(62)));
  strangers.LetIn(key);
  for (int i = 0; i < 100; ++i) strangers.CountGuess(key, start + absl::Seconds(62));
  EXPECT_TRUE(strangers.MayShowToken(key, start + absl::Seconds(62)));
}

}  // namespace
}  // namespace baseband::server
