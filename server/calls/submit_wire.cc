#include "server/calls/submit_wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "baseband/v1/baseband.pb.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

std::string ToMessage(absl::string_view text) {
  constexpr size_t kMaxMessage = 1024;
  std::string message(text.substr(0, kMaxMessage));
  std::replace_if(
      message.begin(), message.end(),
      [](char c) { return !absl::ascii_isascii(static_cast<unsigned char>(c)); }, '?');
  return message;
}

}  // namespace

absl::StatusOr<SubmitView> SubmitView::Read(const grpc::ByteBuffer& message,
                                            const OperationTable& operations) {
  SubmitView view;
  if (!message.Valid()) {
    return view;  // gRPC's way of saying: zero bytes
  }
  // The reader takes the buffer by pointer for historical reasons and only reads it.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));
  if (!reader.status().ok()) {
    return Malformed();
  }
  {
    CodedInputStream in(&reader);
    BASEBAND_RETURN_IF_ERROR(view.Parse(in, operations));
  }
  BASEBAND_ASSIGN_OR_RETURN(view.request_, std::move(view.split_).ToRequest(message));
  return view;
}

absl::Duration SubmitView::timeout() const {
  return timeout_us_ == 0 || timeout_us_ > static_cast<uint64_t>(INT64_MAX)
             ? absl::InfiniteDuration()
             : absl::Microseconds(static_cast<int64_t>(timeout_us_));
}

absl::Status SubmitView::Parse(CodedInputStream& in, const OperationTable& operations) {
  const auto varint = [&in](auto* value) {
    uint64_t read = 0;
    const bool ok = in.ReadVarint64(&read);
    *value = static_cast<std::remove_pointer_t<decltype(value)>>(read);
    return ok ? absl::OkStatus() : Malformed();
  };
  for (;;) {
    BASEBAND_ASSIGN_OR_RETURN(const uint32_t tag, ReadTag(in));
    if (tag == 0) {
      return in.ConsumedEntireMessage() ? absl::OkStatus() : Malformed();
    }
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    const bool is_varint = type == WireFormatLite::WIRETYPE_VARINT;
    Operation* const operation = type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED
                                     ? operations.FindBySubmitField(field)
                                     : nullptr;
    if (is_varint && field == v1::SubmitRequest::kIdFieldNumber) {
      BASEBAND_RETURN_IF_ERROR(varint(&id_));
    } else if (is_varint && field == v1::SubmitRequest::kTimeoutUsFieldNumber) {
      BASEBAND_RETURN_IF_ERROR(varint(&timeout_us_));
    } else if (is_varint && field == v1::SubmitRequest::kPriorityFieldNumber) {
      BASEBAND_RETURN_IF_ERROR(varint(&priority_));
    } else if (operation != nullptr) {
      BASEBAND_RETURN_IF_ERROR(ParseOperation(in, operation));
    } else {
      BASEBAND_RETURN_IF_ERROR(PassField(in, tag, nullptr));
    }
  }
}

absl::Status SubmitView::ParseOperation(CodedInputStream& in, Operation* operation) {
  if (operation_ != operation) {  // of a oneof, the last one that is set counts
    operation_ = operation;
    split_ = MessageSplit();
  }
  int bytes = 0;
  if (!in.ReadVarintSizeAsInt(&bytes)) {
    return Malformed();
  }
  const CodedInputStream::Limit limit = in.PushLimit(bytes);
  BASEBAND_RETURN_IF_ERROR(split_.Merge(in, operation->description().payload_field));
  if (in.BytesUntilLimit() != 0) {
    return Malformed();  // the message ends before its field does
  }
  in.PopLimit(limit);
  return absl::OkStatus();
}

grpc::ByteBuffer MakeSubmitResponse(const SubmitOutcome& outcome, const Operation* operation,
                                    const grpc::ByteBuffer& result) {
  v1::SubmitResponse header;
  header.set_id(outcome.id);
  header.set_code(static_cast<int>(outcome.status.code()));
  header.set_message(ToMessage(outcome.status.message()));
  header.set_retry_after_us(static_cast<uint64_t>(absl::ToInt64Microseconds(
      absl::Ceil(std::max(outcome.retry_after, absl::ZeroDuration()), absl::Microseconds(1)))));
  header.mutable_credits()->set_requests(static_cast<uint32_t>(outcome.requests));
  header.mutable_credits()->set_bytes(static_cast<uint64_t>(outcome.bytes));
  if (outcome.id != 0 && outcome.status.ok()) {
    return MakeNested(header, operation->description().submit_response_field, result);
  }
  const grpc::Slice slice(header.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace baseband::server
