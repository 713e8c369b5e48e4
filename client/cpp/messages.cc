#include "client/cpp/messages.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/wire_format_lite.h"
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

grpc::ByteBuffer WithField(std::string header, int field, const grpc::ByteBuffer& bytes) {
  using google::protobuf::internal::WireFormatLite;
  {
    google::protobuf::io::StringOutputStream stream(&header);  // appends
    google::protobuf::io::CodedOutputStream out(&stream);
    out.WriteTag(WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    out.WriteVarint32(static_cast<uint32_t>(bytes.Length()));
  }
  std::vector<grpc::Slice> slices;
  if (!bytes.Dump(&slices).ok()) {
    slices.clear();  // gRPC's way of saying: zero bytes
  }
  slices.emplace(slices.begin(), header);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer ToByteBuffer(std::string bytes) {
  auto* const owner = new std::string(std::move(bytes));
  const auto destroy = [](void* string) { delete static_cast<std::string*>(string); };
  const grpc::Slice slice(&(*owner)[0], owner->size(), destroy, owner);
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer Part(const grpc::ByteBuffer& bytes, size_t begin, size_t size) {
  std::vector<grpc::Slice> slices;
  std::vector<grpc::Slice> part;
  if (!bytes.Dump(&slices).ok()) slices.clear();
  for (const grpc::Slice& slice : slices) {
    const size_t first = std::min(begin, slice.size());
    const size_t last = first + std::min(size, slice.size() - first);
    if (last > first) part.push_back(slice.sub(first, last));
    begin -= first;
    size -= last - first;
  }
  return grpc::ByteBuffer(part.data(), part.size());
}

absl::Status ParseInto(grpc::ByteBuffer* bytes, google::protobuf::MessageLite* message) {
  grpc::ProtoBufferReader reader(bytes);
  return reader.status().ok() && message->ParseFromZeroCopyStream(&reader)
             ? absl::OkStatus()
             : absl::InternalError("the server's answer cannot be parsed");
}

}  // namespace baseband::client
