// Streams and their client's quotas: of a message in work counts what a unary call's would, one for
// which there is no room waits, and one that nobody waits for any more keeps nothing.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/faults_test.h"
#include "tests/support/shared_channel_traffic.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kDecode = {R"(rpc="Decode")"};
const std::vector<std::string> kStream = {R"(rpc="DownconvertStream")"};

class StreamQuotaTest : public FaultsTest {
 protected:
  // Starts a server with that quota. The first `batches` stall for `stall_ms`: one of them is a
  // Decode's, whose request has 760 KB, on one of the CPU device's two lanes.
  void StartBehindDecode(const std::string& quota, uint32_t batches, uint32_t stall_ms) {
    StartServer({"--allow-fault-injection", "--watchdog=0s", quota});
    ASSERT_THAT(Inject(Fault::STALL, batches, stall_ms), IsOk());
    decode_ = std::thread([this] {
      v1::DecodeResponse response;
      stub_->Decode(&decode_context_, DecodeOfZeros(NrCode(1, 384), 30), &response);
    });
    while (server_->Metric("baseband_pool_used_bytes", {"staging"}) == 0) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    ASSERT_TRUE(server_->WaitForMetric("baseband_queue_requests", {}, 0));
    stream_ = stub_->DownconvertStream(&context_);
  }
  void TearDown() override {
    context_.TryCancel();
    decode_context_.TryCancel();
    decode_.join();
  }
  // Until the server has taken the message up.
  void Send(const v1::DownconvertRequest& request) {
    ASSERT_TRUE(stream_->Write(request));
    sent_bytes_ += static_cast<double>(request.ByteSizeLong());
    ASSERT_TRUE(server_->WaitForMetric("baseband_request_bytes_total", kStream, sent_bytes_));
  }
  static v1::DownconvertRequest First(int64_t num_samples) {
    v1::DownconvertRequest request;
    *request.mutable_setup() = ChannelsOf(1, 64, 8);
    request.set_payload(WidebandSignal(num_samples, 1));
    return request;
  }

  std::thread decode_;
  grpc::ClientContext decode_context_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::DownconvertRequest, v1::DownconvertResponse>>
      stream_;
  double sent_bytes_ = 0;
};

TEST_F(StreamQuotaTest, AMessageForWhichTheQuotaHasNoRoomWaitsAndIsAnswered) {
  StartBehindDecode("--client-mib=1", /*batches=*/1, /*stall_ms=*/3000);
  Send(First(100'000));  // 400 KB

  v1::DownconvertResponse response;
  ASSERT_TRUE(stream_->Read(&response));
  EXPECT_EQ(response.next_sample(), 100'000U);
  EXPECT_EQ(server_->Metric("baseband_requests_in_flight", kDecode), 0);
  stream_->WritesDone();
  EXPECT_TRUE(stream_->Finish().ok());
  EXPECT_EQ(server_->Metric("baseband_requests_unserved_total"), 0);
}

TEST_F(StreamQuotaTest, AMessageInWorkCountsWhereAUnaryCallOfTheClientWould) {
  StartBehindDecode("--client-requests=3", /*batches=*/2, kForever);
  grpc::ClientContext encode_context;
  std::thread encode([&] {
    v1::EncodeResponse response;
    stub_->Encode(&encode_context, EncodeOf(NrCode(2, 16), 1), &response);
  });
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {R"(rpc="Encode")"}, 1));
  Send(First(1000));
  // Behind the two, on both lanes, that have theirs.
  EXPECT_TRUE(server_->WaitForMetric("baseband_queue_requests", {}, 1));

  v1::DecodeResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kTimeout));
  const grpc::Status refused = FaultsTest::Decode(&response, &context);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("client_requests: 3 requests of this client are in flight, of 3"));
  encode_context.TryCancel();
  encode.join();
}

TEST_F(StreamQuotaTest, AReplyThatIsLargerThanItsRequestCountsInItsPlace) {
  StartBehindDecode("--client-mib=1", /*batches=*/1, kForever);
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(1);
  group.set_output(v1::SHARED_CHANNEL_OUTPUT_FLOAT32);
  group.mutable_block()->set_qm(2);
  v1::TransportBlock& block = *group.mutable_block()->mutable_transport_block();
  block.set_tb_bytes(3);
  block.set_base_graph(2);
  block.set_g(144'000);
  request.set_payload(std::string(3, 'x'));
  v1::EncodeSharedChannelResponse response;
  const grpc::Status refused = Call(*stub_, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr("client_mib: "), HasSubstr("no room for 576000 more")));
  block.set_g(14'400);
  EXPECT_TRUE(Call(*stub_, request, &response).ok());
  EXPECT_EQ(response.payload().size(), 57'600U);
}

TEST_F(StreamQuotaTest, AStreamThatFailsLetsGoOfTheMessageThatWaitsBehind) {
  StartBehindDecode("--client-mib=1", /*batches=*/1, kForever);
  ASSERT_THAT(Inject(Fault::STALL, 1, 5000), IsOk());
  ASSERT_THAT(Inject(Fault::FAIL, 1), IsOk());
  Send(First(1000));
  v1::DownconvertRequest second;
  second.set_payload(WidebandSignal(100'000, 2));
  Send(second);  // there is no room for it as long as the Decode is there

  v1::DownconvertResponse response;
  EXPECT_FALSE(stream_->Read(&response));
  const grpc::Status status = stream_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("an injected fault"));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kStream, 0));
  EXPECT_EQ(server_->Metric("baseband_requests_in_flight", kDecode), 1);
}

}  // namespace
}  // namespace baseband::testing
