// Small messages out of gRPC's buffers.
#ifndef BASEBAND_SERVER_GRPC_PARSE_MESSAGE_H_
#define BASEBAND_SERVER_GRPC_PARSE_MESSAGE_H_

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace baseband::server {

// InvalidArgument: `bytes` are more than `max`, or no well-formed Message.
template <typename Message>
absl::StatusOr<Message> ParseMessage(const grpc::ByteBuffer& bytes,
                                     size_t max = std::numeric_limits<size_t>::max()) {
  if (bytes.Length() > max) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request has ", bytes.Length(), " bytes, more than ", max));
  }
  grpc::ByteBuffer buffer(bytes);  // reading consumes it
  Message message;
  if (!grpc::SerializationTraits<Message>::Deserialize(&buffer, &message).ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request is not a well-formed ", Message::descriptor()->name()));
  }
  return message;
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_PARSE_MESSAGE_H_
