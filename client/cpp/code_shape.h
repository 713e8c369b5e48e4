// How large a code is: what a client needs to lay out payloads.
#ifndef BASEBAND_CLIENT_CPP_CODE_SHAPE_H_
#define BASEBAND_CLIENT_CPP_CODE_SHAPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

// The dimensions of a quasi-cyclic code, in blocks of `zc` bits. Sizes are bits.
struct CodeShape {
  int rows = 0;
  int columns = 0;
  int zc = 0;
  int punctured_columns = 0;

  int k() const { return (columns - rows) * zc; }  // information bits, fillers included
  int parity() const { return rows * zc; }
  int full() const { return columns * zc; }  // the whole code word, punctured bits included
  int sent() const { return (columns - punctured_columns) * zc; }
};

// Bytes that `bits` packed bits take; every block of a payload starts on a byte.
constexpr int64_t PackedBytes(int64_t bits) { return (bits + 7) / 8; }

// The shape of `code`, with its `parity_rows` rows if that field is set. InvalidArgument names the
// field, its value and its range. The base matrix of a custom code is not looked into: the server
// judges it.
BASEBAND_PUBLIC absl::StatusOr<CodeShape> ShapeOf(const v1::LdpcCode& code);

// Bits per block that Encode returns for `output`.
BASEBAND_PUBLIC int OutputBits(const CodeShape& shape, v1::EncodeOutput output);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_CODE_SHAPE_H_
