// A frame of ldpc_decoder.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_DECODE_OPERATION_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_DECODE_OPERATION_H_

#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/baseband_offload/ldpc_decoder.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "client/gnuradio/lib/frame_block.h"

namespace gr::baseband_offload {

// See FrameBlock.
class DecodeOperation {
 public:
  using Request = ::baseband::v1::DecodeRequest;
  using Response = ::baseband::v1::DecodeResponse;

  // Throws std::invalid_argument, which names the option out of range.
  DecodeOperation(const ldpc_code& code, const decode_options& options);

  int input_items() const { return code_.n(); }
  size_t input_item_bytes() const { return sizeof(float); }
  int output_items() const;
  size_t output_item_bytes() const { return 1; }
  int64_t request_bytes() const { return code_.n(); }
  const char* results_port() const { return nullptr; }

  Request Begin() const { return empty_; }
  void Append(const void* in, int frames, Request* request) const;
  absl::Status Check(int frames, const Response& response) const;
  void Write(const Response& response, int first, int frames, void* out) const;
  FrameResults Results(const Response& response, int frame) const;

 private:
  const ldpc_code code_;
  const decode_options options_;
  const int bits_;  // of a decoded frame
  Request empty_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_DECODE_OPERATION_H_
