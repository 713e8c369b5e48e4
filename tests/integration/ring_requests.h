// Requests in a ring of the real server, as a client that speaks its memory lays them out, and the
// answers as calls would bring them.
#ifndef BASEBAND_TESTS_INTEGRATION_RING_REQUESTS_H_
#define BASEBAND_TESTS_INTEGRATION_RING_REQUESTS_H_

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gtest/gtest.h"
#include "tests/support/raw_ring.h"
#include "tests/support/sharing_server.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {

using ::testing::HasSubstr;

inline uint64_t MonotonicNs(absl::Duration from_now) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(
      absl::ToInt64Nanoseconds(absl::DurationFromTimespec(now) + from_now));
}

inline uint64_t Up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

inline uint8_t OperationOf(const v1::EncodeRequest&) {
  return v1::SubmitRequest::kEncodeFieldNumber;
}
inline uint8_t OperationOf(const v1::DecodeRequest&) {
  return v1::SubmitRequest::kDecodeFieldNumber;
}
inline uint8_t OperationOf(const v1::EncodeSharedChannelRequest&) {
  return v1::SubmitRequest::kEncodeSharedChannelFieldNumber;
}
inline uint8_t OperationOf(const v1::DecodeSharedChannelRequest&) {
  return v1::SubmitRequest::kDecodeSharedChannelFieldNumber;
}
inline uint8_t OperationOf(const v1::RecoverCarrierRequest&) {
  return v1::SubmitRequest::kRecoverCarrierFieldNumber;
}
inline uint8_t OperationOf(const v1::DownconvertRequest&) {
  return v1::SubmitRequest::kDownconvertFieldNumber;
}

// A message by which an operation's answers are compared.
template <typename Message>
std::string Essence(absl::StatusOr<Message> message) {
  EXPECT_THAT(message, IsOk());
  if (!message.ok()) return "";
  message->clear_timing();
  return message->SerializeAsString();
}

// `request` from `offset` on in the ring's memory: its header, its payload, then `reply_bytes` of
// room.
template <typename Request>
BasebandSubmission Put(RawRing* ring, uint64_t offset, uint64_t reply_bytes, Request request) {
  BasebandSubmission submission{};
  const std::string payload = request.payload();
  request.clear_payload();
  const std::string header = request.SerializeAsString();
  submission.header_offset = offset;
  submission.header_bytes = static_cast<uint32_t>(header.size());
  submission.payload_offset = offset + Up(header.size());
  submission.payload_bytes = static_cast<uint32_t>(payload.size());
  submission.reply_offset = submission.payload_offset + Up(payload.size());
  submission.reply_bytes = static_cast<uint32_t>(reply_bytes);
  submission.operation = OperationOf(request);
  EXPECT_LE(submission.reply_offset + reply_bytes, ring->bytes());
  ring->Put(submission.header_offset, header);
  ring->Put(submission.payload_offset, payload);
  return submission;
}
template <typename Request>
BasebandSubmission Put(RawRing* ring, Request request) {
  return Put(ring, ring->free_offset(), 2 << 20, std::move(request));
}

// The response that a completion brings, as it would be from a call.
template <typename Response>
absl::StatusOr<Response> Read(const RawRing& ring, const BasebandCompletion& completion) {
  if (completion.code != kOk) {
    return absl::Status(static_cast<absl::StatusCode>(completion.code), ring.Text(completion));
  }
  Response response;
  EXPECT_TRUE(
      response.ParseFromString(ring.Get(completion.header_offset, completion.header_bytes)));
  bool is_first = true;
  for (const v1::PlacedField& placed : response.placed()) {
    const auto* const field =
        Response::descriptor()->FindFieldByNumber(static_cast<int>(placed.field()));
    Response::GetReflection()->SetString(&response, field,
                                         ring.Get(placed.offset(), placed.bytes()));
    if (is_first) {
      EXPECT_EQ(completion.payload_offset, placed.offset());
      EXPECT_EQ(completion.payload_bytes, placed.bytes());
    }
    is_first = false;
  }
  response.clear_placed();
  return response;
}

class RingTest : public SharingServerTest {
 protected:
  std::unique_ptr<client::Client> NewClient() const {
    client::ClientOptions options;
    options.target = server_->target();
    return *client::Client::Create(options);
  }
  bool WaitUntilNothingIsLeft() const {
    return WaitUntilNothingIsShared() && server_->WaitForMetric("baseband_rings", {}, 0) &&
           server_->WaitForMetric("baseband_requests_in_flight", {}, 0);
  }
  // That so many Decodes came, whether they are done or not.
  bool WaitUntilTaken(double decodes) const {
    const std::vector<std::string> decode = {"rpc=\"Decode\""};
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (server_->Metric("baseband_requests_in_flight", decode) +
               server_->Metric("baseband_requests_total", decode) <
           decodes) {
      if (absl::Now() > end) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
};

template <typename Response, typename Request>
std::string EssenceBy(RawRing* ring, const Request& request) {
  return Essence(Read<Response>(*ring, ring->Do(Put(ring, request))));
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_RING_REQUESTS_H_
