// A frame of ldpc_encoder.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_ENCODE_OPERATION_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_ENCODE_OPERATION_H_

#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/baseband_offload/ldpc_encoder.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "client/gnuradio/lib/bits.h"
#include "client/gnuradio/lib/frame_block.h"

namespace gr::baseband_offload {

// See FrameBlock.
class EncodeOperation {
 public:
  using Request = ::baseband::v1::EncodeRequest;
  using Response = ::baseband::v1::EncodeResponse;

  // Throws std::invalid_argument, which names the option out of range.
  EncodeOperation(const ldpc_code& code, const encode_options& options);

  int input_items() const { return options_.packed_input ? PackedBytes(bits_) : bits_; }
  size_t input_item_bytes() const { return 1; }
  int output_items() const { return options_.packed ? PackedBytes(code_.n()) : code_.n(); }
  size_t output_item_bytes() const { return 1; }
  int64_t request_bytes() const { return PackedBytes(bits_); }
  const char* results_port() const { return nullptr; }

  Request Begin() const { return empty_; }
  void Append(const void* in, int frames, Request* request) const;
  absl::Status Check(int frames, const Response& response) const;
  void Write(const Response& response, int first, int frames, void* out) const;
  FrameResults Results(const Response&, int) const { return {}; }

 private:
  const ldpc_code code_;
  const encode_options options_;
  const int bits_;  // of information in a frame
  Request empty_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_ENCODE_OPERATION_H_
