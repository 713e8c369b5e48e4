#include "client/cpp/shared_bulk.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstring>
#include <utility>
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

std::shared_ptr<SharedBulk> SharedBulk::Create(const std::shared_ptr<SharedArena>& arena,
                                               const SubmitFields& fields,
                                               absl::string_view payload) {
  const auto bytes = static_cast<int64_t>(payload.size());
  if (arena == nullptr || bytes == 0 || bytes < arena->least_bytes()) return nullptr;
  const int64_t reply = kPayload + shm::RoundUp(bytes, shm::kRegionAlignment);
  // An answer that does not fit comes in its message.
  absl::StatusOr<Buffer> memory = arena->LoanAtOnce(reply + arena->RoomFor(fields.request, bytes));
  if (!memory.ok()) memory = arena->LoanAtOnce(reply);
  if (!memory.ok()) return nullptr;
  auto bulk = std::make_shared<SharedBulk>();
  bulk->arena_ = arena;
  bulk->kind_ = fields.request;
  bulk->memory_ = *std::move(memory);
  bulk->payload_bytes_ = bytes;
  bulk->reply_ = reply;
  bulk->memory_.hold_ = arena->NextHold();
  __atomic_store_n(reinterpret_cast<uint64_t*>(bulk->memory_.data()), bulk->memory_.hold_,
                   __ATOMIC_RELEASE);
  std::memcpy(bulk->memory_.data() + kPayload, payload.data(), payload.size());
  return bulk;
}

void SharedBulk::Name(int64_t begin, int64_t bytes, v1::MemoryRange* range) const {
  range->set_region(memory_.region());
  range->set_offset(memory_.offset() + static_cast<uint64_t>(begin));
  range->set_bytes(static_cast<uint64_t>(bytes));
}

absl::StatusOr<grpc::ByteBuffer> SharedBulk::BringHome(
    absl::StatusOr<grpc::ByteBuffer> response) const {
  if (!response.ok() || is_over()) return response;
  std::vector<v1::PlacedField> places;
  std::string others;
  {
    grpc::ProtoBufferReader reader(&*response);
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
  if (places.empty()) {
    arena_->LearnRoom(kind_, payload_bytes_, static_cast<int64_t>(response->Length()));
    return response;
  }
  std::vector<grpc::Slice> slices;
  int64_t placed = 0;
  for (const v1::PlacedField& place : places) {
    const uint64_t begin = place.offset() - memory_.offset();
    const auto size = static_cast<uint64_t>(memory_.size());
    if (place.offset() < memory_.offset() || begin > size || place.bytes() > size - begin ||
        place.bytes() > INT32_MAX) {
      return absl::InternalError("the server's answer lies outside of the memory it was given");
    }
    placed += shm::RoundUp(static_cast<int64_t>(place.bytes()), shm::kRegionAlignment);
    others += Prefix(place);
    slices.emplace_back(others);
    others.clear();
    slices.emplace_back(memory_.data() + begin, static_cast<size_t>(place.bytes()),
                        grpc::Slice::STATIC_SLICE);
  }
  arena_->LearnRoom(kind_, payload_bytes_, placed);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

void SharedBulk::End(const absl::Status& status) {
  if (is_over()) return;
  // An error says nothing of an earlier attempt, and may be a stream's or gRPC's own: the word
  // does.
  const uint64_t hold = memory_.hold_;
  const bool is_free = status.ok() || Change(hold, hold + shm::kWithdrawn) ||
                       Change(hold + shm::kReleased, hold + shm::kWithdrawn);
  memory_.Return(is_free ? Buffer::Fate::kFree : Buffer::Fate::kAwaited);
}

void SharedBulk::TryAgain() {
  if (is_over()) return;
  // What the first attempt has left.
  Change(memory_.hold_ + shm::kReleased, memory_.hold_);
}

bool SharedBulk::Change(uint64_t from, uint64_t to) {
  return __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(memory_.data()), &from, to,
                                     /*weak=*/false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

}  // namespace baseband::client
