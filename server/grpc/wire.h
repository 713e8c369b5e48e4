// Messages as gRPC has them, into requests and out of replies. The bulk of a message is one `bytes`
// field, which never becomes a std::string: on its way in it stays in gRPC's slices until it is
// gathered to where a device wants it, on its way out gRPC sends it from where the device left it.
#ifndef BASEBAND_SERVER_GRPC_WIRE_H_
#define BASEBAND_SERVER_GRPC_WIRE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "server/jobs/request.h"

namespace baseband::server {

// What is said of bytes that are no protobuf message.
absl::Status Malformed();
// The next tag of a message, 0 at its end, which the caller checks. InvalidArgument if it is longer
// than protobuf has it, or of field 0, which no message has: whoever looks a field up may say 0 for
// none.
absl::StatusOr<uint32_t> ReadTag(google::protobuf::io::CodedInputStream& in);
// Passes the field whose `tag` was just read, in groups `depth` deep, and copies both to `out`
// unless it is null. InvalidArgument where protobuf's own parser would refuse it (its SkipField
// drops the upper bits of a length, and goes on in the middle), and for more than kMaxHeaderBytes
// to copy.
absl::Status PassField(google::protobuf::io::CodedInputStream& in, uint32_t tag,
                       google::protobuf::io::CodedOutputStream* out, int depth = 0);

// Fields of every request that may name shared memory, and of its response.
inline constexpr int kPayloadAtField = 100;
inline constexpr int kReplyAtField = 101;
inline constexpr int kHoldField = 102;
inline constexpr int kPlacedField = 100;

// A message split at its top level: one field is the payload, three may name shared memory,
// all others are the header.
struct MessageSplit {
  std::string header;
  int64_t payload_begin = 0;  // in the bytes that are read
  int64_t payload_bytes = 0;
  // Serialized.
  absl::optional<std::string> payload_at;
  absl::optional<std::string> reply_at;
  absl::optional<std::string> hold;

  // Adds what `in` has up to its end or its limit, as a message with those fields is merged: a
  // payload that comes twice counts the last time. InvalidArgument when the bytes are no protobuf
  // message, or when the header is longer than kMaxHeaderBytes.
  absl::Status Merge(google::protobuf::io::CodedInputStream& in, int payload_field);
  // The request, whose `payload` is that part of `message`. InvalidArgument if the bytes cannot be
  // read.
  absl::StatusOr<Request> ToRequest(const grpc::ByteBuffer& message) &&;
};

// The request that `message` is. InvalidArgument as of MessageSplit.
absl::StatusOr<Request> ReadRequest(const grpc::ByteBuffer& message, int payload_field);

// The message of a reply that is placed: all but its bulk, and where that is.
std::string PlacedMessage(const Reply& reply);

// The message of `reply`, whose memory goes back to its pool once gRPC has sent it. Of one that is
// placed it only says where the bulk is.
grpc::ByteBuffer ToByteBuffer(Reply reply);

// The message that has the fields of `header` and after them `nested`, a message, as its field
// `number`. Shares the bytes of `nested`.
grpc::ByteBuffer MakeNested(const google::protobuf::MessageLite& header, int number,
                            const grpc::ByteBuffer& nested);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_WIRE_H_
