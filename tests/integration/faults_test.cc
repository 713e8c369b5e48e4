// Faults in the real server, injected as an admin does, and what clients see of them. With
// BASEBAND_TEST_DEVICE=cuda the same on a GPU.
#include "tests/support/faults_test.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace baseband::testing {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FaultsTest, WithoutTheFlagNothingIsInjected) {
  StartServer({});
  for (const Fault::Kind kind :
       {Fault::STALL, Fault::FAIL, Fault::CORRUPT, Fault::NO_MEMORY, Fault::LOSE}) {
    EXPECT_THAT(Inject(kind, 1, 1, Device()), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                       HasSubstr("--allow-fault-injection")));
  }
  EXPECT_TRUE(Decode().ok());
  EXPECT_EQ(server_->Terminate(), 0);
  for (const char* sign : {" armed ", " gave up ", "may be injected", "an injected fault"}) {
    EXPECT_THAT(server_->process().Output(), Not(HasSubstr(sign)));
  }
}

TEST_F(FaultsTest, AStuckBatchIsAnsweredAndTheLastDevicesServerEndsWithItsOwnCode) {
  StartServer({"--allow-fault-injection", "--watchdog=1s"});
  const auto health = grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(server_->target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, grpc::health::v1::HealthCheckRequest());
  grpc::health::v1::HealthCheckResponse state;
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.status(), grpc::health::v1::HealthCheckResponse::SERVING);
  ASSERT_THAT(Inject(Fault::STALL, 1, kForever), IsOk());

  const grpc::Status stuck = Decode();
  EXPECT_EQ(stuck.error_code(), StatusCode::INTERNAL) << "it may be why";
  EXPECT_THAT(stuck.error_message(), AllOf(HasSubstr(Device() + " was lost while this request"),
                                           HasSubstr(" has made no progress for ")));
  while (watch->Read(&state)) {
  }
  EXPECT_EQ(state.status(), grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Decode().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(server_->process().Wait(kTimeout), 3);
  EXPECT_THAT(server_->process().Output(),
              AllOf(HasSubstr("faults may be injected"), HasSubstr(Device() + " was lost (stuck)"),
                    HasSubstr("no device is left: draining")));
}

// Its batch is one that lasts: no watchdog has called its lane stuck.
TEST_F(FaultsTest, ADrainEndsTheProcessInTimeWhateverStillRunsOnADevice) {
  StartServer({"--allow-fault-injection", "--watchdog=0s", "--drain=1s"});
  ASSERT_THAT(Inject(Fault::STALL, 1, kForever), IsOk());
  v1::DecodeResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(2)));
  EXPECT_EQ(Decode(&response, &context).error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(server_->Terminate(kTimeout), 0) << server_->process().Output();
}

