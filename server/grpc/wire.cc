#include "server/grpc/wire.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/status_macros.h"
#include "server/device/read_arena.h"

namespace baseband::server {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

constexpr uint32_t LengthDelimited(int field) {
  return WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}
constexpr uint32_t kPayloadAtTag = LengthDelimited(kPayloadAtField);
constexpr uint32_t kReplyAtTag = LengthDelimited(kReplyAtField);
constexpr uint32_t kHoldTag = LengthDelimited(kHoldField);

constexpr size_t kMaxTagBytes = 5;
constexpr size_t kMaxVarintBytes = 10;

void Append(const uint8_t* begin, const uint8_t* end, std::string* text) {
  text->append(reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin));
}

// The beginning of a length-delimited field.
void AppendTag(int number, size_t bytes, std::string* text) {
  uint8_t tag[kMaxTagBytes + kMaxVarintBytes];
  uint8_t* end = CodedOutputStream::WriteTagToArray(LengthDelimited(number), tag);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(bytes), end);
  Append(tag, end, text);
}

absl::Status TooLong() {
  return absl::InvalidArgumentError(absl::StrCat("the fields besides the payload take more than ",
                                                 kMaxHeaderBytes, " bytes: split the request"));
}

// Slices of a message, which any thread may drop. gRPC 1.51 gives a slice's memory back where it is
// dropped last; while its quota (--grpc-mib) is full that runs a closure, which only a thread that
// has an ExecCtx can: others crash. Who destroys a ByteBuffer has one.
struct ReceivedSlices {
  grpc::ByteBuffer last;  // the same ones; goes after them
  std::vector<grpc::Slice> slices;
};

// The part of `message` as a payload that keeps its slices, not those of the rest. InvalidArgument
// if they cannot be read.
absl::StatusOr<Payload> PayloadOf(const grpc::ByteBuffer& message, int64_t begin, int64_t bytes) {
  std::vector<grpc::Slice> all;
  if (!message.Dump(&all).ok()) {
    return Malformed();
  }
  const auto received = std::make_shared<ReceivedSlices>();
  std::vector<grpc::Slice>& slices = received->slices;
  slices.reserve(all.size());  // a small one has its bytes in it
  Payload payload({}, received);
  int64_t skip = begin;
  for (grpc::Slice& slice : all) {
    const auto size = static_cast<int64_t>(slice.size());
    if (skip >= size) {
      skip -= size;
      continue;
    }
    if (payload.bytes() == bytes) {
      break;
    }
    const uint8_t* const data = slices.emplace_back(std::move(slice)).begin() + skip;
    const ReadArena* const arena = ReadArena::Of(data);
    payload.Add({data, std::min(size - skip, bytes - payload.bytes()),
                 arena != nullptr ? &arena->region() : nullptr});
    skip = 0;
  }
  received->last = grpc::ByteBuffer(slices.data(), slices.size());
  return payload;
}

// Adds what a field that names memory brings: of a message that comes twice the parts merge.
absl::Status MergeRange(CodedInputStream& in, absl::optional<std::string>* range) {
  constexpr size_t kMaxRangeBytes = 1024;
  int bytes = 0;
  std::string part;
  if (!in.ReadVarintSizeAsInt(&bytes)) return Malformed();
  if (static_cast<size_t>(bytes) > kMaxRangeBytes) return in.Skip(bytes) ? TooLong() : Malformed();
  if (!in.ReadString(&part, bytes)) return Malformed();
  if (!range->has_value()) range->emplace();
  (*range)->append(part);
  return (*range)->size() <= kMaxRangeBytes ? absl::OkStatus() : TooLong();
}

absl::StatusOr<absl::optional<MemoryRange>> ToRange(const absl::optional<std::string>& bytes) {
  if (!bytes.has_value()) return absl::nullopt;
  v1::MemoryRange range;
  if (!range.ParseFromString(*bytes)) return Malformed();
  return MemoryRange{range.region(), range.offset(), range.bytes()};
}

}  // namespace

absl::Status Malformed() {
  return absl::InvalidArgumentError("the request is not a well-formed protobuf message");
}

absl::StatusOr<uint32_t> ReadTag(CodedInputStream& in) {
  constexpr int kMaxTagBytes = 5;  // CodedInputStream takes ten and drops what is too much
  const int begin = in.CurrentPosition();
  const uint32_t tag = in.ReadTag();
  const bool is_of_no_field = tag != 0 && WireFormatLite::GetTagFieldNumber(tag) == 0;
  if (is_of_no_field || in.CurrentPosition() - begin > kMaxTagBytes) {
    return Malformed();
  }
  return tag;
}

