// Nobody gets in where he does not belong: TLS, tokens, Unix sockets, roles; and changing
// certificates and tokens disturbs nobody.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Tokens with their digests, by `printf %s TOKEN | sha256sum`.
constexpr char kUserToken[] = "the-user-token-of-this-test";
constexpr char kUserDigest[] = "892d376814c996c3df37b47a686ff53cce4e7910a9aedac8fdbf6d8e8042143b";
constexpr char kMetricsToken[] = "the-metrics-token-of-this-test";
constexpr char kMetricsDigest[] =
    "5aa51a3e9bd484bd3148cbe32d42db40772b545180a40e45911cd59ad4d3a582";

class SecurityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    files_.Make("server", "IP:127.0.0.1,DNS:servers.rack1.example");
    files_.Make("bbu", "DNS:bbu.rack1.example");
    files_.Make("stranger", "DNS:stranger.example");
    files_.Write("tokens", absl::StrCat("bbu-7 user ", kUserDigest, "\nprometheus metrics ",
                                        kMetricsDigest, "\n"));
  }

  // A server with TLS for bbu.rack1.example and the tokens' holders.
  void StartTls(std::vector<std::string> flags = {}) {
    flags.insert(
        flags.end(),
        {"--tls-cert=" + files_.Path("server.pem"), "--tls-key=" + files_.Path("server.key"),
         "--tls-client-ca=" + files_.Path("ca.pem"), "--allow=user=*.rack1.example",
         "--tokens-file=" + files_.Path("tokens")});
    const client::TlsOptions tls = files_.ClientTls("bbu");
    auto started = ServerProcess::Start(flags, grpc::SslCredentials({tls.ca, tls.key, tls.cert}));
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  client::ClientOptions Tls(const std::string& name, const std::string& token = "") {
    client::ClientOptions options;
    options.target = server_->target();
    options.connections = 1;
    options.max_attempts = 1;
    options.tls = files_.ClientTls(name);
    options.token = token;
    return options;
  }

  // What each kind of call answers, if all answer the same.
  static absl::StatusCode Call(const client::ClientOptions& options) {
    auto client = client::Client::Create(options);
    if (!client.ok()) return client.status().code();
    const absl::StatusCode code = (*client)->GetCapabilities().status().code();
    // An empty request is refused as InvalidArgument by who reads it.
    const auto same = [code](const absl::Status& status) {
      return status.code() ==
             (code == absl::StatusCode::kOk ? absl::StatusCode::kInvalidArgument : code);
    };
    EXPECT_TRUE(same((*client)->Encode(v1::EncodeRequest()).status()));
    EXPECT_TRUE(same((*client)->Minimize(v1::MinimizeRequest()).status()));
    auto stream = (*client)->OpenDownconvertStream();
    EXPECT_THAT(stream, IsOk());
    (*stream)->Write(v1::DownconvertRequest());
    EXPECT_TRUE(same((*stream)->Finish()));
    auto submit = (*client)->OpenSubmitStream();
    EXPECT_THAT(submit, IsOk());
    EXPECT_EQ((*submit)->Finish().code(), code);
    return code;
  }

  static constexpr int kCalls = 5;  // of one Call
  double Denied(const std::string& reason) const {
    return server_->Metric("baseband_denied_total", {"reason=\"" + reason + "\""});
  }

  // Starts a server that must refuse its flags; what it wrote.
  std::string Refusal(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--device=cpu", "--metrics-listen=off",
                               absl::StrCat("--listen=127.0.0.1:", FreePort())});
    ChildProcess process(ProgramPath("basebandd"), flags);
    EXPECT_NE(process.Wait(absl::Seconds(60)).value_or(0), 0);
    return process.Output();
  }

  Certificates files_;
  std::unique_ptr<ServerProcess> server_;
};

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

  EXPECT_THAT(server_->process().Output(),
              HasSubstr("refused 127.0.0.1: no credentials: this server wants"));
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

  files_.Write("plain", "a file of somebody's");
  EXPECT_THAT(Refusal({"--listen=unix:" + files_.Path("plain")}), HasSubstr("cannot listen at"));
  EXPECT_EQ(files_.Read("plain"), "a file of somebody's");
}

TEST_F(SecurityTest, ACertificateIsReplacedUnderLoadWithoutAFailedCall) {
  StartTls();
  const double before = server_->Metric("baseband_tls_certificate_expiry_timestamp_seconds");
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      while (!stop) {  // a handshake, and some calls on its connection
        auto client = client::Client::Create(Tls("bbu"));
        for (int call = 0; call < 5; ++call, ++calls) {
          const absl::Status status = (*client)->GetCapabilities().status();
          ASSERT_THAT(status, IsOk());
        }
      }
    });
  }
  for (int days = 3; days <= 5; ++days) {
    const std::string name = absl::StrCat("server", days);
    files_.Make(name, "IP:127.0.0.1", "ca", days);
    files_.Write("server.pem", files_.Read(name + ".pem"));
    absl::SleepFor(absl::Milliseconds(1500));  // meanwhile the key is not the certificate's
    files_.Write("server.key", files_.Read(name + ".key"));
    absl::SleepFor(absl::Milliseconds(2500));
    EXPECT_NEAR(server_->Metric("baseband_tls_certificate_expiry_timestamp_seconds") - before,
                (days - 2) * 86400.0, 120);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(calls, 20);
  EXPECT_EQ(server_->Metric("baseband_reload_failures_total"), 3);
  EXPECT_THAT(server_->process().Output(), HasSubstr("is not the key of tls_cert"));
}

