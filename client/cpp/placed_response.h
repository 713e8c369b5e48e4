// Responses whose bulk a server has put in memory that it shares with this client. Internal to the
// client libraries.
#ifndef BASEBAND_CLIENT_CPP_PLACED_RESPONSE_H_
#define BASEBAND_CLIENT_CPP_PLACED_RESPONSE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// A response as it would be without shared memory: what it says lies in the `size` bytes at `data`,
// `offset` in their region, whose parts it refers to. Nothing: all of it is in the message.
// Internal if it is none, or lies elsewhere.
absl::StatusOr<absl::optional<grpc::ByteBuffer>> WholeResponse(grpc::ByteBuffer response,
                                                               const char* data, size_t size,
                                                               uint64_t offset);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_PLACED_RESPONSE_H_
