#include "client/cpp/shared_bulk.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstring>
#include <utility>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace baseband::client {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using google::protobuf::io::StringOutputStream;

// The same number in all responses.
constexpr int kPlacedField = v1::DecodeResponse::kPlacedFieldNumber;

std::string Prefix(const v1::PlacedField& placed) {
  std::string text;
  StringOutputStream stream(&text);
  CodedOutputStream out(&stream);
  out.WriteTag(WireFormatLite::MakeTag(static_cast<int>(placed.field()),
                                       WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  out.WriteVarint64(placed.bytes());
  out.Trim();
  return text;
}

// The places that `in`, a response, names; all else goes to `others`. False: it is no message.
bool SplitPlaces(CodedInputStream& in, std::vector<v1::PlacedField>* places, std::string* others) {
  StringOutputStream stream(others);
  CodedOutputStream out(&stream);
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (tag != WireFormatLite::MakeTag(kPlacedField, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!WireFormatLite::SkipField(&in, tag, &out)) return false;
      continue;
    }
    uint32_t bytes = 0;
    std::string place;
    if (!in.ReadVarint32(&bytes) || !in.ReadString(&place, static_cast<int>(bytes)) ||
        !places->emplace_back().ParseFromString(place)) {
      return false;
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

std::shared_ptr<SharedBulk> SharedBulk::Create(const std::shared_ptr<SharedArena>& arena,
                                               const SubmitFields& fields,
                                               absl::string_view payload) {
  const auto bytes = static_cast<int64_t>(payload.size());
  if (arena == nullptr || bytes == 0 || bytes < arena->least_bytes()) return nullptr;
  absl::StatusOr<Buffer> in = arena->Loan(bytes);
  if (!in.ok()) return nullptr;
  auto bulk = std::make_shared<SharedBulk>();
  bulk->arena_ = arena;
  bulk->kind_ = fields.request;
  bulk->payload_ = *std::move(in);
  std::memcpy(bulk->payload_.data(), payload.data(), payload.size());
  // What does not fit comes in the message.
  absl::StatusOr<Buffer> out = arena->Loan(arena->RoomFor(fields.request, bytes));
  if (out.ok()) bulk->reply_ = *std::move(out);
  return bulk;
}

absl::StatusOr<grpc::ByteBuffer> SharedBulk::BringHome(
    absl::StatusOr<grpc::ByteBuffer> response) const {
  if (!response.ok()) return response;
  std::vector<v1::PlacedField> places;
  std::string others;
  {
    grpc::ProtoBufferReader reader(&*response);
    CodedInputStream in(&reader);
    if (!reader.status().ok() || !SplitPlaces(in, &places, &others)) {
      return absl::InternalError("the server's answer cannot be parsed");
    }
  }
  if (places.empty()) {
    arena_->LearnRoom(kind_, payload_.size(), static_cast<int64_t>(response->Length()));
    return response;
  }
  std::vector<grpc::Slice> slices;
  for (const v1::PlacedField& place : places) {
    const uint64_t begin = place.offset() - reply_.offset();
    const auto size = static_cast<uint64_t>(reply_.size());
    if (place.offset() < reply_.offset() || begin > size || place.bytes() > size - begin ||
        place.bytes() > INT32_MAX) {
      return absl::InternalError("the server's answer lies outside of the memory it was given");
    }
    others += Prefix(place);
    slices.emplace_back(others);
    others.clear();
    slices.emplace_back(reply_.data() + begin, static_cast<size_t>(place.bytes()),
                        grpc::Slice::STATIC_SLICE);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void SharedBulk::End(const absl::Status& status) {
  // These may be a client's own, or come of a device that is lost and not yet still.
  const bool is_answered = !absl::IsCancelled(status) && !absl::IsDeadlineExceeded(status) &&
                           !absl::IsUnavailable(status) && !absl::IsInternal(status) &&
                           !absl::IsUnknown(status);
  if (is_answered && !in_doubt_.load()) {
    payload_ = Buffer();
    reply_ = Buffer();
  } else {
    payload_.Abandon();
    reply_.Abandon();
  }
}

}  // namespace baseband::client
