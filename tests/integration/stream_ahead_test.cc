// The messages of a stream that are in work at the same time: the next one waits for a device
// together with the first, and their ends come in their order.
#include <memory>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/faults_test.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class StreamAheadTest : public FaultsTest {
 protected:
  // Two messages come while the CPU device's two lanes are held up for `stall_ms`.
  void SendTwo(uint32_t stall_ms, const v1::DownconvertRequest& second) {
    StartServer({"--allow-fault-injection"});
    ASSERT_THAT(Inject(Fault::STALL, 2, stall_ms), IsOk());
    decode_ = std::thread([this] { EXPECT_TRUE(Decode().ok()); });
    encode_ = std::thread([this] {
      v1::EncodeResponse response;
      EXPECT_TRUE(Call(*stub_, EncodeOf(NrCode(2, 16), 1), &response).ok());
    });
    ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {R"(rpc="Decode")"}, 1));
    ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {R"(rpc="Encode")"}, 1));
    ASSERT_TRUE(server_->WaitForMetric("baseband_queue_requests", {}, 0));
    stream_ = stub_->DownconvertStream(&context_);
    v1::DownconvertRequest first;
    *first.mutable_setup() = ChannelsOf(1, 64, 8);
    first.set_payload(WidebandSignal(1000, 1));
    ASSERT_TRUE(stream_->Write(first));
    ASSERT_TRUE(stream_->Write(second));
  }
  void TearDown() override {
    if (decode_.joinable()) decode_.join();
    if (encode_.joinable()) encode_.join();
  }

  std::thread decode_;
  std::thread encode_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DownconvertRequest, v1::DownconvertResponse>>
      stream_;
};

TEST_F(StreamAheadTest, TheNextMessageDoesNotWaitForTheLastAnswer) {
  v1::DownconvertRequest second;
  second.set_payload(WidebandSignal(1000, 2));
  SendTwo(/*stall_ms=*/5000, second);
  EXPECT_TRUE(server_->WaitForMetric("baseband_queue_requests", {}, 2));

  v1::DownconvertResponse response;
  ASSERT_TRUE(stream_->Read(&response));
  EXPECT_EQ(response.next_sample(), 1000U);
  ASSERT_TRUE(stream_->Read(&response));
  EXPECT_EQ(response.next_sample(), 2000U);
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
}

TEST_F(StreamAheadTest, WhatIsRefusedEndsTheStreamBehindTheAnswersBeforeIt) {
  v1::DownconvertRequest second;
  second.set_payload("abc");
  SendTwo(/*stall_ms=*/1000, second);

  v1::DownconvertResponse response;
  ASSERT_TRUE(stream_->Read(&response));
  EXPECT_EQ(response.next_sample(), 1000U);
  EXPECT_FALSE(stream_->Read(&response));
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("payload has 3 bytes"));
}

}  // namespace
}  // namespace baseband::testing
