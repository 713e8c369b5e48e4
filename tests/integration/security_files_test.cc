// Certificates, keys and tokens in files: those that do not serve are refused by name, changing
// them disturbs nobody, and what they hold is nowhere to be read.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/secured_server.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
    // Until the key is the certificate's, too, nothing changes.
    ASSERT_TRUE(server_->WaitForMetric("baseband_reload_failures_total", {}, days - 2));
    files_.Write("server.key", files_.Read(name + ".key"));
    const auto added = [&] {
      return server_->Metric("baseband_tls_certificate_expiry_timestamp_seconds") - before;
    };
    const absl::Time end = absl::Now() + absl::Minutes(2);
    while (added() < (days - 2) * 86400.0 - 3600 && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    EXPECT_NEAR(added(), (days - 2) * 86400.0, 3600);
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(calls, 20);
  EXPECT_EQ(server_->Metric("baseband_reload_failures_total"), 3);
  const char* said = "is not the key of tls_cert";
  EXPECT_THAT(server_->process().OutputWith(said), HasSubstr(said));
}

TEST_F(SecurityTest, TokensComeAndGoWhileTheServerRuns) {
  StartTls({"--tls-client-cert=optional"});
  // One call finds out when the file is read again; from then on all kinds answer so.
  const auto becomes = [&](absl::StatusCode code) {
    for (int i = 0; i < 600; ++i) {
      if (CallOnce(Tls("", kUserToken)) == code) return Call(Tls("", kUserToken)) == code;
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

TEST_F(SecurityTest, FilesThatDoNotServeAreRefusedAtTheStartAndByCheckConfig) {
  files_.MakeAuthority("other");
  files_.Make("expired", "IP:127.0.0.1", "ca", -1);
  files_.Write("nonsense", "no PEM");
  const auto tls = [&](const std::string& cert, const std::string& key) {
    return std::vector<std::string>{"--tls-cert=" + files_.Path(cert),
                                    "--tls-key=" + files_.Path(key)};
  };
  // A start says that, and so does --check-config, last.
  const auto refusals = [&](std::vector<std::string> flags) {
    const std::string start = Refusal(flags);
    flags.push_back("--check-config");
    ChildProcess check(ProgramPath("basebandd"), flags);
    EXPECT_EQ(check.Wait(absl::Seconds(60)), 1);
    const std::string output = check.Output();
    const size_t said = output.find("basebandd: ");
    EXPECT_NE(said, std::string::npos) << output;
    if (said == std::string::npos) return output;
    EXPECT_THAT(output, HasSubstr("# Effective configuration"));
    const std::string reason(absl::StripTrailingAsciiWhitespace(output.substr(said + 11)));
    EXPECT_THAT(start, HasSubstr(reason));
    return reason;
  };
  EXPECT_THAT(refusals(tls("nowhere.pem", "server.key")),
              AllOf(HasSubstr("tls_cert "), HasSubstr("cannot be read: No such file")));
  EXPECT_THAT(refusals(tls("server.pem", "nowhere.key")), HasSubstr("tls_key "));
  EXPECT_THAT(refusals(tls("nonsense", "server.key")), HasSubstr("has no PEM certificate"));
  EXPECT_THAT(refusals(tls("server.pem", "nonsense")), HasSubstr("has no PEM private key"));
  EXPECT_THAT(refusals(tls("server.pem", "bbu.key")), HasSubstr("is not the key of tls_cert"));
  EXPECT_THAT(refusals(tls("expired.pem", "expired.key")), HasSubstr("not now"));
  EXPECT_THAT(refusals({"--tokens-file=" + files_.Path("nonsense")}), HasSubstr("line 1 has 2"));
  std::vector<std::string> flags = tls("server.pem", "server.key");
  flags.push_back("--tls-client-ca=" + files_.Path("nonsense"));
  flags.push_back("--allow=user=*");
  EXPECT_THAT(refusals(flags), HasSubstr("tls_client_ca "));
}

TEST_F(SecurityTest, BasebandctlSaysWhichOfItsFilesIsBrokenAndWhy) {
  files_.Write("nonsense", "nonsense");
  std::string broken = files_.Read("ca.pem");
  broken.replace(broken.find('\n', 40), 5, "*****");
  files_.Write("broken.pem", broken);
  files_.Write("half.pem", files_.Read("bbu.pem") + broken);
  StartTls();
  const auto with = [&](const std::string& ca, const std::string& cert, const std::string& key) {
    ChildProcess ctl(ProgramPath("basebandctl"),
                     {"--target=" + server_->target(), "--tls-ca=" + files_.Path(ca),
                      "--tls-cert=" + files_.Path(cert), "--tls-key=" + files_.Path(key), "info"});
    const int code = ctl.Wait(absl::Seconds(60)).value_or(-1);
    return std::make_pair(code, ctl.Output());
  };
  EXPECT_EQ(with("ca.pem", "bbu.pem", "bbu.key").first, 0);
  const struct {
    const char *ca, *cert, *key;
    std::string refusal;
  } cases[] = {
      {"nonsense", "bbu.pem", "bbu.key",
       "--tls-ca " + files_.Path("nonsense") + " has no PEM certificate"},
      {"broken.pem", "bbu.pem", "bbu.key",
       "--tls-ca " + files_.Path("broken.pem") + " has a certificate, number 1, that cannot be"},
      {"ca.pem", "nonsense", "bbu.key",
       "--tls-cert " + files_.Path("nonsense") + " has no PEM certificate"},
      {"ca.pem", "half.pem", "bbu.key",
       "--tls-cert " + files_.Path("half.pem") + " has a certificate, number 2, that cannot be"},
      {"ca.pem", "bbu.pem", "nonsense",
       "--tls-key " + files_.Path("nonsense") + " has no PEM private key"},
      {"ca.pem", "bbu.pem", "server.key",
       "--tls-key " + files_.Path("server.key") + " is not the key of --tls-cert"}};
  for (const auto& one : cases) {
    const auto [code, output] = with(one.ca, one.cert, one.key);
    EXPECT_EQ(code, 1) << output;
    EXPECT_THAT(output, HasSubstr("basebandctl: " + one.refusal));
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << "gRPC's own lines: " << output;
  }
}

}  // namespace
}  // namespace baseband::testing
