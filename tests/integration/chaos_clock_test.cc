// The host's clock is set while the real server works, by an hour and more, to and fro: nobody who
// calls it notices. Set for the server alone: see tests/support/clock_shim.cc.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/cpp/admin_client.h"
#include "client/cpp/client.h"
#include "client/cpp/submit_stream.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/server_process.h"
#include "tests/support/shifted_clock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

// Of each call: far beyond what it takes, far below what the clock is set by.
constexpr absl::Duration kTimeout = absl::Minutes(2);

// One hour on, two hours back, one hour on.
const std::vector<absl::Duration> kSets = {absl::Hours(1), absl::Hours(-1), absl::ZeroDuration()};

v1::MinimizeRequest Search(uint64_t points) {
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text("sum(j, 1, 1000, sin(j * x))");
  v1::GridAxis& axis = *request.add_axes();
  axis.set_step(1e-9);
  axis.set_count(points);
  return request;
}

bool IsZeros(const v1::DecodeResponse& response) {
  return response.payload().find_first_not_of('\0') == std::string::npos;
}

class ChaosClockTest : public ::testing::Test {
 protected:
  void StartServer(std::vector<std::string> flags) {
    auto started = ServerProcess::Start(std::move(flags));
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
    stub_ = Connect(server_->target());
    client::ClientOptions options;
    options.target = server_->target();
    options.max_attempts = 1;  // a refusal is to be seen
    client_ = *client::Client::Create(options);
  }
  // Whether it comes true within a while.
  static bool Await(const std::function<bool()>& condition) {
    for (const absl::Time end = absl::Now() + kTimeout; !condition();) {
      if (absl::Now() > end) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
  // SIGTERM, and until the server says that it drains.
  void BeginDrain() {
    server_->process().Signal(SIGTERM);
    EXPECT_TRUE(Await([&] { return absl::StrContains(server_->process().Output(), "draining"); }));
  }
  void ExpectEnd() {
    EXPECT_EQ(server_->process().Wait(kTimeout), 0) << server_->process().Output();
  }

  ShiftedClock clock_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
  std::unique_ptr<client::Client> client_;
};

// Clients of all kinds, each of which sends again once it is answered; once the server may end, the
// first that it turns away leaves.
class Callers {
 public:
  Callers(const std::string& target, client::Client* client) : client_(*client) {
    for (int i = 0; i < 2; ++i) {
      Add([stub = std::shared_ptr<v1::Baseband::Stub>(Connect(target))] {
        v1::DecodeResponse response;
        const grpc::Status status =
            Call(*stub, DecodeOfZeros(NrCode(1, 96), 20), &response, kTimeout);
        EXPECT_TRUE(!status.ok() || IsZeros(response));
        return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                            status.error_message());
      });
    }
    client::CallOptions options;
    options.timeout = kTimeout;
    Add([this, options] { return client_.Encode(EncodeOf(NrCode(2, 32), 4), options).status(); });
    Add([this, options] { return client_.Minimize(Search(2000), options).status(); });
    stream_ = *client_.OpenSubmitStream();
    for (int i = 0; i < 2; ++i) Add([this] { return SubmitOne(); });
  }
  ~Callers() {
    may_leave_ = true;
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  void LetThemLeave() { may_leave_ = true; }
  // Each has been answered so often since it was asked, or within a while.
  bool AwaitAnswersOfEach(int count) {
    std::vector<int> enough;
    for (const auto& answers : answers_) enough.push_back(*answers + count);
    for (const absl::Time end = absl::Now() + kTimeout; absl::Now() < end;) {
      bool all = true;
      for (size_t i = 0; i < answers_.size(); ++i) all &= *answers_[i] >= enough[i];
      if (all) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }

 private:
  void Add(std::function<absl::Status()> call) {
    answers_.push_back(std::make_unique<std::atomic<int>>(0));
    threads_.emplace_back([this, call = std::move(call), answers = answers_.back().get()] {
      while (!stop_) {
        const absl::Status status = call();
        if (absl::IsUnavailable(status) && may_leave_) return;
        EXPECT_THAT(status, IsOk());
        if (!status.ok()) return;
        ++*answers;
      }
    });
  }
  absl::Status SubmitOne() {
    client::SubmitOptions options;
    options.timeout = kTimeout;
    absl::Status answer;
    absl::Notification answered;
    const absl::Status sent =
        stream_->Submit(DecodeOfZeros(NrCode(2, 64), 10), options,
                        [&](const absl::StatusOr<v1::DecodeResponse>& response) {
                          answer = response.status();
                          EXPECT_TRUE(!response.ok() || IsZeros(*response));
                          answered.Notify();
                        });
    if (!sent.ok()) return sent;
    answered.WaitForNotification();
    return answer;
  }

  client::Client& client_;
  std::unique_ptr<client::SubmitStream> stream_;
  std::atomic<bool> may_leave_{false};
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<std::atomic<int>>> answers_;
  std::vector<std::thread> threads_;
};

TEST_F(ChaosClockTest, UnderLoadEveryCallIsAnsweredWhateverTheClockDoesAndSoIsADrain) {
  StartServer({"--max-queue-delay=2ms", "--watchdog=20s", "--drain=300s"});
  {
    Callers callers(server_->target(), client_.get());
    EXPECT_TRUE(callers.AwaitAnswersOfEach(5));
    for (const absl::Duration ahead : kSets) {
      clock_.Set(ahead);
      EXPECT_TRUE(callers.AwaitAnswersOfEach(5)) << "clock " << ahead;
      EXPECT_EQ(*client_->CheckHealth(""), client::Health::kServing);
    }
    EXPECT_EQ(server_->Metric("baseband_requests_unserved_total"), 0);
    EXPECT_EQ(server_->Metric("baseband_devices_lost_total"), 0);
    callers.LetThemLeave();
    BeginDrain();
    ExpectEnd();
  }
}

TEST_F(ChaosClockTest, AJobWhoseDelayIsRunningLeavesWhenTheClockIsSetBack) {
  StartServer({"--max-queue-delay=1s"});
  for (const absl::Duration ahead : {absl::Hours(-1), absl::Hours(1), absl::Hours(-2)}) {
    std::atomic<bool> answered{false};
    std::thread caller([&] {
      v1::DecodeResponse response;
      const grpc::Status status =
          Call(*stub_, DecodeOfZeros(NrCode(2, 16), 2), &response, kTimeout);
      EXPECT_TRUE(status.ok()) << status.error_message();
      answered = true;
    });
    EXPECT_TRUE(Await([&] { return answered || server_->Metric("baseband_queue_requests") == 1; }));
    clock_.Set(ahead);
    caller.join();
  }
  BeginDrain();
  ExpectEnd();
}

TEST_F(ChaosClockTest, AStreamThatWaitsForRoomLooksAgainWhenTheClockIsSetBack) {
  const std::string admin = absl::StrCat("127.0.0.1:", FreePort());
  StartServer({"--allow-fault-injection", "--admin-listen=" + admin});
  client::ClientOptions options;
  options.target = admin;
  const auto administrator = *client::AdminClient::Create(options);
  const std::string signal = WidebandSignal(10000, 1);
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(1, 64, 8);
  const auto right = ConvertAsStream(*stub_, like, signal, {10000}).channels;
  const double bytes = server_->Metric("baseband_request_bytes_total");

  v1::InjectFaultRequest fault;
  fault.set_kind(v1::InjectFaultRequest::NO_MEMORY);
  fault.set_count(1000);  // it looks about once a millisecond
  ASSERT_THAT(administrator->InjectFault(fault, kTimeout), IsOk());
  std::vector<std::string> channels;
  std::thread caller([&] { channels = ConvertAsStream(*stub_, like, signal, {10000}).channels; });
  EXPECT_TRUE(Await([&] { return server_->Metric("baseband_request_bytes_total") > bytes; }));
  for (const absl::Duration ahead : {absl::Hours(1), absl::Hours(-1), absl::Hours(-2)}) {
    clock_.Set(ahead);
    absl::SleepFor(absl::Milliseconds(50));  // some looks later, or not
  }
  caller.join();
  EXPECT_EQ(channels, right);
  BeginDrain();
  ExpectEnd();
}

TEST_F(ChaosClockTest, SetOnItDoesNotCutADrainShort) {
  StartServer({"--cpu-threads=1", "--drain=600s"});
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      v1::DecodeResponse response;
      const grpc::Status status = Call(*stub_, SlowDecode(100), &response, kTimeout);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_TRUE(IsZeros(response));
    });
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 3, kTimeout));
  BeginDrain();
  clock_.Set(absl::Hours(1));
  for (std::thread& caller : callers) caller.join();
  ExpectEnd();
}

TEST_F(ChaosClockTest, SetBackItDoesNotProlongADrain) {
  StartServer({"--max-search=24h", "--drain=2s"});
  std::thread caller([&] {
    client::CallOptions options;
    options.timeout = absl::Hours(1);
    EXPECT_FALSE(client_->Minimize(Search(1'000'000'000), options).ok());  // takes hours
  });
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 1, kTimeout));
  BeginDrain();
  clock_.Set(absl::Hours(-2));
  ExpectEnd();
  server_.reset();
  caller.join();
}

}  // namespace
}  // namespace baseband::testing
