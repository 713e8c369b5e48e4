// Nobody gets in where he does not belong: TLS, tokens, Unix sockets, roles.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/secured_server.h"
#include "tests/support/raw_call.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(SecurityTest, EachCallerGetsWhatItsCertificateOrTokenGives) {
  files_.MakeAuthority("other");
  files_.Make("forged", "DNS:bbu.rack1.example", "other");
  files_.Make("expired", "DNS:bbu.rack1.example", "ca", -1);
  StartTls({"--tls-client-cert=optional"});
  using Code = absl::StatusCode;

  EXPECT_EQ(Call(Tls("bbu")), Code::kOk);
  EXPECT_EQ(Call(Tls("", kUserToken)), Code::kOk);
  EXPECT_EQ(Call(Tls("stranger", kUserToken)), Code::kOk);
  EXPECT_EQ(Denied("no_credentials") + Denied("bad_token") + Denied("not_allowed"), 0);

  EXPECT_EQ(Call(Tls("")), Code::kUnauthenticated);
  EXPECT_EQ(Denied("no_credentials"), 1 * kCalls);
  EXPECT_EQ(Call(Tls("stranger")), Code::kPermissionDenied);
  EXPECT_EQ(Call(Tls("", kMetricsToken)), Code::kPermissionDenied);
  EXPECT_EQ(Denied("not_allowed"), 2 * kCalls);
  EXPECT_EQ(Call(Tls("", "guessed")), Code::kUnauthenticated);
  EXPECT_EQ(Call(Tls("bbu", "guessed")), Code::kUnauthenticated);
  EXPECT_EQ(Denied("bad_token"), 2 * kCalls);

  EXPECT_EQ(Call(Tls("forged")), Code::kUnavailable);
  EXPECT_EQ(Call(Tls("expired")), Code::kUnavailable);
  client::ClientOptions plain = Tls("");
  plain.tls.reset();
  EXPECT_EQ(Call(plain), Code::kUnavailable);
  client::ClientOptions distrustful = Tls("bbu");
  distrustful.tls->ca = files_.Read("other.pem");
  EXPECT_EQ(Call(distrustful), Code::kUnavailable);

  const char* refusal = "refused '127.0.0.1': no credentials: this server wants";
  EXPECT_THAT(server_->process().OutputWith(refusal), HasSubstr(refusal));
}

TEST_F(SecurityTest, WhereACertificateIsRequiredATokenAloneDoesNotConnect) {
  StartTls();
  EXPECT_EQ(Call(Tls("bbu")), absl::StatusCode::kOk);
  EXPECT_EQ(Call(Tls("", kUserToken)), absl::StatusCode::kUnavailable);
}

TEST_F(SecurityTest, SeveralServersAreKnownByTheNameThatTheirCertificatesBear) {
  const std::string second = absl::StrCat("127.0.0.1:", FreePort());
  StartTls({"--listen=" + second});
  client::ClientOptions options = Tls("bbu");
  options.target = absl::StrCat(server_->target(), ",", second);
  options.tls->server_name = "servers.rack1.example";
  EXPECT_EQ(Call(options), absl::StatusCode::kOk);
  options.tls->server_name = "others.rack1.example";
  EXPECT_EQ((*client::Client::Create(options))->GetCapabilities().status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(SecurityTest, HealthIsOpenUnlessItIsClosed) {
  StartTls({"--tls-client-cert=optional"});
  auto nobody = client::Client::Create(Tls(""));
  ASSERT_THAT(nobody, IsOk());
  EXPECT_EQ(*(*nobody)->CheckHealth(""), client::Health::kServing);

  server_.reset();
  StartTls({"--tls-client-cert=optional", "--open-health=false"});
  nobody = client::Client::Create(Tls(""));
  EXPECT_THAT((*nobody)->CheckHealth("").status(),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("no credentials")));
  const auto prometheus = client::Client::Create(Tls("", kMetricsToken));
  EXPECT_EQ(*(*prometheus)->CheckHealth("baseband.v1.Baseband"), client::Health::kServing);
  EXPECT_EQ((*prometheus)->CheckHealth("x").status().code(), absl::StatusCode::kNotFound);
  const client::TlsOptions tls = files_.ClientTls("bbu");
  const auto channel =
      grpc::CreateChannel(server_->target(), grpc::SslCredentials({tls.ca, tls.key, tls.cert}));
  const grpc::Status broken = CallRaw(channel, "/grpc.health.v1.Health/Check", "\x0a\xff\x07");
  EXPECT_EQ(broken.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(broken.error_message(), HasSubstr("not a well-formed"));
  EXPECT_EQ(Denied("no_credentials"), 1);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total",
                                     {"rpc=\"Health\"", "code=\"INVALID_ARGUMENT\""}, 1));
}

