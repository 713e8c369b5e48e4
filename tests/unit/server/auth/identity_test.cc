#include "server/auth/identity.h"

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

TEST(IdentityTest, AHostIsOneClientWhateverItsPorts) {
  EXPECT_EQ(HostOfPeer("ipv4:192.0.2.7:50000"), "192.0.2.7");
  EXPECT_EQ(HostOfPeer("ipv4:192.0.2.7:50001"), "192.0.2.7");
  EXPECT_EQ(HostOfPeer("ipv6:[2001:db8::7]:50000"), "2001:db8::7");
  EXPECT_EQ(HostOfPeer("ipv6:%5B2001:db8::7%5D:50000"), "2001:db8::7");
  EXPECT_EQ(HostOfPeer("unix:/run/basebandd.sock"), "local");
  EXPECT_EQ(HostOfPeer("unix:"), "local");
  EXPECT_EQ(HostOfPeer(""), "local");
}

}  // namespace
}  // namespace baseband::server
