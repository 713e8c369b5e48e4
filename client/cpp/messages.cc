#include "client/cpp/messages.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace baseband::client {

absl::Status CheckSize(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  return size > INT32_MAX ? absl::ResourceExhaustedError(absl::StrCat(
                                "a request of ", size, " bytes is over protobuf's limit of 2 GiB"))
                          : absl::OkStatus();
}

absl::StatusOr<grpc::ByteBuffer> Serialize(const google::protobuf::MessageLite& message) {
  if (absl::Status status = CheckSize(message); !status.ok()) {
    return status;
  }
  grpc::Slice slice(static_cast<size_t>(message.GetCachedSize()));
  // The slice is ours alone until it is sent.
  static_cast<void>(message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin())));
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status ParseInto(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message) {
  grpc::ProtoBufferReader reader(bytes);
  return reader.status().ok() && message->ParseFromZeroCopyStream(&reader)
             ? absl::OkStatus()
             : absl::InternalError("the server's answer cannot be parsed");
}

}  // namespace baseband::client
