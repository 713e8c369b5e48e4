// A message as gRPC delivers it.
#ifndef BASEBAND_TESTS_FUZZ_IN_PIECES_H_
#define BASEBAND_TESTS_FUZZ_IN_PIECES_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace baseband::testing {

// In pieces, here of uneven sizes.
inline grpc::ByteBuffer InPieces(const uint8_t* data, size_t size) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0, piece = 1; at < size; at += piece, piece = piece * 3 % 61 + 1) {
    slices.emplace_back(data + at, std::min(piece, size - at));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_IN_PIECES_H_
