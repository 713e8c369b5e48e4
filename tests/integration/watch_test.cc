// The real server as its keepers see it: probes from start to end, what systemd hears, and the
// series that alerts are made of.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/admin_client.h"
#include "tests/support/administered_server.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/notify_socket.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Fault = v1::InjectFaultRequest;

constexpr absl::Duration kPatience = absl::Seconds(60);

template <typename Condition>
bool Await(const Condition& condition) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

class WatchTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    flags.push_back("--allow-fault-injection");
    auto started = StartAdministered(std::move(flags));
    ASSERT_THAT(started, IsOk());
    server_ = std::move(started->server);
    admin_ = std::move(started->admin);
    stub_ = Connect(server_->target());
  }
  void Inject(const Fault& fault) { ASSERT_THAT(admin_->InjectFault(fault, kPatience), IsOk()); }

  // The next batches hold their lanes for so long.
  void Stall(uint32_t batches, absl::Duration time) {
    Fault stall;
    stall.set_kind(Fault::STALL);
    stall.set_count(batches);
    stall.set_stall_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(time)));
    Inject(stall);
  }

  HttpAnswer Probe(const std::string& path) const {
    return HttpAsk(server_->metrics_address(), path);
  }
  // Of requests by deadline.
  bool AwaitDeadlines(const std::string& rpc, const std::string& outcome, double count) const {
    return server_->WaitForMetric(
        "baseband_deadlines_total",
        {absl::StrCat("rpc=\"", rpc, "\""), absl::StrCat("outcome=\"", outcome, "\"")}, count,
        kPatience);
  }
  double Deadlines() const { return server_->Metric("baseband_deadlines_total"); }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
  std::unique_ptr<client::AdminClient> admin_;
};

TEST_F(WatchTest, WhileItStartsItLivesAndIsNotReady) {
  // Whoever asks may come too late; not each time.
  bool was_starting = false;
  for (int start = 0; start < 10 && !was_starting; ++start) {
    const std::string page = absl::StrCat("127.0.0.1:", FreePort());
    ChildProcess server(ProgramPath("basebandd"),
                        {"--device=cpu", absl::StrCat("--listen=127.0.0.1:", FreePort()),
                         "--metrics-listen=" + page});
    HttpAnswer ready;
    ASSERT_TRUE(Await([&] {
      ready = HttpAsk(page, "/readyz");
      if (ready.status == 503) {
        EXPECT_EQ(ready.body, "starting\n");
        const HttpAnswer live = HttpAsk(page, "/livez");
        EXPECT_EQ(live.status, 200);
        EXPECT_EQ(live.body, "ok\n");
        was_starting = true;
      }
      return ready.status == 200;
    })) << server.Output();
    EXPECT_EQ(ready.body, "ok\n");
  }
  EXPECT_TRUE(was_starting);
}

