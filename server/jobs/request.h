// A request and its reply as converters see them, whatever brought the one and takes the other: the
// small fields serialized, the bulk where it lies. Knows no gRPC.
#ifndef BASEBAND_SERVER_JOBS_REQUEST_H_
#define BASEBAND_SERVER_JOBS_REQUEST_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "server/device/host_pool.h"
#include "server/device/payload.h"

namespace baseband::server {

// The fields of a request besides its payload may take this many bytes together.
inline constexpr int64_t kMaxHeaderBytes = 4 << 20;

struct Request {
  // All fields but the payload: parse it as the operation's message. Nobody changes it any more,
  // also where the payload lies in memory that a client may write.
  std::string header;
  Payload payload;

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

  int64_t bulk_bytes() const {
    int64_t bytes = 0;
    for (const BulkField& field : fields) bytes += field.bytes;
    return bytes;
  }
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_REQUEST_H_