TEST_F(FaultsTest, TheDeviceOnStandbyTakesOverUnderLoadAndNoAnswerIsWrong) {
  StartServer({"--allow-fault-injection", "--standby-cpu"});
  v1::GetCapabilitiesResponse capabilities;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->GetCapabilities(&context, {}, &capabilities).ok());
  ASSERT_EQ(capabilities.devices_size(), 2);
  EXPECT_EQ(capabilities.devices(0).id(), Device());
  EXPECT_FALSE(capabilities.devices(0).standby());
  EXPECT_EQ(capabilities.devices(1).id(), "cpu:standby");
  EXPECT_TRUE(capabilities.devices(1).standby());
  std::atomic<bool> stop{false};
  std::atomic<int> right{0};
  std::atomic<int> unavailable{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      const auto stub = Connect(server_->target());
      while (!stop) {
        v1::DecodeResponse response;
        const grpc::Status status = Call(*stub, DecodeOfZeros(NrCode(1, 96), 20), &response);
        if (status.error_code() == StatusCode::UNAVAILABLE) {
          ++unavailable;
          continue;
        }
        EXPECT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(WrongBits(response), 0);
        ++right;
      }
    });
  }
  while (right < 50) absl::SleepFor(absl::Milliseconds(5));
  ASSERT_THAT(Inject(Fault::LOSE, 0, 0, Device()), IsOk());
  const int before = right;
  while (right < before + 50) absl::SleepFor(absl::Milliseconds(5));
  stop = true;
  for (std::thread& client : clients) client.join();

  EXPECT_LE(unavailable, 8) << "what was in flight then, and no more";
  const std::string device = absl::StrCat("device=\"", Device(), "\"");
  EXPECT_EQ(server_->Metric("baseband_devices_lost_total", {device, "reason=\"injected\""}), 1);
  EXPECT_EQ(server_->Metric("baseband_devices_lost_total"), 1);
  EXPECT_EQ(server_->Metric("baseband_device_healthy", {device}), 0);
  EXPECT_EQ(server_->Metric("baseband_device_healthy", {"device=\"cpu:standby\""}), 1);
  EXPECT_GT(server_->Metric("baseband_lane_busy_seconds_total", {"device=\"cpu:standby\""}), 0);
  EXPECT_THAT(Inject(Fault::LOSE, 0, 0, Device()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("not one that is healthy")));
  ASSERT_THAT(Inject(Fault::LOSE, 0, 0, "cpu:standby"), IsOk());
  EXPECT_EQ(server_->process().Wait(kTimeout), 3) << server_->process().Output();
}

