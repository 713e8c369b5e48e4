#include "client/cpp/placed_response.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>
#include <vector>

#include "baseband/v1/baseband.pb.h"
#include "client/cpp/message_split.h"
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

}  // namespace

absl::StatusOr<absl::optional<grpc::ByteBuffer>> WholeResponse(grpc::ByteBuffer response,
                                                               const char* data, size_t size,
                                                               uint64_t offset) {
  std::vector<v1::PlacedField> places;
  std::string others;
  {
    grpc::ProtoBufferReader reader(&response);
    CodedInputStream in(&reader);
    const auto is_placed = [](int number) { return number == kPlacedField; };
    const auto take = [&](int, int bytes) {
      std::string place;
      return in.ReadString(&place, bytes) && places.emplace_back().ParseFromString(place);
    };
    if (!reader.status().ok() || !SplitMessage(in, is_placed, take, &others)) {
      return absl::InternalError("the server's answer cannot be parsed");
    }
  }
  if (places.empty()) return absl::optional<grpc::ByteBuffer>();
  std::vector<grpc::Slice> slices;
  for (const v1::PlacedField& place : places) {
    const uint64_t begin = place.offset() - offset;
    if (place.offset() < offset || begin > size || place.bytes() > size - begin ||
        place.bytes() > INT32_MAX) {
      return absl::InternalError("the server's answer lies outside of the memory it was given");
    }
    others += Prefix(place);
    slices.emplace_back(others);
    others.clear();
    slices.emplace_back(data + begin, static_cast<size_t>(place.bytes()),
                        grpc::Slice::STATIC_SLICE);
  }
  return absl::make_optional<grpc::ByteBuffer>(slices.data(), slices.size());
}

}  // namespace baseband::client
