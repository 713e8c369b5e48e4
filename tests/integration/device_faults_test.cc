// Devices of the real server that fault: they are reset and serve again, and the like of what may
// have brought them down is refused. With BASEBAND_TEST_DEVICE=cuda the same on a GPU.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>

#include "client/cpp/client.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/faults_test.h"
#include "tests/support/shared_channel_traffic.h"

namespace baseband::testing {
namespace {

using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

using DeviceFaultsTest = FaultsTest;

TEST_F(DeviceFaultsTest, WhatMayHaveBroughtADeviceDownIsNotTriedAgainAndItsLikeIsRefused) {
  StartServer({"--allow-fault-injection", "--standby-cpu"});
  ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1, 0, Device()), IsOk());
  client::ClientOptions options;
  options.target = server_->target();
  options.max_attempts = 5;
  const auto patient = *client::Client::Create(options);
  const v1::DecodeRequest deadly = DecodeOfZeros(NrCode(2, 16), 2);
  EXPECT_THAT(patient->Decode(deadly).status(),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr(Device() + " was lost while this request ran on it"),
                             HasSubstr("not tried again by itself"))));
  EXPECT_THAT(patient->Decode(deadly).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(" s more; an admin may")));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total", {"Decode"}, 2));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total",
                                     {"rpc=\"Decode\"", "reason=\"quarantine\""}, 1));
  EXPECT_EQ(server_->Metric("baseband_quarantined_fingerprints"), 1);
  EXPECT_THAT(patient->Decode(DecodeOfZeros(NrCode(2, 16), 3)), IsOk()) << "is another kind";

  const auto quarantine = admin_->GetQuarantine(kTimeout);
  ASSERT_THAT(quarantine, IsOk());
  ASSERT_EQ(quarantine->requests_size(), 1);
  const v1::QuarantinedRequests& requests = quarantine->requests(0);
  EXPECT_EQ(requests.rpc(), "Decode");
  EXPECT_EQ(requests.client(), "127.0.0.1");
  EXPECT_EQ(requests.device(), Device());
  EXPECT_EQ(requests.faults(), 1);
  EXPECT_EQ(requests.refused(), 1);
  EXPECT_GT(requests.refused_until_ns(), requests.last_fault_ns());
  v1::LiftQuarantineRequest lift;
  EXPECT_THAT(admin_->LiftQuarantine(lift, kTimeout),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("fingerprint ''")));
  lift.set_fingerprint(requests.fingerprint());
  const auto lifted = admin_->LiftQuarantine(lift, kTimeout);
  ASSERT_THAT(lifted, IsOk());
  EXPECT_EQ(*lifted, 1U);
  EXPECT_THAT(admin_->LiftQuarantine(lift, kTimeout),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(requests.fingerprint())));
  EXPECT_THAT(patient->Decode(deadly), IsOk());
  EXPECT_EQ(server_->Metric("baseband_quarantined_fingerprints"), 0);
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

// Injected faults without pause, right answers in between, and no end of the process.
TEST_F(DeviceFaultsTest, ADeviceThatFaultsComesBackAgainAndAgainUnderLoad) {
  constexpr int kFaults = 6;
  StartServer({"--allow-fault-injection", "--max-device-resets-per-hour=100"});
  const auto health = grpc::health::v1::Health::NewStub(
      grpc::CreateChannel(server_->target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto watch = health->Watch(&context, grpc::health::v1::HealthCheckRequest());
  std::atomic<int> not_serving{0};
  std::thread watcher([&] {
    grpc::health::v1::HealthCheckResponse state;
    while (watch->Read(&state)) {
      not_serving += state.status() == grpc::health::v1::HealthCheckResponse::NOT_SERVING;
    }
  });
  std::atomic<bool> stop{false};
  std::atomic<int> right{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      const auto stub = Connect(server_->target());
      while (!stop) {
        v1::DecodeResponse response;
        const grpc::Status status = Call(*stub, DecodeOfZeros(NrCode(1, 96), 20), &response);
        if (status.ok()) {
          EXPECT_EQ(WrongBits(response), 0);
          ++right;
        } else if (status.error_code() == StatusCode::INTERNAL) {
          ++failed;
        } else {
          EXPECT_TRUE(status.error_code() == StatusCode::UNAVAILABLE ||
                      status.error_code() == StatusCode::FAILED_PRECONDITION)
              << status.error_message();
        }
      }
    });
  }
  for (int fault = 1; fault <= kFaults; ++fault) {
    const int before = right;
    while (right < before + 50) absl::SleepFor(absl::Milliseconds(5));
    ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1, 0, Device()), IsOk());
    ASSERT_TRUE(server_->WaitForMetric("baseband_device_resets_total", {Device()}, fault));
    EXPECT_TRUE(server_->WaitForMetric("baseband_device_healthy", {Device()}, 1));
  }
  const int before = right;
  while (right < before + 50) absl::SleepFor(absl::Milliseconds(5));
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_GE(failed, kFaults) << "who was there";
  EXPECT_LE(failed, 8 * kFaults);
  EXPECT_EQ(server_->Metric("baseband_devices_lost_total", {"reason=\"error\""}), kFaults);
  EXPECT_EQ(HttpAsk(server_->metrics_address(), "/readyz").status, 200);
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  watcher.join();
  EXPECT_GT(not_serving, 0);
  EXPECT_THAT(server_->process().Output(),
              AllOf(HasSubstr(Device() + " was lost (error): an injected fault"),
                    HasSubstr("it is reset, 1 of 100 times in an hour"),
                    HasSubstr("passed its self-test and serves again")));
}