TEST_F(FaultsTest, AStuckLaneDoesNotKeepAServerThatHasAnotherDeviceFromItsEnd) {
  StartServer({"--allow-fault-injection", "--standby-cpu", "--watchdog=1s"});
  ASSERT_THAT(Inject(Fault::STALL, 1, kForever, Device()), IsOk());
  EXPECT_EQ(Decode().error_code(), StatusCode::INTERNAL);
  v1::EncodeResponse other;
  EXPECT_TRUE(Call(*stub_, EncodeOf(NrCode(2, 16), 2), &other).ok());
  EXPECT_EQ(server_->Metric("baseband_devices_lost_total",
                            {absl::StrCat("device=\"", Device(), "\""), "reason=\"stuck\""}),
            1);
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(FaultsTest, ASearchOnALostDeviceEndsAndTheNextIsForTheOneThatTookOver) {
  StartServer({"--allow-fault-injection", "--standby-cpu", "--max-search=24h"});
  v1::MinimizeRequest search;
  search.mutable_expression()->set_text("sum(j, 1, 1000, sin(j * x))");
  search.set_progress_interval_ms(10);
  v1::GridAxis& axis = *search.add_axes();
  axis.set_step(1e-9);
  axis.set_count(Device() == "cpu" ? 100'000'000 : 100'000'000'000);
  grpc::ClientContext context;
  const auto reader = stub_->Minimize(&context, search);
  v1::MinimizeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  ASSERT_THAT(Inject(Fault::LOSE, 0, 0, Device()), IsOk());
  while (reader->Read(&response)) EXPECT_FALSE(response.has_answer());
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  search.mutable_axes(0)->set_count(1000);
  grpc::ClientContext again;
  const auto second = stub_->Minimize(&again, search);
  while (second->Read(&response)) {
  }
  EXPECT_TRUE(second->Finish().ok()) << "on the device that took over";
  EXPECT_TRUE(response.has_answer());
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(FaultsTest, AFullPoolIsRefusedWithAPauseAndServesAgain) {
  StartServer({"--allow-fault-injection"});
  ASSERT_THAT(Inject(Fault::NO_MEMORY, 2), IsOk());
  for (int i = 0; i < 2; ++i) {
    v1::DecodeResponse response;
    grpc::ClientContext context;
    EXPECT_EQ(Decode(&response, &context).error_code(), StatusCode::RESOURCE_EXHAUSTED);
    const auto& trailers = context.GetServerTrailingMetadata();
    const auto pushback = trailers.find("grpc-retry-pushback-ms");
    ASSERT_NE(pushback, trailers.end());
    int pause_ms = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(std::string(pushback->second.data(), pushback->second.size()), &pause_ms));
    EXPECT_GT(pause_ms, 0);
  }
  EXPECT_TRUE(Decode().ok());
  // The client library takes the pause, and its caller sees nothing of it.
  ASSERT_THAT(Inject(Fault::NO_MEMORY, 1), IsOk());
  client::ClientOptions options;
  options.target = server_->target();
  EXPECT_THAT((*client::Client::Create(options))->Decode(DecodeOfZeros(NrCode(2, 16), 1)), IsOk());
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total", {"RESOURCE_EXHAUSTED"}, 3));
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(FaultsTest, ACorruptReplyIsWrongInOneBitAndTheNextIsRight) {
  StartServer({"--allow-fault-injection"});
  ASSERT_THAT(Inject(Fault::CORRUPT, 1), IsOk());
  v1::DecodeResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(Decode(&response, &context).ok());
  EXPECT_EQ(WrongBits(response), 1);
  EXPECT_TRUE(Decode().ok());
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(FaultsTest, AFailedBatchIsRecordedWithItsStagesAndNoSecrets) {
  StartServer({"--allow-fault-injection", "--slow=1h"});
  EXPECT_TRUE(Decode().ok());
  ASSERT_THAT(Inject(Fault::FAIL, 1, 0, Device()), IsOk());
  v1::DecodeResponse response;
  grpc::ClientContext context;
  context.AddMetadata("x-request-id", std::string(100, 'i'));
  context.AddMetadata("baseband-priority", "high");
  context.AddMetadata("authorization", "Bearer a-secret");
  EXPECT_EQ(Decode(&response, &context).error_code(), StatusCode::INTERNAL);
  const v1::GetFlightRecordsResponse records = Records(1);
  ASSERT_EQ(records.records_size(), 1);
  const v1::FlightRecord& record = records.records(0);
  EXPECT_EQ(record.reason(), v1::FlightRecord::FAILED);
  EXPECT_EQ(record.rpc(), "Decode");
  EXPECT_EQ(record.client(), "127.0.0.1");
  EXPECT_EQ(record.priority(), "high");
  EXPECT_EQ(record.request_id(), std::string(64, 'i'));
  EXPECT_EQ(record.code(), "INTERNAL");
  EXPECT_THAT(record.message(), HasSubstr("an injected fault"));
  EXPECT_EQ(record.device(), Device());
  EXPECT_EQ(record.batch_requests(), 1);
  EXPECT_EQ(record.batch_blocks(), 2);
  EXPECT_GT(record.kernel_ns(), 0);
  EXPECT_EQ(record.deadline_ns(), 0);
  EXPECT_LE(record.arrived_ns(), record.submitted_ns());
  EXPECT_LE(record.submitted_ns(), record.started_ns());
  EXPECT_LE(record.started_ns(), record.ended_ns());
  EXPECT_LE(record.ended_ns(), record.answered_ns());
  EXPECT_LE(record.answered_ns(), record.finished_ns());
  EXPECT_THAT(records.SerializeAsString(), Not(HasSubstr("a-secret")));
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

TEST_F(FaultsTest, LateAndSlowRequestsAreRecorded) {
  StartServer({"--allow-fault-injection"});
  EXPECT_TRUE(Decode().ok());
  ASSERT_THAT(Inject(Fault::STALL, 1, 4000), IsOk());
  v1::DecodeResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(2)));
  EXPECT_EQ(Decode(&response, &context).error_code(), StatusCode::DEADLINE_EXCEEDED);
  const v1::GetFlightRecordsResponse records = Records(2);
  ASSERT_EQ(records.records_size(), 2);
  EXPECT_EQ(records.records(0).reason(), v1::FlightRecord::SLOW);
  EXPECT_EQ(records.records(1).reason(), v1::FlightRecord::LATE);
  EXPECT_GE(records.records(1).finished_ns(), records.records(1).deadline_ns());
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

}  // namespace
}  // namespace baseband::testing