TEST_F(WatchTest, WhileItDrainsItLivesAndIsNotReady) {
  Start({"--watchdog=0s", "--drain=300s"});
  EXPECT_EQ(Probe("/livez").status, 200);
  EXPECT_EQ(Probe("/readyz").status, 200);
  Stall(1, absl::Seconds(10));
  std::thread client([&] {
    v1::DecodeResponse response;
    const grpc::Status status = Call(*stub_, DecodeOfZeros(NrCode(2, 16), 1), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 1));

  server_->process().Signal(SIGTERM);

  EXPECT_TRUE(Await([&] { return Probe("/readyz").status == 503; }));
  EXPECT_EQ(Probe("/readyz").body, "draining\n");
  const HttpAnswer live = Probe("/livez");
  EXPECT_EQ(live.status, 200);
  EXPECT_EQ(live.body, "ok\n");
  EXPECT_EQ(server_->Metric("baseband_requests_in_flight"), 1) << "a drain can be watched";
  client.join();
  EXPECT_EQ(server_->process().Wait(kPatience), 0) << server_->process().Output();
}

TEST_F(WatchTest, WithoutAHealthyDeviceItDoesNotLive) {
  Start();
  // A client that does not read its answer holds up the end, for a while.
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  const auto stream = stub_->Submit(&context);
  v1::SubmitResponse grant;
  ASSERT_TRUE(stream->Read(&grant));
  v1::SubmitRequest request;
  request.set_id(1);
  *request.mutable_encode() = EncodeOf(NrCode(1, 384), 2000);
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(server_->WaitForMetric("baseband_batches_total", {"rpc=\"Encode\""}, 1));
  Fault lose;
  lose.set_kind(Fault::LOSE);
  lose.set_device("cpu");
  Inject(lose);

  for (const char* const path : {"/livez", "/readyz"}) {
    const HttpAnswer answer = Probe(path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.body, "no healthy device\n") << path;
  }
  context.TryCancel();
  EXPECT_EQ(server_->process().Wait(kPatience), 3) << server_->process().Output();
}

TEST_F(WatchTest, SystemdHearsOfStartServiceAndEnd) {
  const NotifySocket systemd(FolderOfTests() + "/notify");
  setenv("NOTIFY_SOCKET", systemd.name().c_str(), 1);
  setenv("WATCHDOG_USEC", "100000", 1);
  Start({"--drain=7s"});
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");

  EXPECT_THAT(systemd.Hear(), StartsWith("STATUS=starting"));
  EXPECT_EQ(systemd.Hear(), absl::StrCat("READY=1\nSTATUS=serving at ", server_->target()));
  EXPECT_EQ(systemd.Hear(), "WATCHDOG=1");
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  std::string heard;
  do {
    heard = systemd.Hear();
  } while (heard == "WATCHDOG=1");
  EXPECT_THAT(heard, StartsWith("STOPPING=1\nSTATUS=TERM: draining, for at most 7 s\n"));
  EXPECT_THAT(heard, HasSubstr("EXTEND_TIMEOUT_USEC=11000000"));
}

TEST_F(WatchTest, RequestsInTimeHaveMetTheirDeadlines) {
  Start();
  v1::EncodeResponse encoded;
  ASSERT_TRUE(Call(*stub_, EncodeOf(NrCode(2, 16), 1), &encoded).ok());
  EXPECT_TRUE(AwaitDeadlines("Encode", "met", 1));

  v1::DecodeResponse decoded;
  grpc::ClientContext without;
  ASSERT_TRUE(stub_->Decode(&without, DecodeOfZeros(NrCode(2, 16), 1), &decoded).ok());
  v1::MinimizeRequest search;
  search.mutable_expression()->set_text("x * x");
  v1::GridAxis& axis = *search.add_axes();
  axis.set_begin(-1);
  axis.set_step(0.5);
  axis.set_count(5);
  grpc::ClientContext with;
  with.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  const auto reader = stub_->Minimize(&with, search);
  v1::MinimizeResponse found;
  while (reader->Read(&found)) {
  }
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(AwaitDeadlines("Minimize", "met", 1));

  EXPECT_EQ(Deadlines(), 2) << "Decode had none\n" << server_->MetricsPage();
}

TEST_F(WatchTest, MessagesOfStreamsMeetTheirDeadlinesOneByOne) {
  Start();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Minutes(4)));
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertRequest piece;
  *piece.mutable_setup() = ChannelsOf(1, 64, 8);
  piece.set_payload(std::string(4 * 1000, '\1'));
  for (int i = 0; i < 3; ++i) {
    v1::DownconvertResponse response;
    ASSERT_TRUE(stream->Write(piece));
    ASSERT_TRUE(stream->Read(&response));
    piece.clear_setup();
  }
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(AwaitDeadlines("DownconvertStream", "met", 3));

  grpc::ClientContext submit_context;
  const auto submit = stub_->Submit(&submit_context);
  v1::SubmitResponse answer;
  ASSERT_TRUE(submit->Read(&answer));
  for (uint64_t id = 1; id <= 4; ++id) {
    v1::SubmitRequest request;
    request.set_id(id);
    if (id > 1) request.set_timeout_us(300'000'000);
    *request.mutable_encode() = EncodeOf(NrCode(2, 16), 1);
    ASSERT_TRUE(submit->Write(request));
    ASSERT_TRUE(submit->Read(&answer));
  }
  EXPECT_TRUE(AwaitDeadlines("Encode", "met", 3));

  // Every other one has a deadline nobody can keep: until the server knows what such work takes it
  // accepts them, and drops them; from then on it refuses them.
  constexpr int kHopeless = 200;
  for (uint64_t id = 1; id <= 2 * kHopeless; ++id) {
    v1::SubmitRequest request;
    request.set_id(id);
    if (id % 2 == 0) request.set_timeout_us(1);
    *request.mutable_encode() = EncodeOf(NrCode(2, 16), 1);
    ASSERT_TRUE(submit->Write(request));
    ASSERT_TRUE(submit->Read(&answer));
  }
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Encode\""}, 0));
  const double refused =
      server_->Metric("baseband_requests_unserved_total", {"deadline_unreachable"}) +
      server_->Metric("baseband_requests_unserved_total", {"backlog"});
  EXPECT_TRUE(AwaitDeadlines("Encode", "missed", kHopeless - refused)) << refused;
  EXPECT_GT(refused, 0) << "so that what is refused is shown not to count";
  EXPECT_EQ(Deadlines(), 3 + 3 + kHopeless - refused);
}

