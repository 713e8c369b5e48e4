// Where calls go: one server or several, and what gRPC is told of it.
#include "client/cpp/target.h"

#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TargetTest, OneServerIsPassedOnAsItIs) {
  for (const char* target : {"127.0.0.1:50151", "unix:/run/basebandd.sock", "gpu1:50151"}) {
    const auto parsed = ParseTarget(target);
    ASSERT_TRUE(parsed.ok()) << target;
    EXPECT_EQ(parsed->uri, target);
    EXPECT_FALSE(parsed->balanced) << target;
  }
  EXPECT_THAT(ParseTarget(""), IsInvalid("target is empty"));
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
    EXPECT_THAT(ParseTarget(target), IsInvalid("dns:///NAME:PORT")) << target;
  }
}

TEST(TargetTest, UrlsOfTheWebAndPortsThatAreNoneAreRefused) {
  for (const char* target : {"http://127.0.0.1:50151", "https://gpu1:50151", "grpc://gpu1:50151",
                             "10.0.0.1:1,http://10.0.0.2:1"}) {
    EXPECT_THAT(ParseTarget(target), IsInvalid("HOST:PORT, unix:PATH or dns:///NAME:PORT"))
        << target;
  }
  for (const char* target :
       {"127.0.0.1:99999", "gpu1:0", "10.0.0.1:1,10.0.0.2:65536", "dns:///gpu1:0",
        "dns://8.8.8.8:53/gpu1:70000", "[fd00::1]:65536", "ipv6:%5Bfd00::1%5D:0", "unixhost:0"}) {
    EXPECT_THAT(ParseTarget(target), IsInvalid(" is not in [1, 65535]")) << target;
  }
  for (const char* target :
       {"dns:///gpu1:50151", "unix:///run/basebandd.sock", "unix:/a:99999", "[fd00::1]:50151",
        "dns://8.8.8.8:53/gpu1:50151", "unix-abstract:a:0", "vsock:1:0"}) {
    EXPECT_THAT(ParseTarget(target).status(), IsOk()) << target;
  }
}