absl::Status PassField(CodedInputStream& in, uint32_t tag, CodedOutputStream* out, int depth) {
  switch (WireFormatLite::GetTagWireType(tag)) {
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
      int bytes = 0;
      if (!in.ReadVarintSizeAsInt(&bytes)) return Malformed();
      if (out == nullptr) return in.Skip(bytes) ? absl::OkStatus() : Malformed();
      // Not copied before it is known to be there, and to fit.
      if (bytes > kMaxHeaderBytes) return in.Skip(bytes) ? TooLong() : Malformed();
      std::string content;
      if (!in.ReadString(&content, bytes)) return Malformed();
      out->WriteTag(tag);
      out->WriteVarint32(static_cast<uint32_t>(bytes));
      out->WriteString(content);
      return absl::OkStatus();
    }
    case WireFormatLite::WIRETYPE_START_GROUP: {
      if (depth >= CodedInputStream::GetDefaultRecursionLimit()) return Malformed();
      const uint32_t end = WireFormatLite::MakeTag(WireFormatLite::GetTagFieldNumber(tag),
                                                   WireFormatLite::WIRETYPE_END_GROUP);
      if (out != nullptr) out->WriteTag(tag);
      for (;;) {
        BASEBAND_ASSIGN_OR_RETURN(const uint32_t inner, ReadTag(in));
        if (inner == 0) return Malformed();
        if (inner == end) break;
        BASEBAND_RETURN_IF_ERROR(PassField(in, inner, out, depth + 1));
      }
      if (out != nullptr) out->WriteTag(end);
      return absl::OkStatus();
    }
    default:
      break;
  }
  const bool is_passed = out == nullptr ? WireFormatLite::SkipField(&in, tag)
                                        : WireFormatLite::SkipField(&in, tag, out);
  return is_passed ? absl::OkStatus() : Malformed();
}

absl::Status MessageSplit::Merge(CodedInputStream& in, int payload_field) {
  const auto bytes_before = static_cast<int64_t>(header.size());
  StringOutputStream header_stream(&header);  // appends
  CodedOutputStream out(&header_stream);
  const uint32_t payload_tag =
      WireFormatLite::MakeTag(payload_field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  for (;;) {
    BASEBAND_ASSIGN_OR_RETURN(const uint32_t tag, ReadTag(in));
    if (tag == 0) {
      break;
    }
    absl::optional<std::string>* const range = tag == kPayloadAtTag ? &payload_at
                                               : tag == kReplyAtTag ? &reply_at
                                               : tag == kHoldTag    ? &hold
                                                                    : nullptr;
    if (range != nullptr) {
      BASEBAND_RETURN_IF_ERROR(MergeRange(in, range));
    } else if (tag == payload_tag) {
      int bytes = 0;
      if (!in.ReadVarintSizeAsInt(&bytes)) {
        return Malformed();
      }
      payload_begin = in.CurrentPosition();
      payload_bytes = bytes;
      if (!in.Skip(bytes)) {
        return Malformed();
      }
    } else {
      BASEBAND_RETURN_IF_ERROR(PassField(in, tag, &out));
      if (bytes_before + out.ByteCount() > kMaxHeaderBytes) {
        return TooLong();
      }
    }
  }
  return in.ConsumedEntireMessage() ? absl::OkStatus() : Malformed();
}

absl::StatusOr<Request> MessageSplit::ToRequest(const grpc::ByteBuffer& message) && {
  Request request;
  BASEBAND_ASSIGN_OR_RETURN(request.payload, PayloadOf(message, payload_begin, payload_bytes));
  BASEBAND_ASSIGN_OR_RETURN(request.payload_at, ToRange(payload_at));
  BASEBAND_ASSIGN_OR_RETURN(request.reply_at, ToRange(reply_at));
  if (hold.has_value()) {
    v1::MemoryHold parsed;
    if (!parsed.ParseFromString(*hold)) return Malformed();
    request.hold = MemoryHold{parsed.region(), parsed.offset(), parsed.number()};
  }
  request.header = std::move(header);
  return request;
}

absl::StatusOr<Request> ReadRequest(const grpc::ByteBuffer& message, int payload_field) {
  if (!message.Valid()) {
    return Request();  // gRPC's way of saying: zero bytes
  }
  // The reader takes the buffer by pointer for historical reasons and only reads it.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));
  if (!reader.status().ok()) {
    return Malformed();
  }
  MessageSplit split;
  {
    CodedInputStream in(&reader);
    BASEBAND_RETURN_IF_ERROR(split.Merge(in, payload_field));
  }
  return std::move(split).ToRequest(message);
}

std::string PlacedMessage(const Reply& reply) {
  // A PlacedField as protobuf writes it, which would make a message of it before.
  constexpr size_t kMaxPlaceBytes = 3 * (kMaxTagBytes + kMaxVarintBytes);
  std::string message;
  message.reserve(reply.header.size() +
                  reply.fields.size() * (kMaxTagBytes + kMaxVarintBytes + kMaxPlaceBytes));
  message = reply.header;
  for (const BulkField& field : reply.fields) {
    if (field.bytes == 0) continue;
    uint8_t place[kMaxPlaceBytes];
    uint8_t* end = place;
    const auto add = [&end](int number, int64_t value) {
      if (value == 0) return;  // proto3 leaves it out
      end = WireFormatLite::WriteUInt64ToArray(number, static_cast<uint64_t>(value), end);
    };
    add(v1::PlacedField::kFieldFieldNumber, field.number);
    add(v1::PlacedField::kOffsetFieldNumber, *reply.placed_at + field.offset);
    add(v1::PlacedField::kBytesFieldNumber, field.bytes);
    AppendTag(kPlacedField, static_cast<size_t>(end - place), &message);
    Append(place, end, &message);
  }
  return message;
}

grpc::ByteBuffer ToByteBuffer(Reply reply) {
  std::vector<grpc::Slice> slices;
  if (reply.placed_at.has_value()) {
    reply.header = PlacedMessage(reply);
    reply.fields.clear();
  }
  const auto shared = std::make_shared<HostLease>(std::move(reply.memory));
  std::string text = std::move(reply.header);
  for (const BulkField& field : reply.fields) {
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
