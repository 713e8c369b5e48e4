// Each request is counted once: with the bytes of its messages, and as what it ended with.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/administered_server.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/raw_http2.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Label(const std::string& name, const std::string& value) {
  return absl::StrCat(name, "=\"", value, "\"");
}

class AccountingTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    auto started = ServerProcess::Start(std::move(flags));
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
    stub_ = Connect(server_->target());
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  }

  // Once all requests have ended: how many of `rpc` did so with `code`, how many of them were not
  // served for `reason`.
  double Ended(const std::string& rpc, const std::string& code) const {
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    return server_->Metric("baseband_requests_total", {Label("rpc", rpc), Label("code", code)});
  }
  double Unserved(const std::string& reason) const {
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    return server_->Metric("baseband_requests_unserved_total", {Label("reason", reason)});
  }
  void ExpectBytes(const std::string& rpc, size_t received, size_t sent) const {
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    EXPECT_EQ(server_->Metric("baseband_request_bytes_total", {Label("rpc", rpc)}), received)
        << rpc;
    EXPECT_EQ(server_->Metric("baseband_response_bytes_total", {Label("rpc", rpc)}), sent) << rpc;
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
};

v1::MinimizeRequest SearchOf(uint64_t points, const std::string& formula) {
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text(formula);
  v1::GridAxis& axis = *request.add_axes();
  axis.set_step(1e-3);
  axis.set_count(points);
  return request;
}

TEST_F(AccountingTest, BytesAreThoseOfWholeMessages) {
  Start();
  const v1::EncodeRequest encode = EncodeOf(NrCode(1, 384), 3);
  v1::EncodeResponse encoded;
  ASSERT_TRUE(Call(*stub_, encode, &encoded).ok());
  ExpectBytes("Encode", encode.ByteSizeLong(), encoded.ByteSizeLong());

  const v1::DecodeRequest decode = DecodeOf(encode, encoded);
  v1::DecodeResponse decoded;
  ASSERT_TRUE(Call(*stub_, decode, &decoded).ok());
  ExpectBytes("Decode", decode.ByteSizeLong(), decoded.ByteSizeLong());

  grpc::ClientContext capabilities_context;
  v1::GetCapabilitiesResponse capabilities;
  ASSERT_TRUE(stub_->GetCapabilities(&capabilities_context, {}, &capabilities).ok());
  ExpectBytes("GetCapabilities", 0, capabilities.ByteSizeLong());

  grpc::ClientContext search_context;
  const v1::MinimizeRequest search = SearchOf(10, "x");
  const auto reader = stub_->Minimize(&search_context, search);
  size_t found = 0;
  for (v1::MinimizeResponse response; reader->Read(&response);) found += response.ByteSizeLong();
  ASSERT_TRUE(reader->Finish().ok());
  ExpectBytes("Minimize", search.ByteSizeLong(), found);
}

TEST_F(AccountingTest, BytesOfStreamsAreThoseOfTheirMessages) {
  Start();
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertRequest request;
  *request.mutable_setup() = ChannelsOf(2, 64, 8);
  size_t received = 0;
  size_t sent = 0;
  for (unsigned i = 0; i < 3; ++i) {
    request.set_payload(WidebandSignal(1000, i));
    received += request.ByteSizeLong();
    v1::DownconvertResponse response;
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    sent += response.ByteSizeLong();
    request.clear_setup();
  }
  stream->WritesDone();
  ASSERT_TRUE(stream->Finish().ok());
  ExpectBytes("DownconvertStream", received, sent);

  grpc::ClientContext submit_context;
  const auto submit = stub_->Submit(&submit_context);
  v1::SubmitResponse response;
  ASSERT_TRUE(submit->Read(&response));
  const size_t grant = response.ByteSizeLong();
  size_t encode_received = 0;
  size_t encode_sent = 0;
  for (uint64_t id = 1; id <= 4; ++id) {
    v1::SubmitRequest message;
    message.set_id(id);
    *message.mutable_encode() = EncodeOf(NrCode(2, 16), id == 4 ? 0 : 2);  // 0: is refused
    encode_received += message.ByteSizeLong();
    ASSERT_TRUE(submit->Write(message) && submit->Read(&response));
    encode_sent += response.ByteSizeLong();
  }
  v1::SubmitRequest nothing;
  nothing.set_id(5);
  ASSERT_TRUE(submit->Write(nothing) && submit->Read(&response));
  submit->WritesDone();
  ASSERT_TRUE(submit->Finish().ok());
  ExpectBytes("Encode", encode_received, encode_sent);
  ExpectBytes("Submit", nothing.ByteSizeLong(), grant + response.ByteSizeLong());
}

