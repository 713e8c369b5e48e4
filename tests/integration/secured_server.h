// A server with TLS, tokens and rules, and clients of all kinds for it. For the tests of this
// folder.
#ifndef BASEBAND_TESTS_INTEGRATION_SECURED_SERVER_H_
#define BASEBAND_TESTS_INTEGRATION_SECURED_SERVER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

// Tokens with their digests, by `printf %s TOKEN | sha256sum`.
inline constexpr char kUserToken[] = "the-user-token-of-this-test";
inline constexpr char kUserDigest[] =
    "892d376814c996c3df37b47a686ff53cce4e7910a9aedac8fdbf6d8e8042143b";
inline constexpr char kMetricsToken[] = "the-metrics-token-of-this-test";
inline constexpr char kMetricsDigest[] =
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

  // What one call answers.
  static absl::StatusCode CallOnce(const client::ClientOptions& options) {
    auto client = client::Client::Create(options);
    if (!client.ok()) return client.status().code();
    return (*client)->GetCapabilities().status().code();
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
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    return server_->Metric("baseband_requests_unserved_total", {"reason=\"" + reason + "\""});
  }

  // Starts a server that must refuse its flags; what it wrote.
  // What a server with `flags` says before it ends.
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

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_SECURED_SERVER_H_
