#include "server/grpc/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// memcpy for bytes that this processor will not read again: past the caches, so that the target's
// lines are neither fetched nor kept.
void CopyPastCaches(uint8_t* target, const uint8_t* source, int64_t bytes) {
#if defined(__SSE2__)
  constexpr int64_t kVector = sizeof(__m128i);
  const int64_t head =
      std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(target) & (kVector - 1));
  std::memcpy(target, source, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 4 * kVector <= bytes; i += 4 * kVector) {
    for (int64_t j = i; j < i + 4 * kVector; j += kVector) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target + j),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + j)));
    }
  }
  std::memcpy(target + i, source + i, static_cast<size_t>(bytes - i));
  _mm_sfence();
#else
  std::memcpy(target, source, static_cast<size_t>(bytes));
#endif
}

// The beginning of a length-delimited field.
void AppendTag(int number, size_t bytes, std::string* text) {
  StringOutputStream stream(text);
  CodedOutputStream out(&stream);
  out.WriteTag(WireFormatLite::MakeTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint32(static_cast<uint32_t>(bytes));
}

}  // namespace

absl::Status Malformed() {
  return absl::InvalidArgumentError("the request is not a well-formed protobuf message");
}

absl::StatusOr<uint32_t> ReadTag(CodedInputStream& in) {
  constexpr int kMaxTagBytes = 5;  // CodedInputStream takes ten and drops what is too much
  const int begin = in.CurrentPosition();
  const uint32_t tag = in.ReadTag();
  if (in.CurrentPosition() - begin > kMaxTagBytes) {
    return Malformed();
  }
  return tag;
}

absl::StatusOr<RequestView> RequestView::Read(const grpc::ByteBuffer& message, int payload_field) {
  RequestView view;
  if (!message.Valid()) {
    return view;  // gRPC's way of saying: zero bytes
  }
  // The reader takes the buffer by pointer for historical reasons and only reads it.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));
  if (!reader.status().ok() || !message.Dump(&view.slices_).ok()) {
    return Malformed();
  }
  CodedInputStream in(&reader);
  BASEBAND_RETURN_IF_ERROR(view.Merge(in, payload_field));
  return view;
}

absl::Status RequestView::Merge(CodedInputStream& in, int payload_field) {
  const auto bytes_before = static_cast<int64_t>(header_.size());
  StringOutputStream header_stream(&header_);  // appends
  CodedOutputStream header(&header_stream);
  const uint32_t payload_tag =
      WireFormatLite::MakeTag(payload_field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  for (;;) {
    BASEBAND_ASSIGN_OR_RETURN(const uint32_t tag, ReadTag(in));
    if (tag == 0) {
      break;
    }
    if (tag == payload_tag) {
      uint32_t bytes = 0;
      if (!in.ReadVarint32(&bytes)) {
        return Malformed();
      }
      payload_begin_ = in.CurrentPosition();
      payload_bytes_ = bytes;
      if (bytes > static_cast<uint32_t>(INT32_MAX) || !in.Skip(static_cast<int>(bytes))) {
        return Malformed();
      }
    } else {
      // Copies the field, and by that also checks it.
      if (!WireFormatLite::SkipField(&in, tag, &header)) {
        return Malformed();
      }
      if (bytes_before + header.ByteCount() > kMaxHeaderBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("the fields besides the payload take more than ", kMaxHeaderBytes,
                         " bytes: split the request"));
      }
    }
  }
  return in.ConsumedEntireMessage() ? absl::OkStatus() : Malformed();
}

void RequestView::GatherPayload(uint8_t* target) const {
  int64_t skip = payload_begin_;
  int64_t left = payload_bytes_;
  for (const grpc::Slice& slice : slices_) {
    if (left == 0) {
      return;
    }
    const auto size = static_cast<int64_t>(slice.size());
    if (skip >= size) {
      skip -= size;
      continue;
    }
    const int64_t bytes = std::min(size - skip, left);
    CopyPastCaches(target, slice.begin() + skip, bytes);
    target += bytes;
    left -= bytes;
    skip = 0;
  }
}

grpc::ByteBuffer MakeReply(const google::protobuf::MessageLite& header,
                           absl::Span<const BulkField> fields, HostLease lease) {
  std::vector<grpc::Slice> slices;
  const auto shared = std::make_shared<HostLease>(std::move(lease));
  std::string text = header.SerializeAsString();
  for (const BulkField& field : fields) {
    if (field.bytes == 0) {
      continue;
    }
    AppendTag(field.number, static_cast<size_t>(field.bytes), &text);
    slices.emplace_back(text);
    text.clear();
    slices.emplace_back(
        shared->data() + field.offset, static_cast<size_t>(field.bytes),
        [](void* lease_of_slice) {
          delete static_cast<std::shared_ptr<HostLease>*>(lease_of_slice);
        },
        new std::shared_ptr<HostLease>(shared));
  }
  if (slices.empty()) {
    slices.emplace_back(text);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer MakeNested(const google::protobuf::MessageLite& header, int number,
                            const grpc::ByteBuffer& nested) {
  std::string text = header.SerializeAsString();
  AppendTag(number, nested.Length(), &text);
  std::vector<grpc::Slice> slices;
  if (!nested.Dump(&slices).ok()) {
    slices.clear();  // gRPC's way of saying: zero bytes
  }
  slices.emplace(slices.begin(), text);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace baseband::server
