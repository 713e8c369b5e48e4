// The messages of Submit streams, read and written by pieces, against protobuf's own reading and
// writing of them; the client's half against the server's.
#include "server/calls/submit_wire.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "client/cpp/submit_stream.h"
#include "client/cpp/submit_wire.h"
#include "server/limits/retry_after.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

grpc::ByteBuffer InSlices(const std::string& text, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t i = 0; i < text.size(); i += size) slices.emplace_back(text.substr(i, size));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string ToText(const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

std::string Gather(const Request& request) {
  std::string payload(static_cast<size_t>(request.payload.bytes()), '\0');
  request.payload.CopyTo(reinterpret_cast<uint8_t*>(payload.data()));
  return payload;
}

absl::StatusOr<SubmitView> Read(const grpc::ByteBuffer& message) {
  return SubmitView::Read(message, TestOperations());
}

int FieldOf(const Operation* operation) {
  return operation == nullptr ? 0 : operation->description().submit_request_field;
}

std::string RandomBytes(size_t size, std::mt19937* random) {
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>((*random)()); });
  return bytes;
}

v1::SubmitRequest RandomRequest(std::mt19937* random) {
  v1::SubmitRequest request;
  request.set_id((*random)() >> ((*random)() % 32));
  if ((*random)() % 2 == 0) request.set_timeout_us((*random)());
  if ((*random)() % 2 == 0) request.set_priority(static_cast<v1::Priority>((*random)() % 4));
  const std::string payload = RandomBytes((*random)() % 400, random);
  switch ((*random)() % 7) {
    case 0:
      request.mutable_encode()->add_groups()->set_count(static_cast<uint32_t>((*random)()));
      request.mutable_encode()->set_payload(payload);
      break;
    case 1:
      request.mutable_decode()->add_groups()->set_llr_count(
          static_cast<uint32_t>((*random)() % 100));
      request.mutable_decode()->set_payload(payload);
      break;
    case 2:
      request.mutable_recover_carrier()->add_groups()->mutable_constellation()->set_name("QPSK");
      request.mutable_recover_carrier()->set_payload(payload);
      break;
    case 3:
      request.mutable_downconvert()->set_first_sample((*random)());
      request.mutable_downconvert()->set_payload(payload);
      break;
    case 4:
      request.mutable_encode_shared_channel()->add_groups()->mutable_block()->set_rv(
          static_cast<uint32_t>((*random)()));
      request.mutable_encode_shared_channel()->set_payload(payload);
      break;
    case 5:
      request.mutable_decode_shared_channel()->add_groups()->mutable_harq()->set_key(
          RandomBytes(2, random));
      request.mutable_decode_shared_channel()->set_payload(payload);
      break;
    default:
      break;  // no operation
  }
  return request;
}

// What the view says, put together again as protobuf would.
v1::SubmitRequest ToMessage(SubmitView& view) {
  v1::SubmitRequest message;
  message.set_id(view.id());
  if (view.timeout() != absl::InfiniteDuration()) {
    message.set_timeout_us(static_cast<uint64_t>(absl::ToInt64Microseconds(view.timeout())));
  }
  message.set_priority(static_cast<v1::Priority>(view.priority()));
  const Request& request = view.request();
  const auto fill = [&](auto* operation) {
    EXPECT_TRUE(operation->ParseFromString(request.header));
    EXPECT_TRUE(operation->payload().empty());
    operation->set_payload(Gather(request));
  };
  switch (FieldOf(view.operation())) {
    case v1::SubmitRequest::kEncodeFieldNumber:
      fill(message.mutable_encode());
      break;
    case v1::SubmitRequest::kDecodeFieldNumber:
      fill(message.mutable_decode());
      break;
    case v1::SubmitRequest::kRecoverCarrierFieldNumber:
      fill(message.mutable_recover_carrier());
      break;
    case v1::SubmitRequest::kDownconvertFieldNumber:
      fill(message.mutable_downconvert());
      break;
    case v1::SubmitRequest::kEncodeSharedChannelFieldNumber:
      fill(message.mutable_encode_shared_channel());
      break;
    case v1::SubmitRequest::kDecodeSharedChannelFieldNumber:
      fill(message.mutable_decode_shared_channel());
      break;
    default:
      break;
  }
  return message;
}

