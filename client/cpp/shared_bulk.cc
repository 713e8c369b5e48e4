#include "client/cpp/shared_bulk.h"

#include <cstring>
#include <utility>

#include "client/cpp/placed_response.h"

namespace baseband::client {

std::shared_ptr<SharedBulk> SharedBulk::Create(const std::shared_ptr<SharedArena>& arena,
                                               const SubmitFields& fields, int64_t payload_bytes,
                                               int64_t copied_bytes) {
  if (arena == nullptr || payload_bytes == 0 || payload_bytes < arena->least_bytes()) {
    return nullptr;
  }
  const int64_t reply = kHold + shm::RoundUp(copied_bytes, shm::kRegionAlignment);
  // An answer that does not fit comes in its message.
  absl::StatusOr<Buffer> memory =
      arena->LoanAtOnce(reply + arena->RoomFor(fields.request, payload_bytes));
  if (!memory.ok()) memory = arena->LoanAtOnce(reply);
  if (!memory.ok()) return nullptr;
  auto bulk = std::make_shared<SharedBulk>();
  bulk->arena_ = arena;
  bulk->kind_ = fields.request;
  bulk->memory_ = *std::move(memory);
  bulk->payload_bytes_ = payload_bytes;
  bulk->reply_ = reply;
  bulk->memory_.hold_ = arena->NextHold();
  __atomic_store_n(reinterpret_cast<uint64_t*>(bulk->memory_.data()), bulk->memory_.hold_,
                   __ATOMIC_RELEASE);
  return bulk;
}

std::shared_ptr<SharedBulk> SharedBulk::Create(const std::shared_ptr<SharedArena>& arena,
                                               const SubmitFields& fields,
                                               absl::string_view payload) {
  const auto bytes = static_cast<int64_t>(payload.size());
  auto bulk = Create(arena, fields, bytes, bytes);
  if (bulk != nullptr) {
    std::memcpy(bulk->memory_.data() + bulk->payload_, payload.data(), payload.size());
  }
  return bulk;
}

std::shared_ptr<SharedBulk> SharedBulk::CreateInPlace(const std::shared_ptr<SharedArena>& arena,
                                                      const SubmitFields& fields,
                                                      absl::string_view payload,
                                                      const Buffer& buffer) {
  auto bulk = Create(arena, fields, static_cast<int64_t>(payload.size()), 0);
  if (bulk != nullptr) {
    bulk->placed_ = &buffer;
    bulk->payload_ = payload.data() - reinterpret_cast<const char*>(buffer.data());
  }
  return bulk;
}

void SharedBulk::Name(const Buffer& buffer, int64_t begin, int64_t bytes, v1::MemoryRange* range) {
  range->set_region(buffer.region());
  range->set_offset(buffer.offset() + static_cast<uint64_t>(begin));
  range->set_bytes(static_cast<uint64_t>(bytes));
}

absl::StatusOr<grpc::ByteBuffer> SharedBulk::BringHome(
    absl::StatusOr<grpc::ByteBuffer> response) const {
  if (!response.ok() || is_over()) return response;
  absl::StatusOr<absl::optional<grpc::ByteBuffer>> whole =
      WholeResponse(*response, reinterpret_cast<const char*>(memory_.data()),
                    static_cast<size_t>(memory_.size()), memory_.offset());
  if (!whole.ok()) return whole.status();
  if (whole->has_value()) response = **std::move(whole);
  arena_->LearnRoom(kind_, payload_bytes_, static_cast<int64_t>(response->Length()));
  return response;
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
