// Submit streams of the real server: the same bits as from the unary calls, in any order; what of a
// message is its own, and what is refused without an end of the stream.
#include <map>
#include <random>
#include <string>

#include "tests/integration/raw_submit_stream.h"
#include "tests/support/administered_server.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kOperations = 6;

// A request of any operation, and what the unary call answers it with.
void FillRandom(int i, v1::Baseband::Stub& stub, std::mt19937* random, v1::SubmitRequest* request,
                v1::SubmitResponse* expected) {
  const auto ask = [&](const auto& operation, auto* response) {
    const grpc::Status status = Call(stub, operation, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    response->clear_timing();
  };
  switch (i % kOperations) {
    case 0:
      *request->mutable_encode() = RandomEncode(random);
      ask(request->encode(), expected->mutable_encode());
      break;
    case 1: {
      const v1::EncodeRequest words = RandomEncode(random);
      v1::EncodeResponse encoded;
      ask(words, &encoded);
      *request->mutable_decode() = DecodeOf(words, encoded);
      ask(request->decode(), expected->mutable_decode());
      break;
    }
    case 2:
      *request->mutable_encode_shared_channel() = RandomSlot(random);
      ask(request->encode_shared_channel(), expected->mutable_encode_shared_channel());
      break;
    case 3: {
      const v1::EncodeSharedChannelRequest slot = RandomSlot(random);
      v1::EncodeSharedChannelResponse bits;
      ask(slot, &bits);
      *request->mutable_decode_shared_channel() = DecodeOf(slot, bits);
      ask(request->decode_shared_channel(), expected->mutable_decode_shared_channel());
      EXPECT_EQ(expected->decode_shared_channel().payload(), slot.payload());
      break;
    }
    case 4:
      *request->mutable_recover_carrier() = RandomCarriers(random).message;
      ask(request->recover_carrier(), expected->mutable_recover_carrier());
      break;
    default:
      *request->mutable_downconvert()->mutable_setup() = ChannelsOf(2, 32, 4);
      request->mutable_downconvert()->set_payload(WidebandSignal(2000 + i, 1));
      ask(request->downconvert(), expected->mutable_downconvert());
      break;
  }
}

void ClearTiming(v1::SubmitResponse* response) {
  if (response->has_encode()) response->mutable_encode()->clear_timing();
  if (response->has_decode()) response->mutable_decode()->clear_timing();
  if (response->has_encode_shared_channel()) {
    response->mutable_encode_shared_channel()->clear_timing();
  }
  if (response->has_decode_shared_channel()) {
    response->mutable_decode_shared_channel()->clear_timing();
  }
  if (response->has_recover_carrier()) response->mutable_recover_carrier()->clear_timing();
  if (response->has_downconvert()) response->mutable_downconvert()->clear_timing();
}

TEST_F(SubmitTest, EveryOperationAnswersAsItsUnaryCallToTheBitAndCountsInItsMetrics) {
  Start();
  const auto stub = Connect(server_->target());
  std::mt19937 random(1);
  constexpr int kRequests = 48;
  std::map<uint64_t, v1::SubmitRequest> requests;
  std::map<uint64_t, v1::SubmitResponse> expected;
  for (int i = 0; i < kRequests; ++i) {
    const uint64_t id = (uint64_t{1} << (i % 60)) + static_cast<uint64_t>(i) * 1000;
    FillRandom(i, *stub, &random, &requests[id], &expected[id]);
    requests[id].set_id(id);
    expected[id].set_id(id);
    expected[id].mutable_credits()->set_requests(1);
    expected[id].mutable_credits()->set_bytes(requests[id].ByteSizeLong());
  }
  const auto answered = [&] {
    return server_->Metric("baseband_requests_total", {"rpc=\"RecoverCarrier\"", "code=\"OK\""});
  };
  // An answer is counted once it was sent, which the client may see first.
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  const double before = answered();

  RawStream stream(*server_);
  EXPECT_EQ(stream.Open().requests(), 1024U);
  for (const auto& [id, request] : requests) ASSERT_TRUE(stream.Write(request));
  stream.HalfClose();
  v1::SubmitResponse response;
  while (stream.Read(&response)) {
    ClearTiming(&response);
    ASSERT_EQ(expected.count(response.id()), 1U) << response.id();
    EXPECT_EQ(response.SerializeAsString(), expected[response.id()].SerializeAsString());
    expected.erase(response.id());
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_EQ(answered(), before + kRequests / kOperations);
  EXPECT_EQ(server_->Metric("baseband_requests_total", {"rpc=\"Submit\"", "code=\"OK\""}), 1);
  EXPECT_EQ(
      server_->Metric("baseband_stage_duration_seconds_count", {"rpc=\"Encode\"", "\"kernel\""}),
      server_->Metric("baseband_requests_total", kEncode));
}

TEST_F(SubmitTest, WhatTakesLongToPrepareStopsNothingBehindIt) {
  Start({"--grpc-threads=1"});
  RawStream stream(*server_);
  stream.Open();
  // Masks that take half a second each to design; on a busy machine the server may tire of it.
  v1::SubmitRequest slow;
  slow.set_id(1);
  constexpr int kChannels = 3;
  *slow.mutable_downconvert()->mutable_setup() = ChannelsOf(kChannels, 64, 8);
  slow.mutable_downconvert()->set_payload(std::string(4000, '\1'));
  for (int c = 0; c < kChannels; ++c) {
    v1::DownconvertSetup& setup = *slow.mutable_downconvert()->mutable_setup();
    setup.mutable_channels(c)->clear_filter();
    v1::FilterMask& mask = *setup.mutable_channels(c)->mutable_filter()->mutable_mask();
    mask.set_pass_edge_hz((0.2091 + 0.001 * c) * setup.sample_rate_hz());
    mask.set_stop_edge_hz((0.2109 + 0.001 * c) * setup.sample_rate_hz());
    mask.set_ripple_db(0.002);
    mask.set_attenuation_db(90);
  }
  ASSERT_TRUE(stream.Write(slow));
  for (uint64_t id = 2; id < 10; ++id) EXPECT_EQ(stream.Ask(QuickOf(id)).code(), 0);
  v1::SubmitResponse last;
  ASSERT_TRUE(stream.Read(&last));
  EXPECT_EQ(last.id(), 1U);
  if (last.code() == 0) {
    EXPECT_EQ(last.downconvert().channels_size(), kChannels);
  } else {
    EXPECT_THAT(last.message(), HasSubstr("to design; they are kept: send the request again"));
  }
}

TEST_F(SubmitTest, ARefusedRequestIsAnAnswerThatSaysWhyAndTheStreamGoesOn) {
  Start();
  RawStream stream(*server_);
  stream.Open();
  const auto expect = [&](const v1::SubmitRequest& request, const std::string& message) {
    const v1::SubmitResponse response = stream.Ask(request);
    EXPECT_EQ(response.code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(response.message(), HasSubstr(message));
    EXPECT_EQ(response.credits().requests(), 1U);
    EXPECT_EQ(response.credits().bytes(), request.ByteSizeLong());
    EXPECT_EQ(response.result_case(), v1::SubmitResponse::RESULT_NOT_SET);
  };
  v1::SubmitRequest request = QuickOf(1);
  request.mutable_encode()->mutable_payload()->push_back('x');
  expect(request, "payload has 21 bytes, the groups describe 20");
  request = QuickOf(1);
  request.mutable_encode()->mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(17);
  expect(request, "groups[0].");
  request = QuickOf(1);
  request.set_priority(static_cast<v1::Priority>(4));
  expect(request, "priority 4 is not in [0, 3]");
  request.clear_encode();
  expect(request, "operation is not set");
  EXPECT_EQ(stream.Ask(QuickOf(1)).code(), 0);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kEncode, 0));
  EXPECT_GT(server_->Metric("baseband_requests_unserved_total",
                            {"rpc=\"Encode\"", "reason=\"invalid_request\""}),
            2);
  stream.HalfClose();
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(SubmitTest, ADeadlineOfAMessageIsItsOwn) {
  Start({"--device=cpu", "--cpu-threads=1"});
  RawStream stream(*server_);
  stream.Open();
  v1::SubmitRequest hurried = SlowOf(1);
  hurried.set_timeout_us(1000);
  EXPECT_EQ(stream.Ask(hurried).code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  v1::SubmitRequest patient = SlowOf(2);
  patient.set_timeout_us(300000000);
  const v1::SubmitResponse response = stream.Ask(patient);
  EXPECT_EQ(response.code(), 0) << response.message();
  EXPECT_EQ(response.decode().payload(), std::string(100 * 1056, '\0'));
}

TEST_F(SubmitTest, AMessageHasThePriorityItNamesElseTheStreams) {
  Start();
  RawStream stream(*server_);
  stream.context().AddMetadata("baseband-priority", "low");
  stream.Open();
  const auto seconds = [&](const std::string& priority) {
    return server_->Metric("baseband_device_seconds_total", {"priority=\"" + priority + "\""});
  };
  v1::SubmitRequest request = QuickOf(1);
  request.set_priority(v1::PRIORITY_HIGH);
  EXPECT_EQ(stream.Ask(request).code(), 0);
  EXPECT_GT(seconds("high"), 0);
  EXPECT_EQ(seconds("low"), 0);
  EXPECT_EQ(stream.Ask(QuickOf(2)).code(), 0);
  EXPECT_GT(seconds("low"), 0);
  EXPECT_EQ(seconds("normal"), 0);
}

TEST_F(SubmitTest, AQuotaOfTheClientRefusesOneRequestAndNotTheStream) {
  auto started = StartAdministered({"--device=cpu", "--cpu-threads=1", "--client-requests=2",
                                    "--allow-fault-injection", "--watchdog=0s"});
  ASSERT_THAT(started, IsOk());
  server_ = std::move(started->server);
  v1::InjectFaultRequest stall;
  stall.set_kind(v1::InjectFaultRequest::STALL);
  stall.set_stall_ms(2000);
  ASSERT_THAT(started->admin->InjectFault(stall, absl::Seconds(60)), IsOk());
  RawStream stream(*server_);
  stream.Open();
  // Requests of a stream are taken in side by side: the third comes once the other two are in.
  constexpr int kBlocks = 20;
  for (uint64_t id = 1; id <= 2; ++id) stream.Write(SlowOf(id, kBlocks));
  const auto payload = static_cast<double>(SlowOf(1, kBlocks).decode().payload().size());
  const absl::Time deadline = absl::Now() + absl::Minutes(1);
  while (server_->Metric("baseband_pool_used_bytes", {"staging"}) < 2 * payload) {
    ASSERT_LT(absl::Now(), deadline);
    absl::SleepFor(absl::Milliseconds(5));
  }
  const v1::SubmitResponse refused = stream.Ask(QuickOf(3));
  EXPECT_EQ(refused.code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.message(),
              HasSubstr("client_requests: 2 requests of this client are in flight, of 2"));
  EXPECT_GT(refused.retry_after_us(), 0U);
  stream.HalfClose();
  v1::SubmitResponse response;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(stream.Read(&response));
    EXPECT_EQ(response.code(), 0) << response.message();
  }
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(SubmitTest, StreamsCountAgainstTheLimitOfStreams) {
  Start({"--max-streams=1"});
  RawStream first(*server_);
  first.Open();
  grpc::ClientContext context;
  const auto stub = Connect(server_->target());
  const auto second = stub->Submit(&context);
  v1::SubmitResponse response;
  EXPECT_FALSE(second->Read(&response));
  EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(first.Ask(QuickOf(1)).code(), 0);
}

}  // namespace
}  // namespace baseband::testing
