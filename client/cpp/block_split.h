// Requests of many code blocks, divided by whole blocks, and the answers put together again.
// Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_BLOCK_SPLIT_H_
#define BASEBAND_CLIENT_CPP_BLOCK_SPLIT_H_

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

template <typename Request>
inline constexpr bool kHasBlocks =
    std::is_same_v<Request, v1::EncodeRequest> || std::is_same_v<Request, v1::DecodeRequest>;

// Messages that have the blocks of `request`, an EncodeRequest or a DecodeRequest, in order: at
// most `parts`, of about as many bytes each. `request` is without its payload, which is the last
// `payload_bytes` of its message `whole`, and not copied. Empty where it cannot be divided, for it
// has one block, names memory, or is wrong, which a server says.
template <typename Request>
std::vector<grpc::ByteBuffer> SplitBlocks(const Request& request, const grpc::ByteBuffer& whole,
                                          size_t payload_bytes, int parts);

// The answer to a request out of those to its parts, in order; the timing is the slowest part's.
// Internal if one cannot be parsed.
template <typename Response>
absl::StatusOr<Response> JoinBlocks(std::vector<grpc::ByteBuffer> answers);

// What becomes of the answers to the parts of a request.
template <typename Response, typename Done>
auto WhenJoined(Done done) {
  return [done = std::move(done)](absl::StatusOr<std::vector<grpc::ByteBuffer>> answers) {
    done(answers.ok() ? JoinBlocks<Response>(*std::move(answers)) : answers.status());
  };
}

extern template std::vector<grpc::ByteBuffer> SplitBlocks(const v1::EncodeRequest&,
                                                          const grpc::ByteBuffer&, size_t, int);
extern template std::vector<grpc::ByteBuffer> SplitBlocks(const v1::DecodeRequest&,
                                                          const grpc::ByteBuffer&, size_t, int);
extern template absl::StatusOr<v1::EncodeResponse> JoinBlocks(std::vector<grpc::ByteBuffer>);
extern template absl::StatusOr<v1::DecodeResponse> JoinBlocks(std::vector<grpc::ByteBuffer>);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_BLOCK_SPLIT_H_