TEST(TargetTest, WhatHasNoPortIsRefused) {
  for (const char* target :
       {"gpu1", "127.0.0.1", "localhost", "gpu1:", "unix:", "-3", "dns:///gpu1", "[fd00::1]",
        "fd00::0", "fd00::99999", "dns:///fd00::0"}) {
    EXPECT_THAT(ParseTarget(target),
                IsInvalid("' is not HOST:PORT, unix:PATH or a list ADDRESS:PORT,ADDRESS:PORT"))
        << target;
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

// Wherever a token may go in clear text: nowhere that a name or an odd spelling could lead.
TEST(TargetTest, PrivateAreSocketsAndLiteralLoopbackAddressesOnly) {
  for (const char* target :
       {"unix:/run/basebandd.sock", "unix:///run/basebandd.sock", "unix-abstract:basebandd",
        "127.0.0.1:50151", "127.255.255.254:1", "[::1]:50151", "[::ffff:127.0.0.1]:1",
        "[::ffff:7f00:1]:1", "[0:0:0:0:0:0:0:1]:1", "ipv4:127.0.0.1:1", "ipv6:[::1]:1",
        "ipv6:%5B::1%5D:1", "dns:127.0.0.1:1", "dns:///127.0.0.1:1", "dns:///[::1]:1",
        "127.0.0.1:1,127.0.0.2:1", "[::1]:1,[::1]:2"}) {
    EXPECT_TRUE(ParseTarget(target)->is_private) << target;
  }
  for (const char* target : {"127.evil.example:1",
                             "127.0.0.1.evil.example:1",
                             "127.1:1",
                             "127.0.1:1",
                             "127:1",
                             "0x7f.1:1",
                             "0x7f000001:1",
                             "017700000001:1",
                             "2130706433:1",
                             "127.0.0.01:1",
                             "127.0.0.1x:1",
                             " 127.0.0.1:1",
                             "127.0.0.1 :1",
                             "127.0.0.1:",
                             "127.0.0.1:1@evil.example:1",
                             "127.0.0.1:evil.example",
                             "127.0.0.1/evil.example",
                             "user@127.0.0.1:1",
                             "localhost:1",
                             "localhost",
                             "dns:localhost:1",
                             "dns:///localhost:1",
                             "localhost.localdomain:1",
                             "ip6-localhost:1",
                             "dns://10.0.0.1/127.0.0.1:1",
                             "dns:127.evil.example:1",
                             "ipv4:127.evil.example:1",
                             "ipv4:10.0.0.1:1",
                             "IPV4:127.0.0.1:1",
                             "xds:127.0.0.1:1",
                             "http://127.0.0.1:1",
                             "0.0.0.0:1",
                             "[::]:1",
                             "::1",
                             "[::1",
                             "[::1]x:1",
                             "[::1%lo]:1",
                             "[::1].evil.example:1",
                             "[::ffff:10.0.0.1]:1",
                             "[::127.0.0.1]:1",
                             "[127.0.0.1]:1",
                             "10.0.0.1:1",
                             "127.0.0.1:1,10.0.0.1:1",
                             "[::1]:1,[fd00::1]:1",
                             "UNIX:/run/x",
                             "vsock:1:1"}) {
    const auto parsed = ParseTarget(target);
    EXPECT_TRUE(!parsed.ok() || !parsed->is_private) << target;
  }
}

TEST(TargetTest, ATokenGoesWithTlsOrToWhatIsPrivate) {
  ClientOptions options;
  options.token = "secret";
  for (const char* target : {"127.0.0.1:1", "[::1]:1", "unix:/run/basebandd.sock"}) {
    options.target = target;
    EXPECT_TRUE(Client::Create(options).ok()) << target;
  }
  for (const char* target : {"localhost:1", "127.evil.example:1", "127.1:1", "10.0.0.1:1"}) {
    options.target = target;
    options.tls.reset();
    EXPECT_THAT(Client::Create(options).status(), IsInvalid("in clear text")) << target;
    options.tls.emplace();
    EXPECT_TRUE(Client::Create(options).ok()) << target;
  }
}

TEST(TargetTest, TlsMaterialThatIsNoneIsRefusedByField) {
  ClientOptions options;
  options.target = "gpu1:1";
  options.tls.emplace();
  options.tls->ca = "nonsense";
  EXPECT_THAT(Client::Create(options).status(), IsInvalid("tls.ca has no PEM certificate"));
  options.tls->ca.clear();
  options.tls->cert = options.tls->key = "nonsense";
  EXPECT_THAT(Client::Create(options).status(), IsInvalid("tls.cert has no PEM certificate"));
}

TEST(TargetTest, TlsToSeveralAddressesNeedsTheNameOfTheirCertificates) {
  ClientOptions options;
  options.target = "10.0.0.1:1,10.0.0.2:1";
  options.tls.emplace();
  EXPECT_THAT(Client::Create(options).status(), IsInvalid("server_name"));
  options.tls->server_name = "basebandd.rack1.example";
  EXPECT_TRUE(Client::Create(options).ok());
  options.target = "dns:///basebandd.rack1.example:50151";
  options.tls->server_name = "a\nb";  // it travels as metadata
  EXPECT_THAT(Client::Create(options).status(), IsInvalid("server_name has a byte"));
  options.tls->server_name.clear();
  EXPECT_TRUE(Client::Create(options).ok());
}

TEST(ChannelPoolTest, RetriesOfSearchesAreWrittenAsServiceConfig) {
  ClientOptions options;
  const std::string config = ServiceConfigJson(options, false);
  EXPECT_THAT(config, HasSubstr("\"maxAttempts\":4"));
  EXPECT_THAT(config, HasSubstr("\"initialBackoff\":\"0.200s\""));
  EXPECT_THAT(config, HasSubstr("[\"UNAVAILABLE\"]"));
  EXPECT_THAT(config, HasSubstr("\"method\":\"Minimize\""));
  EXPECT_THAT(config, Not(HasSubstr("DownconvertStream"))) << "that ends the process in gRPC 1.51";
  EXPECT_THAT(config, Not(HasSubstr("Encode"))) << "UnaryCall does that itself";
  options.max_attempts = 1;
  EXPECT_EQ(ServiceConfigJson(options, false), "{}");
}

TEST(ChannelPoolTest, SeveralServersAreTakenInTurnByTheirHealth) {
  const std::string config = ServiceConfigJson(ClientOptions(), true);
  EXPECT_THAT(config, HasSubstr("round_robin"));
  EXPECT_THAT(config, HasSubstr("\"serviceName\":\"baseband.v1.Baseband\""));
  EXPECT_THAT(config, HasSubstr("\"maxAttempts\":4"));
}

TEST(RetryOptionsTest, TheSecondAttemptIsAtOnceAndPausesDoubleFromThere) {
  RetryOptions retry;
  retry.initial_backoff = absl::Milliseconds(200);
  retry.max_backoff = absl::Milliseconds(700);
  EXPECT_EQ(retry.PauseAfter(1), absl::ZeroDuration());
  const absl::Duration least[] = {absl::Milliseconds(200), absl::Milliseconds(400),
                                  absl::Milliseconds(700), absl::Milliseconds(700)};
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(retry.PauseAfter(i + 2), least[i]);
    EXPECT_LE(retry.PauseAfter(i + 2), 1.2 * least[i]);
  }
}

}  // namespace
}  // namespace baseband::client