TEST_F(SecurityTest, AUnixSocketKnowsItsCallersByTheirIds) {
  const std::string socket = files_.Path("socket");
  client::ClientOptions options;
  options.target = "unix:" + socket;
  options.connections = 2;
  options.max_attempts = 1;
  const struct {
    std::string subject;
    absl::StatusCode code;
  } cases[] = {{absl::StrCat("uid:", getuid()), absl::StatusCode::kOk},
               {absl::StrCat("gid:", getgid()), absl::StatusCode::kOk},
               {absl::StrCat("uid:", getuid() + 1), absl::StatusCode::kPermissionDenied},
               {absl::StrCat("gid:", 4242424242), absl::StatusCode::kPermissionDenied}};
  for (const auto& [subject, code] : cases) {
    auto started = ServerProcess::Start(
        {"--listen=" + options.target, "--socket-mode=0660", "--allow=user=" + subject});
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
    struct stat file {};
    ASSERT_EQ(stat(socket.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0660u);
    EXPECT_EQ(Call(options), code) << subject;
    // The same rules on TCP know nobody.
    client::ClientOptions tcp = options;
    tcp.target = server_->target();
    EXPECT_EQ(Call(tcp), absl::StatusCode::kUnauthenticated);
    EXPECT_EQ(server_->Terminate(), 0);
    EXPECT_NE(stat(socket.c_str(), &file), 0) << "the socket is left behind";
  }
}

TEST_F(SecurityTest, ASocketFileIsTakenOverFromTheDeadOnly) {
  const std::string listen = "--listen=unix:" + files_.Path("socket");
  auto first = ServerProcess::Start({listen});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Refusal({listen}), HasSubstr("Address already in use: is another server running"));
  (*first)->process().Signal(SIGKILL);
  (*first)->process().Wait(absl::Seconds(10));
  EXPECT_THAT(ServerProcess::Start({listen}), IsOk());

  EXPECT_THAT(Refusal({"--listen=unix:" + files_.Path("nowhere/socket")}),
              HasSubstr("there is no folder " + files_.Path("nowhere") + ": make it first"));
  files_.Write("plain", "a file of somebody's");
  EXPECT_THAT(Refusal({"--listen=unix:" + files_.Path("plain")}), HasSubstr("cannot listen at"));
  EXPECT_EQ(files_.Read("plain"), "a file of somebody's");
}

TEST_F(SecurityTest, TheLoadTesterProvesWhoItIsInEachOfItsCalls) {
  StartTls({"--tls-client-cert=optional"});
  files_.Write("token", kUserToken);
  for (const char* stream : {"", "--stream"}) {
    std::vector<std::string> arguments = {"load",
                                          "encode",
                                          "--in-flight=2",
                                          "--duration=200ms",
                                          "--warmup=0s",
                                          "--fail-above=refused=0%",
                                          "--target=" + server_->target(),
                                          "--connections=2",
                                          "--tls-ca=" + files_.Path("ca.pem"),
                                          "--token-file=" + files_.Path("token")};
    if (*stream != '\0') arguments.push_back(stream);
    ChildProcess ctl(ProgramPath("basebandctl"), arguments);
    EXPECT_EQ(ctl.Wait(absl::Seconds(60)), 0) << ctl.Output();
  }
  EXPECT_GT(server_->Metric("baseband_requests_total", {"rpc=\"Encode\"", "code=\"OK\""}), 0);
}

TEST_F(SecurityTest, TheCommandLineSaysWhichFlagOfTlsIsMissing) {
  StartTls({"--tls-client-cert=optional", "--log-format=json"});
  const std::string ca = "--tls-ca=" + files_.Path("ca.pem");
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "add --tls, or --tls-ca=FILE"},
      {{"--tls"}, "Name the authority that has by --tls-ca=FILE"},
      {{ca, "--tls-server-name=other.example"}, "Say which by --tls-server-name=NAME"}};
  for (const auto& [flags, advice] : cases) {
    for (const bool wait : {false, true}) {
      std::vector<std::string> arguments = {"--target=" + server_->target(), "info"};
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      if (wait) arguments.insert(arguments.end(), {"--wait", "--timeout=1s"});
      ChildProcess ctl(ProgramPath("basebandctl"), arguments);
      EXPECT_EQ(ctl.Wait(absl::Seconds(60)), 2) << ctl.Output();
      EXPECT_THAT(ctl.Output(), HasSubstr(advice));
    }
  }
  // gRPC's own words about these handshakes are lines of the log like all others.
  for (const absl::string_view line :
       absl::StrSplit(server_->process().OutputWith("gRPC: "), '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "{")) << line;
  }
  EXPECT_THAT(server_->process().Output(), HasSubstr("gRPC: "));
}

