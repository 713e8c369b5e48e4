// Messages as bytes and back. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_MESSAGES_H_
#define BASEBAND_CLIENT_CPP_MESSAGES_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// ResourceExhausted above protobuf's 2 GiB. Caches the size.
absl::Status CheckSize(const google::protobuf::MessageLite& message);

// In one slice, so that the message is written once and a retry sends the same bytes again. Errors:
// those of CheckSize.
absl::StatusOr<grpc::ByteBuffer> Serialize(const google::protobuf::MessageLite& message);

// Internal when `bytes` are no such message. Empties `bytes`.
absl::Status ParseInto(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message);

template <typename Response>
absl::StatusOr<Response> Parse(absl::StatusOr<grpc::ByteBuffer> bytes) {
  if (!bytes.ok()) {
    return std::move(bytes).status();
  }
  Response response;
  if (absl::Status status = ParseInto(&*bytes, &response); !status.ok()) {
    return status;
  }
  return response;
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_MESSAGES_H_
