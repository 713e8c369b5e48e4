// What of a call goes through shared memory by itself: its payload, and room for its answer's bulk.
// Internal to the client libraries.
//
//   auto bulk = SharedBulk::Create(arena, fields, payload);    // null: as ever
//   bulk->NameIn(&request);
//   ...
//   reply = bulk->BringHome(std::move(reply));         // parse or compare it, then
//   bulk->End(reply.status());
#ifndef BASEBAND_CLIENT_CPP_SHARED_BULK_H_
#define BASEBAND_CLIENT_CPP_SHARED_BULK_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/cpp/attempt.h"
#include "client/cpp/messages.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/shared_memory.h"
#include "client/cpp/submit_wire.h"
#include "google/protobuf/field_mask.pb.h"
#include "google/protobuf/util/field_mask_util.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// Of one call, whose attempts all name the same memory. One thread at a time.
class SharedBulk {
 public:
  // Copies `payload` to `arena`; of the call of an operation that Submit streams know by `fields`.
  // Null: there is no arena, the payload is too small for it, or there is no room now: the server
  // has refused more lately, or another thread asks it for more.
  static std::shared_ptr<SharedBulk> Create(const std::shared_ptr<SharedArena>& arena,
                                            const SubmitFields& fields, absl::string_view payload);
  // The same of a payload that lies in `buffer`, one of the arena's, which must outlive this, from
  // a multiple of shm::kRegionAlignment on. It is not copied, nor held: it has to stay as it is.
  static std::shared_ptr<SharedBulk> CreateInPlace(const std::shared_ptr<SharedArena>& arena,
                                                   const SubmitFields& fields,
                                                   absl::string_view payload, const Buffer& buffer);

  // Names the memory in `request`, in place of its payload.
  template <typename Request>
  void NameIn(Request* request) const {
    request->clear_payload();
    Name(payload_in(), payload_, payload_bytes_, request->mutable_payload_at());
    if (reply_bytes() > 0) Name(memory_, reply_, reply_bytes(), request->mutable_reply_at());
    request->mutable_hold()->set_region(memory_.region());
    request->mutable_hold()->set_offset(memory_.offset());
    request->mutable_hold()->set_number(memory_.hold_);
  }
  // The request as it would be without shared memory.
  template <typename Request>
  void Undo(Request* request) const {
    request->set_payload(payload_in().data() + payload_, static_cast<size_t>(payload_bytes_));
    request->clear_payload_at();
    request->clear_reply_at();
    request->clear_hold();
  }

  // An attempt has failed, and another comes. If the server is still at the first it refuses it,
  // and MayBeWhy() says so.
  void TryAgain();
  // Whether the memory may be what a server refused: another one's, or that of one that is gone.
  static bool MayBeWhy(const absl::Status& status) { return absl::IsFailedPrecondition(status); }

  // A response as it would be without shared memory. Its bulk stays where it is until End(). What
  // comes after End(), to a request without shared memory, is left as it is. Internal if it is
  // none.
  absl::StatusOr<grpc::ByteBuffer> BringHome(absl::StatusOr<grpc::ByteBuffer> response) const;
  // The call, or what of it named the memory, has ended with `status`, and nobody looks at its
  // response any more. The first time counts.
  void End(const absl::Status& status);
  bool is_over() const { return memory_.data() == nullptr; }

 private:
  static constexpr int64_t kHold = shm::kRegionAlignment;

  // Null: there is none.
  static std::shared_ptr<SharedBulk> Create(const std::shared_ptr<SharedArena>& arena,
                                            const SubmitFields& fields, int64_t payload_bytes,
                                            int64_t copied_bytes);
  const Buffer& payload_in() const { return placed_ != nullptr ? *placed_ : memory_; }
  int64_t reply_bytes() const {
    return (memory_.size() - reply_) / shm::kRegionAlignment * shm::kRegionAlignment;
  }
  static void Name(const Buffer& buffer, int64_t begin, int64_t bytes, v1::MemoryRange* range);
  // Makes the hold's `from` `to`; false: it is something else.
  bool Change(uint64_t from, uint64_t to);

  std::shared_ptr<SharedArena> arena_;
  int kind_ = 0;
  Buffer memory_;                   // the hold, the payload unless it was in place, the reply
  const Buffer* placed_ = nullptr;  // where the payload was in place
  int64_t payload_ = kHold;         // where it begins
  int64_t payload_bytes_ = 0;
  int64_t reply_ = 0;  // where it begins
};

// Of a request that names no memory itself.
template <typename Request>
std::shared_ptr<SharedBulk> BulkOf(const std::shared_ptr<SharedArena>& arena,
                                   const SubmitFields& fields, const Request& request) {
  return request.has_payload_at() || request.has_reply_at() || request.has_hold()
             ? nullptr
             : SharedBulk::Create(arena, fields, request.payload());
}

// Of a request whose payload is in `bulk`, all else in `request`: where the memory may be why it
// was refused, it is sent without.
template <typename Request>
Repetition RepetitionOf(const std::shared_ptr<SharedBulk>& bulk, Request request) {
  Repetition repetition;
  repetition.before = [bulk] { bulk->TryAgain(); };
  repetition.instead =
      [bulk, request = std::move(request)](
          const absl::Status& refusal) mutable -> absl::optional<grpc::ByteBuffer> {
    if (bulk->is_over() || !SharedBulk::MayBeWhy(refusal)) return absl::nullopt;
    bulk->Undo(&request);
    bulk->End(refusal);
    absl::StatusOr<grpc::ByteBuffer> bytes = Serialize(request);
    request.Clear();
    if (!bytes.ok()) return absl::nullopt;
    return *std::move(bytes);
  };
  return repetition;
}

// Of a request as its caller made it. Without a hold nothing tells whether a lost attempt still
// writes to `reply_at`.
template <typename Request>
Repetition RepetitionOf(const Request& request) {
  Repetition repetition;
  repetition.only_when_told = request.has_reply_at() && !request.has_hold();
  return repetition;
}

// What becomes of the answer to a request whose payload is in `bulk`.
template <typename Response, typename Done>
auto WhenShared(std::shared_ptr<SharedBulk> bulk, Done done) {
  return [bulk = std::move(bulk), done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> answer) {
    absl::StatusOr<Response> response = Parse<Response>(bulk->BringHome(std::move(answer)));
    bulk->End(response.status());
    done(std::move(response));
  };
}

// All of `request` but its payload, which is not copied.
template <typename Request>
Request WithoutPayload(const Request& request) {
  using google::protobuf::util::FieldMaskUtil;
  static const auto& others = *new google::protobuf::FieldMask([] {
    google::protobuf::FieldMask mask;
    const auto* const type = Request::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      if (type->field(i)->number() == Request::kPayloadFieldNumber) continue;
      mask.add_paths(std::string(type->field(i)->name()));
    }
    return mask;
  }());
  Request result;
  FieldMaskUtil::MergeMessageTo(request, others, FieldMaskUtil::MergeOptions(), &result);
  return result;
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SHARED_BULK_H_
