// Where calls go: one server or several, and what gRPC is told of it.
#include "client/cpp/target.h"

#include "client/cpp/channel_pool.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(TargetTest, OneServerIsPassedOnAsItIs) {
  for (const char* target : {"127.0.0.1:50151", "unix:/run/basebandd.sock", "gpu1:50151"}) {
    const auto parsed = ParseTarget(target);
    ASSERT_TRUE(parsed.ok()) << target;
    EXPECT_EQ(parsed->uri, target);
    EXPECT_FALSE(parsed->balanced) << target;
  }
  EXPECT_THAT(ParseTarget(""), StatusIs(kInvalid, HasSubstr("target is empty")));
}

TEST(TargetTest, AddressesAndNamesForSeveralAreBalanced) {
  EXPECT_EQ(ParseTarget("10.0.0.1:1,10.0.0.2:2")->uri, "ipv4:10.0.0.1:1,10.0.0.2:2");
  EXPECT_EQ(ParseTarget("[fd00::1]:1,[fd00::2]:1")->uri, "ipv6:%5Bfd00::1%5D:1,%5Bfd00::2%5D:1");
  EXPECT_EQ(ParseTarget("dns:///basebandd:50151")->uri, "dns:///basebandd:50151");
  for (const char* target :
       {"10.0.0.1:1,10.0.0.2:2", "[fd00::1]:1,[fd00::2]:1", "dns:///basebandd:50151"}) {
    EXPECT_TRUE(ParseTarget(target)->balanced) << target;
  }
}

TEST(TargetTest, AListOfAnythingElseIsRefusedWithWhatToWriteInstead) {
  for (const char* target : {"gpu1:50151,gpu2:50151", "10.0.0.1:1,[fd00::1]:1", "10.0.0.1:1,",
                             "10.0.0.1,10.0.0.2", "unix:/a,unix:/b"}) {
    EXPECT_THAT(ParseTarget(target), StatusIs(kInvalid, HasSubstr("dns:///NAME:PORT"))) << target;
  }
}

TEST(TargetTest, TheSameHostIsRecognised) {
  for (const char* target :
       {"127.0.0.1:50151", "unix:/run/basebandd.sock", "localhost:1", "127.0.0.2:1,127.0.0.3:1"}) {
    EXPECT_TRUE(ParseTarget(target)->same_host) << target;
  }
  for (const char* target :
       {"localhost.example.com:1", "10.0.0.1:50151", "127.0.0.1:1,10.0.0.1:1"}) {
    EXPECT_FALSE(ParseTarget(target)->same_host) << target;
  }
}

TEST(TargetTest, TlsToSeveralAddressesNeedsTheNameOfTheirCertificates) {
  ClientOptions options;
  options.target = "10.0.0.1:1,10.0.0.2:1";
  options.tls.emplace();
  EXPECT_THAT(Client::Create(options).status(), StatusIs(kInvalid, HasSubstr("server_name")));
  options.tls->server_name = "basebandd.rack1.example";
  EXPECT_TRUE(Client::Create(options).ok());
  options.target = "dns:///basebandd.rack1.example:50151";
  options.tls->server_name.clear();
  EXPECT_TRUE(Client::Create(options).ok());
}

TEST(ChannelPoolTest, RetriesAreWrittenAsServiceConfig) {
  ClientOptions options;
  const std::string config = ServiceConfigJson(options, false);
  EXPECT_THAT(config, HasSubstr("\"maxAttempts\":4"));
  EXPECT_THAT(config, HasSubstr("\"initialBackoff\":\"0.050s\""));
  EXPECT_THAT(config, HasSubstr("[\"UNAVAILABLE\"]"));
  EXPECT_THAT(config, HasSubstr("retryThrottling"));
  options.max_attempts = 1;
  EXPECT_EQ(ServiceConfigJson(options, false), "{}");
}

TEST(ChannelPoolTest, SeveralServersAreTakenInTurnByTheirHealth) {
  const std::string config = ServiceConfigJson(ClientOptions(), true);
  EXPECT_THAT(config, HasSubstr("round_robin"));
  EXPECT_THAT(config, HasSubstr("\"serviceName\":\"baseband.v1.Baseband\""));
  EXPECT_THAT(config, HasSubstr("\"maxAttempts\":4"));
  EXPECT_THAT(config, Not(HasSubstr("retryThrottling")));
}

}  // namespace
}  // namespace baseband::client