TEST_F(AccountingTest, AMessageThatNamesNoOperationIsARequestOfSubmits) {
  Start();
  grpc::ClientContext context;
  const auto submit = stub_->Submit(&context);
  v1::SubmitResponse response;
  v1::SubmitRequest nothing;
  nothing.set_id(1);
  ASSERT_TRUE(submit->Read(&response) && submit->Write(nothing) && submit->Read(&response));
  submit->WritesDone();
  ASSERT_TRUE(submit->Finish().ok());
  EXPECT_EQ(Ended("Submit", "INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Ended("Submit", "OK"), 1);
  EXPECT_EQ(Unserved("invalid_request"), 1);
}

TEST_F(AccountingTest, AStreamThatIsCancelledWhileIdleIsCancelled) {
  Start();
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertRequest request;
  *request.mutable_setup() = ChannelsOf(1, 64, 8);
  request.set_payload(WidebandSignal(1000, 1));
  v1::DownconvertResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);

  EXPECT_EQ(Ended("DownconvertStream", "CANCELLED"), 1);
  EXPECT_EQ(Ended("DownconvertStream", "OK"), 0);
  EXPECT_EQ(Unserved("cancelled"), 1);
}

TEST_F(AccountingTest, AStreamThatIsIdleAtItsDeadlineIsNotOk) {
  Start();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(300)));
  const auto stream = stub_->DownconvertStream(&context);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);

  // The client cancels at its deadline; if its message took longer to come than EndOf allows for,
  // that is too early for the server's.
  const double cancelled = Ended("DownconvertStream", "CANCELLED");
  EXPECT_EQ(Ended("DownconvertStream", "DEADLINE_EXCEEDED") + cancelled, 1);
  EXPECT_EQ(Ended("DownconvertStream", "OK"), 0);
  EXPECT_EQ(Unserved("deadline_passed"), 1 - cancelled);
}