TEST_F(DeviceFaultsTest, ADeviceThatFaultsMoreOftenThanItMayEndsTheProcessWithItsOwnCode) {
  StartServer({"--allow-fault-injection", "--max-device-resets-per-hour=2"});
  for (int fault = 1; fault <= 3; ++fault) {
    EXPECT_TRUE(server_->WaitForMetric("baseband_device_healthy", {}, 1));
    ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1), IsOk());
    v1::DecodeResponse response;
    EXPECT_EQ(Call(*stub_, DecodeOfZeros(NrCode(2, 16), fault), &response).error_code(),
              StatusCode::INTERNAL);
    if (fault < 3) {
      EXPECT_TRUE(server_->WaitForMetric("baseband_device_resets_total", {}, fault));
    }
  }
  EXPECT_EQ(server_->process().Wait(kTimeout), 3) << server_->process().Output();
  EXPECT_THAT(server_->process().Output(),
              HasSubstr("it has been reset 2 times in the last hour, and that is enough"));
}

// By all that they say but their payload, however they come; Downconvert by its setup, wherever in
// the signal its samples lie. Others are not concerned.
TEST_F(DeviceFaultsTest, OfEveryOperationTheLikeIsRefusedThroughEachOfItsCalls) {
  StartServer({"--allow-fault-injection", "--standby-cpu", "--max-device-resets-per-hour=100"});
  const auto unary = [&](const v1::SubmitRequest& request) {
    const auto code = [&](const auto& message, auto response) {
      const grpc::Status status = Call(*stub_, message, &response);
      if (status.error_code() == StatusCode::INVALID_ARGUMENT)
        ADD_FAILURE() << status.error_message();
      return status.error_code();
    };
    switch (request.operation_case()) {
      case v1::SubmitRequest::kEncode:
        return code(request.encode(), v1::EncodeResponse());
      case v1::SubmitRequest::kDecode:
        return code(request.decode(), v1::DecodeResponse());
      case v1::SubmitRequest::kEncodeSharedChannel:
        return code(request.encode_shared_channel(), v1::EncodeSharedChannelResponse());
      case v1::SubmitRequest::kDecodeSharedChannel:
        return code(request.decode_shared_channel(), v1::DecodeSharedChannelResponse());
      case v1::SubmitRequest::kRecoverCarrier:
        return code(request.recover_carrier(), v1::RecoverCarrierResponse());
      default:
        return code(request.downconvert(), v1::DownconvertResponse());
    }
  };
  const auto submit = [&](v1::SubmitRequest request) {
    request.set_id(1);
    grpc::ClientContext context;
    const auto stream = stub_->Submit(&context);
    stream->Write(request);
    stream->WritesDone();
    v1::SubmitResponse response;
    auto code = StatusCode::UNKNOWN;
    while (stream->Read(&response)) {
      if (response.id() == 1) code = static_cast<StatusCode>(response.code());
    }
    EXPECT_TRUE(stream->Finish().ok());
    return code;
  };
  const auto inject = [&] {  // once all that faulted before serve again
    EXPECT_TRUE(server_->WaitForMetric("baseband_device_healthy", {}, 2));
    EXPECT_THAT(Inject(Fault::DEVICE_FAULT, 1), IsOk());
  };

  struct Case {
    v1::SubmitRequest deadly;
    v1::SubmitRequest like;   // other payload
    v1::SubmitRequest other;  // other fields
  };
  std::vector<Case> cases(6);
  *cases[0].deadly.mutable_encode() = EncodeOf(NrCode(2, 16), 2);
  cases[0].like = cases[0].deadly;
  cases[0].like.mutable_encode()->mutable_payload()->front() ^= 1;
  *cases[0].other.mutable_encode() = EncodeOf(NrCode(2, 16), 3);
  *cases[1].deadly.mutable_decode() = DecodeOfZeros(NrCode(2, 16), 2);
  cases[1].like = cases[1].deadly;
  cases[1].like.mutable_decode()->mutable_payload()->front() ^= 1;
  *cases[1].other.mutable_decode() = DecodeOfZeros(NrCode(2, 16), 3);
  std::mt19937 random(1);
  *cases[2].deadly.mutable_recover_carrier() = RandomCarriers(&random).message;
  cases[2].like = cases[2].deadly;
  cases[2].like.mutable_recover_carrier()->mutable_payload()->front() ^= 1;
  *cases[2].other.mutable_recover_carrier() = RandomCarriers(&random).message;
  v1::DownconvertRequest& channels = *cases[3].deadly.mutable_downconvert();
  *channels.mutable_setup() = ChannelsOf(1, 64, 8);
  channels.set_payload(std::string(4 * 1000, '\1'));
  cases[3].like = cases[3].deadly;
  cases[3].like.mutable_downconvert()->set_first_sample(1000);
  cases[3].like.mutable_downconvert()->set_history(100);
  cases[3].like.mutable_downconvert()->set_payload(std::string(4 * 900, '\2'));
  *cases[3].other.mutable_downconvert() = channels;
  *cases[3].other.mutable_downconvert()->mutable_setup() = ChannelsOf(1, 64, 4);
  v1::EncodeSharedChannelRequest& slot = *cases[4].deadly.mutable_encode_shared_channel();
  slot = RandomSlot(&random);
  cases[4].like = cases[4].deadly;
  cases[4].like.mutable_encode_shared_channel()->mutable_payload()->front() ^= 1;
  *cases[4].other.mutable_encode_shared_channel() = RandomSlot(&random);
  v1::EncodeSharedChannelResponse bits;
  ASSERT_TRUE(Call(*stub_, slot, &bits).ok());
  *cases[5].deadly.mutable_decode_shared_channel() = DecodeOf(slot, bits);
  cases[5].like = cases[5].other = cases[5].deadly;
  cases[5].like.mutable_decode_shared_channel()->mutable_payload()->front() ^= 1;
  cases[5].other.mutable_decode_shared_channel()->mutable_groups(0)->set_max_iterations(3);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.deadly.operation_case());
    inject();
    EXPECT_EQ(unary(c.deadly), StatusCode::INTERNAL);
    EXPECT_EQ(unary(c.like), StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(submit(c.deadly), StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(submit(c.like), StatusCode::FAILED_PRECONDITION);
    inject();
    EXPECT_EQ(submit(c.other), StatusCode::INTERNAL);
    EXPECT_EQ(unary(c.other), StatusCode::FAILED_PRECONDITION);
    v1::LiftQuarantineRequest lift;
    lift.set_all(true);
    EXPECT_EQ(*admin_->LiftQuarantine(lift, kTimeout), 2U);
    EXPECT_TRUE(server_->WaitForMetric("baseband_device_healthy", {}, 2));
    EXPECT_EQ(unary(c.deadly), StatusCode::OK);
    EXPECT_EQ(submit(c.other), StatusCode::OK);
  }
  // A stream of the same setup is one of them.
  inject();
  EXPECT_EQ(unary(cases[3].deadly), StatusCode::INTERNAL);
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  stream->Write(channels);
  v1::DownconvertResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

// A search's like by its whole request, a stream's by its setup, and others are not concerned.
TEST_F(DeviceFaultsTest, SearchesAndStreamsHaveALikeToo) {
  StartServer({"--allow-fault-injection", "--standby-cpu", "--max-device-resets-per-hour=100"});
  const auto search = [&](const std::string& text) {
    v1::MinimizeRequest request;
    request.mutable_expression()->set_text(text);
    v1::GridAxis& axis = *request.add_axes();
    axis.set_step(0.5);
    axis.set_count(5);
    grpc::ClientContext context;
    const auto reader = stub_->Minimize(&context, request);
    v1::MinimizeResponse response;
    while (reader->Read(&response)) {
    }
    return reader->Finish().error_code();
  };
  ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1), IsOk());
  EXPECT_EQ(search("x * x"), StatusCode::INTERNAL);
  EXPECT_EQ(search("x * x"), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(search("x * x * x"), StatusCode::OK);

  const auto stream = [&](int decimation, uint64_t first_sample) {
    v1::DownconvertRequest piece;
    *piece.mutable_setup() = ChannelsOf(1, 64, decimation);
    piece.set_first_sample(first_sample);
    piece.set_payload(std::string(4 * 1000, '\1'));
    grpc::ClientContext context;
    const auto call = stub_->DownconvertStream(&context);
    v1::DownconvertResponse response;
    call->Write(piece);
    call->WritesDone();
    while (call->Read(&response)) {
    }
    return call->Finish().error_code();
  };
  EXPECT_TRUE(server_->WaitForMetric("baseband_device_healthy", {}, 2));  // both serve again
  ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1), IsOk());
  EXPECT_EQ(stream(8, 0), StatusCode::INTERNAL);
  EXPECT_EQ(stream(8, 4000), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(stream(4, 0), StatusCode::OK);
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

}  // namespace
}  // namespace baseband::testing
