// The messages of a Submit stream as bytes: requests and responses of operations are put in and
// taken out as they are, without a copy. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_WIRE_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_WIRE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// Where an operation's messages lie in those of a stream.
struct SubmitFields {
  int request = 0;
  int response = 0;
};
inline constexpr SubmitFields kSubmitEncode = {v1::SubmitRequest::kEncodeFieldNumber,
                                               v1::SubmitResponse::kEncodeFieldNumber};
inline constexpr SubmitFields kSubmitDecode = {v1::SubmitRequest::kDecodeFieldNumber,
                                               v1::SubmitResponse::kDecodeFieldNumber};
inline constexpr SubmitFields kSubmitEncodeSharedChannel = {
    v1::SubmitRequest::kEncodeSharedChannelFieldNumber,
    v1::SubmitResponse::kEncodeSharedChannelFieldNumber};
inline constexpr SubmitFields kSubmitDecodeSharedChannel = {
    v1::SubmitRequest::kDecodeSharedChannelFieldNumber,
    v1::SubmitResponse::kDecodeSharedChannelFieldNumber};
inline constexpr SubmitFields kSubmitRecoverCarrier = {
    v1::SubmitRequest::kRecoverCarrierFieldNumber, v1::SubmitResponse::kRecoverCarrierFieldNumber};
inline constexpr SubmitFields kSubmitDownconvert = {v1::SubmitRequest::kDownconvertFieldNumber,
                                                    v1::SubmitResponse::kDownconvertFieldNumber};
// Of "/baseband.v1.Baseband/Encode" and the like; empty: does not go through a stream.
absl::optional<SubmitFields> SubmitFieldsOf(absl::string_view method);

// Most bytes that a SubmitRequest has besides the operation's request.
inline constexpr size_t kMaxSubmitHeaderBytes = 64;

// `header` with `request`, of the operation at field `field`.
grpc::ByteBuffer MakeSubmitRequest(const v1::SubmitRequest& header, int field,
                                   const grpc::ByteBuffer& request);

// What RetryAfter() of submit_stream.h will say of `status`.
void SetRetryAfter(absl::Duration delay, absl::Status* status);

// A SubmitResponse.
struct SubmitAnswer {
  uint64_t id = 0;      // 0: only credits
  absl::Status status;  // see RetryAfter() in submit_stream.h
  int64_t credit_requests = 0;
  int64_t credit_bytes = 0;
  int field = 0;            // of the response; 0: none
  grpc::ByteBuffer result;  // a part of the message
};
// Internal when `message` is none.
absl::StatusOr<SubmitAnswer> ReadSubmitResponse(grpc::ByteBuffer message);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_WIRE_H_
