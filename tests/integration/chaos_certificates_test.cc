// Certificates, keys and authorities are exchanged while calls run and new connections come all the
// time: no call fails that should not, and new connections see what is new.
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/certificates.h"
#include "tests/support/mixed_load.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr char kClientName[] = "DNS:bbu.rack1.example";
constexpr char kExpiry[] = "baseband_tls_certificate_expiry_timestamp_seconds";

class ChaosCertificatesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* authority : {"ca1", "ca2"}) files_.MakeAuthority(authority);
    files_.Make("server", "IP:127.0.0.1");
    files_.Make("bbu", kClientName);
    files_.Make("bbu1", kClientName, "ca1");
    files_.Write("clients.pem", files_.Read("ca.pem"));
    const client::TlsOptions tls = files_.ClientTls("bbu");
    auto server = ServerProcess::Start(
        {"--tls-cert=" + files_.Path("server.pem"), "--tls-key=" + files_.Path("server.key"),
         "--tls-client-ca=" + files_.Path("clients.pem"), "--allow=user=*.rack1.example"},
        grpc::SslCredentials({tls.ca, tls.key, tls.cert}));
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  // A client that is `name`, and trusts these authorities.
  client::ClientOptions OptionsOf(const std::string& name,
                                  const std::vector<std::string>& authorities = {"ca", "ca1",
                                                                                 "ca2"}) {
    client::ClientOptions options = LoadOf(server_->target()).client;
    options.tls = files_.ClientTls(name);
    options.tls->ca.clear();
    for (const std::string& authority : authorities) {
      options.tls->ca += files_.Read(authority + ".pem");
    }
    return options;
  }

  // Whether a new connection with these options becomes what is wanted.
  static bool Becomes(Code code, const client::ClientOptions& options) {
    const absl::Time deadline = absl::Now() + kPatience;
    while ((*client::Client::Create(options))->GetCapabilities().status().code() != code) {
      if (absl::Now() > deadline) return false;
      absl::SleepFor(absl::Milliseconds(200));
    }
    return true;
  }

  // The server's certificate is now one of `authority`, for so many days.
  void ExchangeServers(const std::string& authority, int days) {
    files_.Make("next", "IP:127.0.0.1", authority, days);
    files_.Write("server.key", files_.Read("next.key"));
    files_.Write("server.pem", files_.Read("next.pem"));
  }

  // New connections with some calls on each, until stop_.
  void KeepConnecting(const Mix& mix, unsigned seed) {
    std::mt19937 random(seed);
    while (!stop_) {
      const absl::ReaderMutexLock lock(&mutex_);  // its change waits for who is connecting
      const std::string& name = newcomer_;
      const auto client = *client::Client::Create(OptionsOf(name));
      Batch batch(&log_);
      for (int i = 0; i < 3; ++i) {
        const auto which = random() % static_cast<unsigned>(mix.size());
        mix.Call(*client, static_cast<int>(which), client::CallOptions(), batch.Enter());
      }
      EXPECT_THAT(batch.Wait(), IsOk()) << name;
    }
  }

  Certificates files_;
  std::unique_ptr<ServerProcess> server_;
  RequestLog log_;
  std::atomic<bool> stop_{false};
  absl::Mutex mutex_;
  std::string newcomer_ ABSL_GUARDED_BY(mutex_) = "bbu";
};

TEST_F(ChaosCertificatesTest, EverythingIsExchangedUnderLoadAndNoCallFails) {
  const auto learner = *client::Client::Create(OptionsOf("bbu"));
  const auto mix = Mix::Learn(*learner);
  ASSERT_TRUE(mix.ok()) << mix.status();
  MixedLoadOptions options;
  options.client = OptionsOf("bbu");
  RequestLog old_book;
  MixedLoad old_connections(*mix, options, &old_book);
  std::vector<std::thread> newcomers;
  for (unsigned i = 0; i < 2; ++i) newcomers.emplace_back([&, i] { KeepConnecting(*mix, i); });
  const double first = server_->Metric(kExpiry);

  ExchangeServers("ca1", 4);
  EXPECT_TRUE(Becomes(Code::kOk, OptionsOf("bbu", {"ca1"})));
  EXPECT_TRUE(Becomes(Code::kUnavailable, OptionsOf("bbu", {"ca"})));
  EXPECT_NEAR(server_->Metric(kExpiry) - first, 2 * 86400.0, 120);

  // Clients of another authority, first besides, then instead.
  files_.Write("clients.pem", files_.Read("ca.pem") + files_.Read("ca1.pem"));
  EXPECT_TRUE(Becomes(Code::kOk, OptionsOf("bbu1")));
  {
    absl::MutexLock lock(&mutex_);
    newcomer_ = "bbu1";
  }
  files_.Write("clients.pem", files_.Read("ca1.pem"));
  EXPECT_TRUE(Becomes(Code::kUnavailable, OptionsOf("bbu")));
  EXPECT_TRUE(old_book.AwaitCount(Code::kOk, old_book.Count(Code::kOk) + 50));

  // Files that are none change nothing, and are named.
  const std::pair<const char*, const char*> files[] = {
      {"tls_cert", "server.pem"}, {"tls_key", "server.key"}, {"tls_client_ca", "clients.pem"}};
  for (const auto& [setting, name] : files) {
    const std::string good = files_.Read(name);
    const double failures = server_->Metric("baseband_reload_failures_total");
    files_.Write(name, good.substr(0, good.size() / 2));
    const absl::Time deadline = absl::Now() + kPatience;
    // It also counts what it sees while a file is being written.
    while (server_->Metric("baseband_reload_failures_total") == failures ||
           !absl::StrContains(server_->process().Output(),
                              absl::StrCat(setting, " ", files_.Path(name), " has "))) {
      ASSERT_LT(absl::Now(), deadline) << setting;
      absl::SleepFor(absl::Milliseconds(20));
    }
    EXPECT_TRUE(Becomes(Code::kOk, OptionsOf("bbu1", {"ca1"})));
    EXPECT_TRUE(log_.AwaitCount(Code::kOk, log_.Count(Code::kOk) + 10));
    files_.Write(name, good);
  }
  const char* said = "what was read before stays in force";
  EXPECT_THAT(server_->process().OutputWith(said), HasSubstr(said));
  EXPECT_NEAR(server_->Metric(kExpiry) - first, 2 * 86400.0, 120);

  ExchangeServers("ca2", 7);
  EXPECT_TRUE(Becomes(Code::kOk, OptionsOf("bbu1", {"ca2"})));
  EXPECT_NEAR(server_->Metric(kExpiry) - first, 5 * 86400.0, 120);
  EXPECT_TRUE(old_book.AwaitCount(Code::kOk, old_book.Count(Code::kOk) + 50));

  stop_ = true;
  for (std::thread& newcomer : newcomers) newcomer.join();
  old_connections.Stop();
  EXPECT_EQ(log_.Faults({Code::kOk}), "");
  EXPECT_EQ(old_book.Faults({Code::kOk}), "");
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

}  // namespace
}  // namespace baseband::testing
