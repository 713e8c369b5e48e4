#include "client/cpp/block_split.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "client/cpp/code_shape.h"
#include "client/cpp/message_split.h"
#include "client/cpp/messages.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace baseband::client {
namespace {

// Bytes that a block of `group` has in the payload; not positive if the group is wrong.
int64_t BlockBytes(const v1::EncodeGroup& group) {
  const auto shape = ShapeOf(group.code());
  return shape.ok() ? PackedBytes(shape->k() - int64_t{group.n_filler()}) : 0;
}

int64_t BlockBytes(const v1::DecodeGroup& group) {
  const auto shape = ShapeOf(group.code());
  if (!shape.ok()) return 0;
  return group.llr_count() > 0 ? int64_t{group.llr_count()} : shape->sent();
}

template <typename Request>
bool IsDivisible(const Request& request, int64_t payload_bytes) {
  for (const auto& group : request.groups()) {
    const int64_t bytes = BlockBytes(group);
    if (bytes <= 0 || group.count() == 0 || group.count() > payload_bytes / bytes) return false;
    payload_bytes -= group.count() * bytes;
  }
  return payload_bytes == 0 && !request.has_payload_at() && !request.has_reply_at() &&
         !request.has_hold();
}

std::string* BulkOf(int /*field*/, v1::EncodeResponse* response) {
  return response->mutable_payload();
}

std::string* BulkOf(int field, v1::DecodeResponse* response) {
  return field == v1::DecodeResponse::kSoftFieldNumber ? response->mutable_soft()
                                                       : response->mutable_payload();
}

bool IsBulk(int field) {
  return field == v1::DecodeResponse::kPayloadFieldNumber ||
         field == v1::DecodeResponse::kSoftFieldNumber;
}

int64_t Total(const v1::Timing& timing) {
  return int64_t{timing.receive_us()} + timing.queue_us() + timing.copy_in_us() + timing.h2d_us() +
         timing.kernel_us() + timing.d2h_us();
}

// Puts `answer`, one of about `parts` of its size, after what `response` has.
template <typename Response>
bool Append(grpc::ByteBuffer answer, size_t parts, Response* response) {
  grpc::ProtoBufferReader reader(&answer);
  if (!reader.status().ok()) return false;
  google::protobuf::io::CodedInputStream in(&reader);
  const auto take = [&](int field, int bytes) {
    std::string* const bulk = BulkOf(field, response);
    const size_t begin = bulk->size();
    const auto size = static_cast<size_t>(bytes);
    if (size > answer.Length()) return false;
    if (begin == 0) bulk->reserve(parts * size);
    bulk->resize(begin + size);
    return in.ReadRaw(&(*bulk)[begin], bytes);
  };
  std::string text;
  Response others;
  if (!SplitMessage(in, IsBulk, take, &text) || !others.ParseFromString(text)) return false;
  if (response->has_timing() && Total(response->timing()) > Total(others.timing())) {
    others.clear_timing();
  } else {
    response->clear_timing();
  }
  response->MergeFrom(others);
  return true;
}

}  // namespace

template <typename Request>
std::vector<grpc::ByteBuffer> SplitBlocks(const Request& request, const grpc::ByteBuffer& whole,
                                          size_t payload_bytes, int parts) {
  std::vector<grpc::ByteBuffer> messages;
  const auto total = static_cast<int64_t>(payload_bytes);
  if (parts < 2 || whole.Length() < payload_bytes || !IsDivisible(request, total)) {
    return messages;
  }
  Request part = request;
  part.clear_groups();
  const Request others = part;
  int64_t begin = 0;  // of the part, in the payload
  int64_t end = 0;    // of the blocks that it has so far
  const auto finish = [&] {
    const grpc::ByteBuffer payload =
        Part(whole, whole.Length() - payload_bytes + static_cast<size_t>(begin),
             static_cast<size_t>(end - begin));
    messages.push_back(WithField(part.SerializeAsString(), Request::kPayloadFieldNumber, payload));
    part = others;
    begin = end;
  };
  for (const auto& group : request.groups()) {
    const int64_t bytes = BlockBytes(group);
    for (int64_t left = group.count(); left > 0;) {
      // The part ends with the block in which its share of all does.
      const int64_t share = total * (begin * parts / total + 1) / parts;
      const int64_t count = std::min(left, (share - end + bytes - 1) / bytes);
      auto* const added = part.add_groups();
      *added = group;
      added->set_count(static_cast<uint32_t>(count));
      end += count * bytes;
      left -= count;
      if (end >= share) finish();
    }
  }
  if (messages.size() < 2) messages.clear();
  return messages;
}

template <typename Response>
absl::StatusOr<Response> JoinBlocks(std::vector<grpc::ByteBuffer> answers) {
  Response response;
  for (grpc::ByteBuffer& answer : answers) {
    if (!Append(std::move(answer), answers.size(), &response)) {
      return absl::InternalError("the server's answer cannot be parsed");
    }
  }
  return response;
}

template std::vector<grpc::ByteBuffer> SplitBlocks(const v1::EncodeRequest&,
                                                   const grpc::ByteBuffer&, size_t, int);
template std::vector<grpc::ByteBuffer> SplitBlocks(const v1::DecodeRequest&,
                                                   const grpc::ByteBuffer&, size_t, int);
template absl::StatusOr<v1::EncodeResponse> JoinBlocks(std::vector<grpc::ByteBuffer>);
template absl::StatusOr<v1::DecodeResponse> JoinBlocks(std::vector<grpc::ByteBuffer>);

}  // namespace baseband::client