TEST_F(SecurityTest, AnAdministrationThatRefusesAllIsToldAtTheStart) {
  const char* warning = "administration refuses every call";
  const std::string admin = "--admin-listen=unix:" + files_.Path("admin");
  StartTls({"--tls-client-cert=optional", admin});
  EXPECT_THAT(server_->process().OutputWith(warning),
              AllOf(HasSubstr(warning), HasSubstr("--allow=admin=uid:0")));
  server_.reset();
  StartTls({"--tls-client-cert=optional", admin, "--allow=admin=uid:0"});
  EXPECT_EQ(server_->Terminate(), 0);
  EXPECT_THAT(server_->process().Output(), ::testing::Not(HasSubstr(warning)));
}

TEST_F(SecurityTest, TheAdminPortServesAdminsOnly) {
  files_.Make("keeper", "URI:spiffe://example/keeper");
  const std::string admin = absl::StrCat("127.0.0.1:", FreePort());
  StartTls({"--admin-listen=" + admin, "--allow=admin=spiffe://example/keeper"});
  const auto as = [&](const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--target=" + admin, "--tls-ca=" + files_.Path("ca.pem"),
                                         "--tls-cert=" + files_.Path(name + ".pem"),
                                         "--tls-key=" + files_.Path(name + ".key"), "admin"});
    ChildProcess ctl(ProgramPath("basebandctl"), arguments);
    const int code = ctl.Wait(absl::Seconds(60)).value_or(-1);
    return std::make_pair(code, ctl.Output());
  };
  EXPECT_EQ(as("bbu", {"drain"}).first, 3);
  EXPECT_THAT(server_->process().Output(),
              HasSubstr("refused 'bbu.rack1.example' Drain: bbu.rack1.example does not have role"));
  EXPECT_THAT(as("bbu", {"config"}).second,
              HasSubstr("bbu.rack1.example does not have role admin"));
  // An admin is no user, and the service is not served at this port, nor this at the service's.
  EXPECT_EQ(Call(Tls("keeper")), absl::StatusCode::kPermissionDenied);
  client::ClientOptions wrong_port = Tls("bbu");
  wrong_port.target = admin;
  EXPECT_EQ((*client::Client::Create(wrong_port))->GetCapabilities().status().code(),
            absl::StatusCode::kUnimplemented);

  EXPECT_THAT(as("keeper", {"config"}).second,
              AllOf(HasSubstr("# from flag --admin-listen\n"), HasSubstr("tls_key = \"")));
  EXPECT_EQ(as("keeper", {"log-level"}).first, 1);
  EXPECT_THAT(as("keeper", {"log-level", "loud"}).second,
              HasSubstr("level 'loud' is not one of trace, debug"));
  EXPECT_EQ(as("keeper", {"log-level", "error"}).first, 0);
  const std::string before = server_->process().Output();
  EXPECT_EQ(as("bbu", {"config"}).first, 3);
  EXPECT_EQ(server_->process().Output(), before) << "a warning was logged";
  EXPECT_EQ(as("keeper", {"drain"}).first, 0);
  EXPECT_EQ(server_->process().Wait(absl::Seconds(60)), 0);
}

TEST_F(SecurityTest, WithoutLimitsTheAdminSocketIsForWhoCanOpenIt) {
  const std::string admin = "unix:" + files_.Path("admin");
  auto started = ServerProcess::Start({"--admin-listen=" + admin});
  ASSERT_THAT(started, IsOk());
  ChildProcess ctl(ProgramPath("basebandctl"), {"admin", "drain", "--target=" + admin});
  EXPECT_EQ(ctl.Wait(absl::Seconds(60)), 0) << ctl.Output();
  EXPECT_EQ((*started)->process().Wait(absl::Seconds(60)), 0);
}

}  // namespace
}  // namespace baseband::testing