TEST_F(AccountingTest, ACallThatIsCancelledWhileItsDeviceWorksIsCancelled) {
  auto started = StartAdministered({"--allow-fault-injection"});
  ASSERT_THAT(started, IsOk());
  server_ = std::move(started->server);
  stub_ = Connect(server_->target());
  v1::InjectFaultRequest stall;
  stall.set_kind(v1::InjectFaultRequest::STALL);
  stall.set_stall_ms(5000);
  stall.set_count(1);
  ASSERT_THAT(started->admin->InjectFault(stall, absl::Seconds(20)), IsOk());

  grpc::ClientContext context;
  std::thread caller([&] {
    v1::EncodeResponse response;
    EXPECT_EQ(stub_->Encode(&context, EncodeOf(NrCode(2, 16), 1), &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {Label("rpc", "Encode")}, 1));
  EXPECT_TRUE(server_->WaitForMetric("baseband_queue_requests", {}, 0));
  context.TryCancel();
  caller.join();

  EXPECT_EQ(Ended("Encode", "CANCELLED"), 1);
  EXPECT_EQ(Ended("Encode", "OK"), 0);
  EXPECT_EQ(server_->Metric("baseband_response_bytes_total", {Label("rpc", "Encode")}), 0);
}

TEST_F(AccountingTest, WhatWaitsForRoomInsideTheServerIsNoRefusal) {
  // A search has more pieces under way than may wait.
  Start({"--queue-requests=1"});
  grpc::ClientContext context;
  const auto reader = stub_->Minimize(&context, SearchOf(3'000'000, "sum(j, 1, 20, sin(j * x))"));
  v1::MinimizeResponse response;
  while (reader->Read(&response)) {
  }
  ASSERT_TRUE(reader->Finish().ok());
  EXPECT_GT(server_->Metric("baseband_batches_total"), 1);

  EXPECT_EQ(Ended("Minimize", "OK"), 1);
  EXPECT_EQ(server_->Metric("baseband_requests_unserved_total"), 0);
}

// A call whose message never comes: how it ends is `end`'s, which gets it once it has begun.
grpc::Status CallWithoutMessage(
    const std::string& target, grpc::ClientContext& context,
    const std::function<void(grpc::GenericClientAsyncReaderWriter&)>& end) {
  grpc::GenericStub stub(grpc::CreateChannel(target, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  const auto call = stub.PrepareCall(&context, "/baseband.v1.Baseband/Encode", &queue);
  call->StartCall(&queue);
  EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  end(*call);
  grpc::Status status;
  call->Finish(&status, &status);
  while (queue.Next(&tag, &ok) && tag != &status) {
  }
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

TEST_F(AccountingTest, ACallWithoutAMessageEndsAsItsClientHears) {
  Start();
  grpc::ClientContext closed;
  EXPECT_EQ(
      CallWithoutMessage(server_->target(), closed, [](auto& call) { call.WritesDone(nullptr); })
          .error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Ended("Encode", "INVALID_ARGUMENT"), 1);

  grpc::ClientContext cancelled;
  EXPECT_EQ(CallWithoutMessage(server_->target(), cancelled, [&](auto&) { cancelled.TryCancel(); })
                .error_code(),
            grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total",
                                     {Label("rpc", "Encode"), Label("code", "CANCELLED")}, 1));

  grpc::ClientContext late;
  late.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(300)));
  EXPECT_EQ(CallWithoutMessage(server_->target(), late, [](auto&) {}).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total", {Label("rpc", "Encode")}, 3));
  EXPECT_EQ(Ended("Encode", "INVALID_ARGUMENT"), 1);
}

TEST_F(AccountingTest, HeadersAloneTakeNoPlaceOfASearch) {
  Start();
  const HeadersAlone searches(server_->target(), "/baseband.v1.Baseband/Minimize", 200);
  const HeadersAlone questions(server_->target(),
                               "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", 200);
  EXPECT_TRUE(
      server_->WaitForMetric("baseband_requests_in_flight", {Label("rpc", "Reflection")}, 64));
  grpc::ClientContext context;
  const auto search = stub_->Minimize(&context, SearchOf(100, "x"));
  v1::MinimizeResponse response;
  EXPECT_TRUE(search->Read(&response));
  EXPECT_TRUE(search->Finish().ok());
  grpc::ClientContext stream_context;
  const auto stream = stub_->DownconvertStream(&stream_context);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(AccountingTest, ADrainEndsThoughAClientNeverStopsSending) {
  Start({"--drain=4s"});
  std::vector<std::thread> floods;
  for (int i = 0; i < 16; ++i) {
    floods.emplace_back(
        [&] { IsEndedAfterFlood(server_->target(), Flood::kSettings, absl::Seconds(60)); });
  }
  absl::SleepFor(absl::Seconds(1));  // the call of each is let in by now, and its bytes come
  EXPECT_EQ(server_->Terminate(), 0);
  for (std::thread& flood : floods) flood.join();
  EXPECT_THAT(server_->process().Output(), Not(HasSubstr("work in hand")));
  server_.reset();
}

}  // namespace
}  // namespace baseband::testing
