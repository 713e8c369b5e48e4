// A request and its reply as converters see them, whatever brought the one and takes the other: the
// small fields serialized, the bulk where it lies. Knows no gRPC.
#ifndef BASEBAND_SERVER_JOBS_REQUEST_H_
#define BASEBAND_SERVER_JOBS_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "server/device/host_pool.h"
#include "server/device/payload.h"

namespace baseband::server {

// The fields of a request besides its payload may take this many bytes together.
inline constexpr int64_t kMaxHeaderBytes = 4 << 20;

// A part of a region that a request names in place of bytes. Nothing of it is checked.
struct MemoryRange {
  std::string region;  // its name
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Where client and server agree on who has those ranges; see MemoryHold of the contract.
struct MemoryHold {
  std::string region;
  uint64_t offset = 0;
  uint64_t number = 0;
};

// Memory of the client's for the bulk of a reply; none: it has no bytes.
struct ReplyPlace {
  uint8_t* data = nullptr;
  int64_t bytes = 0;
  int64_t offset = 0;  // of `data` in its region
  const MemoryRegion* region = nullptr;
  std::shared_ptr<const void> owner;  // keeps it
};

struct Request {
  // All fields but the payload: parse it as the operation's message. Nobody changes it any more,
  // also where the payload lies in memory that a client may write.
  std::string header;
  Payload payload;
  // Until they were looked up: what `payload` and `reply_place` come of.
  absl::optional<MemoryRange> payload_at;
  absl::optional<MemoryRange> reply_at;
  absl::optional<MemoryHold> hold;
  bool names_memory() const {
    return payload_at.has_value() || reply_at.has_value() || hold.has_value();
  }
  ReplyPlace reply_place;
  // Who sends it, who has a share of what converters keep. Valid while it is converted only.
  absl::string_view client;

  int64_t bytes() const { return static_cast<int64_t>(header.size()) + payload.bytes(); }
};

// One bulk field of a reply's message: a part of its memory.
struct BulkField {
  int number = 0;
  int64_t offset = 0;
  int64_t bytes = 0;  // 0: left out
};

struct Reply {
  std::string header;  // all other fields, serialized
  absl::InlinedVector<BulkField, 2> fields;
  HostLease memory;  // goes back to its pool once the reply is sent
  // In place of `memory`: the bulk lies in a region of the client's, from this byte of it on.
  absl::optional<int64_t> placed_at = absl::nullopt;

  int64_t bulk_bytes() const {
    int64_t bytes = 0;
    for (const BulkField& field : fields) bytes += field.bytes;
    return bytes;
  }
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_REQUEST_H_
