// Messages as bytes and back. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_MESSAGES_H_
#define BASEBAND_CLIENT_CPP_MESSAGES_H_

#include <cstddef>
#include <string>
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

// `header`, serialized, with the field `field` that `bytes` are, which are not copied.
grpc::ByteBuffer WithField(std::string header, int field, const grpc::ByteBuffer& bytes);

// What the buffer holds is not copied.
grpc::ByteBuffer ToByteBuffer(std::string bytes);

// As Serialize, but a large payload is not copied.
template <typename Request>
absl::StatusOr<grpc::ByteBuffer> SerializeBulk(Request request) {
  constexpr size_t kLeastUncopied = 128 << 10;
  if (request.payload().size() < kLeastUncopied) return Serialize(request);
  if (absl::Status status = CheckSize(request); !status.ok()) return status;
  const grpc::ByteBuffer payload = ToByteBuffer(std::move(*request.mutable_payload()));
  request.clear_payload();
  return WithField(request.SerializeAsString(), Request::kPayloadFieldNumber, payload);
}

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
