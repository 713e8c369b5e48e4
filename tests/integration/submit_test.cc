// Submit streams of the real server, message by message: the same bits as from the unary calls, in
// any order, each answer once; what is refused, and what ends a stream.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kEncode = {"rpc=\"Encode\""};
const std::vector<std::string> kDecode = {"rpc=\"Decode\""};
const std::vector<std::string> kSubmit = {"rpc=\"Submit\""};

grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

// One stream, whose messages are written as bytes.
class RawStream {
 public:
  explicit RawStream(const ServerProcess& server)
      : channel_(grpc::CreateChannel(server.target(), grpc::InsecureChannelCredentials())) {
    context_.set_deadline(
        absl::ToChronoTime(absl::Now() + absl::Seconds(300)));  // fails, not hangs
  }
  ~RawStream() { context_.TryCancel(); }

  grpc::ClientContext& context() { return context_; }
  // Begins, and reads the first credits.
  v1::SubmitCredits Open() {
    using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
    stream_.reset(Factory::Create(channel_.get(), method_, &context_));
    v1::SubmitResponse grant;
    EXPECT_TRUE(Read(&grant));
    EXPECT_EQ(grant.id(), 0U);
    EXPECT_EQ(grant.result_case(), v1::SubmitResponse::RESULT_NOT_SET);
    return grant.credits();
  }
  bool Write(const std::string& bytes) { return stream_->Write(ToBuffer(bytes)); }
  bool Write(const v1::SubmitRequest& request) { return Write(request.SerializeAsString()); }
  bool Read(v1::SubmitResponse* response) {
    grpc::ByteBuffer bytes;
    grpc::Slice slice;
    if (!stream_->Read(&bytes)) return false;
    EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
    EXPECT_TRUE(response->ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    return true;
  }
  v1::SubmitResponse Ask(const v1::SubmitRequest& request) {
    v1::SubmitResponse response;
    EXPECT_TRUE(Write(request));
    EXPECT_TRUE(Read(&response));
    EXPECT_EQ(response.id(), request.id());
    return response;
  }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Reads what is left; how the stream ended.
  grpc::Status Finish() {
    v1::SubmitResponse response;
    while (Read(&response)) {
    }
    return stream_->Finish();
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const grpc::internal::RpcMethod method_{"/baseband.v1.Baseband/Submit",
                                          grpc::internal::RpcMethod::BIDI_STREAMING};
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

v1::SubmitRequest QuickOf(uint64_t id) {
  v1::SubmitRequest request;
  request.set_id(id);
  *request.mutable_encode() = EncodeOf(NrCode(2, 16), 1);
  return request;
}

// Takes some hundreds of milliseconds of a core with 100 blocks.
v1::SubmitRequest SlowOf(uint64_t id, int blocks = 100) {
  v1::SubmitRequest request;
  request.set_id(id);
  *request.mutable_decode() = DecodeOfZeros(NrCode(1, 384), blocks);
  request.mutable_decode()->mutable_groups(0)->set_max_iterations(100);
  request.mutable_decode()->mutable_groups(0)->set_fixed_iterations(true);
  return request;
}

class SubmitTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    auto started = ServerProcess::Start(std::move(flags));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    // Whatever the streams did, nothing of them is left.
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {"reply"}, 0));
    EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  }
  void ExpectEnd(RawStream& stream, grpc::StatusCode code, const std::string& message) {
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(status.error_message(), HasSubstr(message));
  }

  std::unique_ptr<ServerProcess> server_;
};

