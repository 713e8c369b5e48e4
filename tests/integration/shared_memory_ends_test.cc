// kill -9 of clients and servers that share memory, at any moment. BASEBAND_KILLS says how often;
// unless it is set, as often as takes seconds.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/quiescence.h"
#include "tests/support/server_process.h"
#include "tests/support/sharing_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using client::CallOptions;
using client::Client;

int Kills(int usually) {
  int kills = 0;
  const char* const text = std::getenv("BASEBAND_KILLS");
  return text != nullptr && absl::SimpleAtoi(text, &kills) ? kills : usually;
}

class SharedMemoryEndsTest : public SharingServerTest {
 protected:
  std::unique_ptr<Client> NewClient() const {
    client::ClientOptions options;
    options.target = server_->target();
    return *Client::Create(options);
  }
};

TEST_F(SharedMemoryEndsTest, ClientsKilledAtAnyMomentLeaveNothingBehind) {
  // Regions of 8 MiB, so that the grants last.
  Serve({"--client-shm-mib=32"});
  if (HasFatalFailure()) return;
  std::mt19937 random(23);
  const auto kill_some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      ChildProcess client(ProgramPath("sharing_client"), {server_->target()});
      // Some while they ask for memory, most when they have some.
      if (random() % 4 != 0) {
        (void)client.OutputWith("sharing");
        absl::SleepFor(absl::Microseconds(random() % 50'000));
      } else {
        absl::SleepFor(absl::Microseconds(random() % 50'000));
      }
      client.Signal(SIGKILL);
      ASSERT_EQ(client.Wait(absl::Seconds(60)), 128 + SIGKILL) << client.Output();
    }
  };
  kill_some(2);
  ASSERT_TRUE(WaitUntilNothingIsShared());
  ASSERT_EQ(AwaitQuiescence(*server_, NoMoreConnectionsThan(0)), "");
  const Holdings before = HoldingsOf(*server_);
  const double bytes_before = server_->Metric("baseband_shared_memory_bytes_total");
  kill_some(Kills(25));
  EXPECT_TRUE(WaitUntilNothingIsShared());
  EXPECT_EQ(SharedNow(), 0);
  EXPECT_EQ(AwaitQuiescence(*server_, before), "");
  EXPECT_GT(server_->Metric("baseband_shared_memory_bytes_total"), bytes_before);
  EXPECT_LT(HoldingsOf(*server_).resident_bytes - before.resident_bytes, MaxGrowthBytes());
  std::mt19937 other(1);
  EXPECT_EQ(RoundTrip(*Connect(server_->target()), &other), "");
  EXPECT_THAT(NewClient()->ShareMemory(), IsOk());
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(SharedMemoryEndsTest, WhenAServerIsKilledItsClientsGoOnAndAreGivenMemoryByTheNext) {
  client::ClientOptions options;
  options.target = absl::StrCat("127.0.0.1:", FreePort());
  const std::string listen = "--listen=" + options.target;
  Serve({listen});
  if (HasFatalFailure()) return;
  const std::unique_ptr<Client> client = *Client::Create(options);
  CallOptions patient;
  patient.wait_for_ready = true;
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 4);
  const auto expected = client->Encode(request, patient);
  ASSERT_THAT(expected, IsOk());
  EXPECT_THAT(client->ShareMemory(patient, 1), IsOk());
  std::atomic<bool> is_over{false};
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) {
        const auto response = client->Encode(request, patient);
        if (response.ok() && response->payload() == expected->payload()) {
          ++right;
        } else if (response.ok() || !absl::IsUnavailable(response.status())) {
          ADD_FAILURE() << response.status();
          ++wrong;
        }
      }
    });
  }
  const auto await_some = [&] {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    for (const int seen = right; right < seen + 20 && absl::Now() < deadline;) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  };
  std::mt19937 random(29);
  // A server takes a second until it serves: fewer than clients.
  for (int i = 0, kills = (Kills(25) + 7) / 8; i < kills && wrong == 0; ++i) {
    await_some();
    absl::SleepFor(absl::Microseconds(random() % 20'000));
    server_->process().Signal(SIGKILL);
    ASSERT_EQ(server_->process().Wait(absl::Seconds(60)), 128 + SIGKILL);
    Serve({listen});
    if (HasFatalFailure()) break;
    await_some();  // over gRPC alone
    EXPECT_EQ(SharedNow(), 0);
    EXPECT_FALSE(client->Loan(1000).is_shared());
    EXPECT_THAT(client->ShareMemory(patient, 1), IsOk());
    EXPECT_TRUE(client->Loan(1000).is_shared());
    await_some();
    EXPECT_GT(server_->Metric("baseband_shared_memory_bytes_total"), 0);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace baseband::testing