TEST(SubmitViewTest, ReadsWhatProtobufReadsHoweverTheBytesAreSliced) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const v1::SubmitRequest request = RandomRequest(&random);
    const std::string bytes = request.SerializeAsString();
    for (const size_t size : {1, 3, 17, 100000}) {
      auto view = Read(InSlices(bytes, size));
      ASSERT_THAT(view, IsOk());
      ASSERT_EQ(ToMessage(*view).SerializeAsString(), bytes) << request.ShortDebugString();
    }
  }
}

TEST(SubmitViewTest, OfMessagesInARowTheLastOperationCountsAndEqualOnesAreMerged) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    std::string bytes;
    for (int n = 0; n < 3; ++n) bytes += RandomRequest(&random).SerializeAsString();
    v1::SubmitRequest expected;
    ASSERT_TRUE(expected.ParseFromString(bytes));
    auto view = Read(InSlices(bytes, 7));
    ASSERT_THAT(view, IsOk());
    ASSERT_EQ(ToMessage(*view).SerializeAsString(), expected.SerializeAsString());
  }
}

TEST(SubmitViewTest, ATruncatedMessageIsRefusedWhereverProtobufRefusesIt) {
  std::mt19937 random(3);
  for (int i = 0; i < 20; ++i) {
    const std::string whole = RandomRequest(&random).SerializeAsString();
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string cut = whole.substr(0, size);
      const auto view = Read(InSlices(cut, 5));
      ASSERT_EQ(view.ok(), v1::SubmitRequest().ParseFromString(cut)) << size;
      if (!view.ok()) {
        ASSERT_THAT(view, IsInvalid("well-formed"));
      }
    }
  }
}

TEST(SubmitViewTest, RandomBytesAreNeverMoreThanProtobufMakesOfThem) {
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = RandomRequest(&random).SerializeAsString();
    for (int n = 0; n < 3 && !bytes.empty(); ++n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto view = Read(InSlices(bytes, 11));
    v1::SubmitRequest message;
    if (!message.ParseFromString(bytes)) continue;
    ASSERT_THAT(view, IsOk());
    ASSERT_EQ(view->id(), message.id());
    ASSERT_EQ(view->priority(), message.priority());
    ASSERT_EQ(FieldOf(view->operation()), static_cast<int>(message.operation_case()));
  }
}