// A request of any operation, and what the unary call answers it with.
void FillRandom(int i, v1::Baseband::Stub& stub, std::mt19937* random, v1::SubmitRequest* request,
                v1::SubmitResponse* expected) {
  const auto ask = [&](const auto& operation, auto* response) {
    const grpc::Status status = Call(stub, operation, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    response->clear_timing();
  };
  switch (i % 4) {
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
  // An answer is counted once it was sent, which the client may see first.
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_EQ(answered(), before + kRequests / 4);
  EXPECT_EQ(server_->Metric("baseband_requests_total", {"rpc=\"Submit\"", "code=\"OK\""}), 1);
  EXPECT_EQ(server_->Metric("baseband_stage_seconds_count", {"rpc=\"Encode\"", "\"kernel\""}),
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
  EXPECT_GT(server_->Metric("baseband_rejected_total", kEncode), 2);
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

TEST_F(SubmitTest, MoreRequestsThanCreditsEndTheStreamByName) {
  Start({"--device=cpu", "--cpu-threads=1", "--submit-requests=4"});
  RawStream stream(*server_);
  EXPECT_EQ(stream.Open().requests(), 4U);
  for (uint64_t id = 1; id <= 5; ++id) stream.Write(SlowOf(id));
  ExpectEnd(stream, grpc::StatusCode::RESOURCE_EXHAUSTED,
            "id 5 is beyond the credits: 4 requests are in flight on this stream, of 4");
}

TEST_F(SubmitTest, MoreBytesThanCreditsEndTheStreamButOneLargeRequestGoesAlone) {
  Start({"--device=cpu", "--cpu-threads=1", "--submit-mib=1"});
  RawStream stream(*server_);
  EXPECT_EQ(stream.Open().bytes(), 1U << 20);
  EXPECT_EQ(stream.Ask(SlowOf(1)).code(), 0);  // 2.5 MB of LLRs
  stream.Write(SlowOf(2));
  stream.Write(QuickOf(3));
  ExpectEnd(stream, grpc::StatusCode::RESOURCE_EXHAUSTED, "id 3 is beyond the credits");
}

TEST_F(SubmitTest, AnIdInFlightOrNoneEndsTheStreamByName) {
  Start({"--device=cpu", "--cpu-threads=1"});
  RawStream twice(*server_);
  twice.Open();
  twice.Write(SlowOf(77));
  twice.Write(QuickOf(77));
  ExpectEnd(twice, grpc::StatusCode::INVALID_ARGUMENT, "id 77 is in flight already");
  RawStream none(*server_);
  none.Open();
  none.Write(QuickOf(0));
  ExpectEnd(none, grpc::StatusCode::INVALID_ARGUMENT, "id 0 is not in [1, ");
}

TEST_F(SubmitTest, BytesThatAreNoMessageEndTheStream) {
  Start();
  for (const std::string& bytes : {std::string("\x5a\x7f"), std::string("\xff\xff\xff"),
                                   QuickOf(2).SerializeAsString() + "\x7a"}) {
    RawStream stream(*server_);
    stream.Open();
    EXPECT_EQ(stream.Ask(QuickOf(1)).code(), 0);
    stream.Write(bytes);
    ExpectEnd(stream, grpc::StatusCode::INVALID_ARGUMENT, "not a well-formed protobuf message");
  }
}

TEST_F(SubmitTest, AQuotaOfTheClientRefusesOneRequestAndNotTheStream) {
  Start({"--device=cpu", "--cpu-threads=1", "--client-requests=2"});
  RawStream stream(*server_);
  stream.Open();
  // Requests of a stream are taken in side by side: the third comes once the other two are in.
  constexpr int kBlocks = 300;
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

TEST_F(SubmitTest, EachIdIsAnsweredOnceHoweverAndWheneverTheStreamEnds) {
  Start();
  std::vector<std::thread> clients;
  for (unsigned seed = 0; seed < 4; ++seed) {
    clients.emplace_back([this, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 25; ++round) {
        RawStream stream(*server_);
        stream.Open();
        const auto count = random() % 60;
        const bool cancel = random() % 2 == 0;
        const auto reads = random() % (count + 1);
        std::map<uint64_t, int> answers;
        for (uint64_t id = 1; id <= count; ++id) {
          ASSERT_TRUE(stream.Write(random() % 8 == 0 ? SlowOf(id, 1) : QuickOf(id)));
        }
        v1::SubmitResponse response;
        for (unsigned i = 0; i < reads; ++i) {
          ASSERT_TRUE(stream.Read(&response));
          ++answers[response.id()];
        }
        cancel ? stream.Cancel() : stream.HalfClose();
        while (stream.Read(&response)) {
          EXPECT_EQ(response.code(), 0) << response.message();
          ++answers[response.id()];
        }
        for (const auto& [id, times] : answers) {
          EXPECT_TRUE(id >= 1 && id <= count) << id;
          EXPECT_EQ(times, 1) << id;
        }
        if (!cancel) {
          EXPECT_EQ(answers.size(), count);
          EXPECT_TRUE(stream.Finish().ok());
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(SubmitTest, AClientThatDoesNotReadHoldsItsCreditsAndIsCutOff) {
  constexpr int kRequests = 32;
  Start({"--submit-requests=32"});
  RawStream stream(*server_);
  stream.Open();
  // 300 KiB of code words each.
  v1::SubmitRequest request;
  *request.mutable_encode() = EncodeOf(NrCode(1, 384), 100);
  for (uint64_t id = 1; id <= kRequests; ++id) {
    request.set_id(id);
    ASSERT_TRUE(stream.Write(request));
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kSubmit, 0, absl::Seconds(60)));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kEncode, 0));
  // What had been answered when it was cut off is all there, and no more than was asked for.
  int answers = 0;
  v1::SubmitResponse response;
  while (stream.Read(&response)) ++answers;
  EXPECT_LT(answers, kRequests);
  EXPECT_FALSE(stream.Finish().ok());
}

TEST_F(SubmitTest, ADrainAnswersWhatIsInFlightRefusesWhatIsNewAndEndsTheStream) {
  Start({"--device=cpu", "--cpu-threads=1", "--drain-s=300"});
  RawStream stream(*server_);
  stream.Open();
  ASSERT_TRUE(stream.Write(SlowOf(1, 400)));
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kDecode, 1));
  server_->process().Signal(SIGTERM);
  std::map<uint64_t, v1::SubmitResponse> answers;
  bool refused = false;
  for (uint64_t id = 2; !refused && id < 100; ++id) {
    stream.Write(QuickOf(id));
    while (answers.count(id) == 0) {
      v1::SubmitResponse response;
      ASSERT_TRUE(stream.Read(&response));
      ASSERT_EQ(answers.count(response.id()), 0U);
      answers[response.id()] = response;
    }
    refused = answers[id].code() == grpc::StatusCode::UNAVAILABLE;
    EXPECT_TRUE(refused || answers[id].code() == 0) << answers[id].message();
  }
  EXPECT_TRUE(refused);
  v1::SubmitResponse response;
  while (stream.Read(&response)) answers[response.id()] = response;
  EXPECT_EQ(answers[1].code(), 0) << answers[1].message();
  EXPECT_EQ(answers[1].decode().payload(), std::string(400 * 1056, '\0'));
  ExpectEnd(stream, grpc::StatusCode::UNAVAILABLE, "shutting down");
  EXPECT_EQ(server_->process().Wait(absl::Seconds(60)), 0) << server_->process().Output();
  server_.reset();
}

}  // namespace
}  // namespace baseband::testing
