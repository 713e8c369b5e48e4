// Memory that a client shares with a server on the same host, so that payloads pay for no socket:
// Client::ShareMemory(), after which calls use it by themselves. Who wants no copy either fills and
// reads it in place:
//
//   Buffer llrs = client->Loan(bytes);        // shared, or else the process's own
//   Buffer bits = client->Loan(bytes / 8);
//   Fill(llrs.data());
//   SetPayload(llrs, bytes, &request);
//   SetReply(bits, &request);
//   absl::StatusOr<v1::DecodeResponse> response = client->Decode(request);
//   absl::string_view decoded = PayloadOf(*response, bits);
#ifndef BASEBAND_CLIENT_CPP_SHARED_MEMORY_H_
#define BASEBAND_CLIENT_CPP_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

class SharedArena;

// The room for a reply in shared memory ends at a multiple of this.
inline constexpr int64_t kReplyAlignment = 64;

// Memory for a payload, or for what an answer brings. Goes back in the destructor. Move-only; may
// outlive the client.
class BASEBAND_PUBLIC Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { Return(Fate::kFree); }

  uint8_t* data() const { return data_; }
  int64_t size() const { return size_; }
  // Otherwise it is the process's own, and is copied into requests.
  bool is_shared() const { return arena_ != nullptr; }

  // Gives back what a server may still read or write, for a call with it has ended without its
  // answer: Cancelled, DeadlineExceeded, Unavailable, Internal. It is not lent again; its region
  // goes when half of it is so. Whoever destroys it instead, or fills it again, may find an answer
  // in what he has put there: unlike what calls copy by themselves, it has no hold.
  void Abandon() { Return(Fate::kLost); }

  // Where it lies; of a shared one.
  const std::string& region() const { return region_; }
  uint64_t offset() const { return offset_; }

 private:
  friend class SharedArena;
  friend class SharedBulk;
  friend class Client;
  // kAwaited: free once its first 8 bytes say so, which are a hold of `hold_`.
  enum class Fate { kFree, kLost, kAwaited };
  // Memory of the process itself.
  explicit Buffer(int64_t size);
  Buffer(std::shared_ptr<SharedArena> arena, std::string region, uint64_t offset, uint8_t* data,
         int64_t size, int64_t taken);
  void Return(Fate fate);

  std::shared_ptr<SharedArena> arena_;
  std::string region_;
  uint64_t offset_ = 0;
  uint8_t* data_ = nullptr;
  int64_t size_ = 0;
  int64_t taken_ = 0;  // of the region
  uint64_t hold_ = 0;
  std::unique_ptr<uint8_t[]> own_;
};

// Makes the first `bytes` of `buffer` the payload of `request`. They are not to be changed before
// the answer is there.
template <typename Request>
void SetPayload(const Buffer& buffer, int64_t bytes, Request* request) {
  if (buffer.is_shared()) {
    request->clear_payload();
    request->mutable_payload_at()->set_region(buffer.region());
    request->mutable_payload_at()->set_offset(buffer.offset());
    request->mutable_payload_at()->set_bytes(static_cast<uint64_t>(bytes));
  } else {
    request->clear_payload_at();
    request->set_payload(buffer.data(), static_cast<size_t>(bytes));
  }
}

// Asks for the bulk of the answer in `buffer`, if that is shared and large enough for all of it.
// Nobody else is to have any of it before the call has ended. Such a request is tried again only
// where a server has answered, and says when to come back, so that no attempt writes there after
// the call: a lost connection is Unavailable at once. `hold` of the request, which the library
// leaves to its caller, lifts that.
template <typename Request>
void SetReply(const Buffer& buffer, Request* request) {
  if (!buffer.is_shared()) return;
  request->mutable_reply_at()->set_region(buffer.region());
  request->mutable_reply_at()->set_offset(buffer.offset());
  request->mutable_reply_at()->set_bytes(
      static_cast<uint64_t>(buffer.size() / kReplyAlignment * kReplyAlignment));
}

// The bytes field `number` of a response: in `reply`, if SetReply() asked for it there and it is,
// else as the message has it, `in_message`.
template <typename Response>
absl::string_view BytesOf(const Response& response, int number, absl::string_view in_message,
                          const Buffer& reply) {
  for (const auto& placed : response.placed()) {
    const uint64_t begin = placed.offset() - reply.offset();
    const auto size = static_cast<uint64_t>(reply.size());
    if (placed.field() != static_cast<uint32_t>(number) || placed.offset() < reply.offset() ||
        begin > size || placed.bytes() > size - begin) {
      continue;
    }
    return {reinterpret_cast<const char*>(reply.data()) + begin,
            static_cast<size_t>(placed.bytes())};
  }
  return in_message;
}
// The payload.
template <typename Response>
absl::string_view PayloadOf(const Response& response, const Buffer& reply) {
  return BytesOf(response, Response::kPayloadFieldNumber, response.payload(), reply);
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SHARED_MEMORY_H_