TEST_F(WatchTest, RequestsThatWaitTooLongMissTheirDeadlinesAndThoseGivenUpDoNotCount) {
  Start({"--watchdog=0s"});
  v1::DecodeResponse response;
  const v1::DecodeRequest quick = DecodeOfZeros(NrCode(2, 16), 1);
  // Both lanes are held until after the deadline of who waits for one.
  Stall(2, absl::Seconds(15));
  std::vector<std::thread> clients;
  clients.emplace_back([&] {
    v1::EncodeResponse mine;
    EXPECT_TRUE(Call(*stub_, EncodeOf(NrCode(2, 16), 1), &mine).ok());
  });
  clients.emplace_back([&] {
    v1::DecodeResponse mine;
    EXPECT_TRUE(Call(*stub_, quick, &mine).ok());
  });
  for (const char* const rpc : {"rpc=\"Encode\"", "rpc=\"Decode\""}) {
    ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {rpc}, 1));
    ASSERT_TRUE(server_->WaitForMetric("baseband_queue_requests", {rpc}, 0));
  }
  grpc::ClientContext given_up;
  given_up.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  clients.emplace_back([&] {
    v1::DecodeResponse mine;
    EXPECT_EQ(stub_->Decode(&given_up, quick, &mine).error_code(), grpc::StatusCode::CANCELLED);
  });
  ASSERT_TRUE(server_->WaitForMetric("baseband_queue_requests", {"Decode"}, 1));
  given_up.TryCancel();

  EXPECT_EQ(Call(*stub_, quick, &response, absl::Seconds(3)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GT(server_->Metric("baseband_queue_oldest_age_seconds", {"\"normal\""}), 0);
  EXPECT_EQ(server_->Metric("baseband_queue_oldest_age_seconds", {"\"high\""}), 0);

  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(AwaitDeadlines("Decode", "missed", 1));
  EXPECT_TRUE(AwaitDeadlines("Decode", "met", 1)) << "it held a lane";
  EXPECT_TRUE(AwaitDeadlines("Encode", "met", 1)) << "likewise";
  EXPECT_EQ(Deadlines(), 3) << "who gave up is neither";
  EXPECT_EQ(server_->Metric("baseband_queue_oldest_age_seconds"), 0);
}

TEST_F(WatchTest, DeviceTimeOfTheClientsIsThatOfTheClasses) {
  Start();
  std::mt19937 random(5);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(RoundTrip(*stub_, &random), "");

  // The two are moved one after the other, at the end of a batch whose answers are sent first.
  EXPECT_TRUE(Await([&] {
    const double by_client =
        server_->Metric("baseband_client_device_seconds_total", {"client=\"127.0.0.1\""});
    const double by_class = server_->Metric("baseband_device_seconds_total");
    return by_client > 0 && by_client > 0.999 * by_class && by_client < 1.001 * by_class;
  })) << server_->MetricsPage();
  EXPECT_EQ(server_->Metric("baseband_client_device_seconds_total", {"client=\"other\""}), 0);
  EXPECT_EQ(server_->Metric("baseband_gpu_monitor_up"), 0) << "there is no GPU to be monitored";
}

}  // namespace
}  // namespace baseband::testing