TEST(SubmitViewTest, AFieldThatEndsAfterItsMessageIsRefused) {
  const std::string tag = "\x5a";  // encode, length-delimited
  for (const std::string length : {"\x7f", "\xff\xff\xff\xff\x07", "\xff\xff\xff\xff\x0f",
                                   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    EXPECT_THAT(Read(InSlices(tag + length + "\x7a\x01x", 2)), IsInvalid("well-formed"));
  }
  // The payload's length passes the end of the operation, not that of the message.
  EXPECT_THAT(Read(InSlices(tag + "\x02\x7a\x05" + "abcde", 2)), IsInvalid("well-formed"));
}

TEST(SubmitViewTest, AFieldOfNumberZeroIsRefusedAndNoOperationThatSubmitDoesNotBring) {
  const std::string field("\2\0", 2);
  EXPECT_THAT(Read(InSlices(field, 2)), IsInvalid("well-formed"));
  EXPECT_THAT(Read(InSlices("\x5a\2" + field, 2)), IsInvalid("well-formed"));  // of encode
}

TEST(SubmitViewTest, ATimeoutBeyondAllMeasureIsNone) {
  v1::SubmitRequest request;
  EXPECT_EQ(Read(InSlices("", 1))->timeout(), absl::InfiniteDuration());
  for (const uint64_t us : {uint64_t{1} << 63, UINT64_MAX}) {
    request.set_timeout_us(us);
    const auto view = Read(InSlices(request.SerializeAsString(), 100));
    EXPECT_EQ(view->timeout(), absl::InfiniteDuration());
  }
}

TEST(SubmitResponseTest, ReadsAsTheMessageItStandsForAndTheClientFindsItsParts) {
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i) {
    v1::EncodeResponse result;
    result.mutable_timing()->set_kernel_us(static_cast<uint32_t>(random()));
    result.set_payload(RandomBytes(random() % 300, &random));
    SubmitOutcome outcome;
    outcome.id = 1 + random();
    outcome.requests = 1;
    outcome.bytes = random();
    const grpc::ByteBuffer bytes = MakeSubmitResponse(outcome, &TestOperation("Encode"),
                                                      InSlices(result.SerializeAsString(), 9));
    v1::SubmitResponse expected;
    expected.set_id(outcome.id);
    expected.mutable_credits()->set_requests(1);
    expected.mutable_credits()->set_bytes(static_cast<uint64_t>(outcome.bytes));
    *expected.mutable_encode() = result;
    EXPECT_EQ(ToText(bytes), expected.SerializeAsString());

    const auto answer = client::ReadSubmitResponse(bytes);
    ASSERT_THAT(answer, IsOk());
    EXPECT_EQ(answer->id, outcome.id);
    EXPECT_EQ(answer->credit_requests, 1);
    EXPECT_EQ(answer->credit_bytes, outcome.bytes);
    EXPECT_EQ(answer->field, v1::SubmitResponse::kEncodeFieldNumber);
    EXPECT_EQ(ToText(answer->result), result.SerializeAsString());
  }
}

TEST(SubmitResponseTest, AnErrorBringsItsMessageInAsciiAndWhenToComeBack) {
  SubmitOutcome outcome;
  outcome.id = 7;
  outcome.status = absl::ResourceExhaustedError("caf\xc3\xa9 " + std::string(2000, 'x'));
  outcome.retry_after = absl::Nanoseconds(1500);
  const grpc::ByteBuffer bytes =
      MakeSubmitResponse(outcome, &TestOperation("Decode"), grpc::ByteBuffer());
  v1::SubmitResponse message;
  ASSERT_TRUE(message.ParseFromString(ToText(bytes)));
  EXPECT_EQ(message.message().substr(0, 8), "caf?? xx");
  EXPECT_EQ(message.message().size(), 1024U);
  EXPECT_EQ(message.result_case(), v1::SubmitResponse::RESULT_NOT_SET);

  const auto answer = client::ReadSubmitResponse(bytes);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(client::RetryAfter(answer->status), absl::Microseconds(2));
  EXPECT_EQ(client::RetryAfter(absl::InternalError("")), absl::ZeroDuration());
}

TEST(SubmitRequestTest, WhatTheClientWritesIsTheMessageInNoMoreThanItSays) {
  std::mt19937 random(6);
  for (int i = 0; i < 100; ++i) {
    v1::DecodeRequest request;
    request.add_groups()->set_count(static_cast<uint32_t>(random()));
    request.set_payload(RandomBytes(random() % 300, &random));
    v1::SubmitRequest header;
    header.set_id(UINT64_MAX);
    header.set_timeout_us(UINT64_MAX);
    header.set_priority(v1::PRIORITY_LOW);
    const std::string inner = request.SerializeAsString();
    const std::string bytes = ToText(client::MakeSubmitRequest(
        header, v1::SubmitRequest::kDecodeFieldNumber, InSlices(inner, 31)));
    EXPECT_LE(bytes.size(), inner.size() + client::kMaxSubmitHeaderBytes);
    *header.mutable_decode() = request;
    EXPECT_EQ(bytes, header.SerializeAsString());
  }
}

TEST(SubmitResponseTest, BytesThatAreNoResponseAreInternal) {
  for (const std::string& bytes :
       {std::string("\x5a\x7f"), std::string("\x08"), std::string("\x1a\x02\xff\xff", 4)}) {
    EXPECT_THAT(client::ReadSubmitResponse(InSlices(bytes, 1)),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("cannot be parsed")));
  }
}

}  // namespace
}  // namespace baseband::server
