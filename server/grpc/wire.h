// Requests and replies as bytes. The bulk of a message is one `bytes` field, which never becomes a
// std::string: on its way in it is gathered once from gRPC's slices to where the device wants it,
// on its way out gRPC sends it from where the device left it.
#ifndef BASEBAND_SERVER_GRPC_WIRE_H_
#define BASEBAND_SERVER_GRPC_WIRE_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/device/host_pool.h"

namespace baseband::server {

// The fields of a request besides its payload may take this many bytes together.
inline constexpr int64_t kMaxHeaderBytes = 4 << 20;

// What is said of bytes that are no protobuf message.
absl::Status Malformed();
// The next tag of a message, 0 at its end, which the caller checks. InvalidArgument if it is longer
// than protobuf has it.
absl::StatusOr<uint32_t> ReadTag(google::protobuf::io::CodedInputStream& in);

// A request message, or one that is a field of another, read where it lies.
class RequestView {
 public:
  // Splits `message` at its top level: field `payload_field` is the payload, all others are the
  // header. A payload that comes twice counts the last time, as protobuf has it. InvalidArgument
  // when the bytes are no protobuf message, or when the header is longer than kMaxHeaderBytes.
  static absl::StatusOr<RequestView> Read(const grpc::ByteBuffer& message, int payload_field);

  // The header, serialized: parse it as the request's message.
  const std::string& header() const { return header_; }
  int64_t payload_bytes() const { return payload_bytes_; }
  // Copies the payload to `target`, payload_bytes() long.
  void GatherPayload(uint8_t* target) const;

 private:
  friend class SubmitView;  // whose field it may be

  // Adds what `in` has up to its end or its limit, as a message with those fields is merged.
  absl::Status Merge(google::protobuf::io::CodedInputStream& in, int payload_field);

  std::vector<grpc::Slice> slices_;  // of the whole message
  std::string header_;
  int64_t payload_begin_ = 0;  // in the message
  int64_t payload_bytes_ = 0;
};

// One bulk field of a reply: a part of a lease.
struct BulkField {
  int number = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The reply whose small fields are `header` and whose bulk fields lie in `lease`, which goes back
// to its pool once gRPC has sent them. Empty fields are left out.
grpc::ByteBuffer MakeReply(const google::protobuf::MessageLite& header,
                           absl::Span<const BulkField> fields, HostLease lease);

// The message that has the fields of `header` and after them `nested`, a message, as its field
// `number`. Shares the bytes of `nested`.
grpc::ByteBuffer MakeNested(const google::protobuf::MessageLite& header, int number,
                            const grpc::ByteBuffer& nested);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_WIRE_H_
