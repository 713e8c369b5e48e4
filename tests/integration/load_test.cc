// Many clients at once: every reply right, batches that join them, deadlines and cancellation at
// any moment, bounds that hold.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/support/server_process.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Runs `body(i)` on `count` threads at once.
template <typename Body>
void InParallel(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

// What the clients found wrong, in any order.
class Complaints {
 public:
  void Add(const std::string& complaint) {
    absl::MutexLock lock(&mutex_);
    if (!complaint.empty()) complaints_.insert(complaint);
  }
  std::set<std::string> Get() const {
    absl::MutexLock lock(&mutex_);
    return complaints_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::set<std::string> complaints_ ABSL_GUARDED_BY(mutex_);
};

// Once all is quiet, nothing is held.
void ExpectNothingHeld(const ServerProcess& server) {
  EXPECT_TRUE(server.WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_TRUE(server.WaitForMetric("baseband_pool_used_bytes", {}, 0));
  EXPECT_TRUE(server.WaitForMetric("baseband_queue_requests", {}, 0));
  EXPECT_TRUE(server.WaitForMetric("baseband_queue_bytes", {}, 0));
}

TEST(LoadTest, SixtyFourClientsWithMixedCodesAreAllAnsweredRight) {
  const auto server = StartServer();
  ASSERT_NE(server, nullptr);

  Complaints complaints;
  InParallel(64, [&](int client) {
    const auto stub = Connect(server->target());
    std::mt19937 random(static_cast<unsigned>(client));
    for (int i = 0; i < 6; ++i) complaints.Add(RoundTrip(*stub, &random));
  });

  EXPECT_THAT(complaints.Get(), ::testing::IsEmpty());
  EXPECT_EQ(server->Metric("baseband_batch_requests_sum"), 64 * 6 * 2);
  ExpectNothingHeld(*server);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(LoadTest, RequestsOfManyClientsShareBatches) {
  constexpr int kClients = 32;
  const auto server =
      StartServer({"--max-queue-delay=1s", absl::StrCat("--max-batch-requests=", kClients)});
  ASSERT_NE(server, nullptr);
  Complaints complaints;
  InParallel(kClients, [&](int) {
    const auto stub = Connect(server->target());
    v1::EncodeResponse response;
    const grpc::Status status = Call(*stub, EncodeOf(NrCode(2, 16), 1), &response);
    complaints.Add(status.ok() ? "" : status.error_message());
  });
  EXPECT_THAT(complaints.Get(), ::testing::IsEmpty());
  EXPECT_EQ(server->Metric("baseband_batch_requests_sum", {"Encode"}), kClients);
  EXPECT_LE(server->Metric("baseband_batches_total", {"Encode"}), kClients / 2);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(LoadTest, AnAnswerDoesNotDependOnItsNeighbours) {
  const auto server = StartServer();
  ASSERT_NE(server, nullptr);
  std::vector<v1::EncodeRequest> requests;
  std::vector<std::string> alone;
  std::mt19937 random(5);
  const auto stub = Connect(server->target());
  for (int i = 0; i < 32; ++i) {
    requests.push_back(RandomEncode(&random));
    v1::EncodeResponse response;
    ASSERT_TRUE(Call(*stub, requests.back(), &response).ok());
    alone.push_back(response.payload());
  }

  std::atomic<int> different{0};
  InParallel(32, [&](int i) {
    const auto own = Connect(server->target());
    for (int repeat = 0; repeat < 5; ++repeat) {
      v1::EncodeResponse response;
      const auto index = static_cast<size_t>(i);
      if (!Call(*own, requests[index], &response).ok() || response.payload() != alone[index]) {
        ++different;
      }
    }
  });

  EXPECT_EQ(different, 0);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(LoadTest, RequestsCancelledAtAnyMomentLeaveTheOthersRight) {
  const auto server = StartServer();
  ASSERT_NE(server, nullptr);

  Complaints complaints;
  std::atomic<int> cancelled{0};
  InParallel(16, [&](int client) {
    const auto stub = Connect(server->target());
    std::mt19937 random(static_cast<unsigned>(client));
    if (client % 2 == 0) {
      for (int i = 0; i < 8; ++i) complaints.Add(RoundTrip(*stub, &random));
      return;
    }
    const v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 20);
    for (int i = 0; i < 25; ++i) {
      grpc::ClientContext context;
      // A cancelled first call takes the connection attempt of the next one with it.
      context.set_wait_for_ready(true);
      std::thread canceller([&, wait = random() % 20000] {
        absl::SleepFor(absl::Microseconds(wait));
        context.TryCancel();
      });
      v1::DecodeResponse response;
      const grpc::Status status = stub->Decode(&context, request, &response);
      canceller.join();
      if (status.error_code() == grpc::StatusCode::CANCELLED) {
        ++cancelled;
      } else if (!status.ok()) {
        complaints.Add(status.error_message());
      }
    }
  });

  EXPECT_THAT(complaints.Get(), ::testing::IsEmpty());
  EXPECT_GT(cancelled, 0);
  ExpectNothingHeld(*server);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(LoadTest, DeadlinesAreAnsweredInTimeAndCostNoDeviceTime) {
  const auto server = StartServer({"--cpu-threads=1"});
  ASSERT_NE(server, nullptr);

  // One client keeps the only thread busy; the others' deadlines pass in the queue.
  v1::DecodeRequest slow = DecodeOfZeros(NrCode(1, 384), 400);
  slow.mutable_groups(0)->set_max_iterations(100);
  slow.mutable_groups(0)->set_fixed_iterations(true);
  std::atomic<bool> stop{false};
  std::thread keeps_busy([&] {
    const auto stub = Connect(server->target());
    while (!stop) {
      v1::DecodeResponse response;
      EXPECT_TRUE(Call(*stub, slow, &response).ok());
    }
  });
  EXPECT_TRUE(server->WaitForMetric("baseband_requests_in_flight", {}, 1));

  // Late when they arrived, late in the queue, or given up by the client in the queue: how soon it
  // comes to that depends on the host.
  Complaints complaints;
  std::atomic<bool> is_over{false};
  const absl::Time over = absl::Now() + absl::Minutes(1);
  InParallel(8, [&](int client) {
    const auto stub = Connect(server->target());
    for (int i = 0; i < 10 || !is_over; ++i) {
      if (client == 0) {
        is_over = absl::Now() > over || server->Metric("baseband_requests_unserved_total") > 0;
      }
      v1::DecodeResponse response;
      const absl::Time start = absl::Now();
      const grpc::Status status =
          Call(*stub, DecodeOfZeros(NrCode(2, 16), 1), &response, absl::Milliseconds(1 + i % 20));
      // Exhausted: what goes before it takes longer than that.
      if (!status.ok() && status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
          status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) {
        complaints.Add(status.error_message());
      }
      if (absl::Now() - start > absl::Minutes(1)) complaints.Add("a deadline of 20 ms took 60 s");
    }
  });
  stop = true;
  keeps_busy.join();

  EXPECT_THAT(complaints.Get(), ::testing::IsEmpty());
  ExpectNothingHeld(*server);
  EXPECT_GT(server->Metric("baseband_requests_unserved_total"), 0);
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

TEST(LoadTest, AFullQueueRefusesWithARetryHintAndLosesNothingAccepted) {
  const auto server =
      StartServer({"--cpu-threads=1", "--queue-requests=4", "--max-batch-requests=1"});
  ASSERT_NE(server, nullptr);

  v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 40);
  request.mutable_groups(0)->set_max_iterations(50);
  request.mutable_groups(0)->set_fixed_iterations(true);
  std::atomic<int> served{0};
  std::atomic<int> refused{0};
  Complaints complaints;
  InParallel(24, [&](int) {
    const auto stub = Connect(server->target());
    for (int i = 0; i < 4; ++i) {
      grpc::ClientContext context;
      v1::DecodeResponse response;
      const grpc::Status status = stub->Decode(&context, request, &response);
      if (status.ok()) {
        ++served;
        if (response.payload() != std::string(40 * 1056, '\0')) complaints.Add("a wrong answer");
      } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
        ++refused;
        if (context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms") != 1) {
          complaints.Add("no retry hint");
        }
        if (status.error_message().find("the queue is full") == std::string::npos) {
          complaints.Add(status.error_message());
        }
      } else {
        complaints.Add(status.error_message());
      }
    }
  });

  EXPECT_THAT(complaints.Get(), ::testing::IsEmpty());
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 0);
  ExpectNothingHeld(*server);
  EXPECT_EQ(server->Metric("baseband_requests_unserved_total"), refused);
  EXPECT_EQ(server->Metric("baseband_requests_unserved_total", {"reason=\"queue_"}) +
                server->Metric("baseband_requests_unserved_total", {"_pool\""}),
            refused)
      << server->MetricsPage();
  EXPECT_EQ(server->Terminate(), 0) << server->process().Output();
}

}  // namespace
}  // namespace baseband::testing