TEST_F(SecurityTest, TokensComeAndGoWhileTheServerRuns) {
  StartTls({"--tls-client-cert=optional"});
  const auto becomes = [&](absl::StatusCode code) {
    for (int i = 0; i < 100; ++i) {
      if (Call(Tls("", kUserToken)) == code) return true;
      absl::SleepFor(absl::Milliseconds(100));
    }
    return false;
  };
  EXPECT_TRUE(becomes(absl::StatusCode::kOk));
  files_.Write("tokens", "# nobody\n");
  EXPECT_TRUE(becomes(absl::StatusCode::kUnauthenticated));
  files_.Write("tokens", absl::StrCat("x metrics ", kUserDigest, "\n"));
  EXPECT_TRUE(becomes(absl::StatusCode::kPermissionDenied));
  files_.Write("tokens", "x user\n");
  EXPECT_TRUE(server_->WaitForMetric("baseband_reload_failures_total", {}, 1));
  EXPECT_EQ(Call(Tls("", kUserToken)), absl::StatusCode::kPermissionDenied);
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

TEST_F(SecurityTest, SecretsAreNowhereToBeRead) {
  StartTls({"--tls-client-cert=optional", "--log-level=trace"});
  files_.Write("token", std::string(kUserToken) + "\n");
  ChildProcess ctl(ProgramPath("basebandctl"),
                   {"info", "--target=" + server_->target(), "--tls-ca=" + files_.Path("ca.pem"),
                    "--token-file=" + files_.Path("token")});
  EXPECT_EQ(ctl.Wait(absl::Seconds(60)), 0) << ctl.Output();
  EXPECT_EQ(Call(Tls("", "a-guess-that-nobody-may-read")), absl::StatusCode::kUnauthenticated);

  ChildProcess check(ProgramPath("basebandd"),
                     {"--check-config", "--tokens-file=" + files_.Path("tokens")});
  EXPECT_EQ(check.Wait(absl::Seconds(60)), 0);
  std::ostringstream cmdline;
  cmdline << std::ifstream(absl::StrCat("/proc/", server_->process().pid(), "/cmdline")).rdbuf();
  const std::string everything = absl::StrCat(server_->process().Output(), check.Output(),
                                              server_->MetricsPage(), ctl.Output(), cmdline.str());
  EXPECT_THAT(everything, AllOf(Not(HasSubstr(kUserToken)), Not(HasSubstr("a-guess-that")),
                                Not(HasSubstr(kUserDigest)), Not(HasSubstr("PRIVATE KEY"))));
}

TEST_F(SecurityTest, FilesThatDoNotServeAreRefusedAtTheStart) {
  files_.MakeAuthority("other");
  files_.Make("expired", "IP:127.0.0.1", "ca", -1);
  files_.Write("nonsense", "no PEM");
  const auto tls = [&](const std::string& cert, const std::string& key) {
    return std::vector<std::string>{"--tls-cert=" + files_.Path(cert),
                                    "--tls-key=" + files_.Path(key)};
  };
  EXPECT_THAT(Refusal(tls("nowhere.pem", "server.key")),
              AllOf(HasSubstr("tls_cert "), HasSubstr("cannot be read: No such file")));
  EXPECT_THAT(Refusal(tls("server.pem", "nowhere.key")), HasSubstr("tls_key "));
  EXPECT_THAT(Refusal(tls("nonsense", "server.key")), HasSubstr("has no PEM certificate"));
  EXPECT_THAT(Refusal(tls("server.pem", "nonsense")), HasSubstr("has no PEM private key"));
  EXPECT_THAT(Refusal(tls("server.pem", "bbu.key")), HasSubstr("is not the key of tls_cert"));
  EXPECT_THAT(Refusal(tls("expired.pem", "expired.key")), HasSubstr("not now"));
  EXPECT_THAT(Refusal({"--tokens-file=" + files_.Path("nonsense")}), HasSubstr("line 1 has 2"));
  std::vector<std::string> flags = tls("server.pem", "server.key");
  flags.push_back("--tls-client-ca=" + files_.Path("nonsense"));
  flags.push_back("--allow=user=*");
  EXPECT_THAT(Refusal(flags), HasSubstr("tls_client_ca "));
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
              HasSubstr("level 'loud' is not one of trace|debug"));
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
