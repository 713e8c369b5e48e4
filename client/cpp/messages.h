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

// The bytes begin .. begin + size - 1 of `bytes`, as far as there are some; not copied.
grpc::ByteBuffer Part(const grpc::ByteBuffer& bytes, size_t begin, size_t size);

// From so many bytes on a payload is worth more than a copy.
inline constexpr int kLeastBulkBytes = 128 << 10;

// As Serialize, but such a payload is moved out of `request`, and is the end of the message.
template <typename Request>
absl::StatusOr<grpc::ByteBuffer> SerializeBulk(Request* request) {
  if (request->payload().size() < kLeastBulkBytes) return Serialize(*request);
  if (absl::Status status = CheckSize(*request); !status.ok()) return status;
  const grpc::ByteBuffer payload = ToByteBuffer(std::move(*request->mutable_payload()));
  request->clear_payload();
  return WithField(request->SerializeAsString(), Request::kPayloadFieldNumber, payload);
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
