#include "client/cpp/submit_wire.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/message_split.h"
#include "client/cpp/messages.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/to_status.h"
#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace baseband::client {
namespace {

using google::protobuf::io::CodedInputStream;

struct Operation {
  absl::string_view method;
  SubmitFields fields;
};
constexpr Operation kOperations[] = {
    {"/baseband.v1.Baseband/Encode", kSubmitEncode},
    {"/baseband.v1.Baseband/Decode", kSubmitDecode},
    {"/baseband.v1.Baseband/EncodeSharedChannel", kSubmitEncodeSharedChannel},
    {"/baseband.v1.Baseband/DecodeSharedChannel", kSubmitDecodeSharedChannel},
    {"/baseband.v1.Baseband/RecoverCarrier", kSubmitRecoverCarrier},
    {"/baseband.v1.Baseband/Downconvert", kSubmitDownconvert}};

bool IsResult(int field) {
  return std::any_of(std::begin(kOperations), std::end(kOperations),
                     [field](const Operation& o) { return o.fields.response == field; });
}

// Fills `header` with all but the result, and tells where that is.
bool Split(CodedInputStream& in, v1::SubmitResponse* header, int* field, size_t* begin,
           size_t* size) {
  const auto take = [&](int number, int bytes) {
    *field = number;
    *begin = static_cast<size_t>(in.CurrentPosition());
    *size = static_cast<size_t>(bytes);
    return in.Skip(bytes);
  };
  std::string text;
  return SplitMessage(in, IsResult, take, &text) && header->ParseFromString(text);
}

}  // namespace

absl::optional<SubmitFields> SubmitFieldsOf(absl::string_view method) {
  for (const Operation& operation : kOperations) {
    if (operation.method == method) return operation.fields;
  }
  return absl::nullopt;
}

grpc::ByteBuffer MakeSubmitRequest(const v1::SubmitRequest& header, int field,
                                   const grpc::ByteBuffer& request) {
  return WithField(header.SerializeAsString(), field, request);
}

absl::StatusOr<SubmitAnswer> ReadSubmitResponse(grpc::ByteBuffer message) {
  grpc::ProtoBufferReader reader(&message);
  v1::SubmitResponse header;
  SubmitAnswer answer;
  size_t begin = 0;
  size_t size = 0;
  bool ok = reader.status().ok();
  if (ok) {
    CodedInputStream in(&reader);
    ok = Split(in, &header, &answer.field, &begin, &size);
  }
  if (!ok) {
    return absl::InternalError("the server's response cannot be parsed");
  }
  answer.id = header.id();
  answer.credit_requests = header.credits().requests();
  answer.credit_bytes = static_cast<int64_t>(header.credits().bytes());
  if (header.code() != 0) {
    answer.status = MakeStatus(static_cast<absl::StatusCode>(header.code()), header.message());
    SetRetryAfter(absl::Microseconds(static_cast<int64_t>(header.retry_after_us())),
                  &answer.status);
  } else {
    answer.result = Part(message, begin, size);
  }
  return answer;
}

}  // namespace baseband::client
